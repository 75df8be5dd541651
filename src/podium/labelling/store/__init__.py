"""The store of judgments: pools, members, tasks and the event log, in SQLite or PostgreSQL."""

from podium.errors import require

require("sqlalchemy", "web", "a store of judgments")

from podium.labelling.store.admin_records import AuditEntry  # noqa: E402 - after the check
from podium.labelling.store.administration import StoreAdmin  # noqa: E402
from podium.labelling.store.judgment_log import JudgmentLog  # noqa: E402
from podium.labelling.store.store import AppendedEvent, EventBatch, SessionState, Store, StoreMember  # noqa: E402

__all__ = [
    "AppendedEvent",
    "AuditEntry",
    "EventBatch",
    "JudgmentLog",
    "SessionState",
    "Store",
    "StoreAdmin",
    "StoreMember",
]

"""Where judgments are kept: pools, members, tasks and events in SQLite or PostgreSQL."""

from podium.errors import require

require("sqlalchemy", "web", "a store of judgments")

from podium.labelling.store.judgment_log import JudgmentLog  # noqa: E402 - after the check
from podium.labelling.store.store import Appended, EventBatch, SessionState, Store, StoreMember  # noqa: E402

__all__ = ["Appended", "EventBatch", "JudgmentLog", "StoreMember", "SessionState", "Store"]

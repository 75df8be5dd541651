"""Operations of the service: what they are, and the data that answers a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from podium.apps.serving.editing.editors_file import Editor
from podium.apps.serving.editing.recent_requests import RecentRequests
from podium.apps.serving.event_log import EventLog
from podium.apps.serving.list_log import ListLog
from podium.apps.serving.prometheus_metrics import ServingMetrics
from podium.apps.serving.reloaded_files import ServedState
from podium.rule_history import RuleFolder


@dataclass(frozen=True, eq=False)
class EditingContext:
    """What editors work on: the folder of rules, recent requests, and who edits.

    `reload` reads changed files, so that a save is served at once.
    """

    folder: RuleFolder
    recent: RecentRequests
    reload: Callable[[], object]
    editor: Editor | None = None


@dataclass(frozen=True, eq=False)
class RequestContext:
    """The data that answers a request, all from the same moment."""

    state: ServedState
    metrics: ServingMetrics
    event_log: EventLog | None = None
    list_log: ListLog | None = None
    editing: EditingContext | None = None


@dataclass(frozen=True)
class Operation:
    """One path of the service.

    Parameters
    ----------
    path, summary, answer
        Its path, what it does, and the type of its answer.
    run
        Returns the answer to a decoded body (None if it takes no body).
    body
        The type of its body; with a body it is a POST.
    is_quick
        Whether a request is so quick that it needs no thread (`quick_requests`).
    waits_for_disk
        Whether it mostly waits for the disk; it then runs in threads that are kept for this.
    is_open
        Whether it needs no token.
    for_editors
        Whether it needs an editor.
    statuses
        Its statuses besides 200 and those of every path with a body.
    """

    path: str
    summary: str
    answer: Any
    run: Callable[[RequestContext, Any], Any]
    body: Any = None
    is_quick: Callable[[RequestContext, Any], bool] = lambda context, body: True
    waits_for_disk: bool = False
    is_open: bool = False
    for_editors: bool = False
    statuses: tuple[int, ...] = ()

    @property
    def method(self) -> str:
        """GET, or POST if it takes a body."""
        return "GET" if self.body is None else "POST"

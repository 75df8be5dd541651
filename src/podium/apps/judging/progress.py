"""Progress of all judging: by query and by assessor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from podium.labelling.store import SessionState, Store
from podium.labelling.tasks import Task


@dataclass(frozen=True)
class ProgressRow:
    """The total work on the tasks of a query, or of an assessor.

    Parameters
    ----------
    name, text
        The id of a query or of an assessor, and its text or name for people.
    tasks, finished
        How many there are, and how many are done.
    judged, remaining
        Judgments made, and expected to come.
    active_seconds
        Time spent.
    changed
        When the last event came: milliseconds since 1970, 0 for never.
    """

    name: str
    text: str
    tasks: int
    finished: int
    judged: int
    remaining: float
    active_seconds: float
    changed: int

    @property
    def share(self) -> float:
        """The finished share, from 0 to 1."""
        total = self.judged + self.remaining
        return self.judged / total if total else 1.0 if self.finished == self.tasks else 0.0


@dataclass(frozen=True)
class ProgressReport:
    """The progress in total, by query and by assessor; and all tasks by id."""

    total: ProgressRow
    queries: tuple[ProgressRow, ...]
    assessors: tuple[ProgressRow, ...]
    tasks: dict[str, Task]

    def query_text(self, query: str) -> str:
        """Return the text of a query, or its id if it has none."""
        return next((row.text for row in self.queries if row.name == query), query)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "total": _record(self.total),
            "queries": [_record(row) for row in self.queries],
            "assessors": [_record(row) for row in self.assessors],
        }


def progress_report(store: Store) -> ProgressReport:
    """Return the progress of all tasks of a store; queries and assessors without tasks are left out."""
    states = store.session_states()
    texts = store.query_texts()
    names = {m.id: f"{m.id} (machine)" if m.is_machine else m.name for m in store.members()}
    return ProgressReport(
        total=_row("", "", states),
        queries=_rows(states, lambda task: task.query, texts),
        assessors=_rows(states, lambda task: task.assessor, names),
        tasks={state.task.id: state.task for state in states},
    )


def _rows(
    states: Sequence[SessionState], group_of: Callable[[Task], str], texts: dict[str, str]
) -> tuple[ProgressRow, ...]:
    groups: dict[str, list[SessionState]] = {}
    for state in states:
        groups.setdefault(group_of(state.task), []).append(state)
    return tuple(_row(name, texts.get(name) or name, group) for name, group in groups.items())


def _row(name: str, text: str, group: Sequence[SessionState]) -> ProgressRow:
    return ProgressRow(
        name,
        text,
        tasks=len(group),
        finished=sum(state.finished for state in group),
        judged=sum(state.judged for state in group),
        remaining=round(sum(state.remaining for state in group), 1),
        active_seconds=sum(state.active_ms for state in group) / 1000,
        changed=max((state.changed for state in group), default=0),
    )


def _record(row: ProgressRow) -> dict[str, Any]:
    return asdict(row) | {"share": round(row.share, 4)}

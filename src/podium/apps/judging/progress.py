"""How far everybody is: by query and by assessor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from podium.labelling.store import SessionState, Store
from podium.labelling.tasks import Task


@dataclass(frozen=True)
class Line:
    """The work on some tasks together.

    Parameters
    ----------
    name, text
        The id of a query or of an assessor, and how people call it.
    tasks, finished
        How many there are, and how many are done.
    judged, remaining
        Judgments made, and expected to come.
    active_seconds
        Time spent.
    changed
        When something happened last: milliseconds since 1970, 0 for never.
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
        """The part that is done, from 0 to 1."""
        total = self.judged + self.remaining
        return self.judged / total if total else 1.0 if self.finished == self.tasks else 0.0


@dataclass(frozen=True)
class ProgressReport:
    """Where all work stands."""

    total: Line
    queries: tuple[Line, ...]
    assessors: tuple[Line, ...]
    tasks: dict[str, Task]

    def query_text(self, query: str) -> str:
        """How people call a query."""
        return next((line.text for line in self.queries if line.name == query), query)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "total": _told(self.total),
            "queries": [_told(line) for line in self.queries],
            "assessors": [_told(line) for line in self.assessors],
        }


def progress(store: Store) -> ProgressReport:
    """Where all work in a store stands; queries and assessors without tasks are left out."""
    states = store.session_states()
    texts = store.query_texts()
    names = {member.id: member.name for member in store.members()}
    return ProgressReport(
        total=_line("", "", states),
        queries=_lines(states, lambda task: task.query, texts),
        assessors=_lines(states, lambda task: task.assessor, names),
        tasks={state.task.id: state.task for state in states},
    )


def _lines(
    states: Sequence[SessionState], of: Callable[[Task], str], texts: dict[str, str]
) -> tuple[Line, ...]:
    groups: dict[str, list[SessionState]] = {}
    for state in states:
        groups.setdefault(of(state.task), []).append(state)
    return tuple(_line(name, texts.get(name) or name, group) for name, group in groups.items())


def _line(name: str, text: str, group: Sequence[SessionState]) -> Line:
    return Line(
        name,
        text,
        tasks=len(group),
        finished=sum(state.finished for state in group),
        judged=sum(state.judged for state in group),
        remaining=round(sum(state.remaining for state in group), 1),
        active_seconds=sum(state.active_ms for state in group) / 1000,
        changed=max((state.changed for state in group), default=0),
    )


def _told(line: Line) -> dict[str, Any]:
    return asdict(line) | {"share": round(line.share, 4)}

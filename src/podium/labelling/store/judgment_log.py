"""JudgmentLog: all judgments of a store in columns of numbers, for statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from podium.counted_nouns import count_text
from podium.labelling.tasks import Task

# Each number packs two columns of 32 bits: drivers create an object per number, which dominates the
# time of reading a million rows. The lower half is never negative where it counts.
_WORDS = (
    "(CAST(task AS BIGINT) << 32) | active_ms",
    "(CAST(second AS BIGINT) << 32) | first",
    "(CAST(answer AS BIGINT) << 32) | (flaws << 2) | (repeated << 1) | "
    "CASE kind WHEN 'undo' THEN 1 ELSE 0 END",
)
_FROM = "FROM events WHERE kind IN ('judgment', 'undo')"
_HALVES = ("active_ms", "task", "first", "second", "flags", "answer")


@dataclass(frozen=True, eq=False, repr=False)
class JudgmentLog:
    """Every judgment of a store, one element per column, in the order of tasks and of judging.

    Parameters
    ----------
    tasks
        All tasks, also those without judgments.
    task
        The task of each judgment: a place in `tasks`.
    first, second
        The documents, as places in the task's documents; second is -1 where a document is graded.
    answer
        Preferences: 1 the first is better, 0 a tie, -1 the second is better, 2 both are bad. Grades: the
        grade, 0 is the worst.
    active_ms
        Active milliseconds.
    flaws
        The number of flaws in the active time; 0 means that the time can be trusted.
    repeated
        Whether the question was asked again, to measure consistency.
    undone
        Whether an undo took the judgment back.
    withdrawn
        The ids of tasks that an admin took away from their assessors.
    machines
        The ids of assessors that are machines.
    at, guidelines
        When each judgment was made, in milliseconds since 1970, and the version of the guidelines at that
        time; empty unless the log was read with details.
    """

    tasks: tuple[Task, ...]
    task: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    answer: NDArray[np.int32]
    active_ms: NDArray[np.int32]
    flaws: NDArray[np.int32]
    repeated: NDArray[np.bool_]
    undone: NDArray[np.bool_]
    withdrawn: frozenset[str] = frozenset()
    machines: frozenset[str] = frozenset()
    at: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    guidelines: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.task)

    def __repr__(self) -> str:
        return f"JudgmentLog({count_text(len(self), 'judgment')} in {count_text(len(self.tasks), 'task')})"

    @property
    def standing(self) -> NDArray[np.bool_]:
        """Which judgments count: neither undone nor repeated."""
        return ~(self.undone | self.repeated)

    def details(self, row: int) -> tuple[int, int]:
        """Return when a judgment was made, and the version of the guidelines at that time."""
        return int(self.at[row]), int(self.guidelines[row])


def read_judgment_log(
    connection: sa.Connection,
    tasks: tuple[Task, ...],
    numbers: NDArray[np.int64],
    withdrawn: frozenset[str] = frozenset(),
    machines: frozenset[str] = frozenset(),
    details: bool = False,
) -> JudgmentLog:
    """Read all judgments; `numbers` are the numbers of the tasks in the database, ascending."""
    at, guidelines = _read_details(connection) if details else np.zeros((2, 0), dtype=np.int64)
    sqlite = connection.dialect.name == "sqlite"
    words = _read_sqlite(connection) if sqlite else _read_postgresql(connection)
    halves = words.astype("<i8", copy=False).view("<i4")
    column = {name: halves[:, i].astype(np.int32) for i, name in enumerate(_HALVES)}
    if sqlite:
        order = np.argsort(column["task"], kind="stable")
        column = {name: values[order] for name, values in column.items()}
    is_undo, repeated = column["flags"] & 1 == 1, column["flags"] & 2 == 2
    undone = _mark_undone(column["task"], column["answer"], is_undo, repeated)
    is_judgment = ~is_undo
    return JudgmentLog(
        tasks=tasks,
        task=np.searchsorted(numbers, column["task"][is_judgment]),
        first=column["first"][is_judgment],
        second=column["second"][is_judgment],
        answer=column["answer"][is_judgment],
        active_ms=column["active_ms"][is_judgment],
        flaws=column["flags"][is_judgment] >> 2,
        repeated=repeated[is_judgment],
        undone=undone[is_judgment],
        withdrawn=withdrawn,
        machines=machines,
        at=at,
        guidelines=guidelines,
    )


def _read_details(connection: sa.Connection) -> NDArray[np.int64]:
    """Return the times and versions of the guidelines of all judgments, in the order of the log."""
    select = "SELECT at, guidelines FROM events WHERE kind = 'judgment' ORDER BY task, place"
    rows = [tuple(row) for row in connection.execute(sa.text(select))]
    return np.array(rows, dtype=np.int64).reshape(-1, 2).T


def _read_sqlite(connection: sa.Connection) -> NDArray[np.int64]:
    """Read rows directly into an array, in the order of insertion.

    SQLite then reads the file in sequence; sorting by task is faster in NumPy.
    """
    cursor: Any = connection.connection.cursor()
    try:
        cursor.execute(f"SELECT {', '.join(_WORDS)} {_FROM} ORDER BY rowid")
        return np.fromiter(chain.from_iterable(cursor), dtype=np.int64).reshape(-1, 3)
    finally:
        cursor.close()


def _read_postgresql(connection: sa.Connection) -> NDArray[np.int64]:
    """Read the bytes of all numbers of a session as one value, which the server joins."""
    words = " || ".join(f"int8send({word})" for word in _WORDS)
    cursor: Any = connection.connection.cursor(binary=True)
    try:
        cursor.execute(
            f"SELECT string_agg({words}, ''::bytea ORDER BY place) {_FROM} GROUP BY task ORDER BY task"
        )
        text = b"".join(row[0] for row in cursor)
    finally:
        cursor.close()
    return np.frombuffer(text, dtype=">i8").astype(np.int64).reshape(-1, 3)


def _mark_undone(
    task: NDArray[np.int32],
    steps: NDArray[np.int32],
    is_undo: NDArray[np.bool_],
    repeated: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which judgments an undo took back: the last ones of its session that counted.

    An undo that names a judgment (`repeated`) takes back the last one; any other undo skips repeats.
    """
    undone = np.zeros(len(task), dtype=np.bool_)
    affected = np.unique(task[is_undo])
    begins, ends = (np.searchsorted(task, affected, side=side) for side in ("left", "right"))
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        standing: list[int] = []
        repeats: list[int] = []
        last = begin
        # Judgments between two undos all count, so the loop is over undos only.
        for row in (begin + np.flatnonzero(is_undo[begin:end])).tolist():
            standing += (last + np.flatnonzero(~repeated[last:row])).tolist()
            repeats += (last + np.flatnonzero(repeated[last:row])).tolist()
            undoes_repeat = repeated[row] and repeats and repeats[-1:] > standing[-1:]
            rows, n = (repeats, 1) if undoes_repeat else (standing, steps[row])
            undone[rows[-n:]] = True
            del rows[-n:]
            last = row + 1
    return undone

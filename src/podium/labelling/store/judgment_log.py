"""All judgments of a store at once, in columns: what statistics read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from podium.labelling.tasks import Task

# Two columns a number, as halves of 32 bits: drivers make an object of each number, and that is what
# reading a million rows costs. The lower half is never negative where it counts.
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
    """Every judgment of a store, one an element of each column, in the order of tasks and of judging.

    Parameters
    ----------
    tasks
        All tasks; a session without judgments is among them.
    task
        Which of the tasks.
    first, second
        The documents, as places in the task's documents; second is -1 where a document is graded.
    answer
        Of a preference: 1 the first is better, 0 a tie, -1 the second is better, 2 both are bad; else
        the grade from 0, the worst.
    active_ms
        Active milliseconds.
    flaws
        How often the clock's segments had to be cleaned: 0 is a time to trust.
    repeated
        Whether it was asked again to see how consistent the assessor is.
    undone
        Whether it was taken back later.
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

    def __len__(self) -> int:
        return len(self.task)

    def __repr__(self) -> str:
        return f"JudgmentLog({len(self):,} judgments in {len(self.tasks):,} tasks)"

    @property
    def standing(self) -> NDArray[np.bool_]:
        """The judgments that count: neither taken back nor repeats of others."""
        return ~(self.undone | self.repeated)


def judgment_log(
    connection: sa.Connection, tasks: tuple[Task, ...], numbers: NDArray[np.int64]
) -> JudgmentLog:
    """Read all judgments; `numbers` are those of the tasks, ascending."""
    sqlite = connection.dialect.name == "sqlite"
    words = _read_sqlite(connection) if sqlite else _read_postgresql(connection)
    halves = words.astype("<i8", copy=False).view("<i4")
    column = {name: halves[:, i].astype(np.int32) for i, name in enumerate(_HALVES)}
    if sqlite:
        order = np.argsort(column["task"], kind="stable")
        column = {name: values[order] for name, values in column.items()}
    is_undo, repeated = column["flags"] & 1 == 1, column["flags"] & 2 == 2
    undone = _undone(column["task"], column["answer"], is_undo, repeated)
    kept = ~is_undo
    return JudgmentLog(
        tasks=tasks,
        task=np.searchsorted(numbers, column["task"][kept]),
        first=column["first"][kept],
        second=column["second"][kept],
        answer=column["answer"][kept],
        active_ms=column["active_ms"][kept],
        flaws=column["flags"][kept] >> 2,
        repeated=repeated[kept],
        undone=undone[kept],
    )


def _read_sqlite(connection: sa.Connection) -> NDArray[np.int64]:
    """Rows of the driver straight into an array, in the order in which they came.

    SQLite reads them so without jumping about; sorting by task is faster here.
    """
    cursor: Any = connection.connection.cursor()
    try:
        cursor.execute(f"SELECT {', '.join(_WORDS)} {_FROM} ORDER BY rowid")
        return np.fromiter(chain.from_iterable(cursor), dtype=np.int64).reshape(-1, 3)
    finally:
        cursor.close()


def _read_postgresql(connection: sa.Connection) -> NDArray[np.int64]:
    """The bytes of all numbers of a session as one value, put together by the server."""
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


def _undone(
    task: NDArray[np.int32],
    steps: NDArray[np.int32],
    is_undo: NDArray[np.bool_],
    repeated: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which judgments an undo took back: the last ones of its session that still stood.

    One that names a judgment (`repeated`) takes back the last of all, any other passes repeats over.
    """
    undone = np.zeros(len(task), dtype=np.bool_)
    affected = np.unique(task[is_undo])
    begins, ends = (np.searchsorted(task, affected, side=side) for side in ("left", "right"))
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        standing: list[int] = []
        repeats: list[int] = []
        last = begin
        # Between two undos all that is judged stands: only undos are a matter of a loop.
        for row in (begin + np.flatnonzero(is_undo[begin:end])).tolist():
            standing += (last + np.flatnonzero(~repeated[last:row])).tolist()
            repeats += (last + np.flatnonzero(repeated[last:row])).tolist()
            named = repeated[row] and repeats and repeats[-1:] > standing[-1:]
            rows, n = (repeats, 1) if named else (standing, steps[row])
            undone[rows[-n:]] = True
            del rows[-n:]
            last = row + 1
    return undone

"""Judgment times (Table 1): the cost of judging, by method and by assessor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.labelling.judging_statistics.agreement import none_if_nan
from podium.labelling.tasks import TOOLS, PreferenceTask, Task

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog

COMPLEXITY = {
    "heap": "n log k", "tournament": "n + k log n", "sort": "n log n", "bayesian": "n + k log n",
    "grade": "n",
}  # fmt: skip
"""The order of the number of judgments per query, by strategy, and of the grade tool."""

TIME_BINS = np.geomspace(0.25, 1024.0, 49)
"""Edges of the histogram of seconds per judgment; the first and last bin count what is outside."""


@dataclass(frozen=True)
class JudgmentTimes:
    """The times of the judgments of a method or of an assessor.

    Parameters
    ----------
    name, tool
        The strategy, ``"grade"``, or the assessor; and the tool.
    complexity
        The order of the number of judgments of a method.
    sessions, finished
        All sessions, and the finished ones.
    judgments
        Judgments that count.
    undone, repeated
        Judgments that were taken back, and repeated questions.
    seconds, median, quartiles
        Active time of a judgment that counts: mean, median, and the quartiles.
    minutes_per_query
        Active time of a finished query, including undone judgments, without repeats.
    judgments_per_query
        Judgments of a finished query.
    untimed, flawed
        Judgments without any active time, which are left out of the times; and judgments with flaws in
        their active time, which are not.
    histogram
        Judgments in the bins of TIME_BINS.
    """

    name: str
    tool: str
    complexity: str
    sessions: int
    finished: int
    judgments: int
    undone: int
    repeated: int
    seconds: float
    median: float
    quartiles: tuple[float, float]
    minutes_per_query: float
    judgments_per_query: float
    untimed: int
    flawed: int
    histogram: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON, with None for what is not defined."""
        record = {
            key: none_if_nan(value) if isinstance(value, float) else value
            for key, value in asdict(self).items()
        }
        return record | {"quartiles": [none_if_nan(value) for value in self.quartiles]}


def method_of(task: Task) -> str:
    """Return the strategy of a preference task, or "grade"."""
    return task.strategy if isinstance(task, PreferenceTask) else task.tool


def times_by_method(log: JudgmentLog, finished: Sequence[bool]) -> tuple[JudgmentTimes, ...]:
    """Return Table 1: one row per strategy, and one for grades.

    Parameters
    ----------
    log
        All judgments.
    finished
        Whether each of the log's tasks is finished.
    """
    keys = [(TOOLS.index(task.tool), method_of(task)) for task in log.tasks]
    return _times(
        log, finished, keys, lambda key: (key[1], TOOLS[key[0]], COMPLEXITY.get(key[1], ""))
    )


def times_by_assessor(log: JudgmentLog, finished: Sequence[bool]) -> tuple[JudgmentTimes, ...]:
    """Return one row per assessor and tool."""
    keys = [(task.assessor, TOOLS.index(task.tool)) for task in log.tasks]
    return _times(log, finished, keys, lambda key: (key[0], TOOLS[key[1]], ""))


def _times(
    log: JudgmentLog,
    finished: Sequence[bool],
    keys: Sequence[Any],
    describe: Callable[[Any], tuple[str, str, str]],
) -> tuple[JudgmentTimes, ...]:
    """Return one row per key, in order; `describe` returns name, tool and complexity of a key."""
    groups = {key: i for i, key in enumerate(sorted(set(keys)))}
    group_of_task = np.array([groups[key] for key in keys], dtype=np.int64)
    is_finished = np.asarray(finished, dtype=np.bool_)
    standing = log.standing
    per_task = np.bincount(log.task[standing], minlength=len(keys))
    spent = np.bincount(log.task, np.where(log.repeated, 0, log.active_ms), len(keys))
    group_of_row = group_of_task[log.task]
    rows = np.argsort(group_of_row, kind="stable")
    ends = np.searchsorted(group_of_row[rows], np.arange(len(groups) + 1))
    table = []
    for key, i in groups.items():
        own_rows, tasks = rows[ends[i] : ends[i + 1]], group_of_task == i
        counted, finished_tasks = own_rows[standing[own_rows]], tasks & is_finished
        table.append(
            JudgmentTimes(
                *describe(key),
                sessions=int(tasks.sum()),
                finished=int(finished_tasks.sum()),
                judgments=len(counted),
                undone=int(log.undone[own_rows].sum()),
                repeated=int(log.repeated[own_rows].sum()),
                **_time_columns(log.active_ms[counted]),
                minutes_per_query=_mean(spent[finished_tasks]) / 60_000,
                judgments_per_query=_mean(per_task[finished_tasks]),
                flawed=int((log.flaws[counted] > 0).sum()),
            )
        )
    return tuple(table)


def _time_columns(active_ms: NDArray[np.int32]) -> dict[str, Any]:
    timed = active_ms[active_ms > 0] / 1000
    nothing = float("nan")
    low, middle, high = (
        np.quantile(timed, [0.25, 0.5, 0.75]).tolist() if len(timed) else [nothing] * 3
    )
    bin_counts = np.histogram(np.clip(timed, TIME_BINS[0], TIME_BINS[-1]), TIME_BINS)[0]
    return {
        "seconds": _mean(timed),
        "median": middle,
        "quartiles": (low, high),
        "untimed": len(active_ms) - len(timed),
        "histogram": tuple(bin_counts.tolist()),
    }


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")

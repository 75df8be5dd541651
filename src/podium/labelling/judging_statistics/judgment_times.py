"""Judgment times: what judging costs (Table 1), by method and by assessor."""

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

COMPLEXITY = {"heap": "n log k", "tournament": "n + k log n", "sort": "n log n", "grade": "n"}
"""Judgments for a query, in O(), by strategy, and of the grade tool."""

TIME_BINS = np.geomspace(0.25, 1024.0, 49)
"""Edges of the histogram of seconds a judgment; what is outside counts in the first or last bin."""


@dataclass(frozen=True)
class JudgmentTimes:
    """What the judgments of a method, or of an assessor, took.

    Parameters
    ----------
    name, tool
        The strategy, ``"grade"``, or the assessor; and the tool.
    complexity
        In O(), of a method.
    sessions, finished
        Queries judged by an assessor: those begun or waiting, and those of them that are finished.
    judgments
        That stand.
    undone, repeated
        Judgments that were taken back, and questions asked again.
    seconds, median, quartiles
        Active time of a judgment that stands: mean, median, and where the middle half lies.
    minutes_per_query
        Active time of a finished query, undone judgments included, repeats not.
    judgments_per_query
        Of a finished query.
    untimed, flawed
        Judgments without any active time, which count in no time of a judgment; and those whose
        segments had to be cleaned, which do count.
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
        """As JSON can hold it; None for what is not defined."""
        record = {
            key: none_if_nan(value) if isinstance(value, float) else value
            for key, value in asdict(self).items()
        }
        return record | {"quartiles": [none_if_nan(value) for value in self.quartiles]}


def method_of(task: Task) -> str:
    """The strategy of a preference task, or "grade"."""
    return task.strategy if isinstance(task, PreferenceTask) else task.tool


def times_by_method(log: JudgmentLog, finished: Sequence[bool]) -> tuple[JudgmentTimes, ...]:
    """Table 1: a row for each strategy in use, and one for grades.

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
    """A row for each assessor and tool."""
    keys = [(task.assessor, TOOLS.index(task.tool)) for task in log.tasks]
    return _times(log, finished, keys, lambda key: (key[0], TOOLS[key[1]], ""))


def _times(
    log: JudgmentLog,
    finished: Sequence[bool],
    keys: Sequence[Any],
    describe: Callable[[Any], tuple[str, str, str]],
) -> tuple[JudgmentTimes, ...]:
    """A row for each key, in order; `told` makes name, tool and complexity of it."""
    groups = {key: i for i, key in enumerate(sorted(set(keys)))}
    of_task = np.array([groups[key] for key in keys], dtype=np.int64)
    done = np.asarray(finished, dtype=np.bool_)
    standing = log.standing
    per_task = np.bincount(log.task[standing], minlength=len(keys))
    spent = np.bincount(log.task, np.where(log.repeated, 0, log.active_ms), len(keys))
    of_row = of_task[log.task]
    rows = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[rows], np.arange(len(groups) + 1))
    table = []
    for key, i in groups.items():
        mine, tasks = rows[ends[i] : ends[i + 1]], of_task == i
        stands, ready = mine[standing[mine]], tasks & done
        table.append(
            JudgmentTimes(
                *describe(key),
                sessions=int(tasks.sum()),
                finished=int(ready.sum()),
                judgments=len(stands),
                undone=int(log.undone[mine].sum()),
                repeated=int(log.repeated[mine].sum()),
                **_seconds(log.active_ms[stands]),
                minutes_per_query=_mean(spent[ready]) / 60_000,
                judgments_per_query=_mean(per_task[ready]),
                flawed=int((log.flaws[stands] > 0).sum()),
            )
        )
    return tuple(table)


def _seconds(active_ms: NDArray[np.int32]) -> dict[str, Any]:
    timed = active_ms[active_ms > 0] / 1000
    nothing = float("nan")
    low, middle, high = (
        np.quantile(timed, [0.25, 0.5, 0.75]).tolist() if len(timed) else [nothing] * 3
    )
    counted = np.histogram(np.clip(timed, TIME_BINS[0], TIME_BINS[-1]), TIME_BINS)[0]
    return {
        "seconds": _mean(timed),
        "median": middle,
        "quartiles": (low, high),
        "untimed": len(active_ms) - len(timed),
        "histogram": tuple(counted.tolist()),
    }


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")

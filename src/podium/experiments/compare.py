"""Compare rankers over folds: validation queries choose settings, test queries give the numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import delayed

from podium import kernels
from podium.data import Fold, check_seed
from podium.data.judged_by import has_machine_labels, join_judges
from podium.errors import (
    DataError,
    MachineJudgedWarning,
    RankerFailedWarning,
    UnknownNameError,
    UsageError,
)
from podium.experiments import report_tables
from podium.experiments.checkpoints import CheckpointStore, fingerprint
from podium.experiments.compared_metrics import DEFAULT_METRICS, curve_metric, read_metrics
from podium.experiments.comparison_result import DataFacts
from podium.experiments.contestants import Contestant, open_rows, read_contestants
from podium.experiments.fingerprint_inputs import data_inputs
from podium.experiments.fold_results import FoldResult, Seconds, TimedFoldResult, run_fold
from podium.experiments.folds import make_folds
from podium.experiments.hard_queries import find_hard_queries
from podium.experiments.parallel_tasks import KILLED_MESSAGE, run_tasks
from podium.experiments.report import Report
from podium.experiments.summary import FoldFacts, summarise
from podium.experiments.text_escapes import escape_text
from podium.metrics import Metric, mean_over_queries
from podium.metrics.multiple_testing import CORRECTIONS
from podium.rankers.shared_preparations import shared_features
from podium.rankers.tuning import Grid
from podium.typing import Path_

State = Literal["kept", "running", "done", "failed"]
CELLS_FOLDER = "cells"
"""The folder of finished cells within `out`."""


@dataclass(frozen=True)
class ComparisonProgress:
    """The state of a cell (one ranker on one fold); "kept" means that an earlier run finished it."""

    ranker: str
    fold: int
    state: State
    done: int
    total: int
    value: float | None = None
    """The mean of the first metric on the test queries, if the cell is done."""


def compare(
    data: Any,
    rankers: Any,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    *,
    folds: int = 5,
    seed: int = 0,
    tune: bool | Mapping[str, Grid] = True,
    baseline: str | None = None,
    correction: str = "holm",
    n_jobs: int = 1,
    out: Path_ | None = None,
    progress: Callable[[ComparisonProgress], object] | None = None,
    name: str | None = None,
    failures: Literal["raise", "report"] = "raise",
) -> Report:
    """Train rankers on the folds of a data set and compare them on the test queries.

    In each fold, the first metric on the validation queries chooses settings; test queries never
    choose anything. If a ranker fails in a fold, the others continue; the report and a warning say so.
    A `MachineJudgedWarning` says that machines judged test queries.

    Parameters
    ----------
    data
        RankingData or a Collection, whose queries are cut into folds and rotated as LETOR does (rows
        stay on disk if all rankers read them there); a LETOR folder (S1.txt to S5.txt, or Fold1 to
        Fold5 with train.txt, vali.txt and test.txt, compressed or not) or a file; or folds, each
        `podium.data.Fold(train, valid, test)`.
    rankers
        Names of ``podium.RANKERS``, rankers, or a mapping from labels to either.
    metrics
        The metrics to measure; the first one chooses settings. Metrics are means over the orders of
        equal scores, unless a name has ``ties=``; see `Report.measured`.
    folds
        The number of parts into which RankingData is cut.
    seed
        The seed of the folds, of rankers that are passed by name, and of the tests.
    tune
        Whether settings are chosen from the grid of each ranker's paper; or grids by label. A
        ranker object keeps settings that differ from the defaults.
    baseline
        The label of the ranker with which the others are compared; None: the first one.
    correction
        How p-values are corrected for the number of rankers: "holm", "bonferroni", "bh" or "none".
    n_jobs
        The number of cells (a ranker on a fold) that joblib runs at a time; the result is the same.
    out
        A folder where every finished cell is kept, so that a killed run can continue. Cells of
        other data, settings or versions are run again.
    progress
        Called with a `ComparisonProgress` when a cell begins and when it is done.
    name
        The name of the data in the report.
    failures
        "raise": a `RankerFailedWarning` for each ranker that fails, and an error if all fail in all folds.
        "report": failures stand only in the report.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=60, n_docs=10, n_features=5, seed=0)
    >>> report = compare(data, ["regression", "ranksvm"], ["NDCG@5", "MAP"], folds=3, tune=False)
    >>> round(report.standing("ranksvm").mean, 2), report.standing("ranksvm", "MAP").difference.wins
    (0.95, 6)
    """
    check_seed(seed)
    contestants = read_contestants(rankers, tune=tune, seed=seed)
    labels = tuple(contestant.label for contestant in contestants)
    measures = read_metrics(metrics)
    baseline = labels[0] if baseline is None else baseline
    _check_options(labels, baseline, n_jobs, correction)
    parts = make_folds(open_rows(data, contestants), folds, seed)
    curve_name, curve = curve_metric(measures, topk=parts[0].test.topk is not None)
    run = _ComparisonRun(
        contestants, parts, measures, curve, None if out is None else Path(out), progress
    )
    timed = run.run_cells(n_jobs)
    cells = tuple(result.cell for result in timed)
    fold_facts, metric_names = _fold_facts(parts), tuple(measures)
    report = Report(
        data=DataFacts.of(parts, escape_text(_data_name(data) if name is None else name)),
        metrics=metric_names,
        measured={name: str(metric) for name, metric in measures.items()},
        curve=curve_name,
        rankers=labels,
        baseline=baseline,
        correction=correction,
        seed=seed,
        tuned=any(contestant.has_choices for contestant in contestants),
        version=version("podium-ltr"),
        folds=fold_facts,
        cells=tuple(replace(cell, heads=()) for cell in cells),
        standings=summarise(cells, fold_facts, labels, metric_names, baseline, correction, seed),
        hardest=find_hard_queries(cells, parts, metric_names[0]),
        times=tuple(result.seconds for result in timed),
        judged_by=join_judges(part.test.judged_by for part in parts),
    )
    if failures == "raise":
        _tell_failures(report)
    if has_machine_labels(report.judged_by):
        warnings.warn(report_tables.machine_note(report), MachineJudgedWarning, stacklevel=2)
    return report


def _tell_failures(report: Report) -> None:
    """Warn of each ranker that failed; raise if all did in all folds."""
    lines = report_tables.failures(report)
    if lines and len(report.failed) == len(report.cells):
        raise DataError(f"every ranker failed in every fold: {'; '.join(lines)}")
    for line in lines:
        warnings.warn(f"{line}; its values are missing", RankerFailedWarning, stacklevel=3)


def _check_options(labels: Sequence[str], baseline: str, n_jobs: int, correction: str) -> None:
    if baseline not in labels:
        raise UnknownNameError("baseline among the rankers", baseline, labels)
    if not isinstance(n_jobs, int) or n_jobs == 0:
        raise UsageError(f"expected n_jobs of 1 or more, or -1 for all cores, got {n_jobs!r}")
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, CORRECTIONS)


class _ComparedCell(NamedTuple):
    """A ranker on a fold, by the number of the fold."""

    contestant: Contestant
    number: int

    @property
    def key(self) -> str:
        return f"{self.contestant.label}.fold{self.number}"


@dataclass(frozen=True, eq=False)
class _ComparisonRun:
    """All cells of a comparison: cells of an earlier run are loaded, the others are run."""

    contestants: tuple[Contestant, ...]
    folds: list[Fold]
    measures: dict[str, Metric]
    curve: Metric
    out: Path | None
    progress: Callable[[ComparisonProgress], object] | None

    def run_cells(self, n_jobs: int) -> list[TimedFoldResult]:
        """Return the results ranker by ranker and fold by fold, whatever the order in which they ran."""
        numbers = range(1, len(self.folds) + 1)
        # Run fold by fold, so that every ranker has a result early.
        cells = [
            _ComparedCell(contestant, number)
            for number in numbers
            for contestant in self.contestants
        ]
        by_key = {cell.key: cell for cell in cells}
        folder = None if self.out is None else self.out / CELLS_FOLDER
        store: CheckpointStore[TimedFoldResult] = CheckpointStore(folder, TimedFoldResult)
        prints = {key: self._fingerprint(cell) for key, cell in by_key.items()} if self.out else {}
        results = self._load(store, prints, len(cells))
        with shared_features():
            for key, timed in self._run(by_key, results, n_jobs):
                results[key] = timed
                if timed.cell.error is None:  # the next run tries a failed cell again
                    store.save(key, prints.get(key, ""), timed)
                state: State = "done" if timed.cell.error is None else "failed"
                self._report(timed.cell, state, len(results), len(cells))
        return [
            results[_ComparedCell(contestant, number).key]
            for contestant in self.contestants
            for number in numbers
        ]

    def _load(
        self, store: CheckpointStore[TimedFoldResult], prints: Mapping[str, str], total: int
    ) -> dict[str, TimedFoldResult]:
        """Return the results of an earlier run."""
        results: dict[str, TimedFoldResult] = {}
        for key in prints:
            timed = store.load(key, prints[key])
            if timed is not None:
                results[key] = timed
                self._report(timed.cell, "kept", len(results), total)
        return results

    def _run(
        self,
        cells: Mapping[str, _ComparedCell],
        results: Mapping[str, TimedFoldResult],
        n_jobs: int,
    ) -> Iterator[tuple[str, TimedFoldResult]]:
        """Yield the results of the unfinished cells as soon as they finish."""

        def on_start(key: str) -> None:
            cell = FoldResult(cells[key].contestant.label, cells[key].number)
            self._report(cell, "running", len(results), len(cells))

        def on_killed(key: str) -> TimedFoldResult:
            label, number = cells[key].contestant.label, cells[key].number
            cell = FoldResult(label, number, error=KILLED_MESSAGE)
            return TimedFoldResult(cell, Seconds(label, number, 0.0, 0.0))

        tasks = {
            key: delayed(run_fold)(
                contestant, self.folds[number - 1], number, self.measures, self.curve
            )
            for key, (contestant, number) in cells.items()
            if key not in results
        }
        yield from run_tasks(tasks, n_jobs, on_start, on_killed)

    def _fingerprint(self, cell: _ComparedCell) -> str:
        """Return the fingerprint of all inputs of a cell: data, settings, metrics and version."""
        contestant, number = cell
        fold = self.folds[number - 1]
        return fingerprint(
            {
                "version": version("podium-ltr"),
                "kernels": kernels.BACKEND,
                "data": [data_inputs(part) for part in fold],
                "ranker": [contestant.label, contestant.fingerprint_inputs()],
                "fold": number,
                "metrics": [[name, str(metric)] for name, metric in self.measures.items()],
                "curve": str(self.curve),
            }
        )

    def _report(self, cell: FoldResult, state: State, done: int, total: int) -> None:
        if self.progress is not None:
            values = cell.values.get(next(iter(self.measures)), ())
            weight = self.folds[cell.fold - 1].test.query_weight if values else None
            mean = mean_over_queries(np.array(values, dtype=np.float64), weight)
            value = None if np.isnan(mean) else mean
            self.progress(ComparisonProgress(cell.ranker, cell.fold, state, done, total, value))


def _fold_facts(folds: Sequence[Fold]) -> tuple[FoldFacts, ...]:
    return tuple(
        FoldFacts(
            number, fold.train.n_queries, fold.valid.n_queries, tuple(map(escape_text, fold.test.qids)),
            None if fold.test.query_weight is None else tuple(fold.test.query_weight.tolist()),
        )
        for number, fold in enumerate(folds, start=1)
    )  # fmt: skip


def _data_name(data: Any) -> str:
    return Path(data).resolve().name if isinstance(data, str | Path) else ""

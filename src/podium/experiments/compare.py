"""Rankers compared over folds: settings chosen on validation queries, numbers from test queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from joblib import delayed

from podium import kernels
from podium.data import Fold, check_seed
from podium.data.files import Path_
from podium.errors import UnknownNameError, UsageError
from podium.experiments.checkpoints import (
    DIED,
    CheckpointStore,
    fingerprint,
    readable,
    side_by_side,
)
from podium.experiments.contestants import Contestant, Grid, as_contestants
from podium.experiments.fold_results import FoldResult, Seconds, TimedFoldResult, run_fold
from podium.experiments.folds import as_folds
from podium.experiments.hardest import hardest
from podium.experiments.identity import data_told
from podium.experiments.measures import DEFAULT_METRICS, as_curve, as_measures
from podium.experiments.report import DataFacts, Report
from podium.experiments.summary import FoldFacts, summarise
from podium.metrics import Metric, mean_over_queries
from podium.metrics.significance import CORRECTIONS

State = Literal["kept", "running", "done", "failed"]
CELLS = "cells"
"""The folder of finished cells within `out`."""


@dataclass(frozen=True)
class ComparisonProgress:
    """A cell is being run, is done, has failed, or was found done from an earlier run ("kept")."""

    ranker: str
    fold: int
    state: State
    done: int
    total: int
    value: float | None = None
    """The mean of the first metric on the test queries of a cell that is done."""


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
) -> Report:
    """Train rankers on the folds of a data set and compare them on the test queries.

    In each fold settings are chosen by the first metric on the validation queries; the test queries
    are not passed to anything that chooses. A ranker that fails in a fold is reported there and does
    not stop the others.

    Parameters
    ----------
    data
        RankingData, whose queries are cut into folds and rotated as LETOR does; a LETOR folder (S1.txt
        to S5.txt, or Fold1 to Fold5 with train.txt, vali.txt and test.txt, compressed or not) or a file;
        or folds, each `podium.data.Fold(train, valid, test)`.
    rankers
        Names of ``podium.RANKERS``, rankers, or a mapping from labels to either.
    metrics
        What is measured; the first one chooses settings. Equal scores count in the mean over their
        orders, unless a name says ``ties=``; see `Report.measured`.
    folds
        Into how many parts RankingData is cut.
    seed
        Of the folds, of rankers given by name, and of the tests.
    tune
        Whether settings are chosen from each ranker's own grid, its paper's; or grids by label. Of a
        ranker given as it is, settings other than the defaults are kept.
    baseline
        The label of the ranker the others are tested against; the first one unless given.
    correction
        Of p-values, for the number of rankers: "holm", "bonferroni", "bh" or "none".
    n_jobs
        Cells (a ranker on a fold) that joblib runs at a time, by any of its backends; the result is
        the same.
    out
        A folder where every finished cell is kept: a run that was killed goes on from there. Cells of
        other data, settings or versions are run anew.
    progress
        Called with a `ComparisonProgress` when a cell begins and when it is done.
    name
        What the report calls the data.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=60, n_docs=10, n_features=5, seed=0)
    >>> report = compare(data, ["regression", "ranksvm"], ["NDCG@5", "MAP"], folds=3, tune=False)
    >>> round(report.standing("ranksvm").mean, 2), report.standing("ranksvm", "MAP").difference.wins
    (0.95, 6)
    """
    check_seed(seed)
    contestants = as_contestants(rankers, tune=tune, seed=seed)
    labels = tuple(contestant.label for contestant in contestants)
    measures = as_measures(metrics)
    reference = labels[0] if baseline is None else baseline
    if reference not in labels:
        raise UnknownNameError("baseline among the rankers", reference, labels)
    if not isinstance(n_jobs, int) or n_jobs == 0:
        raise UsageError(f"expected n_jobs of 1 or more, or -1 for all cores, got {n_jobs!r}")
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, CORRECTIONS)
    parts = as_folds(data, folds, seed)
    curve_name, curve = as_curve(measures, topk=parts[0].test.topk is not None)
    run = _Run(contestants, parts, measures, curve, None if out is None else Path(out), progress)
    timed = run.cells(n_jobs)
    cells = tuple(one.cell for one in timed)
    fold_facts, names = _parts(parts), tuple(measures)
    return Report(
        data=DataFacts.of(parts, readable(_name(data) if name is None else name)),
        metrics=names,
        measured={name: str(metric) for name, metric in measures.items()},
        curve=curve_name,
        rankers=labels,
        baseline=reference,
        correction=correction,
        seed=seed,
        tuned=any(contestant.chosen for contestant in contestants),
        version=version("podium-ltr"),
        folds=fold_facts,
        cells=tuple(replace(cell, heads=()) for cell in cells),
        standings=summarise(cells, fold_facts, labels, names, reference, correction, seed),
        hardest=hardest(cells, parts, names[0]),
        times=tuple(one.seconds for one in timed),
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """All cells of a comparison: those that are kept are read, the others are run."""

    contestants: tuple[Contestant, ...]
    folds: list[Fold]
    measures: dict[str, Metric]
    curve: Metric
    out: Path | None
    progress: Callable[[ComparisonProgress], object] | None

    def cells(self, n_jobs: int) -> list[TimedFoldResult]:
        """Ranker by ranker, fold by fold, however they were run."""
        work = {
            _key(contestant, number): (contestant, number) for contestant, number in self._work()
        }
        store: CheckpointStore[TimedFoldResult] = CheckpointStore(
            None if self.out is None else self.out / CELLS, TimedFoldResult
        )
        prints = {key: self._fingerprint(*one) for key, one in work.items()} if self.out else {}
        results: dict[str, TimedFoldResult] = {}
        for key in prints:
            piece = store.load(key, prints[key])
            if piece is not None:
                results[key] = piece
                self._tell(piece.cell, "kept", len(results), len(work))
        left = {
            key: delayed(run_fold)(
                contestant, self.folds[number - 1], number, self.measures, self.curve
            )
            for key, (contestant, number) in work.items()
            if key not in results
        }

        def starting(key: str) -> None:
            contestant, number = work[key]
            self._tell(FoldResult(contestant.label, number), "running", len(results), len(work))

        def died(key: str) -> TimedFoldResult:
            contestant, number = work[key]
            return TimedFoldResult(
                FoldResult(contestant.label, number, error=DIED),
                Seconds(contestant.label, number, 0.0, 0.0),
            )

        for key, timed in side_by_side(left, n_jobs, starting, died):
            results[key] = timed
            if timed.cell.error is None:  # what failed is tried again by the next run
                store.save(key, prints.get(key, ""), timed)
            state: State = "done" if timed.cell.error is None else "failed"
            self._tell(timed.cell, state, len(results), len(work))
        return [
            results[_key(contestant, n + 1)]
            for contestant in self.contestants
            for n in range(len(self.folds))
        ]

    def _work(self) -> Iterator[tuple[Contestant, int]]:
        """Fold by fold: early on there is something of every ranker."""
        for number in range(1, len(self.folds) + 1):
            for contestant in self.contestants:
                yield contestant, number

    def _fingerprint(self, contestant: Contestant, number: int) -> str:
        """Of data, settings, metrics and version: what a cell depends on."""
        fold = self.folds[number - 1]
        return fingerprint(
            {
                "version": version("podium-ltr"),
                "kernels": kernels.BACKEND,
                "data": [data_told(part) for part in fold],
                "ranker": [contestant.label, contestant.told()],
                "fold": number,
                "metrics": [[name, str(metric)] for name, metric in self.measures.items()],
                "curve": str(self.curve),
            }
        )

    def _tell(self, cell: FoldResult, state: State, done: int, total: int) -> None:
        if self.progress is not None:
            values = cell.values.get(next(iter(self.measures)), ())
            weight = self.folds[cell.fold - 1].test.query_weight if values else None
            mean = mean_over_queries(np.array(values, dtype=np.float64), weight)
            value = None if np.isnan(mean) else mean
            self.progress(ComparisonProgress(cell.ranker, cell.fold, state, done, total, value))


def _key(contestant: Contestant, number: int) -> str:
    return f"{contestant.label}.fold{number}"


def _parts(folds: Sequence[Fold]) -> tuple[FoldFacts, ...]:
    return tuple(
        FoldFacts(
            number, fold.train.n_queries, fold.valid.n_queries, tuple(map(readable, fold.test.qids)),
            None if fold.test.query_weight is None else tuple(fold.test.query_weight.tolist()),
        )
        for number, fold in enumerate(folds, start=1)
    )  # fmt: skip


def _name(data: Any) -> str:
    return Path(data).resolve().name if isinstance(data, str | Path) else ""

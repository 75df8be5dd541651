"""Experiments of the TopRank paper, Figures 2 to 4: which rankers are trained, and how they are chosen.

Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joblib import delayed

from podium.data import Fold, Path_, check_seed
from podium.errors import UnknownNameError, UsageError
from podium.experiments import (
    CheckpointStore,
    ProgressCallback,
    cache_key,
    data_fingerprint,
    run_or_load,
    shorten_fold,
)
from podium_papers.comparisons import RankerScores
from podium_papers.toprank.claims import (
    MODES,
    NAMES,
    WEAK_BASES,
    Mode,
    TopRankReproduction,
)
from podium_papers.toprank.rankers import (
    REPORTED_MEASURES,
    FoldResults,
    TopRankCheckpoint,
    run_fold_checkpoint,
    run_weak_bases,
)

QUICK_QUERIES = 20


def reproduce(
    data: Mapping[str, Sequence[Fold]],
    *,
    modes: Sequence[Mode] = MODES,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
    seed: int = 0,
) -> TopRankReproduction:
    """Train and test the paper's seven rankers on the folds of LETOR.

    Every choice is made on a fold's validation queries: by P@10 for precision, by NDCG@10 for NDCG and
    MAP. The mode ``"paper"`` has TopSlack with the paper's search and TopMargin, both for the first 10
    places with C from 1e-5 to 1e5, and ``TopRank(mode="paper")``. The mode ``"best"`` has the same rankers
    with Podium's own grids and ``TopRank()``. Regression, Ranking SVM, ListNet and top-10 ListMLE are the
    same in both. The mode ``"paper"`` also measures the vote over TopSlack(ideal="cut"), which is a weak
    base on some data sets.

    Parameters
    ----------
    data
        Name of the data set -> its folds.
    modes
        "paper", "best" or both.
    quick
        Use a few queries of each part and no grids. That shows that the code works; the results mean
        nothing.
    n_jobs
        Number of processes; the result does not depend on it.
    keep
        Folder for finished pieces of work. A run that was interrupted does only the others. Pieces of
        other data, settings or versions are done again.
    callback
        Called after each piece of work.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=60, n_docs=12, seed=0), 5)
    >>> result = reproduce({"generated": folds}, modes=["paper"], quick=True)
    >>> [claim.text for claim in result.claims("paper")][:1]
    ['TopSlack is better than TopMargin at most points']
    >>> result.figure(3, "paper").rankers
    ('topslack', 'toprank')
    """
    unique_modes = _check_modes(modes)
    check_seed(seed)
    folds = {
        name: [shorten_fold(fold, QUICK_QUERIES) if quick else fold for fold in data_folds]
        for name, data_folds in data.items()
    }
    calls = _plan(folds, unique_modes, quick, seed)
    if not calls:
        raise UsageError("expected at least one data set, got none")
    store: CheckpointStore[TopRankCheckpoint] = CheckpointStore(keep, TopRankCheckpoint)
    # Each data set has its own key, so that adding another one does not invalidate its pieces.
    keys = {
        name: cache_key([content, unique_modes, quick, seed])
        for name, content in data_fingerprint(folds).items()
    }
    results = run_or_load(
        {str(task): call for task, call in calls.items()},
        store,
        {str(task): keys[task.data] for task in calls},
        n_jobs,
        callback,
    )
    return _assemble(data, unique_modes, {task: results[str(task)] for task in calls}, quick, seed)


def _assemble(
    data: Iterable[str], modes: tuple[Mode, ...], results: Mapping[TopRankTask, TopRankCheckpoint],
    quick: bool, seed: int,
) -> TopRankReproduction:  # fmt: skip
    """Join the folds of each ranker."""
    fold_results: dict[tuple[str, int, str], FoldResults] = {}
    for task, checkpoint in results.items():
        results_of_fold = fold_results.setdefault((task.data, task.fold, task.metric), {})
        results_of_fold |= {(mode, name): result for mode, name, result in checkpoint}
    names = list(data)
    scores = tuple(
        _join_folds(name, mode, ranker, fold_results)
        for name in names
        for mode in modes
        for ranker in NAMES
    )
    weak = tuple(
        _join_folds(name, "paper", ranker, fold_results)
        for name in (names if "paper" in modes else ())
        for base, (_, vote) in WEAK_BASES.items()
        for ranker in (base, vote)
    )
    return TopRankReproduction(modes, quick, seed, scores, weak)


@dataclass(frozen=True)
class TopRankTask:
    """Task on a fold and a metric: the paper's rankers, or the vote over a weak base."""

    data: str
    fold: int
    metric: str
    weak: bool = False

    def __str__(self) -> str:
        return f"{self.data}, fold {self.fold}, {self.metric}{', weak base' if self.weak else ''}"


def _plan(
    folds: Mapping[str, Sequence[Fold]], modes: tuple[Mode, ...], quick: bool, seed: int
) -> dict[TopRankTask, Any]:
    """Return every task and its call."""
    calls: dict[TopRankTask, Any] = {}
    for name, data_folds in folds.items():
        for number, fold in enumerate(data_folds, start=1):
            for metric in REPORTED_MEASURES:
                calls[TopRankTask(name, number, metric)] = delayed(run_fold_checkpoint)(
                    fold, metric, modes, not quick, seed
                )
                if "paper" in modes:
                    calls[TopRankTask(name, number, metric, weak=True)] = delayed(run_weak_bases)(
                        fold, metric, not quick, seed
                    )
    return calls


def _check_modes(modes: Sequence[Mode]) -> tuple[Mode, ...]:
    for mode in modes:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    return tuple(dict.fromkeys(modes))


def _join_folds(
    name: str, mode: Mode, ranker: str, fold_results: Mapping[tuple[str, int, str], FoldResults]
) -> RankerScores:
    """Join the folds of a ranker, query by query."""
    values, settings, unfinished = {}, {}, {}
    for metric, measures in REPORTED_MEASURES.items():
        fold_tests = [
            c[mode, ranker] for (d, _, m), c in fold_results.items() if (d, m) == (name, metric)
        ]
        settings[metric] = tuple(t.settings for t in fold_tests)
        unfinished[metric] = tuple(t.reason for t in fold_tests if t.reason)
        for measure in measures:
            values[measure] = tuple(v for t in fold_tests for v in t.values[measure])
    return RankerScores(name, mode, ranker, values, settings, unfinished)

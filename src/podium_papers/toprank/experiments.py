"""Figures 2 to 4 of the TopRank paper run anew: who is trained on what, and chosen how.

Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
    shortened,
)
from podium_papers.outcomes import RankerOutcome
from podium_papers.toprank.claims import (
    MODES,
    NAMES,
    WEAK_BASES,
    Mode,
    TopRankReproduction,
)
from podium_papers.toprank.fits import REPORTED, Cell, Kept, kept_fold, weak_fold

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

    Every choice is made on a fold's validation queries: by P@10 where precision is reported, by
    NDCG@10 where NDCG is (MAP is reported of the latter). ``"paper"``: TopSlack with the paper's
    search and TopMargin, both for the first 10 places with C from 1e-5 to 1e5, and
    ``TopRank(mode="paper")``; ``"best"``: the same rankers with Podium's own grids and ``TopRank()``.
    Regression, Ranking SVM, ListNet and top-10 ListMLE are the same in both. With ``"paper"``, the vote is
    also measured over TopSlack(ideal="cut"), a weak base on some data sets.

    Parameters
    ----------
    data
        Name of the data set -> its folds.
    modes
        "paper", "best" or both.
    quick
        A few queries of each part and no grids: to see that it works, not what comes out.
    n_jobs
        Processes; the result does not depend on it.
    keep
        A folder for the pieces of work that are done: a run that was ended goes on with the others.
    callback
        Called after each fold and metric.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=60, n_docs=12, seed=0), 5)
    >>> found = reproduce({"generated": folds}, modes=["paper"], quick=True)
    >>> [claim.text for claim in found.claims("paper")][:1]
    ['TopSlack is better than TopMargin at most points']
    >>> found.figure(3, "paper").rankers
    ('topslack', 'toprank')
    """
    asked = _modes(modes)
    check_seed(seed)
    folds = {
        n: [shortened(f, QUICK_QUERIES) if quick else f for f in own] for n, own in data.items()
    }
    work = _work(folds, asked, quick, seed)
    if not work:
        raise UsageError("expected at least one data set, got none")
    store: CheckpointStore[Kept] = CheckpointStore(None if keep is None else Path(keep), Kept)
    # Each data set has its own: another one beside it changes none of its pieces.
    prints = {n: cache_key([own, asked, quick, seed]) for n, own in data_fingerprint(folds).items()}
    results = run_or_load(
        {str(piece): task for piece, task in work.items()},
        store,
        {str(piece): prints[piece.data] for piece in work},
        n_jobs,
        callback,
    )
    cells: dict[tuple[str, int, str], Cell] = {}
    for piece in work:
        cell = cells.setdefault((piece.data, piece.fold, piece.metric), {})
        cell |= {(mode, name): tested for mode, name, tested in results[str(piece)]}
    outcomes = tuple(
        _outcome(name, mode, ranker, cells) for name in data for mode in asked for ranker in NAMES
    )
    weak = tuple(
        _outcome(name, "paper", ranker, cells)
        for name in (data if "paper" in asked else ())
        for base, (_, vote) in WEAK_BASES.items()
        for ranker in (base, vote)
    )
    return TopRankReproduction(asked, quick, seed, outcomes, weak)


@dataclass(frozen=True)
class TopRankTask:
    """A fold and a metric: the paper's rankers, or the vote over a weak base."""

    data: str
    fold: int
    metric: str
    weak: bool = False

    def __str__(self) -> str:
        return f"{self.data}, fold {self.fold}, {self.metric}{', weak base' if self.weak else ''}"


def _work(
    folds: Mapping[str, Sequence[Fold]], modes: tuple[Mode, ...], quick: bool, seed: int
) -> dict[TopRankTask, Any]:
    """Return every piece of work."""
    work: dict[TopRankTask, Any] = {}
    for name, own in folds.items():
        for number, fold in enumerate(own, start=1):
            for metric in REPORTED:
                work[TopRankTask(name, number, metric)] = delayed(kept_fold)(
                    fold, metric, modes, not quick, seed
                )
                if "paper" in modes:
                    work[TopRankTask(name, number, metric, weak=True)] = delayed(weak_fold)(
                        fold, metric, not quick, seed
                    )
    return work


def _modes(modes: Sequence[Mode]) -> tuple[Mode, ...]:
    for mode in modes:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    return tuple(dict.fromkeys(modes))


def _outcome(
    name: str, mode: Mode, ranker: str, cells: Mapping[tuple[str, int, str], Cell]
) -> RankerOutcome:
    """A ranker's folds put together, query by query."""
    values, settings, unfinished = {}, {}, {}
    for metric, measures in REPORTED.items():
        own = [c[mode, ranker] for (d, _, m), c in cells.items() if (d, m) == (name, metric)]
        settings[metric] = tuple(t.settings for t in own)
        unfinished[metric] = tuple(t.reason for t in own if t.reason)
        for measure in measures:
            values[measure] = tuple(v for t in own for v in t.values[measure])
    return RankerOutcome(name, mode, ranker, values, settings, unfinished)

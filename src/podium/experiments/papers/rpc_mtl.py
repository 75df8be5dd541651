"""The experiments of the RPC-MTL paper run anew: Figures 4 to 8 on data that is at hand.

Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure of objects, TKDE 2016,
section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed

from podium.data import Fold, RankingData, check_seed
from podium.data.files import Path_
from podium.errors import UnknownNameError, UsageError
from podium.experiments.papers.outcomes import Comparison, Outcome, Score, compare, scores
from podium.experiments.papers.rpc_mtl_claims import (
    ABLATED_MEASURES,
    COMPARED,
    KS,
    MAIN_KS,
    Chosen,
    Reproduction,
    ablation_pairs,
)
from podium.experiments.papers.rpc_mtl_clusters import ClusterFigure, cluster_figure
from podium.experiments.papers.rpc_mtl_data import Table, table_folds
from podium.experiments.papers.rpc_mtl_fits import (
    CHOICE,
    MEASURES,
    OTHER_MEASURES,
    QUICK,
    RIVALS,
    STUDIED_MIXES,
    Grid,
    Tested,
    Timing,
    Variant,
    clusters_tested,
    joined,
    mixed,
    rival_tested,
    special_case,
    timed_fit,
)
from podium.experiments.pieces import Shelf, fingerprint, side_by_side

REPEATS = 20
"""Of the protocol on scored tables."""
QUICK_LISTS, QUICK_KS, QUICK_REPEATS = 20, (1, 2, 3, 5), 2


@dataclass(frozen=True)
class Progress:
    """How far a run is, and which piece of work is done."""

    done: int
    total: int
    what: str


def reproduce(
    data: Mapping[str, Sequence[Fold]],
    *,
    ablated: Collection[str] = (),
    tables: Mapping[str, Table] | None = None,
    timed: Sequence[tuple[int, int]] = (),
    grid: Grid | None = None,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: Callable[[Progress], object] | None = None,
    seed: int = 0,
) -> Reproduction:
    """RPC-MTL with 3 and 5 clusters against linear rankers, its parts left out, K from 1 to 8.

    Every setting (lambda, l2, c; of ListNet the scale of relevance) is chosen by NDCG@10 with linear gain
    of a fold's validation lists; test lists are looked at once. Without multi-task learning: lambda
    is 0. Without metric learning: the features' Euclidean distance.

    Parameters
    ----------
    data
        Name -> folds of lists, labelled by relevance (n - r) / (n - 1).
    ablated
        Data sets on which parts are left out and K is varied (Figures 5 and 7), and whose clusters
        are drawn.
    tables
        Name -> scored items, cut into lists of 15 in 5 folds, 20 times over (Figure 8).
    timed
        Numbers of lists and of documents a list (by `make_opposed`), of whole fits that are timed.
    grid
        What validation chooses among.
    quick
        A few lists, settings and repeats: to see that it works, not what comes out.
    n_jobs
        Processes; the result does not depend on it.
    keep
        A folder for the pieces of work that are done: a run that was ended goes on with the others.
        Those of other data, settings or versions are done anew.
    callback
        Called after each piece of work.

    Examples
    --------
    >>> from podium.experiments.papers.rpc_mtl_data import opposed_fold
    >>> found = reproduce({"opposed": [opposed_fold(20, 12)]}, quick=True)
    >>> found.mean("opposed", "RPC-MTL K = 3, soft") > found.mean("opposed", "listmle")
    True
    """
    check_seed(seed)
    unknown = next((name for name in ablated if name not in data), None)
    if unknown is not None:
        raise UnknownNameError("data set", unknown, data)
    if not data and not tables:
        raise UsageError("expected a data set or a table, got none")
    chosen = grid or (QUICK if quick else Grid())
    folds = {
        name: [_shortened(fold) for fold in own] if quick else list(own)
        for name, own in data.items()
    }
    folder = None if keep is None else Path(keep)
    made_of = "" if folder is None else _fingerprint(folds, tables or {}, chosen, seed)
    pieces = _Pieces(n_jobs, folder, made_of, callback)
    plan = _plan(folds, ablated, chosen, QUICK_KS if quick else KS, seed)
    for name, table in (tables or {}).items():
        for repeat in range(QUICK_REPEATS if quick else REPEATS):
            plan[_Cell(name, repeat)] = delayed(table_tested)(table, chosen, seed + repeat)
    found = pieces.run({str(cell): work for cell, work in plan.items()}, list(timed), seed)
    cells = {cell: found.tested[str(cell)] for cell in plan}
    return _assembled(cells, folds, tuple(tables or {}), ablated, tuple(found.timings), quick, seed)


@dataclass(frozen=True)
class _Cell:
    """A piece of work: a fold (a repeat, of a table), and whether it is of K clusters."""

    data: str
    number: int
    n_clusters: int = 0
    metric: bool = True

    def __str__(self) -> str:
        what = "" if not self.n_clusters else f", K = {self.n_clusters}"
        return f"{self.data}, {self.number + 1}{what}{'' if self.metric else ', no metric'}"


def _plan(
    folds: Mapping[str, Sequence[Fold]], ablated: Collection[str], grid: Grid, ks: Sequence[int],
    seed: int,
) -> dict[_Cell, Any]:  # fmt: skip
    """Every piece of work on the folds of lists."""
    plan = {}
    alone = replace(grid, lambdas=(*grid.lambdas, 0.0))
    for name, own in folds.items():
        for number, fold in enumerate(own):
            plan[_Cell(name, number)] = delayed(_rivals)(fold, grid)
            wanted = [(K, True) for K in MAIN_KS]
            if name in ablated:
                wanted = [
                    (K, metric) for K in ks for metric in ((True, False) if K > 1 else (False,))
                ]
            for K, metric in wanted:
                used = alone if name in ablated and K > 1 else grid
                plan[_Cell(name, number, K, metric)] = delayed(clusters_tested)(
                    fold, K, metric, used, seed
                )
    return plan


def _rivals(fold: Fold, grid: Grid) -> list[Tested]:
    return [rival_tested(fold, name, grid) for name in RIVALS]


def table_tested(table: Table, grid: Grid, seed: int) -> list[Tested]:
    """One repeat: lists drawn anew, every part tested once; a value is the mean over all lists."""
    pieces = [
        _rivals(fold, grid)
        + [t for K in MAIN_KS for t in clusters_tested(fold, K, True, grid, seed)]
        for fold in table_folds(table, seed)
    ]
    return joined(pieces, means=True)


@dataclass
class _Found:
    tested: dict[str, list[Tested]]
    timings: list[Timing]


@dataclass
class _Pieces:
    """Pieces of work side by side, kept as they are done."""

    n_jobs: int
    folder: Path | None
    fingerprint: str
    """Of data and settings: what was done with others is not gone on with."""
    callback: Callable[[Progress], object] | None

    def run(self, work: Mapping[str, Any], timed: Sequence[tuple[int, int]], seed: int) -> _Found:
        found = _Found({}, [])
        total = len(work) + len(timed)
        shelf: Shelf[list[Tested]] = Shelf(self.folder, list[Tested])
        for name in work:
            kept = shelf.find(name, self.fingerprint)
            if kept is not None:
                found.tested[name] = kept
        left = {name: piece for name, piece in work.items() if name not in found.tested}
        for name, result in side_by_side(left, self.n_jobs):
            found.tested[name] = result
            shelf.keep(name, self.fingerprint, result)
            self._tell(len(found.tested), total, name)
        # Alone on the machine, or the time would be that of others.
        timings: Shelf[Timing] = Shelf(self.folder, Timing)
        for n_lists, n_docs in timed:
            name = f"a whole fit on {n_lists} lists of {n_docs}"
            timing = timings.find(name, self.fingerprint)
            if timing is None:
                timing = timed_fit(n_lists, n_docs, seed=seed)
                timings.keep(name, self.fingerprint, timing)
            found.timings.append(timing)
            self._tell(len(work) + len(found.timings), total, name)
        return found

    def _tell(self, done: int, total: int, name: str) -> None:
        if self.callback is not None:
            self.callback(Progress(done, total, name))


def _fingerprint(
    folds: Mapping[str, Sequence[Fold]], tables: Mapping[str, Table], grid: Grid, seed: int
) -> str:
    data = {name: [[p.fingerprint for p in fold] for fold in own] for name, own in folds.items()}
    items = {name: [t.X.tolist(), t.score.tolist()] for name, t in tables.items()}
    return fingerprint([version("podium-ltr"), data, items, asdict(grid), seed])


def _shortened(fold: Fold) -> Fold:
    return Fold(*(part.subset(np.arange(min(QUICK_LISTS, part.n_queries))) for part in fold))


def _assembled(
    cells: Mapping[_Cell, list[Tested]], folds: Mapping[str, Sequence[Fold]], tables: tuple[str, ...],
    ablated: Collection[str], timings: tuple[Timing, ...], quick: bool, seed: int,
) -> Reproduction:  # fmt: skip
    """The pieces put together, with tests."""
    tested = {name: _by_ranker(cells, name) for name in (*folds, *tables)}
    main = {name: [own[r] for r in COMPARED] for name, own in tested.items()}
    pairs = [(str(v), rival) for v in _main_variants() for rival in ("listmle", "listnet")]
    tests = [
        test for name, own in main.items()
        for test in compare(_outcomes(name, own), pairs, MEASURES, method="t", seed=seed)
    ]  # fmt: skip
    # Lists of one table's repeats share items: their means are not single lists.
    own_scores = [
        score for name, own in main.items()
        for score in scores(_outcomes(name, own), [*MEASURES, *OTHER_MEASURES])
    ]  # fmt: skip
    ks = tuple(sorted({cell.n_clusters for cell in cells if cell.data in ablated} - {0}))
    left_out: list[Score] = []
    left_out_tests: list[Comparison] = []
    for name in ablated:
        outcomes = _outcomes(name, tested[name].values())
        left_out += scores(outcomes, ABLATED_MEASURES)
        left_out_tests += compare(
            outcomes, ablation_pairs(ks[1:]), ABLATED_MEASURES, method="t", seed=seed
        )
    mixes: list[Score] = []
    for name, own in tested.items():
        soft = [own[mixed(K, c)] for K in MAIN_KS for c in STUDIED_MIXES]
        mixes += scores(_outcomes(name, soft), [CHOICE])
    figures = tuple(_pictures(folds, ablated, seed))
    specials = tuple(special_case(name, own[0]) for name, own in folds.items())
    return Reproduction(
        quick, seed, tuple(folds), tables, tuple(ablated), ks,
        scores=tuple(own_scores),
        tests=tuple(tests),
        left_out=tuple(left_out),
        left_out_tests=tuple(left_out_tests),
        mixes=tuple(mixes),
        chosen=tuple(Chosen(n, t.ranker, t.settings, t.reason) for n, own in main.items() for t in own),
        specials=specials,
        timings=timings,
        clusters=figures,
    )  # fmt: skip


def _by_ranker(cells: Mapping[_Cell, list[Tested]], data: str) -> dict[str, Tested]:
    """The folds of a data set put together."""
    numbers = sorted({cell.number for cell in cells if cell.data == data})
    pieces = [
        [t for cell, own in cells.items() if (cell.data, cell.number) == (data, n) for t in own]
        for n in numbers
    ]
    return {tested.ranker: tested for tested in joined(pieces)}


def _main_variants() -> list[Variant]:
    return [Variant(K, combine) for K in MAIN_KS for combine in ("soft", "hard")]


def _outcomes(data: str, tested: Iterable[Tested]) -> list[Outcome]:
    return [Outcome(data, "", t.ranker, t.values, {}, {}) for t in tested]


def _pictures(
    folds: Mapping[str, Sequence[Fold]], ablated: Collection[str], seed: int
) -> Iterable[ClusterFigure]:
    for name in ablated:
        train: RankingData = folds[name][0].train
        yield cluster_figure(f"Clusters of {name} in the learned metric", train, seed=seed)

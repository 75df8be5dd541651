"""The experiments of the RPC-MTL paper run anew: Figures 4 to 8 on data that is at hand.

Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure of objects, TKDE 2016,
section 3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed

from podium.data import Fold, Path_, RankingData, check_seed
from podium.errors import UnknownNameError, UsageError
from podium.experiments import (
    CheckpointStore,
    ProgressCallback,
    cache_key,
    data_fingerprint,
    run_or_load,
    shortened,
)
from podium_papers.outcomes import MeanScore, PairedComparison, RankerOutcome, compare, scores
from podium_papers.rpc_mtl.claims import (
    ABLATED_MEASURES,
    COMPARED,
    KS,
    MAIN_KS,
    RpcMtlChoice,
    RpcMtlReproduction,
    ablation_pairs,
)
from podium_papers.rpc_mtl.clusters import ClusterFigure, cluster_figure
from podium_papers.rpc_mtl.data import LIST_DOCS, ScoredTable, table_folds
from podium_papers.rpc_mtl.fits import (
    CHOICE,
    COMBINES,
    MEASURES,
    OTHER_MEASURES,
    QUICK,
    RIVALS,
    STUDIED_MIXES,
    Grid,
    RpcMtlTestResult,
    Variant,
    bands_tested,
    clusters_tested,
    joined,
    mixed,
    rival_tested,
    special_case,
)

REPEATS = 20
"""Of the protocol on scored tables."""
QUICK_LISTS, QUICK_KS, QUICK_REPEATS = 20, (1, 2, 3, 5), 2


def reproduce(
    data: Mapping[str, Sequence[Fold]],
    *,
    ablated: Collection[str] = (),
    tables: Mapping[str, ScoredTable] | None = None,
    grid: Grid | None = None,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
    seed: int = 0,
) -> RpcMtlReproduction:
    """RPC-MTL with 3 and 5 clusters against linear rankers, its parts left out, K from 1 to 8.

    Every setting (lambda, l2, c; of ListNet the scale of relevance) is chosen by NDCG@10 with linear gain
    of a fold's validation lists; test lists are looked at once. Without multi-task learning: lambda
    is 0. Without metric learning: the features' Euclidean distance. Without the cluster search: every
    list is cut into K equal bands.

    Parameters
    ----------
    data
        Name -> folds of lists, labelled by relevance (n - r) / (n - 1).
    ablated
        Data sets on which parts are left out and K is varied (Figures 5 and 7), and whose clusters
        are drawn.
    tables
        Name -> scored items, cut into lists of 15 in 5 folds, 20 times over (Figure 8).
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
    >>> from podium_papers.rpc_mtl.data import opposed_fold
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
        name: [shortened(fold, QUICK_LISTS) for fold in own] if quick else list(own)
        for name, own in data.items()
    }
    plan = _plan(folds, ablated, chosen, QUICK_KS if quick else KS, seed)
    for name, table in (tables or {}).items():
        for repeat in range(QUICK_REPEATS if quick else REPEATS):
            plan[_Cell(name, repeat)] = delayed(table_tested)(table, chosen, seed + repeat)
            plan[_Cell(name, repeat, bands=True)] = delayed(table_bands_tested)(
                table, chosen, seed + repeat
            )
    items = {name: [t.X.tolist(), t.score.tolist()] for name, t in (tables or {}).items()}
    prints = {
        name: cache_key([own, asdict(chosen), name in ablated, seed])
        for name, own in {**data_fingerprint(folds), **items}.items()
    }
    store: CheckpointStore[list[RpcMtlTestResult]] = CheckpointStore(
        None if keep is None else Path(keep), list[RpcMtlTestResult]
    )
    results = run_or_load(
        {str(cell): work for cell, work in plan.items()},
        store,
        {str(cell): prints[cell.data] for cell in plan},
        n_jobs,
        callback,
    )
    cells = {cell: results[str(cell)] for cell in plan}
    return _assembled(cells, folds, tuple(tables or {}), ablated, quick, seed)


@dataclass(frozen=True)
class _Cell:
    """A piece of work: a fold (a repeat, of a table), and whether it is of K clusters."""

    data: str
    number: int
    n_clusters: int = 0
    metric: bool = True
    bands: bool = False

    def __str__(self) -> str:
        what = "" if not self.n_clusters else f", K = {self.n_clusters}"
        what += ("" if self.metric else ", no metric") + (", equal bands" if self.bands else "")
        return f"{self.data}, {self.number + 1}{what}"


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
            for K in MAIN_KS:
                plan[_Cell(name, number, K, bands=True)] = delayed(bands_tested)(
                    fold, K, grid, seed
                )
    return plan


def _rivals(fold: Fold, grid: Grid) -> list[RpcMtlTestResult]:
    return [rival_tested(fold, name, grid) for name in RIVALS]


def table_tested(table: ScoredTable, grid: Grid, seed: int) -> list[RpcMtlTestResult]:
    """One repeat: lists drawn anew, every part tested once; a value is the mean over all lists."""
    pieces = [
        _rivals(fold, grid)
        + [t for K in MAIN_KS for t in clusters_tested(fold, K, True, grid, seed)]
        for fold in table_folds(table, seed)
    ]
    return joined(pieces, means=True)


def table_bands_tested(table: ScoredTable, grid: Grid, seed: int) -> list[RpcMtlTestResult]:
    """Return what `table_tested` does, for equal bands."""
    pieces = [
        [t for K in MAIN_KS for t in bands_tested(fold, K, grid, seed)]
        for fold in table_folds(table, seed)
    ]
    return joined(pieces, means=True)


def _assembled(
    cells: Mapping[_Cell, list[RpcMtlTestResult]],
    folds: Mapping[str, Sequence[Fold]],
    tables: tuple[str, ...],
    ablated: Collection[str],
    quick: bool,
    seed: int,
) -> RpcMtlReproduction:
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
    banded = set(map(str, _band_variants()))
    left_out: list[MeanScore] = []
    left_out_tests: list[PairedComparison] = []
    for name in ablated:
        searched = [t for ranker, t in tested[name].items() if ranker not in banded]
        outcomes = _outcomes(name, searched)
        left_out += scores(outcomes, ABLATED_MEASURES)
        left_out_tests += compare(
            outcomes, ablation_pairs(ks[1:]), ABLATED_MEASURES, method="t", seed=seed
        )
    bands = {
        name: _outcomes(name, [own["listmle"], *(own[str(v)] for v in _band_variants())])
        for name, own in tested.items()
    }
    mixes: list[MeanScore] = []
    for name, own in tested.items():
        soft = [own[mixed(K, c)] for K in MAIN_KS for c in STUDIED_MIXES]
        mixes += scores(_outcomes(name, soft), [CHOICE])
    figures = tuple(_pictures(folds, ablated, seed))
    specials = tuple(special_case(name, own[0]) for name, own in folds.items())
    return RpcMtlReproduction(
        quick, seed, tuple(folds), tables, tuple(ablated), ks,
        scores=tuple(own_scores),
        tests=tuple(tests),
        left_out=tuple(left_out),
        left_out_tests=tuple(left_out_tests),
        bands=tuple(s for own in bands.values() for s in scores(own[1:], [CHOICE])),
        bands_tests=tuple(t for own in bands.values() for t in _against_listmle(own, seed)),
        median_lengths={name: _median_length(own) for name, own in folds.items()}
        | dict.fromkeys(tables, float(LIST_DOCS)),
        mixes=tuple(mixes),
        chosen=tuple(RpcMtlChoice(n, t.ranker, t.settings, t.reason) for n, own in main.items() for t in own),
        specials=specials,
        clusters=figures,
    )  # fmt: skip


def _by_ranker(
    cells: Mapping[_Cell, list[RpcMtlTestResult]], data: str
) -> dict[str, RpcMtlTestResult]:
    """The folds of a data set put together."""
    numbers = sorted({cell.number for cell in cells if cell.data == data})
    pieces = [
        [t for cell, own in cells.items() if (cell.data, cell.number) == (data, n) for t in own]
        for n in numbers
    ]
    return {tested.ranker: tested for tested in joined(pieces)}


def _main_variants() -> list[Variant]:
    return [Variant(K, combine) for K in MAIN_KS for combine in ("soft", "hard")]


def _band_variants() -> list[Variant]:
    return [Variant(K, combine, search=False) for K in MAIN_KS for combine in COMBINES]


def _against_listmle(outcomes: Sequence[RankerOutcome], seed: int) -> tuple[PairedComparison, ...]:
    """Compare every equal-band variant with ListMLE: tests of their own, so that others keep theirs."""
    pairs = [(str(variant), "listmle") for variant in _band_variants()]
    return compare(outcomes, pairs, [CHOICE], method="t", seed=seed)


def _median_length(folds: Sequence[Fold]) -> float:
    """Return the median number of documents in a training list."""
    return float(np.median(np.concatenate([fold.train.groups.sizes for fold in folds])))


def _outcomes(data: str, tested: Iterable[RpcMtlTestResult]) -> list[RankerOutcome]:
    return [RankerOutcome(data, "", t.ranker, t.values, {}, {}) for t in tested]


def _pictures(
    folds: Mapping[str, Sequence[Fold]], ablated: Collection[str], seed: int
) -> Iterable[ClusterFigure]:
    for name in ablated:
        train: RankingData = folds[name][0].train
        yield cluster_figure(f"Clusters of {name} in the learned metric", train, seed=seed)

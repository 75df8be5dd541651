"""Experiments of the RPC-MTL paper: Figures 4 to 8 on the data that is there.

Wu, You, Mao, Xia, Yuan, Hu, Listwise learning to rank by exploring structure of objects, TKDE 2016,
section 3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
    shorten_fold,
)
from podium_papers.comparisons import (
    MeanScore,
    PairedComparison,
    RankerScores,
    compare,
    mean_scores,
)
from podium_papers.rpc_mtl.claims import (
    ABLATED_MEASURES,
    COMPARED_RANKERS,
    KS,
    MAIN_KS,
    RpcMtlChoice,
    RpcMtlReproduction,
    ablation_pairs,
)
from podium_papers.rpc_mtl.cluster_figures import ClusterFigure, cluster_figure
from podium_papers.rpc_mtl.rankers import (
    CHOICE_MEASURE,
    COMBINES,
    MEASURES,
    OTHER_MEASURES,
    QUICK_GRID,
    RIVALS,
    STUDIED_MIXES,
    RpcMtlGrid,
    RpcMtlTestResult,
    Variant,
    check_single_cluster,
    evaluate_bands,
    evaluate_clusters,
    evaluate_rival,
    join_folds,
    mix_name,
)
from podium_papers.rpc_mtl.scored_tables import LIST_DOCUMENTS, ScoredTable, table_folds

REPEATS = 20
"""Repeats of the protocol on scored tables."""
QUICK_LISTS, QUICK_KS, QUICK_REPEATS = 20, (1, 2, 3, 5), 2


def reproduce(
    data: Mapping[str, Sequence[Fold]],
    *,
    ablated: Collection[str] = (),
    tables: Mapping[str, ScoredTable] | None = None,
    grid: RpcMtlGrid | None = None,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
    seed: int = 0,
) -> RpcMtlReproduction:
    """Compare RPC-MTL with linear rankers and with itself without some of its parts, for K from 1 to 8.

    Every setting (lambda, l2, c; of ListNet the scale of relevance) is chosen by NDCG@10 with linear gain
    of a fold's validation lists. Test lists serve only the final measurement. Without multi-task learning
    lambda is 0. Without metric learning the distance is Euclidean. Without the cluster search every list
    is cut into K equal bands.

    Parameters
    ----------
    data
        Names and folds of lists, whose labels are relevance (n - r) / (n - 1).
    ablated
        Data sets on which parts are left out and K is varied (Figures 5 and 7). Their clusters are
        drawn.
    tables
        Names and scored items, which are cut into lists of 15 in 5 folds, 20 times (Figure 8).
    grid
        Settings that validation chooses from.
    quick
        Use a few lists, settings and repeats. That shows that the code works; the results mean nothing.
    n_jobs, keep, callback
        As in `podium_papers.toprank.reproduce`.

    Examples
    --------
    >>> from podium_papers.rpc_mtl.data_sets import opposed_fold
    >>> result = reproduce({"opposed": [opposed_fold(20, 12)]}, quick=True)
    >>> result.mean("opposed", "RPC-MTL K = 3, soft") > result.mean("opposed", "listmle")
    True
    """
    check_seed(seed)
    unknown = next((name for name in ablated if name not in data), None)
    if unknown is not None:
        raise UnknownNameError("data set", unknown, data)
    if not data and not tables:
        raise UsageError("expected a data set or a table, got none")
    used_grid = grid or (QUICK_GRID if quick else RpcMtlGrid())
    folds = {
        name: [shorten_fold(fold, QUICK_LISTS) for fold in data_folds]
        if quick
        else list(data_folds)
        for name, data_folds in data.items()
    }
    calls = {
        **_plan_folds(folds, ablated, used_grid, QUICK_KS if quick else KS, seed),
        **_plan_tables(tables or {}, used_grid, QUICK_REPEATS if quick else REPEATS, seed),
    }
    items = {name: [t.X.tolist(), t.score.tolist()] for name, t in (tables or {}).items()}
    keys = {
        name: cache_key([content, asdict(used_grid), name in ablated, seed])
        for name, content in {**data_fingerprint(folds), **items}.items()
    }
    store: CheckpointStore[list[RpcMtlTestResult]] = CheckpointStore(keep, list[RpcMtlTestResult])
    results = run_or_load(
        {str(task): call for task, call in calls.items()},
        store,
        {str(task): keys[task.data] for task in calls},
        n_jobs,
        callback,
    )
    by_task = {task: results[str(task)] for task in calls}
    return _assemble(by_task, folds, tuple(tables or {}), ablated, quick, seed)


@dataclass(frozen=True)
class _Task:
    """Task on a fold (of a table: a repeat): the rivals, or RPC-MTL with K clusters if K is not 0."""

    data: str
    number: int
    n_clusters: int = 0
    metric: bool = True
    bands: bool = False

    def __str__(self) -> str:
        form = "" if not self.n_clusters else f", K = {self.n_clusters}"
        form += ("" if self.metric else ", no metric") + (", equal bands" if self.bands else "")
        return f"{self.data}, {self.number + 1}{form}"


def _plan_folds(
    folds: Mapping[str, Sequence[Fold]], ablated: Collection[str], grid: RpcMtlGrid, ks: Sequence[int],
    seed: int,
) -> dict[_Task, Any]:  # fmt: skip
    """Return every task on the folds of lists, and its call."""
    calls = {}
    grid_without_tasks = replace(grid, lambdas=(*grid.lambdas, 0.0))
    for name, data_folds in folds.items():
        variants = [(K, True) for K in MAIN_KS]
        if name in ablated:
            variants = [
                (K, metric) for K in ks for metric in ((True, False) if K > 1 else (False,))
            ]
        for number, fold in enumerate(data_folds):
            calls[_Task(name, number)] = delayed(_evaluate_rivals)(fold, grid)
            for K, metric in variants:
                variant_grid = grid_without_tasks if name in ablated and K > 1 else grid
                calls[_Task(name, number, K, metric)] = delayed(evaluate_clusters)(
                    fold, K, metric, variant_grid, seed
                )
            for K in MAIN_KS:
                calls[_Task(name, number, K, bands=True)] = delayed(evaluate_bands)(
                    fold, K, grid, seed
                )
    return calls


def _plan_tables(
    tables: Mapping[str, ScoredTable], grid: RpcMtlGrid, repeats: int, seed: int
) -> dict[_Task, Any]:
    """Return every task on the scored tables, and its call."""
    calls = {}
    for name, table in tables.items():
        for repeat in range(repeats):
            calls[_Task(name, repeat)] = delayed(evaluate_table)(table, grid, seed + repeat)
            calls[_Task(name, repeat, bands=True)] = delayed(evaluate_table_bands)(
                table, grid, seed + repeat
            )
    return calls


def _evaluate_rivals(fold: Fold, grid: RpcMtlGrid) -> list[RpcMtlTestResult]:
    return [evaluate_rival(fold, name, grid) for name in RIVALS]


def evaluate_table(table: ScoredTable, grid: RpcMtlGrid, seed: int) -> list[RpcMtlTestResult]:
    """Evaluate one repeat: draw lists, test every part once, and return means over all lists."""
    pieces = [
        _evaluate_rivals(fold, grid)
        + [t for K in MAIN_KS for t in evaluate_clusters(fold, K, True, grid, seed)]
        for fold in table_folds(table, seed)
    ]
    return join_folds(pieces, means=True)


def evaluate_table_bands(table: ScoredTable, grid: RpcMtlGrid, seed: int) -> list[RpcMtlTestResult]:
    """Evaluate one repeat as `evaluate_table` does, for equal bands."""
    pieces = [
        [t for K in MAIN_KS for t in evaluate_bands(fold, K, grid, seed)]
        for fold in table_folds(table, seed)
    ]
    return join_folds(pieces, means=True)


def _assemble(
    by_task: Mapping[_Task, list[RpcMtlTestResult]],
    folds: Mapping[str, Sequence[Fold]],
    tables: tuple[str, ...],
    ablated: Collection[str],
    quick: bool,
    seed: int,
) -> RpcMtlReproduction:
    """Join the results of all tasks and add the tests."""
    results = {name: _join_data_set(by_task, name) for name in (*folds, *tables)}
    compared = {name: [rankers[r] for r in COMPARED_RANKERS] for name, rankers in results.items()}
    ks = tuple(sorted({task.n_clusters for task in by_task if task.data in ablated} - {0}))
    ablations = [_ablation_scores(name, results[name]) for name in ablated]
    bands = [
        _ranker_scores(name, [rankers["listmle"], *(rankers[str(v)] for v in _band_variants())])
        for name, rankers in results.items()
    ]
    return RpcMtlReproduction(
        quick, seed, tuple(folds), tables, tuple(ablated), ks,
        scores=_compared_means(compared),
        tests=_compared_tests(compared, seed),
        left_out=tuple(s for rankers in ablations for s in mean_scores(rankers, ABLATED_MEASURES)),
        left_out_tests=tuple(
            t for rankers in ablations
            for t in compare(rankers, ablation_pairs(ks[1:]), ABLATED_MEASURES, method="t", seed=seed)
        ),
        bands=tuple(s for rankers in bands for s in mean_scores(rankers[1:], [CHOICE_MEASURE])),
        bands_tests=tuple(t for rankers in bands for t in _band_tests(rankers, seed)),
        median_lengths={name: _median_length(data_folds) for name, data_folds in folds.items()}
        | dict.fromkeys(tables, float(LIST_DOCUMENTS)),
        mixes=_mix_means(results),
        chosen=tuple(
            RpcMtlChoice(name, t.ranker, t.settings, t.reason)
            for name, rankers in compared.items() for t in rankers
        ),
        specials=tuple(check_single_cluster(name, data_folds[0]) for name, data_folds in folds.items()),
        clusters=tuple(_cluster_figures(folds, ablated, seed)),
    )  # fmt: skip


def _compared_means(compared: Mapping[str, Sequence[RpcMtlTestResult]]) -> tuple[MeanScore, ...]:
    # The lists of a table's repeats share items, so its values are means over lists, not lists.
    return tuple(
        score
        for name, results in compared.items()
        for score in mean_scores(_ranker_scores(name, results), [*MEASURES, *OTHER_MEASURES])
    )


def _compared_tests(
    compared: Mapping[str, Sequence[RpcMtlTestResult]], seed: int
) -> tuple[PairedComparison, ...]:
    variants = [Variant(K, combine) for K in MAIN_KS for combine in COMBINES]
    pairs = [(str(v), rival) for v in variants for rival in ("listmle", "listnet")]
    return tuple(
        test
        for name, results in compared.items()
        for test in compare(_ranker_scores(name, results), pairs, MEASURES, method="t", seed=seed)
    )


def _ablation_scores(name: str, results: Mapping[str, RpcMtlTestResult]) -> list[RankerScores]:
    """Return the scores of all rankers but those on equal bands."""
    band_names = set(map(str, _band_variants()))
    return _ranker_scores(name, [t for ranker, t in results.items() if ranker not in band_names])


def _mix_means(results: Mapping[str, Mapping[str, RpcMtlTestResult]]) -> tuple[MeanScore, ...]:
    """Return NDCG@10 of the soft form for each c."""
    names = [mix_name(K, c) for K in MAIN_KS for c in STUDIED_MIXES]
    return tuple(
        score
        for data, rankers in results.items()
        for score in mean_scores(
            _ranker_scores(data, [rankers[n] for n in names]), [CHOICE_MEASURE]
        )
    )


def _join_data_set(
    by_task: Mapping[_Task, list[RpcMtlTestResult]], data: str
) -> dict[str, RpcMtlTestResult]:
    """Join the folds of a data set, by ranker."""
    numbers = sorted({task.number for task in by_task if task.data == data})
    pieces = [
        [
            t
            for task, task_results in by_task.items()
            if (task.data, task.number) == (data, n)
            for t in task_results
        ]
        for n in numbers
    ]
    return {result.ranker: result for result in join_folds(pieces)}


def _band_variants() -> list[Variant]:
    return [Variant(K, combine, search=False) for K in MAIN_KS for combine in COMBINES]


def _band_tests(rankers: Sequence[RankerScores], seed: int) -> tuple[PairedComparison, ...]:
    """Test every equal-band variant against ListMLE, with a correction separate from the other tests."""
    pairs = [(str(variant), "listmle") for variant in _band_variants()]
    return compare(rankers, pairs, [CHOICE_MEASURE], method="t", seed=seed)


def _median_length(folds: Sequence[Fold]) -> float:
    """Return the median number of documents in a training list."""
    return float(np.median(np.concatenate([fold.train.groups.sizes for fold in folds])))


def _ranker_scores(data: str, results: Iterable[RpcMtlTestResult]) -> list[RankerScores]:
    return [RankerScores(data, "", t.ranker, t.values, {}, {}) for t in results]


def _cluster_figures(
    folds: Mapping[str, Sequence[Fold]], ablated: Collection[str], seed: int
) -> Iterable[ClusterFigure]:
    for name in ablated:
        train: RankingData = folds[name][0].train
        yield cluster_figure(f"Clusters of {name} in the learned metric", train, seed=seed)

"""Rankers of the RPC-MTL paper: RPC-MTL and its rivals, chosen on validation and measured on test lists."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from podium.data import Fold, RankingData
from podium.errors import NotConvergedWarning
from podium.metrics import evaluate, parse
from podium.multitask import RPCMTL, Combination, RPCMTLModel
from podium.rankers import Linear, ListMLE, ListNet, Model, Ranker, TopkListMLE, Tuning, tune

GAINS = {"linear": "NDCG(gain='linear')", "2^r - 1": "NDCG"}
"""Gains of a relevance r: the paper does not say whether it is r itself or 2^r - 1."""
DEPTHS = tuple(range(1, 11))
MEASURES = tuple(f"{GAINS['linear']}@{k}" for k in DEPTHS)
OTHER_MEASURES = tuple(f"{GAINS['2^r - 1']}@{k}" for k in DEPTHS)
CHOICE_MEASURE = MEASURES[-1]
"""Measure by which validation chooses."""

LAMBDAS = (2.0, 1.0, 0.1, 0.01, 0.001)
"""Values of the paper."""
L2 = (0.1, 0.01, 0.001)
WIDE_L2 = (1.0, *L2, 1e-4)
SCALES = (1.0, 5.0, 20.0)
"""Scales of relevance in ListNet's softmax; at 1 the chances of all documents are nearly equal."""
MIXES = (0.05, 0.1, 0.25, 0.5)
"""Values of c, the weight of the place within a degree in the soft form."""
STUDIED_MIXES = (0.0, *MIXES)
"""Values of c that are studied; with c = 0 only the expected degree counts."""
COMBINES: tuple[Combination, ...] = ("soft", "hard")
RIVALS = {
    "listmle": "ListMLE",
    "listnet": "ListNet",
    "topk-listmle": "top-10 ListMLE",
    "listmle-early": "ListMLE, stopped early",
}
"""Linear rankers, and their names in tables; the paper has the first two.

Their fits end at the optimum, as RPC-MTL's do. Only the last stops at the iteration that validation chooses.
"""


@dataclass(frozen=True)
class RpcMtlGrid:
    """Settings that validation chooses from; a lambda of 0 is RPC-MTL without multi-task learning."""

    lambdas: tuple[float, ...] = LAMBDAS
    l2: tuple[float, ...] = L2
    wide_l2: tuple[float, ...] = WIDE_L2
    scales: tuple[float, ...] = SCALES
    mixes: tuple[float, ...] = MIXES


MAX_SWEEPS: int = RPCMTL().max_sweeps
QUICK_GRID = RpcMtlGrid((0.1,), (0.01,), (0.01,), (5.0,), (0.25,))


class Variant(NamedTuple):
    """One form of RPC-MTL."""

    n_clusters: int
    combine: Combination = "soft"
    metric: bool = True
    tasks: bool = True
    search: bool = True
    """Whether clusters are searched for; otherwise every list is cut into K equal bands."""

    def __str__(self) -> str:
        """Return the name in tables."""
        if not self.search:
            return f"RPC-MTL K = {self.n_clusters}, {self.combine}, equal bands"
        left_out = [n for n, on in (("metric", self.metric), ("multi-task", self.tasks)) if not on]
        without = f" without {' and '.join(left_out)}" if left_out else ""
        return f"RPC-MTL K = {self.n_clusters}, {self.combine}{without}"


@dataclass(frozen=True)
class RpcMtlTestResult:
    """Values of a ranker on test lists by measure, and its settings.

    `reason` says why its fit stopped too early; it is empty if it did not.
    """

    ranker: str
    values: Mapping[str, tuple[float, ...]]
    settings: str
    reason: str


def evaluate_rival(fold: Fold, name: str, grid: RpcMtlGrid) -> RpcMtlTestResult:
    """Evaluate a linear ranker."""
    with ignore_early_stops():
        tuned, settings = _tune_rival(fold, name, grid)
    reason = "" if tuned.ranker.converged_ else tuned.ranker.stopped_
    return RpcMtlTestResult(
        name, measure_lists(fold.test, tuned.ranker.predict(fold.test)), settings, reason
    )


def _tune_rival(fold: Fold, name: str, grid: RpcMtlGrid) -> tuple[Tuning, str]:
    rankers: dict[str, Ranker] = {
        "listmle": ListMLE(early_stopping=False),
        "listnet": ListNet(early_stopping=False),
        "topk-listmle": TopkListMLE(k=10, early_stopping=False),
        "listmle-early": ListMLE(),
    }
    candidates = []
    for scale in grid.scales if name == "listnet" else (1.0,):
        train = fold.train.with_labels(scale * fold.train.y)
        tuned = tune(rankers[name], train, fold.valid, CHOICE_MEASURE, {"l2": grid.wide_l2})
        settings = f"l2={tuned.settings['l2']:g}" + (
            f" scale={scale:g}" if name == "listnet" else ""
        )
        candidates.append((tuned, settings))
    return max(candidates, key=lambda pair: pair[0].value)


class _BestModel(NamedTuple):
    """Best model on validation lists so far."""

    value: float
    model: Model
    settings: str
    reason: str


def evaluate_clusters(
    fold: Fold, n_clusters: int, metric: bool, grid: RpcMtlGrid, seed: int, *, search: bool = True
) -> list[RpcMtlTestResult]:
    """Evaluate every form of RPC-MTL with the same clusters: soft and hard, with and without tasks.

    The results of the whole method include each value of c: see `mix_name`.
    """
    choice = parse(CHOICE_MEASURE).averaging_ties()
    best: dict[str, _BestModel] = {}
    for ranker in _fit_path(fold.train, n_clusters, metric, grid, seed, search):
        for names, model, settings in _combined_forms(ranker, metric, grid):
            value = evaluate(fold.valid, model.predict(fold.valid.X), choice)[choice].mean
            reason = "" if ranker.converged_ else ranker.stopped_
            for name in names:
                if name not in best or value > best[name].value:
                    best[name] = _BestModel(value, model, settings, reason)
    return [
        RpcMtlTestResult(
            name,
            measure_lists(fold.test, candidate.model.predict(fold.test.X)),
            candidate.settings,
            candidate.reason,
        )
        for name, candidate in best.items()
    ]


def evaluate_bands(
    fold: Fold, n_clusters: int, grid: RpcMtlGrid, seed: int
) -> list[RpcMtlTestResult]:
    """Evaluate RPC-MTL's soft and hard form on equal bands, as `evaluate_clusters` does on clusters."""
    return evaluate_clusters(fold, n_clusters, False, grid, seed, search=False)


def _combined_forms(
    ranker: RPCMTL, metric: bool, grid: RpcMtlGrid
) -> Iterator[tuple[list[str], Model, str]]:
    """Yield the forms of a fit: the names of the form, its model and its settings."""
    settings, model = f"lam={ranker.lam:g} l2={ranker.l2:g}", ranker.model_
    variant = Variant(ranker.n_clusters, "soft", metric, ranker.lam > 0, ranker.max_sweeps > 0)
    if not isinstance(model, RPCMTLModel):
        yield [str(variant)], model, settings
        return
    whole = metric and variant.tasks
    for c in STUDIED_MIXES if whole else grid.mixes:
        names = [str(variant)] if c in grid.mixes else []
        names += [mix_name(ranker.n_clusters, c)] if whole else []
        yield names, replace(model, c=c), f"{settings} c={c:g}"
    yield [str(variant._replace(combine="hard"))], replace(model, combine="hard"), settings


def mix_name(n_clusters: int, c: float) -> str:
    """Return the name of the soft form with this c."""
    return f"{Variant(n_clusters)}, c = {c:g}"


def _fit_path(
    train: RankingData, n_clusters: int, metric: bool, grid: RpcMtlGrid, seed: int, search: bool
) -> Iterator[RPCMTL]:
    """Yield a fit for each setting; all use the clusters of the first, and start from the previous fit."""
    start = None
    for l2 in grid.l2:
        for lam in grid.lambdas:
            ranker = RPCMTL(
                n_clusters=n_clusters, distance="diagonal" if metric else None, lam=lam, l2=l2,
                clamp=True, seed=seed, max_sweeps=MAX_SWEEPS if search else 0,
            )  # fmt: skip
            with ignore_early_stops():
                ranker.fit_data(train, None, None, start)
            start = ranker.model_
            yield ranker


def ignore_early_stops() -> Any:
    """Ignore the warnings of fits that stop early: the results say so."""
    return warnings.catch_warnings(action="ignore", category=NotConvergedWarning)


def measure_lists(data: RankingData, scores: Any) -> dict[str, tuple[float, ...]]:
    """Return every measure, list by list."""
    evaluation = evaluate(data, scores, [*MEASURES, *OTHER_MEASURES])
    return {m: tuple(evaluation[m].per_query.tolist()) for m in (*MEASURES, *OTHER_MEASURES)}


def join_folds(
    pieces: Sequence[Sequence[RpcMtlTestResult]], *, means: bool = False
) -> list[RpcMtlTestResult]:
    """Join the folds of each ranker, list by list; with `means` into one value, the mean over all lists."""
    out = []
    for results in zip(*pieces, strict=True):
        values = {m: tuple(v for t in results for v in t.values[m]) for m in results[0].values}
        if means:
            values = {m: (float(np.mean(v)),) for m, v in values.items()}
        settings = "; ".join(t.settings for t in results)
        reasons = "; ".join(t.reason for t in results if t.reason)
        out.append(RpcMtlTestResult(results[0].ranker, values, settings, reasons))
    return out


@dataclass(frozen=True)
class SingleClusterCheck:
    """Distance between RPC-MTL with one cluster and ListMLE: of their weights, relative to the largest."""

    data: str
    gap: float
    same_order: bool


def check_single_cluster(data: str, fold: Fold) -> SingleClusterCheck:
    """Compare RPC-MTL with one cluster and ListMLE, which solve the same problem."""
    with ignore_early_stops():
        one = RPCMTL(n_clusters=1, l2=0.01).fit(fold.train)
        other = ListMLE(l2=0.01, early_stopping=False).fit(fold.train)
    assert isinstance(other.model_, Linear)
    w, v = one.W_[0], other.model_.weights
    a, b = (fold.test.groups.order(r.predict(fold.test)) for r in (one, other))
    gap = float(np.abs(w - v).max() / np.abs(v).max())
    return SingleClusterCheck(data, gap, bool((a == b).all()))

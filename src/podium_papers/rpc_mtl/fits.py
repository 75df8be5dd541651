"""RPC-MTL and its rivals, each chosen on validation lists and measured on test lists."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from podium.data import Fold, RankingData, make_opposed
from podium.errors import NotConvergedWarning
from podium.metrics import evaluate, parse
from podium.multitask import RPCMTL, Combine, Combined
from podium.rankers import Linear, ListMLE, ListNet, Model, Ranker, Step, TopkListMLE, Tuning, tune

GAINS = {"linear": "NDCG(gain='linear')", "2^r - 1": "NDCG"}
"""The paper leaves the gain of a relevance r open: r itself, or 2^r - 1."""
DEPTHS = tuple(range(1, 11))
MEASURES = tuple(f"{GAINS['linear']}@{k}" for k in DEPTHS)
OTHER_MEASURES = tuple(f"{GAINS['2^r - 1']}@{k}" for k in DEPTHS)
CHOICE = MEASURES[-1]
"""By which validation chooses."""

LAMBDAS = (2.0, 1.0, 0.1, 0.01, 0.001)
"""The paper's."""
L2 = (0.1, 0.01, 0.001)
WIDE_L2 = (1.0, *L2, 1e-4)
SCALES = (1.0, 5.0, 20.0)
"""ListNet's first choices are softmax(scale * relevance): at 1 they are nearly all alike."""
MIXES = (0.05, 0.1, 0.25, 0.5)
"""c, what the place within a degree counts in the soft form."""
STUDIED_MIXES = (0.0, *MIXES)
"""With c = 0 the expected degree ranks alone: no function of a cluster has a say."""
COMBINES: tuple[Combine, ...] = ("soft", "hard")
RIVALS = {
    "listmle": "ListMLE",
    "listnet": "ListNet",
    "topk-listmle": "top-10 ListMLE",
    "listmle-early": "ListMLE, stopped early",
}
"""Linear rankers, and what tables call them; the paper has the first two.

They go to their optimum, as RPC-MTL does, but for the last, whose iteration validation chooses.
"""


@dataclass(frozen=True)
class Grid:
    """What validation chooses among; a lambda of 0 is RPC-MTL without multi-task learning."""

    lambdas: tuple[float, ...] = LAMBDAS
    l2: tuple[float, ...] = L2
    wide_l2: tuple[float, ...] = WIDE_L2
    scales: tuple[float, ...] = SCALES
    mixes: tuple[float, ...] = MIXES


MAX_SWEEPS: int = RPCMTL().max_sweeps
QUICK = Grid((0.1,), (0.01,), (0.01,), (5.0,), (0.25,))


class Variant(NamedTuple):
    """One form of RPC-MTL."""

    n_clusters: int
    combine: Combine = "soft"
    metric: bool = True
    tasks: bool = True
    search: bool = True
    """Whether clusters are searched for; if not, every list is cut into K equal bands."""

    def __str__(self) -> str:
        """As tables name it."""
        if not self.search:
            return f"RPC-MTL K = {self.n_clusters}, {self.combine}, equal bands"
        left_out = [n for n, on in (("metric", self.metric), ("multi-task", self.tasks)) if not on]
        without = f" without {' and '.join(left_out)}" if left_out else ""
        return f"RPC-MTL K = {self.n_clusters}, {self.combine}{without}"


@dataclass(frozen=True)
class RpcMtlTestResult:
    """A ranker on test lists: a value for each list by measure, and how it was made.

    `reason` is why its fit stopped, where that was too early.
    """

    ranker: str
    values: Mapping[str, tuple[float, ...]]
    settings: str
    reason: str


def rival_tested(fold: Fold, name: str, grid: Grid) -> RpcMtlTestResult:
    """A linear ranker."""
    with _quiet():
        tuned, settings = _tuned_rival(fold, name, grid)
    reason = "" if tuned.ranker.converged_ else tuned.ranker.stopped_
    return RpcMtlTestResult(
        name, measured(fold.test, tuned.ranker.predict(fold.test)), settings, reason
    )


def _tuned_rival(fold: Fold, name: str, grid: Grid) -> tuple[Tuning, str]:
    rankers: dict[str, Ranker] = {
        "listmle": ListMLE(early_stopping=False),
        "listnet": ListNet(early_stopping=False),
        "topk-listmle": TopkListMLE(k=10, early_stopping=False),
        "listmle-early": ListMLE(),
    }
    candidates = []
    for scale in grid.scales if name == "listnet" else (1.0,):
        train = fold.train.with_labels(scale * fold.train.y)
        tuned = tune(rankers[name], train, fold.valid, CHOICE, {"l2": grid.wide_l2})
        settings = f"l2={tuned.settings['l2']:g}" + (
            f" scale={scale:g}" if name == "listnet" else ""
        )
        candidates.append((tuned, settings))
    return max(candidates, key=lambda pair: pair[0].value)


class _Best(NamedTuple):
    """The best on validation lists so far."""

    value: float
    model: Model
    settings: str
    reason: str


def clusters_tested(
    fold: Fold, n_clusters: int, metric: bool, grid: Grid, seed: int, *, search: bool = True
) -> list[RpcMtlTestResult]:
    """RPC-MTL in every form that the same clusters have: soft and hard, with and without tasks.

    Of the whole method with one c after the other, too: see `mixed`.
    """
    choice = parse(CHOICE).averaging_ties()
    best: dict[str, _Best] = {}
    for ranker in _path(fold.train, n_clusters, metric, grid, seed, search):
        for names, model, settings in _forms(ranker, metric, grid):
            value = evaluate(fold.valid, model.predict(fold.valid.X), choice)[choice].mean
            reason = "" if ranker.converged_ else ranker.stopped_
            for name in names:
                if name not in best or value > best[name].value:
                    best[name] = _Best(value, model, settings, reason)
    return [
        RpcMtlTestResult(
            name,
            measured(fold.test, candidate.model.predict(fold.test.X)),
            candidate.settings,
            candidate.reason,
        )
        for name, candidate in best.items()
    ]


def bands_tested(fold: Fold, n_clusters: int, grid: Grid, seed: int) -> list[RpcMtlTestResult]:
    """Return RPC-MTL's soft and hard form on equal bands, chosen and tested as `clusters_tested` does."""
    return clusters_tested(fold, n_clusters, False, grid, seed, search=False)


def _forms(ranker: RPCMTL, metric: bool, grid: Grid) -> Iterator[tuple[list[str], Model, str]]:
    """What a fit can be made of: the names it is known by, a model, and its settings."""
    settings, model = f"lam={ranker.lam:g} l2={ranker.l2:g}", ranker.model_
    variant = Variant(ranker.n_clusters, "soft", metric, ranker.lam > 0, ranker.max_sweeps > 0)
    if not isinstance(model, Combined):
        yield [str(variant)], model, settings
        return
    whole = metric and variant.tasks
    for c in STUDIED_MIXES if whole else grid.mixes:
        names = [str(variant)] if c in grid.mixes else []
        names += [mixed(ranker.n_clusters, c)] if whole else []
        yield names, replace(model, c=c), f"{settings} c={c:g}"
    yield [str(variant._replace(combine="hard"))], replace(model, combine="hard"), settings


def mixed(n_clusters: int, c: float) -> str:
    """The name of the soft form with this c."""
    return f"{Variant(n_clusters)}, c = {c:g}"


def _path(
    train: RankingData, n_clusters: int, metric: bool, grid: Grid, seed: int, search: bool
) -> Iterator[RPCMTL]:
    """A fit for each setting; all have the clusters of the first, and start where the last ended."""
    start = None
    for l2 in grid.l2:
        for lam in grid.lambdas:
            ranker = RPCMTL(
                n_clusters=n_clusters, distance="diagonal" if metric else None, lam=lam, l2=l2,
                clamp=True, seed=seed, max_sweeps=MAX_SWEEPS if search else 0,
            )  # fmt: skip
            with _quiet():
                ranker.fit_data(train, None, None, start)
            start = ranker.model_
            yield ranker


def _quiet() -> Any:
    """Fits that stop early are told in the results."""
    return warnings.catch_warnings(action="ignore", category=NotConvergedWarning)


def measured(data: RankingData, scores: Any) -> dict[str, tuple[float, ...]]:
    """Every measure, list by list."""
    evaluation = evaluate(data, scores, [*MEASURES, *OTHER_MEASURES])
    return {m: tuple(evaluation[m].per_query.tolist()) for m in (*MEASURES, *OTHER_MEASURES)}


def joined(
    pieces: Sequence[Sequence[RpcMtlTestResult]], *, means: bool = False
) -> list[RpcMtlTestResult]:
    """The same rankers on several folds, list by list; with `means` one value, the mean over all."""
    out = []
    for own in zip(*pieces, strict=True):
        values = {m: tuple(v for t in own for v in t.values[m]) for m in own[0].values}
        if means:
            values = {m: (float(np.mean(v)),) for m, v in values.items()}
        settings, reasons = ("; ".join(texts) for texts in _said(own))
        out.append(RpcMtlTestResult(own[0].ranker, values, settings, reasons))
    return out


def _said(own: Sequence[RpcMtlTestResult]) -> tuple[list[str], list[str]]:
    return [t.settings for t in own], [t.reason for t in own if t.reason]


@dataclass(frozen=True)
class Special:
    """RPC-MTL of one cluster beside ListMLE: how far apart their weights are, against the largest."""

    data: str
    gap: float
    same_order: bool


def special_case(data: str, fold: Fold) -> Special:
    """Equal l2, no early stopping: the same problem."""
    with _quiet():
        one = RPCMTL(n_clusters=1, l2=0.01).fit(fold.train)
        other = ListMLE(l2=0.01, early_stopping=False).fit(fold.train)
    assert isinstance(other.model_, Linear)
    w, v = one.W_[0], other.model_.weights
    a, b = (fold.test.groups.order(r.predict(fold.test)) for r in (one, other))
    gap = float(np.abs(w - v).max() / np.abs(v).max())
    return Special(data, gap, bool((a == b).all()))


@dataclass(frozen=True)
class Timing:
    """One whole fit on lists by `make_opposed`, stage by stage, and NDCG@10 on 100 lists more."""

    n_lists: int
    n_docs: int
    n_clusters: int
    seconds: float
    stages: Mapping[str, float]
    quality: float
    converged: bool


def timed_fit(n_lists: int, n_docs: int, n_clusters: int = 3, seed: int = 0) -> Timing:
    """RPC-MTL with its defaults."""
    train, test = make_opposed(n_lists, n_docs, seed=seed), make_opposed(100, n_docs, seed=seed + 1)
    marks: list[tuple[str, float]] = [("preparing", time.perf_counter())]

    def mark(step: Step) -> None:
        if step.stage != marks[-1][0]:
            marks.append((step.stage, time.perf_counter()))

    with _quiet():
        ranker = RPCMTL(n_clusters=n_clusters).fit(train, callback=mark)
    marks.append(("", time.perf_counter()))
    stages = {name: end - at for (name, at), (_, end) in itertools.pairwise(marks)}
    quality = evaluate(test, ranker.predict(test), CHOICE)[CHOICE].mean
    return Timing(
        n_lists, n_docs, n_clusters, sum(stages.values()), stages, quality, ranker.converged_
    )

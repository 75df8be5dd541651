"""FocusedBoost: AdaRank on the top k, RankBoost between the top k and the rest.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
section 3.2.2, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np

from podium import kernels
from podium.data import Groups, RankingData, cut_truth, draw_truth
from podium.errors import DataError, MissingTruthError
from podium.metrics.gain_and_discount import discounts
from podium.metrics.ties import RankedRows
from podium.rankers.boosted.boosted_ranker import BoostedRanker
from podium.rankers.boosted.rankboost import WeightedPairs, query_weight
from podium.rankers.boosted.rounds import EQUAL_EDGES, Round, first_largest, weight_of
from podium.rankers.boosted.stumps import MAX_THRESHOLDS, BinnedFeatures, sums_beyond
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.models import Model
from podium.rankers.parameters import Count, Range, Seed, Share
from podium.rankers.training_queries import contrasting_queries
from podium.typing import Floats, Matrix

BETAS = (0.1, 0.5, 1.0)
"""The values of beta among which validation queries choose; the first one counts without them."""


def focused_boost(
    data: RankingData,
    beta: float = 0.5,
    *,
    n_rounds: int,
    shrinkage: float = 0.1,
    weak: Literal["feature", "threshold"] = "feature",
    n_thresholds: int = MAX_THRESHOLDS,
    problem: FocusedProblem | None = None,
) -> Iterator[Round]:
    """Yield rounds of FocusedBoost over weak rankers h with values in [0, 1], and their complements.

    T is the top k of a query, F the rest. Each round takes the h of the largest

        r = beta sum_i D_i E'_i(h) + (1 - beta) sum_{u in T, v in F} D'(u, v) (h(u) - h(v)),

    alpha = 1/2 ln((1 + r) / (1 - r)), f += shrinkage alpha h, with D_i prop. to exp(-E'_i(f)) and
    D'(u, v) prop. to exp(f_v - f_u). E is NDCG on the position labels of T alone, as a mean over
    the orders of equal scores. E' = (E - E_random) / (1 - E_random) is 0 for a constant and 1 for
    the true order. Algorithm 2 prints *minimise* r and D' prop. to exp(f_u - f_v), but with these
    signs the losses would rise. The signs here make them fall; only the loss of pairs (beta = 0)
    falls in every round. The rounds end when r <= 0.

    Parameters
    ----------
    data
        Top-k truth; see ``podium.data.draw_truth``.
    beta
        The share of the lists in r, from 0 (pairs alone) to 1 (lists alone). If the data has only
        lists or only pairs, they count alone.
    n_rounds
        The maximum number of rounds.
    shrinkage
        The share of each weight that is added.
    weak
        "feature": single features, scaled to [0, 1] on the data, so that f is linear (better on
        MQ2008); "threshold": stumps [x > threshold].
    n_thresholds
        The maximum number of thresholds per feature, at most 255.
    problem
        What all values of beta share, of the same data and weak rankers; None: it is computed.

    Examples
    --------
    >>> X, y = [[3.0], [2.0], [1.0], [0.0]], [2, 1, 0, 0]
    >>> data = RankingData.from_arrays(X, y, qid=[1] * 4, topk=2)
    >>> pairs, lists = (focused_boost(data, b, n_rounds=1, weak="threshold") for b in (0.0, 1.0))
    >>> [r.threshold for r in pairs], [r.threshold for r in lists]  # between T and F, within T
    ([1.5], [2.5])
    """
    problem = problem or FocusedProblem.from_data(data, weak, n_thresholds)
    top, pairs, candidates = problem.top, problem.pairs, problem.candidates
    beta = beta if problem.has_both else float(top.exists)
    scores = np.zeros(len(data))
    D, potentials = top.weight, pairs(scores)[0]
    for _ in range(n_rounds):
        lists, between = candidates.edges(D, potentials)
        edges = beta * lists + (1 - beta) * between
        best = first_largest(edges)
        r = float(edges[best])
        if r <= EQUAL_EDGES:
            return
        feature, threshold, h, scale = candidates.choose(best)
        alpha = shrinkage * weight_of(r) * scale
        scores += alpha * h
        potentials, pair_loss = pairs(scores)
        list_loss = top.weight * np.exp(-top(scores))
        D = list_loss / max(list_loss.sum(), np.finfo(float).tiny)
        yield Round(
            feature, threshold, alpha, float(beta * list_loss.sum() + (1 - beta) * pair_loss)
        )


class TopkOrder:
    """The documents T of the top k, and how well scores order them: E' of each query.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3, topk=2)
    >>> top = TopkOrder(data)
    >>> [top(np.array(f)).round(12).tolist() for f in ([2.0, 1, 9], [1.0, 2, 0], [0.0, 0, 1])]
    [[1.0], [-1.0], [0.0]]
    """

    def __init__(self, data: RankingData) -> None:
        self.rows = np.flatnonzero(data.y > 0)
        sizes = np.bincount(data.groups.codes[self.rows], minlength=data.n_queries)
        self.groups = Groups.from_sizes(sizes)
        self.discount = discounts("log2", int(sizes.max()))
        labels = data.y[self.rows]
        largest = self.groups.spread(self.groups.reduce(np.maximum, labels))
        gains = np.exp2(labels - largest) - np.exp2(-largest)  # 2^y - 1 times a factor
        ideal = kernels.ideal_sum(gains, self.groups.offsets, self.discount)
        constant = np.zeros(len(gains))
        random = self._dcg(gains, constant)
        room = np.where(ideal - random > EQUAL_EDGES * ideal, ideal - random, np.inf)
        self.gains = gains / self.groups.spread(room)
        """Gains in units of the difference between the best order and a random one."""
        self.random = random / room
        weight = query_weight(data) * np.isfinite(room)
        self.exists = bool(weight.sum() > 0)
        self.weight = weight / weight.sum() if self.exists else weight

    def __call__(self, scores: Floats) -> Floats:
        """Return E' = (E - E_random) / (1 - E_random) of each query; 0 if T has no order."""
        return self._dcg(self.gains, scores[self.rows]) - self.random

    def _dcg(self, gains: Floats, scores: Floats) -> Floats:
        ranking = RankedRows(self.groups.order(scores), self.groups, scores)
        places = np.arange(len(scores))
        means = ranking.tie_means(gains)
        return kernels.discounted_sum(means, places, self.groups.offsets, self.discount)


class WeakRankerCandidates(Protocol):
    """The weak rankers of FocusedBoost; edges have the axes feature, threshold, and h or 1 - h."""

    def edges(self, D: Floats, potentials: Floats) -> tuple[Floats, Floats]:
        """Return sum_i D_i E'_i(h), and sum D'(u, v) (h(u) - h(v)) = sum_x potential(x) h(x)."""

    def choose(self, index: tuple[int, ...]) -> tuple[int, float | None, Floats, float]:
        """Return feature, threshold, values, and the factor that turns them into h (up to a constant)."""


class FeatureCandidates:
    """Single features, scaled to [0, 1]. E' of every query is computed once."""

    def __init__(self, X: Matrix, top: TopkOrder) -> None:
        self.X = X
        span = X.max(axis=0).astype(np.float64) - X.min(axis=0)
        self.scale = np.divide(1.0, span, out=np.zeros(len(span)), where=span > 0)
        columns = (column.astype(np.float64) for column in X.T)
        self.E = np.array([[[top(x), top(-x)]] for x in columns])

    def edges(self, D: Floats, potentials: Floats) -> tuple[Floats, Floats]:
        """Return the edges of the features."""
        between = kernels.rmatvec(self.X, potentials) * self.scale
        return (self.E * D).sum(axis=-1), _with_complement(between[:, None])

    def choose(self, index: tuple[int, ...]) -> tuple[int, float | None, Floats, float]:
        """Return the feature itself."""
        feature, _, complement = index
        sign = -1.0 if complement else 1.0
        return feature, None, self.X[:, feature].astype(np.float64), sign * self.scale[feature]


class StumpCandidates:
    """Stumps [x > threshold].

    As a function of the threshold, E' of a query jumps only at the values of its documents in T. So
    one jump per document and feature (two with the complements) gives E' of all thresholds. The
    jumps take at most twice the memory of X; a table of queries by stumps would have 255 d columns.
    """

    def __init__(self, X: Matrix, top: TopkOrder, n_thresholds: int) -> None:
        self.binned = BinnedFeatures.from_features(X, n_thresholds)
        self.top, self.codes = top, np.ascontiguousarray(self.binned.codes[:, top.rows])
        self.jumps = kernels.stump_dcg(self.codes, top.gains, top.groups.offsets, top.discount)

    def edges(self, D: Floats, potentials: Floats) -> tuple[Floats, Floats]:
        """Return the edges of the stumps: cumulative sums by bin."""
        weights = self.top.groups.spread(D)
        sums = [kernels.stump_sums(self.codes, weights, jumps) for jumps in self.jumps]
        between = sums_beyond(kernels.stump_sums(self.binned.codes, potentials, None))
        return np.stack([np.cumsum(s, axis=1) for s in sums], axis=-1), _with_complement(between)

    def choose(self, index: tuple[int, ...]) -> tuple[int, float | None, Floats, float]:
        """Return the stump."""
        feature, t, complement = index
        h = (self.binned.codes[feature] > t).astype(np.float64)
        return feature, float(self.binned.thresholds(feature)[t]), h, -1.0 if complement else 1.0


@dataclass(frozen=True, eq=False)
class FocusedProblem:
    """What FocusedBoost needs of its data, for any beta: lists, pairs and weak rankers."""

    top: TopkOrder
    pairs: WeightedPairs
    candidates: WeakRankerCandidates

    @classmethod
    def from_data(
        cls, data: RankingData, weak: str = "feature", n_thresholds: int = MAX_THRESHOLDS
    ) -> FocusedProblem:
        """Return the problem of data with top-k truth; raise if no query has different labels."""
        if data.topk is None:
            raise MissingTruthError(
                "the data has graded labels; expected top-k truth, which draw_truth(data, k) makes"
            )
        top, pairs = TopkOrder(data), WeightedPairs(data, (data.y > 0).astype(np.float64))
        if not (top.exists or pairs.exist):
            raise DataError(
                "in every query all documents have the same label; expected at least "
                "one query with different labels"
            )
        if weak == "feature":
            return cls(top, pairs, FeatureCandidates(data.X, top))
        return cls(top, pairs, StumpCandidates(data.X, top, n_thresholds))

    @property
    def has_both(self) -> bool:
        """Whether there are lists and pairs, so that beta counts."""
        return self.top.exists and self.pairs.exist


def _with_complement(edges: Floats) -> Floats:
    """Return the edges of h and of 1 - h, which reverses every pair."""
    return np.stack([edges, -edges], axis=-1)


@dataclass(kw_only=True, eq=False, repr=False)
class FocusedBoost(BoostedRanker):
    """AdaRank on the order of the top k, RankBoost between the top k and the rest.

    Each round takes the weak ranker with the largest r = beta sum_i D_i E'_i(h) + (1 - beta) sum
    D'(u, v) (h(u) - h(v)). For graded data, a total order is drawn from the grades, by seed, query
    and document. Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation,
    SIGIR 2012, Algorithm 2.

    Parameters
    ----------
    k
        The number of places that count.
    beta
        The share of the order of the top k, from 0 to 1. None: validation queries choose among 0.1,
        0.5 and 1; without validation queries it is 0.1. ``beta_`` is the value of the kept model.
    shrinkage
        The share of each weight that is added; the paper leaves it open, and its reproduction here
        takes 0.1.
    weak
        Single features ("feature"; the model is linear) or stumps ("threshold").
    rounds
        The maximum number of weak rankers; validation queries choose how many are kept.
    metric
        The metric by which they choose.

    Examples
    --------
    >>> from podium.data import draw_truth, make_synthetic
    >>> data = draw_truth(make_synthetic(n_queries=50, n_features=5, seed=0), k=5)
    >>> bool(FocusedBoost(k=5, rounds=200).fit(data).score(data) > 0.7)
    True
    """

    name: ClassVar[str] = "focused-boost"
    paper: ClassVar[str] = "Niu, Guo, Lan, Cheng, SIGIR 2012"
    grid: ClassVar[dict[str, Any]] = {"beta": tuple(i / 20 for i in range(21))}

    k: Count = 10
    beta: Share | None = None
    shrinkage: Annotated[float, Range(0, 1, open=True)] = 0.5
    weak: Literal["feature", "threshold"] = "feature"
    rounds: Count = 500
    metric: str = "NDCG@10"
    seed: Seed = 0

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return None if self.beta is None else int(self.rounds)

    def _rounds(self, train: RankingData) -> Iterator[Round]:
        beta = BETAS[0] if self.beta is None else self.beta
        return self._rounds_with(beta, self._truth(train))

    def _rounds_with(
        self, beta: float, truth: RankingData, problem: FocusedProblem | None = None
    ) -> Iterator[Round]:
        return focused_boost(
            truth, beta, n_rounds=self.rounds, shrinkage=self.shrinkage, weak=self.weak, problem=problem
        )  # fmt: skip

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Add one weak ranker per round; without beta, once for each value, and keep the best round."""
        truth = self._truth(train)
        problem = FocusedProblem.from_data(truth, self.weak)
        betas: tuple[float, ...] = BETAS if self.beta is None else (self.beta,)
        if monitor.valid is None or not problem.has_both:
            betas = betas[:1]
        self.beta_ = betas[0]
        for beta in betas:
            earlier_best = monitor.kept_iteration
            self._follow(self._rounds_with(beta, truth, problem), train, monitor)
            if monitor.kept_iteration != earlier_best:
                self.beta_ = beta
        return self._result(monitor)

    def _truth(self, train: RankingData) -> RankingData:
        """Return top-k truth. It is drawn from graded labels, for queries with different labels only."""
        if train.topk is not None:
            return cut_truth(train, self.k)
        drawn = draw_truth(train, self.k, self.seed)
        return drawn.with_labels(
            drawn.y * train.groups.spread(contrasting_queries(train)), topk=self.k
        )

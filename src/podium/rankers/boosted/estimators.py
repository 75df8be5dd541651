"""Boosted rankers: RankBoost, AdaRank and FocusedBoost, one weak ranker a round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from podium.data import RankingData, cut_truth, draw_truth
from podium.errors import DataError
from podium.rankers.boosted import Round, adarank, focused_boost, rankboost
from podium.rankers.history import Watch
from podium.rankers.inputs import contrasting_queries
from podium.rankers.models import Floats, Linear, Model, Stumps
from podium.rankers.parameters import Count, Range, Seed, Share
from podium.rankers.ranker import Learned, Ranker


@dataclass(kw_only=True, eq=False, repr=False)
class Boosted(Ranker):
    """A sum of weak rankers; validation queries choose how many.

    Parameters
    ----------
    rounds
        Weak rankers at most.
    """

    rounds: Count = 300

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return int(self.rounds)

    @abstractmethod
    def _rounds(self, train: RankingData) -> Iterator[Round]:
        """The rounds, one after another."""

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Add one weak ranker per round."""
        taken: list[Round] = []
        scores = None if watch.valid is None else np.zeros(len(watch.valid))
        for found in self._rounds(train):
            taken.append(found)
            if watch.valid is not None and scores is not None:
                scores += _weak(found, watch.valid.X[:, found.feature])
            watch(found.objective, _first(taken, len(taken), train.n_features), scores)
        if watch.model is None:
            raise DataError(
                f"expected a feature that says anything about the labels, got none for {self.name}"
            )
        return Learned(watch.model)


def _weak(found: Round, x: Any) -> Floats:
    x = x.astype(np.float64)
    return np.asarray(found.alpha * (x if found.threshold is None else x > found.threshold))


def _first(taken: list[Round], n: int, width: int) -> Callable[[], Model]:
    return lambda: model_of(taken[:n], width)


def model_of(taken: list[Round], width: int) -> Model:
    """Weak rankers that are features make a linear model, others a sum of stumps."""
    features = np.array([r.feature for r in taken], dtype=np.int64)
    alphas = np.array([r.alpha for r in taken])
    if taken[0].threshold is None:
        return Linear(np.bincount(features, alphas, width).astype(np.float64))
    return Stumps(width, features, np.array([r.threshold for r in taken]), alphas)


@dataclass(kw_only=True, eq=False, repr=False)
class RankBoost(Boosted):
    """Boosting on pairs: each round the stump [x > theta] that agrees most with the pairs' weights.

    r = sum D(u, v) (h(u) - h(v)), alpha = 1/2 ln((1 + r) / (1 - r)), D(u, v) prop. to exp(s_v - s_u).
    Freund, Iyer, Schapire, Singer, An efficient boosting algorithm for combining preferences,
    JMLR 2003.

    Parameters
    ----------
    rounds
        Stumps at most; validation queries choose how many are kept.
    thresholds
        Values of a feature that are tried, at most 255.
    metric
        What validation queries choose by.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, n_features=5, seed=0)
    >>> bool(RankBoost(rounds=100).fit(data).score(data) > 0.9)
    True
    """

    name: ClassVar[str] = "rankboost"
    paper: ClassVar[str] = "Freund, Iyer, Schapire, Singer, JMLR 2003"
    grid: ClassVar[dict[str, Any]] = {"thresholds": (10, 255)}

    thresholds: Annotated[int, Range(1, 255)] = 255
    metric: str = "NDCG@10"

    def _rounds(self, train: RankingData) -> Iterator[Round]:
        return rankboost(train, n_rounds=self.rounds, n_thresholds=self.thresholds)


@dataclass(kw_only=True, eq=False, repr=False)
class AdaRank(Boosted):
    """Boosting on queries, driven by a ranking measure: the features that do best where others fail.

    P_i prop. to exp(-E_i(f)), alpha = 1/2 ln(sum P (1 + E) / sum P (1 - E)); the model is linear.
    Xu and Li, AdaRank: a boosting algorithm for information retrieval, SIGIR 2007.

    Parameters
    ----------
    measure
        E: MAP, NDCG@10, P@10, ...
    rounds
        Features at most, with repetition.
    max_repeats
        A feature that was taken this often in a row is taken no more (None: as often as it wins, as
        in the paper, where the first feature may win for ever).
    reverse
        Whether features may count downwards, too (as in the paper they may not; on LETOR's features
        it makes no difference).
    metric
        What validation queries choose the number of rounds by.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=50, n_features=5, seed=0)
    >>> bool(AdaRank().fit(data).score(data) > 0.5)
    True
    """

    name: ClassVar[str] = "adarank"
    paper: ClassVar[str] = "Xu and Li, SIGIR 2007"
    grid: ClassVar[dict[str, Any]] = {"measure": ("MAP",)}

    measure: str = "MAP"
    max_repeats: Count | None = 3
    reverse: bool = True
    metric: str = "NDCG@10"

    def _rounds(self, train: RankingData) -> Iterator[Round]:
        return adarank(
            train, self.measure, n_rounds=self.rounds,
            max_repeats=self.max_repeats, reverse=self.reverse,
        )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class FocusedBoost(Boosted):
    """AdaRank on the order of the top k, RankBoost between them and the rest.

    Each round takes the weak ranker with the largest r = beta sum_i D_i E'_i(h) + (1 - beta)
    sum D'(u, v) (h(u) - h(v)). Data without top-k truth gets one: a total order drawn from the
    grades, by seed, query and document. Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling,
    ranking and evaluation, SIGIR 2012, Algorithm 2.

    Parameters
    ----------
    k
        Places that count.
    beta
        Share of the order of the top k, 0 to 1.
    shrinkage
        The part of each weight that is taken.
    weak
        Single features ("feature"; the model is linear) or stumps ("threshold").
    rounds
        Weak rankers at most; validation queries choose how many are kept.
    metric
        What they choose by.

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
    beta: Share = 0.5
    shrinkage: Annotated[float, Range(0, 1, open=True)] = 0.1
    weak: Literal["feature", "threshold"] = "feature"
    rounds: Count = 500
    metric: str = "NDCG@10"
    seed: Seed = 0

    def _rounds(self, train: RankingData) -> Iterator[Round]:
        return focused_boost(
            self._truth(train), self.beta, n_rounds=self.rounds,
            shrinkage=self.shrinkage, weak=self.weak,
        )  # fmt: skip

    def _truth(self, train: RankingData) -> RankingData:
        """The top k; of graded labels, only where a query has different ones: the rest is chance."""
        if train.topk is not None:
            return cut_truth(train, self.k)
        drawn = draw_truth(train, self.k, self.seed)
        return drawn.with_labels(
            drawn.y * train.groups.spread(contrasting_queries(train)), topk=self.k
        )

"""Every block of a fold fitted once: what all experiments of the CFBRS paper are made of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.data import Fold, RankingData
from podium.ensemble import (
    CFBRS,
    Alpha,
    Combination,
    Composed,
    Evidence,
    Plan,
    Votes,
    boost,
    ensemble_of,
    make_plan,
    votes_and_gains,
)
from podium.errors import NotConvergedWarning
from podium.metrics import evaluate, parse
from podium.rankers import Ranker

Floats = NDArray[np.float64]

METRIC = "NDCG@10"
PARTS = ("train", "valid", "test")
CHOOSE = parse(METRIC).averaging_ties()
"""The metric by which the ranker chooses: equal scores are averaged over."""


@dataclass(frozen=True, eq=False)
class Bank:
    """The blocks of all compositions of a fold, and any ensemble of them by its weights.

    Any composition with blocks of `min_block` or more is made of these blocks, so sampled, first,
    boosted and weighted ensembles are weights on one set of fits.

    Parameters
    ----------
    composed
        The exhaustive ensemble, as `CFBRS` fits it.
    """

    fold: Fold
    plan: Plan
    composed: Composed
    reason: str = ""
    """Why fits of blocks stopped, where that was too early."""

    @classmethod
    def fit(
        cls, fold: Fold, base: Ranker, min_block: int, compositions: Literal["all", "first"] = "all"
    ) -> Bank:
        """All blocks on the training queries; the base keeps its settings."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)  # told in the results
            ranker = CFBRS(base=base, min_block=min_block, compositions=compositions, metric=METRIC)
            ranker.fit(fold.train, valid=fold.valid)
        reason = "" if ranker.converged_ else ranker.stopped_
        return cls(fold, ranker.plan(), ensemble_of(ranker.model_), reason)

    def part(self, name: str) -> RankingData:
        """The queries of "train", "valid" or "test"."""
        data: RankingData = getattr(self.fold, name)
        return data

    @cached_property
    def block_scores(self) -> dict[str, Floats]:
        """The scores of each block (column) on each part."""
        every = np.arange(len(self.plan.blocks))
        return {
            name: self.composed.block_scores(data.X, data.groups, every)
            for name, data in zip(PARTS, self.fold, strict=True)
        }

    @cached_property
    def block_quality(self) -> dict[str, Floats]:
        """NDCG@10 of each block alone on each part; equal scores averaged over."""
        return {
            name: np.array(
                [
                    evaluate(self.part(name), np.ascontiguousarray(s), CHOOSE)[CHOOSE].mean
                    for s in scores.T
                ]
            )
            for name, scores in self.block_scores.items()
        }

    def votes(self, part: str, how: Combination | None = None) -> Votes:
        """What the blocks say on a part."""
        return (how or self.composed.how).votes(self.block_scores[part], self.part(part).groups)

    def per_query(self, part: str, scores: Floats) -> Floats:
        """NDCG@10 of each query of a part."""
        return np.nan_to_num(evaluate(self.part(part), scores, METRIC)[METRIC].per_query)

    def drawn(self, feedback: Any = None, **settings: Any) -> tuple[Plan, Floats]:
        """Compositions as ``CFBRS`` draws or lists them, and what they make each block count."""
        plan = make_plan(self.part("train").names(), **settings)
        return plan, self.spread(plan, Alpha(feedback, plan).prior())

    def spread(self, plan: Plan, weights: Floats) -> Floats:
        """Weights of the blocks of a smaller plan on the blocks here."""
        number = {block: b for b, block in enumerate(self.plan.blocks)}
        spread_weights = np.zeros(len(number))
        spread_weights[[number[block] for block in plan.blocks]] = weights
        return spread_weights

    def boosted(self, plan: Plan, rounds: int) -> Iterator[Floats]:
        """The blocks' weights after each round of boosting over the compositions of a plan."""
        evidence = Evidence.of(self.fold.train)
        assert evidence is not None
        own = self.among(plan)
        votes, gains = votes_and_gains(own, evidence, CHOOSE)
        worth = Alpha(None, plan).worth
        for one in boost(plan, worth, gains, evidence, votes, CHOOSE, rounds):
            yield self.spread(plan, one.weights)

    def among(self, plan: Plan) -> Composed:
        """The ensemble of the blocks of a smaller plan, without fitting them again."""
        models = dict(zip(self.plan.blocks, self.composed.models, strict=True))
        return replace(
            self.composed, blocks=plan.blocks, prior=np.ones(len(plan.blocks)),
            models=tuple(models[block] for block in plan.blocks),
        )  # fmt: skip


def first_compositions(n_features: int, smallest: int) -> list[tuple[int, ...]]:
    """(m, ..., m, rest) for each m, as the paper's Table 1 has them.

    Examples
    --------
    >>> first_compositions(7, 3)
    [(3, 4), (7,), (7,), (7,), (7,)]
    """
    sizes = []
    for m in range(smallest, n_features + 1):
        k = n_features // m
        sizes.append((*(m,) * (k - 1), n_features - m * (k - 1)))
    return sizes


def mean(values: Sequence[float] | Floats) -> float:
    """As a plain number, for JSON."""
    return float(np.mean(values))

"""Fitted blocks of features of a fold, which all experiments of the CFBRS paper combine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from podium.data import Fold, RankingData
from podium.ensemble import (
    CFBRS,
    BlockCombination,
    BlockVotes,
    ComposedModel,
    CompositionFeedback,
    CompositionPlan,
    Evidence,
    boost_compositions,
    ensemble_of,
    make_plan,
    votes_and_gains,
)
from podium.errors import NotConvergedWarning
from podium.metrics import evaluate, parse
from podium.rankers import Ranker
from podium.typing import Floats

METRIC = "NDCG@10"
PARTS = ("train", "valid", "test")
CHOICE_METRIC = parse(METRIC).averaging_ties()
"""Metric by which the ranker chooses; it averages over equal scores."""


@dataclass(frozen=True, eq=False)
class FittedBlocks:
    """Blocks of all compositions of a fold; weights on them make any ensemble.

    Each composition with blocks of `min_block` or more features consists of these blocks. So sampled,
    first, boosted and weighted ensembles are weights on one set of fits.

    Parameters
    ----------
    composed
        The ensemble of all compositions, as `CFBRS` fits it.
    """

    fold: Fold
    plan: CompositionPlan
    composed: ComposedModel
    reason: str = ""
    """Why fits of blocks stopped too early; empty if none did."""

    @classmethod
    def fit(
        cls, fold: Fold, base: Ranker, min_block: int, compositions: Literal["all", "first"] = "all"
    ) -> FittedBlocks:
        """Fit all blocks on the training queries; the base keeps its settings."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)  # the results say so
            ranker = CFBRS(base=base, min_block=min_block, compositions=compositions, metric=METRIC)
            ranker.fit(fold.train, valid=fold.valid)
        reason = "" if ranker.converged_ else ranker.stopped_
        return cls(fold, ranker.plan(), ensemble_of(ranker.model_), reason)

    def part(self, name: str) -> RankingData:
        """Return the queries of "train", "valid" or "test"."""
        data: RankingData = getattr(self.fold, name)
        return data

    @cached_property
    def block_scores(self) -> dict[str, Floats]:
        """Scores of each block (column) on each part."""
        every = np.arange(len(self.plan.blocks))
        return {
            name: self.composed.block_scores(data.X, data.groups, every)
            for name, data in zip(PARTS, self.fold, strict=True)
        }

    @cached_property
    def block_quality(self) -> dict[str, Floats]:
        """NDCG@10 of each block alone on each part, averaged over equal scores."""
        return {
            name: np.array(
                [choice_value(self.part(name), np.ascontiguousarray(s)) for s in scores.T]
            )
            for name, scores in self.block_scores.items()
        }

    def votes(self, part: str, combination: BlockCombination | None = None) -> BlockVotes:
        """Return the votes of the blocks on a part."""
        return (combination or self.composed.combination).votes(
            self.block_scores[part], self.part(part).groups
        )

    def per_query(self, part: str, scores: Floats) -> Floats:
        """Return NDCG@10 of each query of a part."""
        return np.nan_to_num(evaluate(self.part(part), scores, METRIC)[METRIC].per_query)

    def draw(self, feedback: Any = None, **settings: Any) -> tuple[CompositionPlan, Floats]:
        """Draw or list compositions as ``CFBRS`` does; return them and the weight of each block."""
        plan = make_plan(self.part("train").names(), **settings)
        return plan, self.spread_weights(plan, CompositionFeedback(feedback, plan).prior())

    def spread_weights(self, plan: CompositionPlan, weights: Floats) -> Floats:
        """Return weights of all blocks: those of a smaller plan where it has the block, else 0."""
        number = {block: b for b, block in enumerate(self.plan.blocks)}
        all_weights = np.zeros(len(number))
        all_weights[[number[block] for block in plan.blocks]] = weights
        return all_weights

    def boosting_rounds(self, plan: CompositionPlan, rounds: int) -> Iterator[Floats]:
        """Yield the blocks' weights after each round of boosting over the compositions of a plan."""
        evidence = Evidence.of(self.fold.train)
        assert evidence is not None
        votes, gains = votes_and_gains(self.restrict_to(plan), evidence, CHOICE_METRIC)
        worth = CompositionFeedback(None, plan).block_worth
        for boosting_round in boost_compositions(
            plan, worth, gains, evidence, votes, CHOICE_METRIC, rounds
        ):
            yield self.spread_weights(plan, boosting_round.weights)

    def restrict_to(self, plan: CompositionPlan) -> ComposedModel:
        """Return the ensemble of the blocks of a smaller plan, without a new fit."""
        models = dict(zip(self.plan.blocks, self.composed.models, strict=True))
        return replace(
            self.composed, blocks=plan.blocks, prior=np.ones(len(plan.blocks)),
            models=tuple(models[block] for block in plan.blocks),
        )  # fmt: skip


def choice_value(data: RankingData, scores: Floats) -> float:
    """Return the value by which the ranker chooses: NDCG@10, averaged over equal scores."""
    return evaluate(data, scores, CHOICE_METRIC)[CHOICE_METRIC].mean


def first_compositions(n_features: int, smallest: int) -> list[tuple[int, ...]]:
    """Return the composition (m, ..., m, rest) for each m, as in the paper's Table 1.

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
    """Return the mean as a plain number, for JSON."""
    return float(np.mean(values))

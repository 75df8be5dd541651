"""Boosting of compositions: AdaBoost over queries, with compositions of blocks as weak learners."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from podium.ensemble.cfbrs.block_weights import Evidence
from podium.ensemble.cfbrs.composition_plan import CompositionPlan, OrderedComposition
from podium.ensemble.cfbrs.feature_blocks import BlockVotes
from podium.metrics import Metric, evaluate
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class CompositionRound:
    """A round of boosting: the composition, its weight, and the current weights of the blocks."""

    composition: OrderedComposition
    beta: float
    weights: Floats
    loss: float
    """sum_q alpha_q exp(-E_q) / sum_q alpha_q of the current ensemble."""


def boost_compositions(
    plan: CompositionPlan,
    worth: Floats,
    gains: Floats,
    evidence: Evidence,
    votes: BlockVotes,
    metric: Metric,
    rounds: int,
    alphas: Floats | None = None,
) -> Iterator[CompositionRound]:
    """Yield the rounds of AdaBoost over queries, with compositions as weak learners, each used once.

    E_q is the metric of query q, scaled so that a random order has 0 and the best value is 1. A
    round takes the composition with the highest alpha_c sum_q D_q sum_{b in c} worth(b) E_q(b), the
    mean of its blocks' gains (the paper's measure of a composition). This is a longest path over
    the cut points, so all compositions are compared; if alpha differs, they are listed.

    The weight of the composition is alpha_c beta, with beta = 1/2 ln((1 + r) / (1 - r)) and r =
    sum_q D_q E_q of its combined ranking. Then D_q is proportional to exp(-E_q) of the ensemble.
    Rounds end when no r > 0 is left. Xu and Li, AdaRank, SIGIR 2007; Ahmad, Doja, Ahmad, CFBRS, the
    equation of the ensemble of compositional models.

    Parameters
    ----------
    worth
        The weight of each block within a composition: n_k / N.
    gains
        The metric of each query (row) under each block alone (column).
    alphas
        The feedback on each composition of the plan; None: the same for all.
    """
    data, alpha = evidence.data, evidence.alpha / np.sum(evidence.alpha)
    chance = np.nan_to_num(evaluate(data, np.zeros(len(data)), metric)[metric].per_query)
    room = np.where(chance < 1, 1 - chance, 1.0)

    def quality(weights: Floats) -> Floats:
        values = np.nan_to_num(evaluate(data, votes(weights), metric)[metric].per_query)
        return np.asarray((values - chance) / room)

    edges = (gains - chance[:, None]) / room[:, None]
    D, total, used = alpha, np.zeros(len(plan.blocks)), list[OrderedComposition]()
    for _ in range(rounds):
        # Round to twelve digits, because the order of the rows must not choose between equal
        # values.
        block_gains = np.round(worth * np.sum(edges * D[:, None], axis=0), 12)
        best = plan.best_composition(block_gains, used, alphas)
        if best is None:
            return
        composition, feedback = best
        members = plan.block_numbers(*composition)
        own = np.zeros(len(plan.blocks))
        own[members] = worth[members]
        r = float(np.sum(D * quality(own)))
        if r <= 0:
            return
        beta = 0.5 * math.log((1 + r) / max(1 - r, 1e-12))
        used.append(composition)
        total = total + feedback * beta * own
        D = alpha * np.exp(-quality(total))
        loss = float(np.sum(D))
        D = D / loss
        yield CompositionRound(composition, beta, total, loss)

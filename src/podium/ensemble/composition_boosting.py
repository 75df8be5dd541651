"""Compositions as weak learners: boosting over queries that the ensemble ranks badly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from podium.ensemble.plan import Listed, Plan
from podium.ensemble.standing import Evidence
from podium.ensemble.votes import Votes
from podium.metrics import Metric, evaluate
from podium.rankers.models import Floats


@dataclass(frozen=True, eq=False)
class Round:
    """A weak learner: the composition, what it counts, and the blocks' weights so far."""

    composition: Listed
    beta: float
    weights: Floats
    loss: float
    """sum_q alpha_q exp(-E_q) / sum_q alpha_q of the ensemble so far."""


def boost(
    plan: Plan,
    worth: Floats,
    gains: Floats,
    evidence: Evidence,
    votes: Votes,
    metric: Metric,
    rounds: int,
    alphas: Floats | None = None,
) -> Iterator[Round]:
    """AdaBoost over queries, each composition a weak learner that is used once.

    With E the metric of a query from that of a random order (0) to 1, a round takes the
    composition with the highest alpha_c sum_q D_q sum_{b in c} worth(b) E_q(b), the mean of its blocks'
    gains (the paper's measure of a composition): a longest path over the cut points, so that all
    compositions compete; where alpha differs, they are gone through. It counts alpha_c beta,
    beta = 1/2 ln((1 + r) / (1 - r)), r = sum_q D_q E_q of its combined ranking; then D_q is
    proportional to exp(-E_q) of the ensemble. No r > 0: the end. Xu and Li, AdaRank, SIGIR 2007;
    Ahmad, Doja, Ahmad, CFBRS, eq. for the ensemble of compositional models.

    Parameters
    ----------
    worth
        What each block counts within a composition: n_k / N.
    gains
        The metric of each query (row) under each block alone (column).
    alphas
        The feedback on each composition of the plan; None: the same on all.
    """
    data, alpha = evidence.data, evidence.alpha / np.sum(evidence.alpha)
    chance = np.nan_to_num(evaluate(data, np.zeros(len(data)), metric)[metric].per_query)
    room = np.where(chance < 1, 1 - chance, 1.0)

    def edge(values: Floats) -> Floats:
        return np.asarray((values - chance) / room)

    def quality(weights: Floats) -> Floats:
        found = evaluate(data, votes(weights), metric)[metric].per_query
        return edge(np.nan_to_num(found))

    edges = (gains - chance[:, None]) / room[:, None]
    D, total, used = alpha, np.zeros(len(plan.blocks)), list[Listed]()
    for _ in range(rounds):
        # Twelve digits: the order of the rows must not choose between equals.
        block_gains = np.round(worth * np.sum(edges * D[:, None], axis=0), 12)
        found = plan.best(block_gains, used, alphas)
        if found is None:
            return
        chosen, liked = found
        members = plan.members(*chosen)
        own = np.zeros(len(plan.blocks))
        own[members] = worth[members]
        r = float(np.sum(D * quality(own)))
        if r <= 0:
            return
        beta = 0.5 * math.log((1 + r) / max(1 - r, 1e-12))
        used.append(chosen)
        total = total + liked * beta * own
        E = quality(total)
        D = alpha * np.exp(-E)
        loss = float(np.sum(D))
        D = D / loss
        yield Round(chosen, beta, total, loss)

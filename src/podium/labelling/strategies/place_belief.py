"""PlaceBelief: what answers that may be wrong say about the place of each document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from podium import kernels
from podium.labelling.strategies.answer_errors import CLOSENESS, AnswerErrors
from podium.labelling.strategies.pair_answers import PairAnswers
from podium.typing import Floats

SWEEPS = 6
"""Sweeps of the propagation; the assessors' error rates are fitted after each of them."""
CORRELATIONS = np.array([0.0, 0.3, 0.5, 0.7, 0.85, 0.95])
"""How well a prior order may agree with the true one; the answers decide between them."""


@dataclass(frozen=True, eq=False)
class PlaceBelief:
    """Beliefs after some answers.

    Parameters
    ----------
    edges
        The bounds of the cells of places, from 0 to n; cells near the cut k are fine.
    beliefs
        Per group of tied documents the probability of each cell.
    messages, less, more
        Per pair: its messages, and the likelihoods of its answers if the first or the second group is
        better.
    replies
        Per assessor the share of answers that are right, guesses for the left, guesses for the right.
    errors
        The probability that the next answer is wrong.
    """

    edges: Floats
    beliefs: Floats
    messages: Floats
    less: Floats
    more: Floats
    replies: Floats
    errors: float

    @property
    def places(self) -> Floats:
        """The expected place of each group; 0 is the best."""
        return np.asarray((self.beliefs * (self.edges[1:] + self.edges[:-1]) / 2).sum(axis=1))


def cell_edges(n: int, k: int) -> Floats:
    """Return the bounds of the cells of n places: half a place wide at the cut k, wider far from it.

    Examples
    --------
    >>> cell_edges(4, 1).round(2)
    array([0.  , 0.5 , 1.  , 1.5 , 2.06, 2.69, 3.39, 4.  ])
    """
    edges = {float(k)}
    for end, sign in ((0.0, -1.0), (float(n), 1.0)):
        at = float(k)
        while at != end:
            step = 0.5 + 0.12 * abs(at - k)
            at = max(end, at - step) if sign < 0 else min(end, at + step)
            edges.add(at)
    return np.array(sorted(edges))


def place_priors(n: int, edges: Floats, tied: tuple[tuple[int, ...], ...], prior: bool) -> Floats:
    """Return the probability of each cell by correlation of the prior order, and by group.

    With a prior, document i has place i of an order of normal qualities that correlate with the
    true ones; without one, all places are equally likely.
    """
    if not prior:
        return np.tile(np.diff(edges) / n, (1, len(tied), 1))
    bounds = ndtri(edges / n)
    centres = ndtri((np.arange(n) + 0.5) / n)
    spread = np.sqrt(1 - CORRELATIONS**2)[:, None, None]
    upto = ndtr((bounds - CORRELATIONS[:, None, None] * centres[:, None]) / spread)
    densities = np.diff(upto, axis=2)
    return np.stack([densities[:, list(group)].mean(axis=1) for group in tied], axis=1)


def infer_places(
    answers: PairAnswers, edges: Floats, n: int, prior: bool = False, sweeps: int = SWEEPS
) -> PlaceBelief:
    """Return the belief after some answers: a function of the answers and nothing else.

    All answers about a pair make one factor of the belief. Propagation is thus exact for repeated
    questions, and on trees of pairs; elsewhere it is close. Error rates and the trust in the prior are
    fitted on the way (expectation maximisation).
    """
    priors = np.maximum(place_priors(n, edges, answers.tied, prior), 1e-12)
    trust = np.full(len(priors), 1 / len(priors))
    own = np.tensordot(trust, priors, 1)
    beliefs = own / own.sum(axis=1, keepdims=True)
    n_pairs = len(answers.first)
    messages = np.ones((2, n_pairs, len(edges) - 1))
    errors, close = AnswerErrors.before(answers), np.zeros(n_pairs)
    less = more = np.ones(n_pairs)
    for _ in range(sweeps if n_pairs else 0):
        close = _closeness(answers, beliefs, edges, n)
        less, more = errors.likelihoods(answers, close)
        beliefs, messages, better = kernels.sweep_places(
            beliefs, messages, answers.first, answers.second, less, more
        )
        errors = errors.fit(answers, close, better)
        if prior:
            others = beliefs / own
            trust = _fit_trust(priors, others / others.sum(axis=1, keepdims=True))
            own = np.tensordot(trust, priors, 1)
            beliefs = others * own
            beliefs /= beliefs.sum(axis=1, keepdims=True)
    rate = errors.rate(answers, close)
    return PlaceBelief(edges, beliefs, messages, less, more, errors.replies, rate)


def _closeness(answers: PairAnswers, beliefs: Floats, edges: Floats, n: int) -> Floats:
    """Return how close the documents of each pair probably are: 1 for equal ones.

    Qualities are normal, so places in the middle are closer than places at the ends.
    """
    quality = ndtri((edges[1:] + edges[:-1]) / (2 * n))
    mean = beliefs @ quality
    spread = beliefs @ quality**2 - mean**2
    first, second = answers.first, answers.second
    squared = (mean[first] - mean[second]) ** 2 + spread[first] + spread[second]
    return np.asarray(np.exp(-squared / (2 * CLOSENESS**2)))


def _fit_trust(priors: Floats, others: Floats) -> Floats:
    """Return the probability of each correlation, by what the answers alone say about places."""
    evidence = np.log((priors * others).sum(axis=2)).sum(axis=1)
    trust = np.exp(evidence - evidence.max())
    return np.asarray(trust / trust.sum())


def memberships(beliefs: Floats, sizes: Floats, cuts: list[int]) -> Floats:
    """Return, by cut, group and cell, the probability that fewer than `cut` documents are better.

    The number of better documents is a sum of independent ones, taken as normal.
    """
    better = np.cumsum(beliefs, axis=1) - beliefs / 2
    spread = better * (1 - better)
    mean = (sizes[:, None] * better).sum(axis=0) - sizes[:, None] * better
    total = (sizes[:, None] ** 2 * spread).sum(axis=0) - sizes[:, None] ** 2 * spread
    scale = np.sqrt(np.maximum(total, 1e-3))
    n = sizes.sum()
    return np.stack(
        [np.ones_like(beliefs) if cut >= n else ndtr((cut - 0.5 - mean) / scale) for cut in cuts]
    )

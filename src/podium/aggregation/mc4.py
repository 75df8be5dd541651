"""MC4: aggregation by a Markov chain, a random walk from documents to better documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from podium import kernels
from podium.aggregation.aggregator import Aggregator, Consensus, check_weights, round_scores
from podium.aggregation.rankings import Rankings
from podium.errors import UsageError
from podium.typing import Floats


@dataclass(frozen=True)
class MC4(Aggregator):
    """A random walk to documents that a majority prefers; the score is the share of time at a document.

    At document i, the walk draws a document j of the query uniformly and moves to it if sum_a p_a
    [a prefers j to i] > sum_a p_a [a prefers i to j]. With probability alpha, it jumps to a
    uniformly drawn document instead. A ranker prefers documents that it lists to others, and has no
    preference among documents that it leaves out or ties. The stationary distribution is solved
    exactly and rounded to 12 digits, so that equivalent documents have equal scores. Dwork, Kumar,
    Naor, Sivakumar, Rank aggregation methods for the web, WWW 2001.

    Parameters
    ----------
    alpha
        The probability of a jump. Without jumps, the walk stays at a document that beats all
        others, and the others tie at 0. Jumps order the others, too, and change the scores of the
        best by about alpha.
    listed_only
        Whether only rankers that list both documents vote, as in the paper.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> scores = MC4(alpha=0.1)(Rankings.of([["a", "b", "c"], ["a", "c", "b"], ["b", "a"]])).scores
    >>> bool(scores[0] > scores[1] > scores[2]), round(float(scores.sum()), 9)
    (True, 1.0)
    """

    name: ClassVar[str] = "mc4"
    paper: ClassVar[str] = "Dwork, Kumar, Naor, Sivakumar, WWW 2001"

    alpha: float = 0.05
    listed_only: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.alpha <= 1:
            raise UsageError(f"expected alpha of mc4 above 0 and up to 1, got {self.alpha!r}")

    def __call__(
        self, rankings: Rankings, weights: ArrayLike | None = None, initial: Floats | None = None
    ) -> Consensus:
        """Solve one walk per query."""
        p = check_weights(weights, rankings)
        scores = np.empty(rankings.groups.n_rows)
        for rows in rankings.groups.slices():
            scores[rows] = stationary(self._transition_rates(rankings.places[rows], p))
        return Consensus(round_scores(scores))

    def _transition_rates(self, places: Floats, p: Floats) -> Floats:
        """Return the probabilities of moves from row to column; the diagonal is not used."""
        n = len(places)
        bounds = np.array([0, n], dtype=np.int64)
        table = kernels.majority_tables(np.ascontiguousarray(places), p, bounds, self.listed_only)
        votes = table.reshape(n, n)
        beaten = votes.T - votes > 1e-12  # row by column
        return np.asarray(((1 - self.alpha) * beaten + self.alpha) / max(n, 1))


def stationary(rates: Floats) -> Floats:
    """Return the stationary distribution of an irreducible walk.

    Grassmann, Taksar and Heyman's elimination removes states one by one; the walk continues among
    the others. It does not subtract, so every share has full relative accuracy. It ignores the
    diagonal.

    Examples
    --------
    >>> stationary(np.array([[0.0, 0.25], [0.75, 0.0]])).tolist()
    [0.75, 0.25]
    """
    walk = np.array(rates, dtype=np.float64)
    n = len(walk)
    for k in range(n - 1, 0, -1):
        walk[:k, k] /= walk[k, :k].sum()
        walk[:k, :k] += walk[:k, k, None] * walk[k, :k]
    shares = np.ones(n)
    for k in range(1, n):
        shares[k] = (shares[:k] * walk[:k, k]).sum()
    return np.asarray(shares / shares.sum()) if n else shares

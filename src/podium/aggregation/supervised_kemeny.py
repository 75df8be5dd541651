"""Supervised Kemeny: local Kemenisation of an initial order by weighted majorities.

The majority table and the sorts are kernels (``kernels/reference/majority_votes.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium import kernels
from podium.aggregation.initial_order import InitialOrderAggregator
from podium.aggregation.rankings import Rankings
from podium.typing import Floats, Rows


@dataclass(frozen=True)
class SupervisedKemeny(InitialOrderAggregator):
    """Supervised Kemeny: documents of an initial order climb while a weighted majority prefers them.

    M_ij is the weight of the rankers that put i above j; a ranker puts documents that it lists
    above all others. The documents of the initial order mu are inserted in turn. Document j climbs
    past its neighbour i while M_ji > M_ij (local Kemenisation). So the weighted Kendall distance to
    the rankings never exceeds that of mu, and no majority opposes two neighbours of the final
    order. Weights add up to 1, and a lead of at most 1e-12, the rounding of their sums, is not a
    majority.

    The printed Algorithm 2 has two flaws. Only pairs within the top k of one list count, so it
    never orders documents that do not occur together in a list. And it quicksorts by a majority
    that is not transitive. `literal=True` follows the printed text: the middle document is the
    pivot, and documents equal to it stay on their side. Its order may be further from the rankings
    than mu. The algorithm's k, the number of documents that count in each list, is `Rankings.top`.

    Subbian, Melville, Supervised rank aggregation for predicting influencers in Twitter, SocialCom
    2011; Algorithm 2 of the TopRank paper. Local Kemenisation: Dwork, Kumar, Naor, Sivakumar, Rank
    aggregation methods for the web, WWW 2001.

    Parameters
    ----------
    literal
        Whether to follow Algorithm 2 exactly as the TopRank paper prints it, with its flaws.

    Examples
    --------
    >>> from podium.aggregation import Rankings
    >>> rankings = Rankings.of([["a", "b", "c"], ["b", "c", "a"], ["b", "a"]])
    >>> consensus = SupervisedKemeny()(rankings, weights=[1, 1, 1], initial=[2, 1, 0])
    >>> consensus.scores.tolist(), consensus.distance.tolist() == [(1 + 1 + 0) / 3]
    ([1.0, 2.0, 0.0], True)
    """

    name: ClassVar[str] = "supervised-kemeny"
    paper: ClassVar[str] = "Subbian and Melville, SocialCom 2011"

    literal: bool = False

    def improve(self, rankings: Rankings, weights: Floats, order: Rows) -> tuple[Rows, None]:
        """Sort by local Kemenisation, or by quicksort if literal."""
        sort = kernels.majority_quicksort if self.literal else kernels.local_kemenisation
        return sort(rankings.places, weights, order, rankings.groups.offsets), None

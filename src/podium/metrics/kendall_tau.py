"""Kendall's tau and pairwise accuracy: metrics of pairs of documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data import Groups
from podium.metrics.metric import Empty, Metric
from podium.metrics.ranked_lists import RankedLists
from podium.typing import Floats


@dataclass(frozen=True, kw_only=True, repr=False)
class Tau(Metric):
    """Kendall's tau-b between scores and labels; it accounts for ties on both sides.

    Tau@k compares the two top-k lists: scores below the k-th place of the ranking are tied with
    each other, and so are labels below the k-th largest label. Queries whose labels are all
    equal are empty; scores that are all equal give 0.
    """

    name = "Tau"
    aliases = ("Kendall",)
    formula = "(concordant - discordant) / sqrt(pairs untied by score x pairs untied by label)"

    empty: Empty = 0

    def values(self, lists: RankedLists) -> Floats:
        """Return tau-b of each query."""
        scores, labels, groups = _in_rank_order(lists)
        if self.k is not None:
            levels = -np.cumsum(lists.ranking("stable").tie_starts()).astype(np.float64)
            scores = np.where(groups.places < self.k, levels, -np.inf)
            labels = np.where(
                labels >= groups.spread(_kth_largest(groups, labels, self.k)), labels, -1
            )
        same, opposite, only_s, only_y = kernels.pair_counts(scores, labels, groups.offsets).T
        untied_s = (same + opposite + only_y).astype(np.float64)
        untied_y = (same + opposite + only_s).astype(np.float64)
        norm = np.sqrt(untied_s * untied_y)
        return np.asarray((same - opposite) / np.where(norm > 0, norm, 1.0))

    def blank(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return which queries have equal labels only."""
        return _has_equal_labels(lists)


@dataclass(frozen=True, kw_only=True, repr=False)
class PairAccuracy(Metric):
    """The share of pairs with different labels that the scores order correctly; a tie counts 1/2."""

    name = "PairAccuracy"
    aliases = ("PairAcc",)
    formula = "(concordant + tied by score / 2) / pairs with different labels"
    takes_cutoff = False

    empty: Empty = 0

    def values(self, lists: RankedLists) -> Floats:
        """Return the accuracy of each query."""
        scores, labels, groups = _in_rank_order(lists)
        same, opposite, tied, _ = kernels.pair_counts(scores, labels, groups.offsets).T
        return np.asarray((same + tied / 2) / np.maximum(same + opposite + tied, 1))

    def blank(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return which queries have equal labels only."""
        return _has_equal_labels(lists)


def _in_rank_order(lists: RankedLists) -> tuple[Floats, Floats, Groups]:
    """Return scores and labels of the ranked documents, best first."""
    ranking = lists.ranking("stable")
    return ranking.scores[ranking.order], lists.labels[ranking.order], ranking.groups


def _has_equal_labels(lists: RankedLists) -> NDArray[np.bool_]:
    _, labels, groups = _in_rank_order(lists)
    return np.asarray(groups.reduce(np.maximum, labels) == groups.reduce(np.minimum, labels))


def _kth_largest(groups: Groups, labels: Floats, k: int) -> Floats:
    """Return the k-th largest label of each query, or the smallest if it has fewer than k documents."""
    kth = np.zeros(len(groups))
    filled = groups.sizes > 0
    at = (groups.offsets[:-1] + np.minimum(k, groups.sizes) - 1)[filled]
    kth[filled] = labels[groups.order(labels)][at]
    return kth

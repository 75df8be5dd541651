"""Binary relevance: precision (P), recall, MAP, MRR, Hit, RBP. Relevant means label >= rel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import UsageError
from podium.metrics.metric import Empty, Metric, Ties, is_number
from podium.metrics.ranked_lists import RankedLists
from podium.metrics.ties import expect_over_ties, first_hit_probabilities
from podium.typing import Floats


@dataclass(frozen=True, kw_only=True, repr=False)
class BinaryMetric(Metric):
    """A metric of binary relevance: a document is relevant or not."""

    rel: float = 1
    ties: Ties = "stable"
    empty: Empty = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.rel) or not 0 < self.rel < np.inf:
            raise UsageError(f"expected a threshold rel above 0 in {self.name}, got {self.rel!r}")

    def blank(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return which queries have no relevant document."""
        return np.asarray(lists.n_relevant(self.rel) == 0)

    def weighted_hits(self, lists: RankedLists, discount: Floats) -> Floats:
        """Return the sum of the discount over relevant places."""
        ranking, relevant = lists.ranking(self.ties), lists.relevant(self.rel)
        order, offsets = ranking.order, ranking.groups.offsets
        if self.ties == "average":
            hits = ranking.tie_means(relevant.astype(np.float64))
            return kernels.discounted_sum(hits, np.arange(len(order)), offsets, discount)
        return kernels.discounted_sum(relevant, order, offsets, discount)

    def n_relevant(self, lists: RankedLists) -> Floats:
        """Return the number of relevant documents of each query, at least 1 to allow division."""
        return np.maximum(lists.n_relevant(self.rel), 1).astype(np.float64)


@dataclass(frozen=True, kw_only=True, repr=False)
class P(BinaryMetric):
    """Precision: the share of relevant documents among the first k.

    A list shorter than k counts as if it were filled up with non-relevant documents (short="keep"),
    is divided by its length (short="length"), or has the value 0 (short="zero").
    """

    name = "P"
    aliases = ("Precision",)
    formula = "relevant among the first k / k"
    needs_cutoff = True

    short: Literal["keep", "length", "zero"] = "keep"

    def values(self, lists: RankedLists) -> Floats:
        """Return hits divided by places."""
        places = np.full(len(lists.groups), self.k)
        if self.short == "length":
            places = np.clip(lists.ranking(self.ties).groups.sizes, 1, self.k)
        return np.asarray(self.weighted_hits(lists, np.ones(self.depth(lists))) / places)


@dataclass(frozen=True, kw_only=True, repr=False)
class Recall(BinaryMetric):
    """Recall: the share of all relevant documents that are among the first k."""

    name = "Recall"
    aliases = ("R",)
    formula = "relevant among the first k / relevant documents"

    def values(self, lists: RankedLists) -> Floats:
        """Return hits divided by relevant documents."""
        hits = self.weighted_hits(lists, np.ones(self.depth(lists)))
        return np.asarray(hits / self.n_relevant(lists))


@dataclass(frozen=True, kw_only=True, repr=False)
class MAP(BinaryMetric):
    """Average precision: the mean of the precision at each relevant document.

    norm="all" divides by all relevant documents (trec_eval); norm="cut" by at most k of them
    (LightGBM), so that a perfect top k scores 1.
    """

    name = "MAP"
    aliases = ("AP",)
    formula = "sum over relevant places i<=k of P@i / relevant documents"

    norm: Literal["all", "cut"] = "all"

    def values(self, lists: RankedLists) -> Floats:
        """Return the average precision of each query."""
        ranking, relevant = lists.ranking(self.ties), lists.relevant(self.rel)
        order, offsets, depth = ranking.order, ranking.groups.offsets, self.depth(lists)
        if self.ties == "average":
            sums = kernels.tied_precision_sum(relevant, order, ranking.scores, offsets, depth)
        else:
            sums = kernels.precision_sum(relevant, order, offsets, depth)
        n = self.n_relevant(lists)
        return np.asarray(sums / (np.minimum(n, depth) if self.norm == "cut" else n))


@dataclass(frozen=True, kw_only=True, repr=False)
class MRR(BinaryMetric):
    """Reciprocal rank: 1 / position of the first relevant document, 0 beyond the cutoff."""

    name = "MRR"
    aliases = ("RR",)
    formula = "1 / position of the first relevant document"

    def values(self, lists: RankedLists) -> Floats:
        """Return the reciprocal rank of each query."""
        ranking, relevant = lists.ranking(self.ties), lists.relevant(self.rel)
        depth = self.depth(lists)
        place = kernels.first_place(relevant, ranking.order, ranking.groups.offsets, depth)
        values = np.where(place > 0, 1 / np.maximum(place, 1), 0.0)
        if self.ties == "average":

            def expected(groups: list[NDArray[np.bool_]]) -> float:
                chance = first_hit_probabilities(groups, depth)
                return float(np.sum(chance / np.arange(1, len(chance) + 1)))

            values = expect_over_ties(values, ranking, relevant, expected)
        return values


@dataclass(frozen=True, kw_only=True, repr=False)
class Hit(BinaryMetric):
    """Hit: 1 if a relevant document is among the first k."""

    name = "Hit"
    aliases = ("Success",)
    formula = "1 if a relevant document stands among the first k, else 0"
    needs_cutoff = True

    def values(self, lists: RankedLists) -> Floats:
        """Return 1 for each query with a hit, else 0."""
        ranking, relevant = lists.ranking(self.ties), lists.relevant(self.rel)
        depth = self.depth(lists)
        place = kernels.first_place(relevant, ranking.order, ranking.groups.offsets, depth)
        values = (place > 0).astype(np.float64)
        if self.ties == "average":
            values = expect_over_ties(
                values, ranking, relevant, lambda g: float(first_hit_probabilities(g, depth).sum())
            )
        return values


@dataclass(frozen=True, kw_only=True, repr=False)
class RBP(BinaryMetric):
    """Rank-biased precision: a user reads on to the next document with probability p.

    Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    """

    name = "RBP"
    formula = "(1 - p) sum over relevant places i<=k of p^(i-1)"

    p: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.p) or not 0 < self.p < 1:
            raise UsageError(f"expected p between 0 and 1 in RBP, got {self.p!r}")

    def values(self, lists: RankedLists) -> Floats:
        """Return the RBP of each query."""
        places = np.arange(self.depth(lists), dtype=np.float64)
        return self.weighted_hits(lists, np.asarray((1 - self.p) * np.power(self.p, places)))

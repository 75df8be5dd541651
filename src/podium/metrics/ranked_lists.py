"""Ranked lists: labelled documents in the order of their scores, which metrics evaluate.

Metrics share what several of them need: the order under a tie rule, gains, relevance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.data import Groups, Qrels, RankingData, Run, Strings
from podium.errors import GainOverflowError, MissingDocidsError
from podium.metrics.gain_and_discount import (
    GAINS,
    GAINS_BY_LABEL,
    Discount,
    Gain,
    check_exponent,
    discounts,
)
from podium.metrics.judged_documents import JudgedDocuments, join_judgments
from podium.metrics.ties import RankedRows
from podium.typing import Bools, Floats, Rows


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Labelled documents with scores, grouped by query.

    `judged` has the labels that count for the ideal and for recall; None means those of the ranked
    documents. `scale_top` is the top of the label scale, if the lists are a part of more; None means
    their own largest label.
    """

    labels: Floats
    scores: Floats
    groups: Groups
    qids: NDArray[np.object_]
    docids: Strings | None = None
    judged: JudgedDocuments | None = None
    weight: Floats | None = None
    topk: int | None = None
    scale_top: float | None = None
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of_scores(cls, data: RankingData, scores: ArrayLike) -> RankedLists:
        """Return the lists of ranking data with these scores."""
        return cls(
            data.y, data.check_scores(scores), data.groups, data.qids, data.docid_column,
            weight=data.query_weight, topk=data.topk,
        )  # fmt: skip

    @classmethod
    def of_run(cls, qrels: Qrels, run: Run) -> RankedLists:
        """Return the lists of a run with the labels of qrels.

        Every query of the qrels counts, even without documents in the run (like trec_eval -c);
        queries without qrels do not count. Documents without a label or with a negative one are not
        relevant.
        """
        ranked, labels, judged = join_judgments(run, qrels)
        return cls(
            labels=labels,
            scores=ranked.values,
            groups=ranked.groups,
            qids=qrels.qids,
            docids=ranked.docids,
            judged=judged,
            weight=qrels.weight,
            topk=qrels.topk,
        )

    def largest_label(self) -> float:
        """Return the top of the label scale: the largest label of all lists."""
        own = float(self.max_label().max(initial=0))
        return own if self.scale_top is None else max(own, self.scale_top)

    def with_scores(self, scores: Floats) -> RankedLists:
        """Return the same documents with other scores; results that depend only on labels are kept."""
        cache = {key: value for key, value in self._cache.items() if key[0] != "ranking"}
        return replace(self, scores=scores, _cache=cache)

    def compute_once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what depends on labels alone, computed once; ("ranking", ...) depends on scores, too."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def ranking(self, ties: str) -> RankedRows:
        """Return the order under a tie rule; one sort per query, shared by all metrics."""
        rule = "stable" if ties == "average" else ties
        ranking: RankedRows = self.compute_once(("ranking", rule), lambda: self._rank(rule))
        return ranking

    def _rank(self, ties: str) -> RankedRows:
        if ties == "trec":
            with np.errstate(over="ignore"):
                singles = self.scores.astype(np.float32)
            order = kernels.trec_order(singles, *self._docid_arrays(), self.groups.offsets)
            return RankedRows(order, self.groups, singles.astype(np.float64))
        tie_keys = self.labels if ties == "worst" else None
        return RankedRows(self.groups.order(self.scores, tie_keys), self.groups, self.scores)

    def discounted_sum(self, values: Floats | Bools, discount: Floats, ties: str) -> Floats:
        """Return the sum over the first places of discount times value, from one value per document."""
        if ties == "average":
            return kernels.tied_discounted_sum(values, self.scores, self.groups.offsets, discount)
        order = self.ranking(ties).order
        return kernels.discounted_sum(values, order, self.groups.offsets, discount)

    def _docid_arrays(self) -> tuple[NDArray[np.uint8], Rows]:
        if self.docids is None:
            raise MissingDocidsError(
                "ties='trec' orders equal scores by document id, but this data has no document ids"
            )
        return self.docids.bytes, self.docids.offsets

    def gains(self, gain: Gain) -> Floats:
        """Return the gain of each ranked document."""
        return self._gains(gain)[0]

    def _gains(self, gain: Gain) -> tuple[Floats, Floats, Groups]:
        """Return the gains of ranked documents, and those that the ideal sorts, with their groups."""
        gains: tuple[Floats, Floats, Groups] = self.compute_once(
            ("gain", gain), lambda: self._compute_gains(gain)
        )
        return gains

    def _compute_gains(self, gain: Gain) -> tuple[Floats, Floats, Groups]:
        compute, judged = GAINS[gain], self.judged
        if judged is None:
            gains = compute(self.labels, self.groups)
            return gains, gains, self.groups
        if gain in GAINS_BY_LABEL:
            ideal_gains = compute(judged.labels, judged.groups)
            return compute(self.labels, self.groups), ideal_gains, judged.groups
        # A rank counts all documents of the query, ranked or judged.
        rest = np.flatnonzero(~judged.is_ranked)
        codes = np.concatenate([self.groups.codes, judged.groups.codes[rest]])
        labels = np.concatenate([self.labels, judged.labels[rest]])
        rows, groups = (
            np.argsort(codes, kind="stable"),
            Groups.from_codes(codes, len(self.groups))[0],
        )
        gains, gain_of_row = compute(labels[rows], groups), np.empty(len(rows))
        gain_of_row[rows] = gains
        return gain_of_row[: len(self.labels)], gains, groups

    def discounts(self, rule: Discount, depth: int) -> Floats:
        """Return the discount of each place up to depth."""
        values: Floats = self.compute_once(
            ("discount", rule, depth), lambda: discounts(rule, depth)
        )
        return values

    def ideal(self, gain: Gain, discount: Discount, depth: int) -> Floats:
        """The largest sum of discounted gains that any order has in the places up to depth."""
        values: Floats = self.compute_once(
            ("ideal", gain, discount, depth), lambda: self._compute_ideal(gain, discount, depth)
        )
        return values

    def _compute_ideal(self, gain: Gain, discount: Discount, depth: int) -> Floats:
        _, gains, groups = self._gains(gain)
        values = kernels.ideal_sum(gains, groups.offsets, self.discounts(discount, depth))
        if not np.isfinite(values).all():
            check_exponent(float(self.max_label().max(initial=0)))
            raise GainOverflowError(
                "the labels are too large: the sum of 2^label - 1 does not fit in a double; "
                "use gain='linear' or gain='rank'"
            )
        return values

    def relevant(self, threshold: float) -> Bools:
        """Return whether the label of each ranked document reaches the threshold."""
        return self._relevant(threshold)[0]

    def n_relevant(self, threshold: float) -> Rows:
        """Return the number of relevant documents of each query, ranked or not."""
        return self._relevant(threshold)[1]

    def _relevant(self, threshold: float) -> tuple[Bools, Rows]:
        relevance: tuple[Bools, Rows] = self.compute_once(
            ("rel", threshold), lambda: self._find_relevant(threshold)
        )
        return relevance

    def _find_relevant(self, threshold: float) -> tuple[Bools, Rows]:
        relevant, counts = kernels.find_relevant(self.labels, threshold, self.groups.offsets)
        if self.judged is None:
            return relevant, counts
        judged = self.judged
        return relevant, kernels.find_relevant(judged.labels, threshold, judged.groups.offsets)[1]

    def max_label(self) -> Floats:
        """The largest label of each query."""
        counted = self if self.judged is None else self.judged
        return np.asarray(counted.groups.reduce(np.maximum, counted.labels))

    def lengths(self) -> Rows:
        """The number of documents in each ranked list."""
        return self.groups.sizes

    def longest(self) -> int:
        """The number of documents of the longest list, or of the query with the most judged documents."""
        longest: int = self.compute_once(("longest",), self._find_longest)
        return longest

    def _find_longest(self) -> int:
        n_judged = 0 if self.judged is None else int(self.judged.groups.sizes.max(initial=0))
        return max(n_judged, int(self.groups.sizes.max(initial=0)))

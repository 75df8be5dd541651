"""Documents in the order a ranker puts them: what a metric looks at.

Everything that several metrics need (the order under a tie rule, gains, who is relevant)
is computed once and shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.data import Groups, Qrels, RankingData, Run, Strings, match
from podium.errors import DataError, GainOverflowError, MissingDocidsError

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

MAX_EXPONENT = 1023
"""2^1023 is the largest power of two in a double."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows best first, query by query; `scores` (one a row) tell which places are tied."""

    order: Rows
    groups: Groups
    scores: Floats

    def tie_starts(self) -> NDArray[np.bool_]:
        """Whether each place begins a new group of equal scores."""
        return self.groups.run_starts(self.scores[self.order])

    def tie_means(self, values: Floats) -> Floats:
        """Values given per row -> at each place the mean over the places it is tied with."""
        starts = self.tie_starts()
        ranked = values[self.order]
        if starts.all():
            return ranked
        first = np.flatnonzero(starts)
        sizes = np.diff(first, append=len(ranked))
        shares = ranked / np.repeat(
            sizes, sizes
        )  # divided first: the sum of the largest may overflow
        return np.asarray(np.repeat(np.add.reduceat(shares, first), sizes))


@dataclass(frozen=True, eq=False)
class Lists:
    """Labelled documents with scores, grouped by query.

    `retrieved` marks documents that stand in the ranked list; the others (judged, not
    retrieved) count for the ideal and for recall only. None means all.
    """

    labels: Floats
    scores: Floats
    groups: Groups
    qids: NDArray[np.object_]
    docids: Strings | None = None
    retrieved: NDArray[np.bool_] | None = None
    weight: Floats | None = None
    topk: int | None = None
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of_scores(cls, data: RankingData, scores: ArrayLike) -> Lists:
        """The documents of ranking data by these scores."""
        return cls(
            data.y, data.check_scores(scores), data.groups, data.qids, data.docid_column,
            weight=data.query_weight, topk=data.topk,
        )  # fmt: skip

    @classmethod
    def of_run(cls, qrels: Qrels, run: Run) -> Lists:
        """A run judged by qrels.

        Every query of the qrels counts, also one the run says nothing about (as trec_eval -c);
        queries without qrels do not. Unjudged documents and negative labels are not relevant.
        """
        number = {qid: q for q, qid in enumerate(qrels.qids.tolist())}
        codes = np.array([number.get(qid, -1) for qid in run.qids.tolist()], dtype=np.int64)
        if (codes < 0).all():
            raise DataError(
                f"expected a run over the queries of the qrels, got no query in common "
                f"(run: {run.qids[0]!r}, qrels: {qrels.qids[0]!r}, ...)"
            )
        run_codes = np.asarray(run.groups.spread(codes))
        judged = np.flatnonzero(run_codes >= 0)
        run_codes, run_docids = run_codes[judged], run.docids.take(judged)
        at = match(run_codes, run_docids, qrels.groups.codes, qrels.docids)
        unranked = np.ones(len(qrels), dtype=bool)
        unranked[at[at >= 0]] = False
        rest = np.flatnonzero(unranked)
        labels = np.maximum(qrels.values, 0)
        all_codes = np.concatenate([run_codes, qrels.groups.codes[rest]])
        groups, rows = Groups.from_codes(all_codes, len(qrels.qids))
        rows = np.arange(len(all_codes)) if rows is None else rows
        run_labels = np.where(at >= 0, labels[np.maximum(at, 0)], 0.0)
        return cls(
            labels=np.concatenate([run_labels, labels[rest]])[rows],
            scores=np.concatenate([run.values[judged], np.zeros(len(rest))])[rows],
            groups=groups,
            qids=qrels.qids,
            docids=Strings.concatenate([run_docids, qrels.docids.take(rest)]).take(rows),
            retrieved=(np.arange(len(all_codes)) < len(judged))[rows],
            weight=qrels.weight,
            topk=qrels.topk,
        )

    def rescored(self, scores: Floats) -> Lists:
        """The same documents with other scores; what depends on labels alone is kept."""
        kept = {key: value for key, value in self._kept.items() if key[0] != "ranking"}
        return replace(self, scores=scores, _kept=kept)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def ranking(self, ties: str) -> Ranking:
        """The order under a tie rule; one sort a query, shared by all metrics."""
        rule = "stable" if ties == "average" else ties
        ranking: Ranking = self._once(("ranking", rule), lambda: self._rank(rule))
        return ranking

    def _rank(self, ties: str) -> Ranking:
        scores, tie_keys = self.scores, None
        if ties == "worst":
            tie_keys = self.labels
        if ties == "trec":
            with np.errstate(over="ignore"):
                scores = scores.astype(np.float32).astype(np.float64)
            tie_keys = self._docids_descending(scores)
        order = self.groups.order(scores, tie_keys)
        groups = self.groups
        if self.retrieved is not None:
            groups = Groups.from_sizes(self.lengths())
            order = order[self.retrieved[order]]
        return Ranking(order, groups, scores)

    def _docids_descending(self, scores: Floats) -> Floats | None:
        """A key that orders documents with equal scores by id, descending (as trec_eval does)."""
        if self.docids is None:
            raise MissingDocidsError(
                "ties='trec' orders equal scores by document id and this data has none"
            )
        order = self.groups.order(scores)
        starts = Ranking(order, self.groups, scores).tie_starts()
        if starts.all():
            return None
        return kernels.string_places(self.docids.bytes, self.docids.offsets, self.groups.offsets)

    def gains(self, gain: str) -> Floats:
        """What each document is worth."""
        values: Floats = self._once(("gain", gain), lambda: _GAINS[gain](self))
        return values

    def ideal(self, gain: str, discount: Floats) -> Floats:
        """The largest sum of discounted gains any order has."""
        values: Floats = self._once(
            ("ideal", gain, discount.tobytes()),
            lambda: kernels.ideal_sum(self.gains(gain), self.groups.offsets, discount),
        )
        if not np.isfinite(values).all():
            raise GainOverflowError(
                "expected gains whose sum fits a double, got labels so large that 2^label - 1 does not "
                "add up; use gain='linear' or gain='rank'"
            )
        return values

    def relevant(self, threshold: float) -> NDArray[np.bool_]:
        """Whether each document's label reaches the threshold."""
        mask: NDArray[np.bool_] = self._once(("rel", threshold), lambda: self.labels >= threshold)
        return mask

    def n_relevant(self, threshold: float) -> Rows:
        """Relevant documents of each query."""
        counts: Rows = self._once(
            ("n", threshold),
            lambda: self.groups.reduce(np.add, self.relevant(threshold).astype(np.int64)),
        )
        return counts

    def max_label(self) -> Floats:
        """The largest label of each query."""
        return np.asarray(self.groups.reduce(np.maximum, self.labels))

    def lengths(self) -> Rows:
        """Documents in each query's ranked list."""
        if self.retrieved is None:
            return self.groups.sizes
        return np.bincount(self.groups.codes[self.retrieved], minlength=len(self.groups))

    def longest(self) -> int:
        """Documents in the longest list."""
        return int(self.groups.sizes.max(initial=0))


def check_exponent(largest: float) -> None:
    """Raise where 2^label does not fit a double."""
    if largest > MAX_EXPONENT:
        raise GainOverflowError(
            f"expected labels up to {MAX_EXPONENT} for the gain 2^label - 1, got {largest:g}; "
            "use gain='linear' or gain='rank'"
        )


def _exp2(lists: Lists) -> Floats:
    check_exponent(float(lists.labels.max(initial=0)))
    return kernels.exp2_gain(lists.labels)


def _rank(lists: Lists) -> Floats:
    """(n - rank) / (n - 1), rank of the label in its query, equal labels sharing their mean rank."""
    order = lists.groups.order(lists.labels)
    by_label = Ranking(order, lists.groups, lists.labels)
    places = np.empty(len(order))
    places[order] = lists.groups.places
    ranks = np.empty(len(order))
    ranks[order] = by_label.tie_means(places) + 1
    n = lists.groups.spread(lists.groups.sizes)
    return np.where(n > 1, (n - ranks) / np.maximum(n - 1, 1), 1.0)


_GAINS: dict[str, Callable[[Lists], Floats]] = {
    "exp2": _exp2,
    "linear": lambda lists: lists.labels,
    "rank": _rank,
    "rank-exp2": lambda lists: np.exp2(lists.gains("rank")) - 1,
}

GAINS = tuple(_GAINS)
"""Names of the gains."""

"""Figures of lists under judgments: a metric, expected clicks, and money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np

from podium.data import Groups, Qrels, Run, Strings
from podium.errors import DataError, UsageError
from podium.metrics import Metric
from podium.metrics.evaluation import evaluate_lists
from podium.metrics.gain_and_discount import check_exponent, discounts
from podium.metrics.naming import resolve
from podium.metrics.ranked_lists import RankedLists
from podium.postranking.list_input import Catalogue
from podium.typing import Document, Floats

CLICKS, JUDGED = "clicks", "judged"
"""The names of two figures: expected clicks, and the share of judged documents at the head."""


@dataclass(frozen=True, eq=False)
class ListFigures:
    """Figures of the first k documents of lists, by judgments.

    Users look at place r with probability e(r), and click on a document that they look at with
    probability a(d) = (2^label - 1) / 2^largest label, as in ERR; labels that are all at
    most 1, some between 0 and 1, are these probabilities themselves. A list has
    sum_{r <= k} e(r) a(d_r) expected clicks, and with the field v of documents
    sum_{r <= k} e(r) a(d_r) v(d_r) money. Documents without a judgment or a value count as 0.

    Parameters
    ----------
    judgments
        The labels of documents by query.
    k
        The number of first places that count.
    metric
        A metric; the default is NDCG@k.
    examination
        The probability that users look at each place; the default is 1 / log2(r + 1).
    fields, value
        The fields of documents by their ids, and the name of the field with money.
    are_rates
        Whether labels are the probabilities a(d), even if all of them are 0 or 1.

    Examples
    --------
    >>> from podium.data import Qrels, RankingData
    >>> labels = RankingData.from_arrays([[0.0]] * 2, [0, 1], qid=["q"] * 2, docid=["a", "b"])
    >>> figures = ListFigures(Qrels.from_data(labels), k=2, examination=[1.0, 0.5])
    >>> figures.measure({"q": ["a", "b"]})["clicks"], figures.measure({"q": ["b", "a"]})["clicks"]
    (array([0.25]), array([0.5]))
    """

    judgments: Qrels
    k: int = 10
    metric: str | Metric | None = None
    examination: Sequence[float] | None = None
    fields: Catalogue | None = None
    value: str | None = None
    are_rates: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or self.k < 1:
            raise UsageError(f"expected k of 1 or more, got {self.k!r}")
        if self.value is not None and self.fields is None:
            raise UsageError(f"the field {self.value!r} is money only with fields=...")

    @cached_property
    def resolved_metric(self) -> Metric:
        """The metric."""
        return resolve(f"NDCG@{self.k}" if self.metric is None else self.metric)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the figures."""
        money = () if self.value is None else (self.value,)
        return (str(self.resolved_metric), CLICKS, *money)

    @cached_property
    def looks(self) -> Floats:
        """The probability that users look at each of the first k places."""
        if self.examination is None:
            return discounts("log2", self.k)
        looks = np.asarray(self.examination, dtype=np.float64)
        if looks.ndim != 1 or not ((looks >= 0) & (looks <= 1)).all() or not len(looks):
            raise UsageError(
                f"expected the probability of a look at each place, from 0 to 1, got {self.examination!r}"
            )
        return np.concatenate([looks[: self.k], np.zeros(max(0, self.k - len(looks)))])

    @cached_property
    def clicks(self) -> Mapping[str, Mapping[str, float]]:
        """The probability of a click on each judged document that is looked at, by query."""
        labels = np.maximum(self.judgments.values, 0)
        top = float(labels.max(initial=0))
        check_exponent(top)
        if self.are_rates and top > 1:
            raise DataError(f"expected probabilities of clicks of at most 1, got {top:g}")
        are_rates = self.are_rates or (top <= 1 and (labels % 1).any())
        rates = (labels if are_rates else (2**labels - 1) / 2**top).tolist()
        docids = list(self.judgments.docids)
        return {
            qid: dict(zip(docids[own], rates[own], strict=True))
            for qid, own in zip(
                self.judgments.qids.tolist(), self.judgments.groups.slices(), strict=True
            )
        }

    def measure(self, lists: Mapping[str, Sequence[Document]]) -> dict[str, Floats]:
        """Return each figure of every list, and the share of judged documents among the first k.

        Lists of queries without judgments have NaN.
        """
        clicks: list[float] = []
        money: list[float] = []
        judged: list[float] = []
        for qid, docs in lists.items():
            rates = self.clicks.get(qid)
            head = [str(doc) for doc in docs[: self.k]]
            if rates is None:
                for column in (clicks, money, judged):
                    column.append(np.nan)
                continue
            expected = self.looks[: len(head)] * [rates.get(doc, 0.0) for doc in head]
            clicks.append(float(expected.sum()))
            money.append(float(expected @ [self._worth(doc) for doc in docs[: self.k]]))
            judged.append(sum(doc in rates for doc in head) / len(head) if head else np.nan)
        metric, *others = self.names
        columns = dict(zip(others, (clicks, money), strict=False))
        figures = {name: np.array(column) for name, column in columns.items()}
        return {metric: self._metric_values(lists), **figures, JUDGED: np.array(judged)}

    def _worth(self, doc: Document) -> float:
        if self.value is None or self.fields is None:
            return 0.0
        worth = self.fields.get(doc, {}).get(self.value)
        return float(worth) if isinstance(worth, Real) and np.isfinite(float(worth)) else 0.0

    def _metric_values(self, lists: Mapping[str, Sequence[Document]]) -> Floats:
        """Return the metric of every list, NaN without judgments."""
        values = np.full(len(lists), np.nan)
        numbers = [number for number, qid in enumerate(lists) if qid in self.clicks]
        if not numbers:
            return values
        qids = [qid for qid in lists if qid in self.clicks]
        sizes = [len(lists[qid]) for qid in qids]
        places = np.concatenate([np.arange(size, 0, -1.0) for size in sizes])
        docids = Strings.of(str(doc) for qid in qids for doc in lists[qid])
        run = Run(np.array(qids, dtype=object), Groups.from_sizes(sizes), docids, places)
        ranked = RankedLists.of_run(self.judgments.select(qids), run)
        # Some queries may lack the top grade, which is the scale of ERR.
        scale = replace(ranked, scale_top=float(self.judgments.values.max(initial=0)))
        [result] = evaluate_lists(scale, [self.resolved_metric]).results.values()
        values[numbers] = result.per_query
        return values

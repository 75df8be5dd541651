"""Conversion of a mean from one convention of a metric to another, if an exact conversion exists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.errors import ConversionError, DataError, UsageError
from podium.metrics.convention_explanation import differing_parameters, explain
from podium.metrics.metric import Metric
from podium.metrics.naming import resolve
from podium.metrics.ranked_lists import RankedLists


@dataclass(frozen=True)
class ConversionFacts:
    """Facts about a data set that a conversion needs.

    blank: the share of queries without a relevant document (weighted like the mean). binary:
    whether all labels are 0 or 1. shortest: the number of documents in the shortest list.
    """

    blank: float | None = None
    binary: bool = False
    shortest: int = 0

    def __post_init__(self) -> None:
        if self.blank is not None and not 0 <= self.blank <= 1:
            raise UsageError(f"expected a share of queries from 0 to 1, got {self.blank}")

    @classmethod
    def of(cls, data: RankingData, metric: str | Metric) -> ConversionFacts:
        """Return the facts of a data set for this metric."""
        lists = RankedLists.of_scores(data, np.zeros(len(data)))
        blank = resolve(metric).blank(lists)
        return cls(
            blank=float(np.average(blank, weights=data.query_weight)),
            binary=bool(np.isin(data.y, (0, 1)).all()),
            shortest=int(data.groups.sizes.min()),
        )


def convert(
    value: float, source: str | Metric, target: str | Metric, facts: ConversionFacts
) -> float:
    """Convert a mean from one convention to another; raises ConversionError if that is not exact.

    If the share of queries without a relevant document is known, these can count 0, 1 or nothing
    afterwards. Gains are the same if all labels are 0 or 1. The rule for short lists does not
    matter if there are none.

    Examples
    --------
    >>> round(convert(0.5022, "NDCG@10", "NDCG(empty='skip')@10", ConversionFacts(blank=0.2806)), 4)
    0.6981
    """
    a, b = resolve(source), resolve(target)
    if type(a) is not type(b) or a.k != b.k:
        raise ConversionError(f"expected two conventions of one metric, got {a} and {b}")
    obstacles = [
        name for name in differing_parameters(a, b) if not _is_irrelevant(name, a, b, facts)
    ]
    if obstacles:
        raise ConversionError(
            f"there is no exact conversion from {a} to {b}: they differ in "
            f"{', '.join(obstacles)}; evaluate the scores again"
        )
    if "empty" not in differing_parameters(a, b):
        return value
    if facts.blank is None:
        raise ConversionError(
            f"the conversion from {a} to {b} needs the share of queries without a relevant document"
        )
    answered = _answered_sum(value, a.convention()["empty"], facts.blank)
    if abs(answered) > 1 - facts.blank + 1e-9 or (answered < -1e-9 and a.name != "Tau"):
        raise DataError(
            f"{a} cannot be {value:g} if {facts.blank:g} of the queries have no relevant "
            "document; check both numbers"
        )
    return _with_blanks(answered, b.convention()["empty"], facts.blank)


def _is_irrelevant(name: str, a: Metric, b: Metric, facts: ConversionFacts) -> bool:
    if name == "empty":
        return True
    if name == "gain":
        gains = {a.convention()["gain"], b.convention()["gain"]}
        return facts.binary and gains == {"exp2", "linear"}
    if name == "norm":
        return a.k is None
    return name == "short" and facts.shortest >= (a.k or 0)


def _answered_sum(value: float, empty: Any, blank: float) -> float:
    """Return the sum over queries with a relevant document, divided by the number of all queries."""
    if blank == 1:
        return 0.0
    return value * (1 - blank) if empty == "skip" else value - float(empty) * blank


def _with_blanks(answered: float, empty: Any, blank: float) -> float:
    if empty != "skip":
        return answered + float(empty) * blank
    if blank == 1:
        raise ConversionError("no query has a relevant document, so there is no mean")
    return answered / (1 - blank)


def conversions(value: float, metric: str | Metric, facts: ConversionFacts) -> dict[Metric, float]:
    """Return the value under every convention with an exact conversion.

    Examples
    --------
    >>> for metric, value in conversions(0.502, "NDCG@10", ConversionFacts(blank=0.28)).items():
    ...     print(metric, round(value, 3))
    NDCG(rule='lightgbm')@10 0.782
    NDCG(empty='skip')@10 0.697
    """
    metric = resolve(metric)
    targets = [c.metric for c in explain(metric).other if "cutoff" not in c.differs]
    if "empty" in metric.convention():
        targets += [replace(metric, empty=e) for e in (0, 1, "skip")]  # type: ignore[call-arg]
    out: dict[Metric, float] = {}
    for target in targets:
        if target == metric or target in out:
            continue
        try:
            out[target] = convert(value, metric, target, facts)
        except ConversionError:
            continue
    return out

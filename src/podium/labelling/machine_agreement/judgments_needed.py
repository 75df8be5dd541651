"""Advice: how many judgments of people are still needed beside a machine's, and on which queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.labelling.machine_agreement.agreement_intervals import Estimate

ENOUGH_HALF_WIDTH = 0.05
"""Half the width of the interval of the agreement that is narrow enough."""
LEAST_SHARED = 5
"""With fewer common answers, nothing is said about a query."""
_Z = 1.6449  # of a one-sided bound of 95%
_TWO_SIDED_Z = 1.96


@dataclass(frozen=True)
class QueryAdvice:
    """A query that people should judge.

    Parameters
    ----------
    query
        Its id.
    reason
        Why: ``"part"`` (machine and people part there), or ``"unjudged"`` (to measure the agreement).
    agreed, shared
        Equal answers of the machine and people, and all.
    judgments
        How many judgments this takes, as far as it is known; 0 if a person finished the query, whose
        judgments should then be taken.
    """

    query: str
    reason: str
    agreed: int
    shared: int
    judgments: int


@dataclass(frozen=True)
class JudgingAdvice:
    """What people should still judge.

    Parameters
    ----------
    half_width
        How narrow the interval of the agreement should be, half of it.
    more_answers
        How many more common answers that takes; 0 if it is narrow enough.
    queries
        Queries where machine and people part, the worst first; then queries for the more answers.
    """

    half_width: float
    more_answers: int
    queries: tuple[QueryAdvice, ...]

    @property
    def judgments(self) -> int:
        """All judgments that are still needed."""
        return sum(query.judgments for query in self.queries)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "half_width": self.half_width,
            "more_answers": self.more_answers,
            "judgments": self.judgments,
            "queries": [vars(query) for query in self.queries],
        }


@dataclass(frozen=True)
class AdviceInputs:
    """What advice depends on.

    Parameters
    ----------
    same
        The share of equal answers of the machine and people.
    by_query
        Equal answers and all common answers of each query.
    queries
        All queries that the machine judged, those that it is least sure about first.
    people_judgments
        How many judgments people made in each query.
    finished
        Queries that a person finished.
    per_query
        How many judgments a query takes a person.
    """

    same: Estimate
    by_query: Mapping[str, tuple[int, int]]
    queries: Sequence[str]
    people_judgments: Mapping[str, int]
    finished: frozenset[str]
    per_query: float


def advise(inputs: AdviceInputs, half_width: float = ENOUGH_HALF_WIDTH) -> JudgingAdvice:
    """Return what people should still judge.

    Machine and people part in a query if its agreement is below that of all queries with 95% confidence.
    The interval of a share shrinks with the square root of the answers; n / (h / H)^2 answers are needed for
    a half width H if n answers give h. Without an interval, or with one of width 0, the number is that of
    independent answers.
    """
    parting = sorted(
        (row for row in _measured(inputs) if row[0] < inputs.same.value), key=lambda row: row[:2]
    )
    advice = [_parting_advice(inputs, query) for _, query in parting]
    more = more_answers(inputs.same, sum(n for _, n in inputs.by_query.values()), half_width)
    parting_queries = {query for _, query in parting}
    gain = _answers_per_query(inputs)
    # Queries without common answers come first, then those with few.
    left = sorted(
        (q for q in inputs.queries if q not in parting_queries and q not in inputs.finished),
        key=lambda query: inputs.by_query.get(query, (0, 0))[1],
    )
    missing_answers: float = more
    for query in left:
        if missing_answers <= 0:
            break
        agreed, shared = inputs.by_query.get(query, (0, 0))
        advice.append(QueryAdvice(query, "unjudged", agreed, shared, _missing(inputs, query)))
        missing_answers -= max(1.0, gain - shared)
    return JudgingAdvice(half_width, more, tuple(advice))


def more_answers(same: Estimate, answers: int, half_width: float) -> int:
    """Return how many more answers make the interval of a share narrow enough.

    Examples
    --------
    >>> more_answers(Estimate(0.8, 0.7, 0.9), 100, 0.05)      # half as wide: four times as many
    300
    >>> more_answers(Estimate(), 0, 0.05)                     # (1.96 / (2 * 0.05))^2
    385
    """
    width = round(same.half_width, 12) if same.is_defined else math.nan
    independent = (_TWO_SIDED_Z / (2 * half_width)) ** 2
    # A width of 0 is no certainty: a few equal answers show no spread.
    needed = answers * (width / half_width) ** 2 if width > 0 else independent
    return max(0, math.ceil(round(needed - answers, 9)))


def wilson_interval(agreed: int, total: int, z: float = _TWO_SIDED_Z) -> tuple[float, float]:
    """Return Wilson's interval of a share. Wilson, Probable inference, JASA 1927.

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson_interval(0, 10)], wilson_interval(10, 10)[1]
    ([0.0, 0.2775], 1.0)
    """
    share, spread = agreed / total, z * z / total
    centre = share + spread / 2
    width = z * math.sqrt(share * (1 - share) / total + spread / total / 4)
    return max(0.0, (centre - width) / (1 + spread)), min(1.0, (centre + width) / (1 + spread))


def _measured(inputs: AdviceInputs) -> list[tuple[float, str]]:
    """Return the upper bound of the agreement of each query with enough answers."""
    return [
        (wilson_interval(agreed, total, _Z)[1], query)
        for query, (agreed, total) in inputs.by_query.items()
        if total >= LEAST_SHARED
    ]


def _parting_advice(inputs: AdviceInputs, query: str) -> QueryAdvice:
    agreed, shared = inputs.by_query[query]
    return QueryAdvice(query, "part", agreed, shared, _missing(inputs, query))


def _missing(inputs: AdviceInputs, query: str) -> int:
    """Return how many judgments it takes a person to finish a query."""
    if query in inputs.finished:
        return 0
    return max(1, math.ceil(inputs.per_query - inputs.people_judgments.get(query, 0)))


def _answers_per_query(inputs: AdviceInputs) -> float:
    """Return how many common answers a query brings."""
    counts = [total for _, total in inputs.by_query.values()]
    return sum(counts) / len(counts) if counts else inputs.per_query

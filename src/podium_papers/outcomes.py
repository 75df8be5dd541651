"""What rankers came to query by query, and which differences between them are real."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from podium.metrics import correct, paired_test

LEVEL = 0.05
DIGITS = 9
"""Means that differ by less are equal: their sums are not exact."""


@dataclass(frozen=True)
class RankerOutcome:
    """One ranker on the test queries of all folds of a data set.

    `values` has a value for each query by measure; `settings` the ranker of each fold and
    `unfinished` the reasons of fits that stopped too early, both by the metric it was trained for.
    """

    data: str
    mode: str
    ranker: str
    values: Mapping[str, tuple[float, ...]]
    settings: Mapping[str, tuple[str, ...]]
    unfinished: Mapping[str, tuple[str, ...]]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """As `asdict` and JSON give it."""
        tables = ("values", "settings", "unfinished")
        return cls(
            **{**content, **{t: {k: tuple(v) for k, v in content[t].items()} for t in tables}}
        )


@dataclass(frozen=True)
class MeanScore:
    """The mean of a measure over all queries, and its standard error."""

    data: str
    ranker: str
    measure: str
    mean: float
    error: float


@dataclass(frozen=True)
class PairedComparison:
    """One ranker less another in a measure: a paired test over all queries.

    `error` is the standard error of the difference; `adjusted` the p-value, corrected for all the
    comparisons made at once.
    """

    data: str
    measure: str
    ranker: str
    other: str
    difference: float
    error: float
    p_value: float
    adjusted: float
    wins: int
    ties: int
    losses: int

    @property
    def sign(self) -> int:
        """1 where the ranker is above the other one, -1 where it is below, 0 where they are equal."""
        return int(np.sign(round(self.difference, DIGITS)))

    @property
    def significant(self) -> bool:
        """Whether the difference is told from none at all."""
        return self.adjusted < LEVEL


def scores(outcomes: Iterable[RankerOutcome], measures: Sequence[str]) -> tuple[MeanScore, ...]:
    """Means and standard errors.

    Examples
    --------
    >>> one = RankerOutcome("letters", "", "a", {"P@1": (1.0, 0.0, 1.0, 0.0)}, {}, {})
    >>> [(score.mean, round(score.error, 4)) for score in scores([one], ["P@1"])]
    [(0.5, 0.2887)]
    """
    return tuple(
        MeanScore(o.data, o.ranker, m, float(np.mean(o.values[m])), standard_error(o.values[m]))
        for o in outcomes
        for m in measures
    )


def standard_error(values: Sequence[float]) -> float:
    """Of the mean of these values."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def compare(
    outcomes: Iterable[RankerOutcome],
    pairs: Sequence[tuple[str, str]],
    measures: Sequence[str],
    *,
    method: str = "permutation",
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[PairedComparison, ...]:
    """Paired tests of each pair in each measure on each data set, Holm's correction over all.

    Examples
    --------
    >>> a = RankerOutcome("letters", "", "a", {"P@1": (1.0, 1.0, 1.0, 0.0)}, {}, {})
    >>> b = RankerOutcome("letters", "", "b", {"P@1": (0.0, 0.0, 1.0, 0.0)}, {}, {})
    >>> [(c.difference, c.p_value, c.adjusted) for c in compare([a, b], [("a", "b")], ["P@1"])]
    [(0.5, 0.5, 0.5)]
    """
    values_of = {(o.data, o.ranker): o.values for o in outcomes}
    names = dict.fromkeys(data for data, _ in values_of)
    cases = [(data, m, *pair) for data in names for m in measures for pair in pairs]
    values = [(values_of[d, a][m], values_of[d, b][m]) for d, m, a, b in cases]
    tests = [paired_test(a, b, method, resamples=resamples, seed=seed) for a, b in values]
    adjusted = correct([test.p_value for test in tests], "holm")
    return tuple(
        PairedComparison(
            *case, test.difference, standard_error(np.subtract(*pair).tolist()), test.p_value, p,
            test.wins, test.ties, test.losses,
        )
        for case, pair, test, p in zip(cases, values, tests, adjusted, strict=True)
    )  # fmt: skip

"""Comparisons of rankers: scores query by query, means, and paired tests of the differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.metrics import correct, paired_test

SIGNIFICANCE_LEVEL = 0.05
EQUAL_DIGITS = 9
"""Means that agree in as many decimals are equal: their sums are not exact."""


@dataclass(frozen=True)
class RankerScores:
    """Scores of one ranker on the test queries of all folds of a data set.

    `values` maps a measure to one value per query. `settings` describes the ranker of each fold, and
    `unfinished` says why fits stopped too early. Both are keyed by the metric of the training.
    """

    data: str
    mode: str
    ranker: str
    values: Mapping[str, tuple[float, ...]]
    settings: Mapping[str, tuple[str, ...]]
    unfinished: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class MeanScore:
    """Mean of a measure over all queries, and its standard error."""

    data: str
    ranker: str
    measure: str
    mean: float
    error: float


@dataclass(frozen=True)
class PairedComparison:
    """One ranker minus another in a measure: a paired test over all queries.

    `error` is the standard error of the difference. `adjusted` is the p-value, corrected for all
    comparisons that are made together.
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
        """1 if the ranker is better than the other one, -1 if it is worse, 0 if they are equal."""
        return int(np.sign(round(self.difference, EQUAL_DIGITS)))

    @property
    def significant(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.adjusted < SIGNIFICANCE_LEVEL


def mean_scores(rankers: Iterable[RankerScores], measures: Sequence[str]) -> tuple[MeanScore, ...]:
    """Return means and standard errors.

    Examples
    --------
    >>> one = RankerScores("letters", "", "a", {"P@1": (1.0, 0.0, 1.0, 0.0)}, {}, {})
    >>> [(score.mean, round(score.error, 4)) for score in mean_scores([one], ["P@1"])]
    [(0.5, 0.2887)]
    """
    return tuple(
        MeanScore(o.data, o.ranker, m, float(np.mean(o.values[m])), standard_error(o.values[m]))
        for o in rankers
        for m in measures
    )


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean of these values."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def compare(
    rankers: Iterable[RankerScores],
    pairs: Sequence[tuple[str, str]],
    measures: Sequence[str],
    *,
    method: str = "permutation",
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[PairedComparison, ...]:
    """Test each pair in each measure on each data set, with Holm's correction for all tests.

    Examples
    --------
    >>> a = RankerScores("letters", "", "a", {"P@1": (1.0, 1.0, 1.0, 0.0)}, {}, {})
    >>> b = RankerScores("letters", "", "b", {"P@1": (0.0, 0.0, 1.0, 0.0)}, {}, {})
    >>> [(c.difference, c.p_value, c.adjusted) for c in compare([a, b], [("a", "b")], ["P@1"])]
    [(0.5, 0.5, 0.5)]
    """
    values_of = {(o.data, o.ranker): o.values for o in rankers}
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

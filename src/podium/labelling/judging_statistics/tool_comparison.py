"""Chi-square and permutation tests: do assessors agree more with one tool than with the other?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from podium.data.checks import check_seed
from podium.errors import DataError, UsageError
from podium.labelling.judging_statistics.agreement import AssessorAgreement, none_if_nan
from podium.labelling.judging_statistics.kappa_alpha import Floats
from podium.metrics.significance import paired_test

MIN_PAIRED_QUERIES = 6
"""With fewer queries judged with both tools, flipping them can not give p < 0.05."""


@dataclass(frozen=True)
class ChiSquare:
    """Pearson's test of a table of two by two; nan where a row or a column has nothing."""

    statistic: float
    p_value: float
    df: int = 1


@dataclass(frozen=True)
class PermutationTest:
    """A test that takes queries, not pairs of documents, as independent.

    Parameters
    ----------
    difference
        Mean agreement by query with the first tool, less that with the second.
    p_value
        Two-sided.
    queries
        How many took part.
    method
        ``"paired"``: queries judged with both tools, whose tools are exchanged; ``"unpaired"``: all
        queries, among which the tools are shuffled.
    resamples, seed
        How the exchanges were drawn.
    """

    difference: float
    p_value: float
    queries: int
    method: Literal["paired", "unpaired"]
    resamples: int
    seed: int


@dataclass(frozen=True)
class ToolComparison:
    """The tools compared: all pairs, pairs without ties, and by query."""

    overall: ChiSquare
    without_ties: ChiSquare
    permutation: PermutationTest | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; None for what is not defined."""
        record: dict[str, Any] = {
            name: {key: none_if_nan(value) for key, value in asdict(getattr(self, name)).items()}
            for name in ("overall", "without_ties")
        }
        return record | {
            "permutation": None if self.permutation is None else asdict(self.permutation)
        }


def compare_tools(
    first: AssessorAgreement, second: AssessorAgreement, *, resamples: int = 2_000, seed: int = 0
) -> ToolComparison:
    """Chi-square as the paper has it, and a permutation test by query.

    The chi-square compares the numbers of pairs agreed on and not, each pair of documents once for
    each two assessors. Pairs of a query are not independent, so its p-value is too small; that of the
    permutation test is not.
    """
    return ToolComparison(
        overall=chi_square((first.agreed, second.agreed), (first.n_pairs, second.n_pairs)),
        without_ties=chi_square(*zip(first.strict, second.strict, strict=True)),
        permutation=permutation_test(first, second, resamples=resamples, seed=seed),
    )


def chi_square(agreed: tuple[int, int], total: tuple[int, int]) -> ChiSquare:
    """Whether two shares differ: Pearson's chi-square of agreed and not, without correction.

    It takes all pairs as independent, which pairs of one query are not: see the permutation test
    beside it.

    Examples
    --------
    >>> test = chi_square((30, 20), (50, 50))      # 100 (30 * 30 - 20 * 20)^2 / (50 * 50 * 50 * 50)
    >>> round(test.statistic, 4), round(test.p_value, 4)
    (4.0, 0.0455)
    """
    from scipy.special import chdtrc  # a fraction of what importing scipy.stats costs

    a, c = map(float, agreed)
    b, d = total[0] - a, total[1] - c
    if min(a, b, c, d) < 0:
        raise DataError(f"expected at most as many agreed as there are, got {agreed} of {total}")
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if margins == 0:
        return ChiSquare(float("nan"), float("nan"))
    statistic = (a + b + c + d) * (a * d - b * c) ** 2 / margins
    return ChiSquare(statistic, float(chdtrc(1, statistic)))


def permutation_test(
    first: AssessorAgreement, second: AssessorAgreement, *, resamples: int = 2_000, seed: int = 0
) -> PermutationTest | None:
    """Whether mean agreement by query differs; None with no query on a side, or one on each.

    Parameters
    ----------
    first, second
        Agreement with one tool and with the other.
    resamples
        How many exchanges are drawn. The paired test takes all of them where there are no more.
    seed
        Of the drawing.
    """
    check_seed(seed)
    if resamples < 1:
        raise UsageError(f"expected resamples of 1 or more, got {resamples}")
    a, b = ({q: x / n for q, (x, n) in tool.by_query().items()} for tool in (first, second))
    both = [query for query in a if query in b]
    if len(both) >= MIN_PAIRED_QUERIES:
        left, right = [a[query] for query in both], [b[query] for query in both]
        test = paired_test(left, right, "permutation", resamples=resamples, seed=seed)
        return PermutationTest(test.difference, test.p_value, len(both), "paired", resamples, seed)
    if not a or not b or len(a) + len(b) < 3:
        return None
    left_, right_ = np.array(list(a.values())), np.array(list(b.values()))
    p_value = _shuffled(left_, right_, resamples, seed)
    difference = float(left_.mean() - right_.mean())
    return PermutationTest(difference, p_value, len(a.keys() | b), "unpaired", resamples, seed)


def _shuffled(left: Floats, right: Floats, resamples: int, seed: int) -> float:
    """The share of shuffles whose difference of means is at least as far from 0 as the observed."""
    rng, values, n = np.random.default_rng(seed), np.concatenate([left, right]), len(left)
    observed = abs(left.mean() - right.mean()) * (1 - 1e-12)
    extreme, done = 0, 0
    while done < resamples:
        batch = min(resamples - done, max(1, 2_000_000 // len(values)))
        drawn = rng.permuted(np.broadcast_to(values, (batch, len(values))), axis=1)
        differences = drawn[:, :n].mean(axis=1) - drawn[:, n:].mean(axis=1)
        extreme += int((np.abs(differences) >= observed).sum())
        done += batch
    return (extreme + 1) / (resamples + 1)

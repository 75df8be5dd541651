"""Chi-square and permutation tests: whether assessors agree more with one tool than the other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from podium.data.argument_checks import check_seed
from podium.errors import DataError, UsageError
from podium.labelling.judging_statistics.agreement import AssessorAgreement, none_if_nan
from podium.metrics.paired_tests import paired_test
from podium.typing import Floats

MIN_PAIRED_QUERIES = 6
"""With fewer queries that were judged with both tools, the paired test cannot reach p < 0.05."""


@dataclass(frozen=True)
class ChiSquare:
    """Pearson's test of a 2 x 2 table; nan if a row or a column is empty."""

    statistic: float
    p_value: float
    df: int = 1


@dataclass(frozen=True)
class PermutationTest:
    """A permutation test in which queries, not pairs of documents, are independent.

    Parameters
    ----------
    difference
        Mean agreement by query with the first tool minus that with the second.
    p_value
        The two-sided p-value.
    queries
        The number of queries.
    method
        ``"paired"``: queries judged with both tools, whose tools are exchanged; ``"unpaired"``: all
        queries, among which the tools are shuffled.
    resamples, seed
        The number of resamples, and their seed.
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
        """Return JSON, with None for what is not defined."""
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
    """Compare two tools by the chi-square test of the paper, and by a permutation test on queries.

    The chi-square test compares the numbers of pairs agreed on and not, each pair of documents once for
    each two assessors. Pairs of a query are not independent, so its p-value is too small. The permutation
    test does not have this flaw.
    """
    return ToolComparison(
        overall=chi_square((first.agreed, second.agreed), (first.n_pairs, second.n_pairs)),
        without_ties=chi_square(*zip(first.strict, second.strict, strict=True)),
        permutation=permutation_test(first, second, resamples=resamples, seed=seed),
    )


def chi_square(agreed: tuple[int, int], total: tuple[int, int]) -> ChiSquare:
    """Test whether two shares differ: Pearson's chi-square, without correction.

    The test assumes that all pairs are independent, which pairs of one query are not: see
    `permutation_test`.

    Examples
    --------
    >>> test = chi_square((30, 20), (50, 50))      # 100 (30 * 30 - 20 * 20)^2 / (50 * 50 * 50 * 50)
    >>> round(test.statistic, 4), round(test.p_value, 4)
    (4.0, 0.0455)
    """
    from scipy.special import chdtrc  # much faster than importing scipy.stats

    a, c = map(float, agreed)
    b, d = total[0] - a, total[1] - c
    if min(a, b, c, d) < 0:
        raise DataError(
            f"the number of agreed pairs must not exceed the total, got {agreed} of {total}"
        )
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if margins == 0:
        return ChiSquare(float("nan"), float("nan"))
    statistic = (a + b + c + d) * (a * d - b * c) ** 2 / margins
    return ChiSquare(statistic, float(chdtrc(1, statistic)))


def permutation_test(
    first: AssessorAgreement, second: AssessorAgreement, *, resamples: int = 2_000, seed: int = 0
) -> PermutationTest | None:
    """Test whether mean agreement by query differs; None if there are too few queries.

    Parameters
    ----------
    first, second
        Agreement with one tool and with the other.
    resamples
        The number of random permutations. The paired test takes all permutations if there are no more.
    seed
        The seed of the permutations.
    """
    check_seed(seed)
    if resamples < 1:
        raise UsageError(f"expected resamples of 1 or more, got {resamples}")
    a, b = ({q: x / n for q, (x, n) in tool.by_query().items()} for tool in (first, second))
    shared_queries = [query for query in a if query in b]
    if len(shared_queries) >= MIN_PAIRED_QUERIES:
        left, right = [a[query] for query in shared_queries], [b[query] for query in shared_queries]
        test = paired_test(left, right, "permutation", resamples=resamples, seed=seed)
        return PermutationTest(
            test.difference, test.p_value, len(shared_queries), "paired", resamples, seed
        )
    if not a or not b or len(a) + len(b) < 3:
        return None
    first_values, second_values = np.array(list(a.values())), np.array(list(b.values()))
    p_value = _shuffle_p_value(first_values, second_values, resamples, seed)
    difference = float(first_values.mean() - second_values.mean())
    return PermutationTest(difference, p_value, len(a.keys() | b), "unpaired", resamples, seed)


def _shuffle_p_value(left: Floats, right: Floats, resamples: int, seed: int) -> float:
    """Return the share of shuffles whose difference of means is at least the observed one."""
    rng, values, n = np.random.default_rng(seed), np.concatenate([left, right]), len(left)
    observed = abs(left.mean() - right.mean()) * (1 - 1e-12)
    extreme, n_done = 0, 0
    while n_done < resamples:
        batch = min(resamples - n_done, max(1, 2_000_000 // len(values)))
        shuffles = rng.permuted(np.broadcast_to(values, (batch, len(values))), axis=1)
        differences = shuffles[:, :n].mean(axis=1) - shuffles[:, n:].mean(axis=1)
        extreme += int((np.abs(differences) >= observed).sum())
        n_done += batch
    return (extreme + 1) / (resamples + 1)

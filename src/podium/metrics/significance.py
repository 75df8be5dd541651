"""Is the difference real? Paired tests over queries, intervals, and many comparisons at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data import check_seed
from podium.data.checks import to_array
from podium.errors import DataError, LengthMismatchError, UnknownNameError, UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedTest:
    """A paired comparison of two systems over the same queries."""

    method: str
    difference: float
    p_value: float
    n_queries: int
    wins: int
    ties: int
    losses: int


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    method: str = "permutation",
    *,
    weight: ArrayLike | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """Compare per-query values of two systems, two-sided; queries without a value are left out.

    Parameters
    ----------
    a, b
        Values of the same queries.
    method
        "t" (Student's paired t) or "permutation" (signs of the differences flipped at random;
        all 2^n of them where that is no more than `resamples`).
    weight
        How much each query counts, as in the mean that is compared.

    Examples
    --------
    >>> test = paired_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.6, 0.7], "permutation")
    >>> round(test.difference, 4), test.p_value, (test.wins, test.ties, test.losses)
    (0.225, 0.125, (4, 0, 0))
    """
    if method not in TESTS:
        raise UnknownNameError("test", method, TESTS)
    _check_drawing(resamples, seed)
    difference = _differences(a, b, weight)
    return PairedTest(
        method=method,
        difference=float(difference.mean()),
        p_value=TESTS[method](difference, resamples, seed),
        n_queries=len(difference),
        wins=int((difference > 0).sum()),
        ties=int((difference == 0).sum()),
        losses=int((difference < 0).sum()),
    )


def _check_drawing(resamples: int, seed: int) -> None:
    if resamples < 1:
        raise UsageError(f"expected resamples of 1 or more, got {resamples}")
    check_seed(seed)


def _differences(a: ArrayLike, b: ArrayLike, weight: ArrayLike | None) -> Floats:
    """What each query adds to the (weighted) mean difference, times the number of queries."""
    first, second = (to_array(values, "values", np.float64) for values in (a, b))
    if first.shape != second.shape or first.ndim != 1:
        raise LengthMismatchError(
            f"expected two equally long lists of values, got shapes {first.shape} and {second.shape}"
        )
    difference: Floats = first - second
    known = ~np.isnan(difference)
    share = np.ones(len(difference)) if weight is None else to_array(weight, "weights", np.float64)
    if share.shape != difference.shape:
        raise LengthMismatchError(f"expected {len(difference)} weights, got shape {share.shape}")
    known &= share > 0
    difference, share = difference[known], share[known]
    if len(difference) < 2:
        raise DataError(f"expected at least 2 queries with a value in both, got {len(difference)}")
    if weight is not None:
        difference = difference * (share / share.mean())
    return difference


def _t_test(difference: Floats, resamples: int, seed: int) -> float:
    from scipy.special import stdtr  # a fraction of what importing scipy.stats costs

    n, sd = len(difference), difference.std(ddof=1)
    if sd == 0:  # no spread: no difference at all, or the same one everywhere
        return 1.0 if difference[0] == 0 else 0.0
    t = difference.mean() / (sd / np.sqrt(n))
    return float(2 * stdtr(n - 1, -abs(t)))


def _permutation_test(difference: Floats, resamples: int, seed: int) -> float:
    """The share of sign flips whose mean is at least as far from 0 as the one observed."""
    n = len(difference)
    if not difference.any():
        return 1.0
    # Rounding must not keep the observed signs, or equal sums, from counting as themselves.
    observed = abs(difference.sum()) - 1e-12 * np.abs(difference).sum()
    if 2**n <= resamples:
        flips = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return float(np.mean(np.abs((1 - 2 * flips) @ difference) >= observed))
    rng = np.random.default_rng(seed)
    extreme, done = 0, 0
    while done < resamples:
        batch = min(resamples - done, max(1, 4_000_000 // n))
        signs = 1 - 2 * rng.integers(0, 2, (batch, n), dtype=np.int8)
        extreme += int((np.abs(signs @ difference) >= observed).sum())
        done += batch
    return (extreme + 1) / (resamples + 1)


TESTS: dict[str, Callable[[Floats, int, int], float]] = {
    "permutation": _permutation_test,
    "t": _t_test,
}


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float
    level: float


def bootstrap_interval(
    values: ArrayLike,
    level: float = 0.95,
    *,
    weight: ArrayLike | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap interval of the (weighted) mean over queries; for a difference, pass a - b.

    Examples
    --------
    >>> interval = bootstrap_interval([0.2, 0.4, 0.6, 0.8] * 25)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.46, 0.54)
    """
    [found] = bootstrap_intervals([values], level, weight=weight, resamples=resamples, seed=seed)
    return found


def bootstrap_intervals(
    columns: Sequence[ArrayLike],
    level: float = 0.95,
    *,
    weight: ArrayLike | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Interval]:
    """`bootstrap_interval` of each column, in little more time than that of one takes.

    Columns with values of the same queries are resampled together; the result is the same.

    Examples
    --------
    >>> one, two = [0.2, 0.4, 0.6, 0.8] * 25, [0.1, None, 0.3, 0.9] * 25
    >>> found = bootstrap_intervals([one, two])
    >>> found == [bootstrap_interval(one), bootstrap_interval(two)]
    True
    """
    if not 0 < level < 1:
        raise UsageError(f"expected a level between 0 and 1, got {level}")
    _check_drawing(resamples, seed)
    given = [to_array(values, "values", np.float64) for values in columns]
    alike: dict[bytes, list[int]] = {}
    counted = [_counted(values, weight) for values in given]
    for number, mask in enumerate(counted):
        alike.setdefault(mask.tobytes(), []).append(number)
    tail, found = (1 - level) / 2, {}
    for numbers in alike.values():
        mask = counted[numbers[0]]
        share = np.ones(len(mask)) if weight is None else to_array(weight, "weights", np.float64)
        means = _resampled([given[i][mask] for i in numbers], share[mask], resamples, seed)
        for number, own in zip(numbers, means, strict=True):
            low, high = np.quantile(own, [tail, 1 - tail])
            found[number] = Interval(float(low), float(high), level)
    return [found[number] for number in range(len(given))]


def _counted(values: Floats, weight: ArrayLike | None) -> NDArray[np.bool_]:
    """The queries that have a value and count."""
    share = np.ones(len(values)) if weight is None else to_array(weight, "weights", np.float64)
    if share.shape != values.shape:
        raise LengthMismatchError(f"expected {len(values)} weights, got shape {share.shape}")
    counted: NDArray[np.bool_] = ~np.isnan(values) & (share > 0)
    if not counted.any():
        raise DataError("expected at least one query with a value, got none")
    return counted


def _resampled(columns: Sequence[Floats], share: Floats, resamples: int, seed: int) -> list[Floats]:
    """Means of queries drawn with replacement, the same queries for every column."""
    n, rng = len(share), np.random.default_rng(seed)
    batch = max(1, 400_000 // n)  # what fits a cache
    means = np.empty((len(columns), resamples))
    for start in range(0, resamples, batch):
        size = min(batch, resamples - start)
        drawn = rng.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
        # Not a matrix product: with many threads BLAS adds in another order.
        total = np.einsum("rq,q->r", times, share)
        for own, values in zip(means, columns, strict=True):
            own[start : start + size] = np.einsum("rq,q->r", times, values * share) / total
    return list(means)


def correct(p_values: Sequence[float], method: str = "holm") -> list[float]:
    """p-values adjusted for many comparisons.

    "holm" and "bonferroni" bound the chance of any false claim, "bh" (Benjamini-Hochberg)
    the share of false claims, "none" leaves them.

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03], "holm")
    [0.03, 0.06, 0.06]
    """
    if method not in CORRECTIONS:
        raise UnknownNameError("correction", method, CORRECTIONS)
    p = to_array(p_values, "p-values", np.float64)
    if ((p < 0) | (p > 1) | np.isnan(p)).any():
        raise DataError(f"expected p-values from 0 to 1, got {list(p_values)}")
    return [float(v) for v in CORRECTIONS[method](p)] if len(p) else []


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1)


def _benjamini_hochberg(p: Floats) -> Floats:
    order = np.argsort(-p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1)


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "holm": _holm,
    "bonferroni": lambda p: np.minimum(p * len(p), 1),
    "bh": _benjamini_hochberg,
    "none": lambda p: p,
}

"""Paired significance tests over queries: the permutation test and Student's t test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium.data import check_seed
from podium.data.argument_checks import to_array
from podium.errors import DataError, LengthMismatchError, UnknownNameError, UsageError
from podium.metrics.resamples import map_ranges
from podium.typing import Floats

SIGNS_PER_BATCH = 4_000_000
"""The number of signs that are drawn at a time."""


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
    """Compare two systems by their values per query (two-sided); queries without a value are left out.

    Parameters
    ----------
    a, b
        Values of the same queries.
    method
        "t" (Student's paired t test) or "permutation" (the signs of the differences are flipped at
        random, or in all 2^n ways if that is at most `resamples`).
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
    check_resampling(resamples, seed)
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


def check_resampling(resamples: int, seed: int) -> None:
    """Raise UsageError unless there are 1 or more resamples and the seed is valid."""
    if resamples < 1:
        raise UsageError(f"expected resamples of 1 or more, got {resamples}")
    check_seed(seed)


def _differences(a: ArrayLike, b: ArrayLike, weight: ArrayLike | None) -> Floats:
    """Return the share of each query in the (weighted) mean difference, times the number of queries."""
    first, second = (to_array(values, "values", np.float64) for values in (a, b))
    if first.shape != second.shape or first.ndim != 1:
        raise LengthMismatchError(
            f"expected two equally long lists of values, got shapes {first.shape} and {second.shape}"
        )
    difference: Floats = first - second
    counts = ~np.isnan(difference)
    share = np.ones(len(difference)) if weight is None else to_array(weight, "weights", np.float64)
    if share.shape != difference.shape:
        raise LengthMismatchError(f"expected {len(difference)} weights, got shape {share.shape}")
    counts &= share > 0
    difference, share = difference[counts], share[counts]
    if len(difference) < 2:
        raise DataError(f"expected at least 2 queries with a value in both, got {len(difference)}")
    if weight is not None:
        difference = difference * (share / share.mean())
    return difference


def _t_test(difference: Floats, resamples: int, seed: int) -> float:
    from scipy.special import stdtr  # loaded only here: it takes 0.1 s

    n, sd = len(difference), difference.std(ddof=1)
    if sd == 0:  # there is no difference, or the same one in every query
        return 1.0 if difference[0] == 0 else 0.0
    t = difference.mean() / (sd / np.sqrt(n))
    return float(2 * stdtr(n - 1, -abs(t)))


def _permutation_test(difference: Floats, resamples: int, seed: int) -> float:
    """Return the share of sign flips whose mean is at least as far from 0 as the observed mean."""
    n = len(difference)
    if not difference.any():
        return 1.0
    # The tolerance prevents rounding from excluding the observed signs and equal sums.
    observed = abs(difference.sum()) - 1e-12 * np.abs(difference).sum()
    if 2**n <= resamples:
        flips = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return float(np.mean(np.abs((1 - 2 * flips) @ difference) >= observed))
    batch = max(1, SIGNS_PER_BATCH // n)
    counts = map_ranges(_count_extreme, [difference, observed, batch, seed], n, resamples, batch)
    return (sum(counts) + 1) / (resamples + 1)


def _count_extreme(
    difference: Floats, observed: float, batch: int, seed: int, resamples: tuple[int, int]
) -> int:
    """Return how many of these resamples, which begin a batch, are as far from 0 as the observed sum."""
    n, (first, last) = len(difference), resamples
    rng = _skip_signs(seed, first // batch, batch * n)
    extreme = 0
    for start in range(first, last, batch):
        signs = 1 - 2 * rng.integers(0, 2, (min(batch, last - start), n), dtype=np.int8)
        extreme += int((np.abs(signs @ difference) >= observed).sum())
    return extreme


def _skip_signs(seed: int, batches: int, signs: int) -> np.random.Generator:
    """Return the generator of a seed after so many batches of so many signs.

    NumPy takes four signs from each word of 32 bits, and two such words from each step of its generator.
    """
    steps, half = divmod(batches * -(-signs // 4), 2)
    rng = np.random.default_rng(seed)
    rng.bit_generator.advance(steps)  # type: ignore[attr-defined]
    if half:
        rng.integers(0, 1 << 32, dtype=np.uint32)
    return rng


TESTS: dict[str, Callable[[Floats, int, int], float]] = {
    "permutation": _permutation_test,
    "t": _t_test,
}
"""Every paired test by name."""

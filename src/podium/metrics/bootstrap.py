"""Bootstrap confidence intervals of a mean over queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.argument_checks import to_array
from podium.errors import DataError, LengthMismatchError, UsageError
from podium.metrics.paired_tests import check_resampling
from podium.metrics.resamples import map_ranges
from podium.typing import Floats


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
    """Return the percentile bootstrap interval of the (weighted) mean over queries.

    For the interval of a difference, pass a - b.

    Examples
    --------
    >>> interval = bootstrap_interval([0.2, 0.4, 0.6, 0.8] * 25)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.46, 0.54)
    """
    [interval] = bootstrap_intervals([values], level, weight=weight, resamples=resamples, seed=seed)
    return interval


def bootstrap_intervals(
    columns: Sequence[ArrayLike],
    level: float = 0.95,
    *,
    weight: ArrayLike | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Interval]:
    """Return `bootstrap_interval` of each column in little more time than one column takes.

    Columns with values for the same queries are resampled together; the result does not change.

    Examples
    --------
    >>> one, two = [0.2, 0.4, 0.6, 0.8] * 25, [0.1, None, 0.3, 0.9] * 25
    >>> bootstrap_intervals([one, two]) == [bootstrap_interval(one), bootstrap_interval(two)]
    True
    """
    if not 0 < level < 1:
        raise UsageError(f"expected a level between 0 and 1, got {level}")
    check_resampling(resamples, seed)
    arrays = [to_array(values, "values", np.float64) for values in columns]
    masks = [_counting_queries(values, weight) for values in arrays]
    columns_of_mask: dict[bytes, list[int]] = {}
    for number, mask in enumerate(masks):
        columns_of_mask.setdefault(mask.tobytes(), []).append(number)
    tail, intervals = (1 - level) / 2, {}
    for numbers in columns_of_mask.values():
        mask = masks[numbers[0]]
        share = np.ones(len(mask)) if weight is None else to_array(weight, "weights", np.float64)
        means = _resample_means([arrays[i][mask] for i in numbers], share[mask], resamples, seed)
        for number, resampled in zip(numbers, means, strict=True):
            low, high = np.quantile(resampled, [tail, 1 - tail])
            intervals[number] = Interval(float(low), float(high), level)
    return [intervals[number] for number in range(len(arrays))]


def _counting_queries(values: Floats, weight: ArrayLike | None) -> NDArray[np.bool_]:
    """Whether each query has a value and a weight above 0."""
    share = np.ones(len(values)) if weight is None else to_array(weight, "weights", np.float64)
    if share.shape != values.shape:
        raise LengthMismatchError(f"expected {len(values)} weights, got shape {share.shape}")
    mask: NDArray[np.bool_] = ~np.isnan(values) & (share > 0)
    if not mask.any():
        raise DataError("no query has a value; expected at least one")
    return mask


def _resample_means(
    columns: Sequence[Floats], share: Floats, resamples: int, seed: int
) -> list[Floats]:
    """Return means of queries drawn with replacement; the same queries for every column."""
    n = len(share)
    batch = max(1, 400_000 // n)  # a block that fits into a cache
    means = map_ranges(_means_of_range, [columns, share, batch, seed], n, resamples, batch)
    return list(np.concatenate(list(means), axis=1))


def _means_of_range(
    columns: Sequence[Floats], share: Floats, batch: int, seed: int, resamples: tuple[int, int]
) -> Floats:
    """Return the means of some resamples; the queries of those before them are drawn, too."""
    n, rng, (first, last) = len(share), np.random.default_rng(seed), resamples
    means = np.empty((len(columns), last - first))
    for start in range(0, last, batch):
        size = min(batch, last - start)
        drawn = rng.integers(0, n, (size, n))
        if start < first:
            continue
        drawn += n * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
        # Not a matrix product, because BLAS adds in another order with many threads.
        total = np.einsum("rq,q->r", times, share)
        own = slice(start - first, start - first + size)
        for column_means, values in zip(means, columns, strict=True):
            column_means[own] = np.einsum("rq,q->r", times, values * share) / total
    return means

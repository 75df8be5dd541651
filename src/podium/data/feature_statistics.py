"""Statistics of each feature, and what looks wrong: constant, the order of the label, scales far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.data.groups import Groups
from podium.data.ranking_columns import RankingColumns
from podium.typing import Floats

CONSTANT = "constant"
LABEL_ORDER = "same order as the label in every query: a leak?"
LARGEST_SCALE = "largest scale"
SMALLEST_SCALE = "smallest scale"

MIN_LEAK_QUERIES = 5
"""The least number of queries with different labels; in fewer, features have the label's order by chance."""
MAX_SCALE_RATIO = 100.0
"""Standard deviations that are further apart than this ruin rankers that do not scale."""


@dataclass(frozen=True)
class FeatureStatistics:
    """What the values of one feature are.

    Parameters
    ----------
    name
        The name of the feature.
    missing
        The number of documents without a value.
    min, median, max
        Over the documents that have a value; NaN if none has one, and for a category.
    deviation
        The standard deviation, NaN as above.
    words
        The number of words of a category; None for numbers.
    flags
        What looks wrong, in words.
    """

    name: str
    missing: int
    min: float
    median: float
    max: float
    deviation: float
    words: int | None = None
    flags: tuple[str, ...] = ()


def feature_statistics(data: RankingColumns) -> tuple[FeatureStatistics, ...]:
    """Return the statistics of each feature, in the order of the columns.

    A feature is flagged if it is constant, if it has the order of the label in every query (up or
    down), and if the scales of the features are far apart.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[1, 5], [2, 5], [4, 5]], [0, 1, 0], qid=[1, 1, 1])
    >>> [(f.name, f.median, f.max, f.flags) for f in feature_statistics(data)]
    [('f1', 2.0, 4.0, ()), ('f2', 5.0, 5.0, ('constant',))]
    """
    levels = _LabelLevels.of(data)
    words = {name: len(category.words) for name, category in data.categories.items()}
    features = [
        _statistics(name, data.X[:, j], words.get(name), levels)
        for j, name in enumerate(data.names())
    ]
    extremes = scale_extremes(features)
    if extremes is None:
        return tuple(features)
    flags = dict(zip([f.name for f in extremes], (SMALLEST_SCALE, LARGEST_SCALE), strict=True))
    return tuple(
        replace(feature, flags=(*feature.flags, flags[feature.name]))
        if feature.name in flags
        else feature
        for feature in features
    )


def scale_extremes(
    features: Sequence[FeatureStatistics],
) -> tuple[FeatureStatistics, FeatureStatistics] | None:
    """Return the features of the smallest and the largest scale; None if no scales are far apart."""
    varying = [feature for feature in features if feature.deviation > 0]
    if not varying:
        return None
    smallest = min(varying, key=lambda feature: feature.deviation)
    largest = max(varying, key=lambda feature: feature.deviation)
    apart = largest.deviation / MAX_SCALE_RATIO > smallest.deviation
    return (smallest, largest) if apart else None


@dataclass(frozen=True, eq=False)
class _LabelLevels:
    """The rows of each query divided by label, from the lowest label to the highest.

    `is_step[i]` says whether parts i and i + 1 belong to one query.
    """

    parts: Groups
    rows: NDArray[np.int64] | None
    is_step: NDArray[np.bool_]
    n_queries: int

    @classmethod
    def of(cls, data: RankingColumns) -> _LabelLevels:
        """Divide the rows of data."""
        labels, ranks = np.unique(data.y, return_inverse=True)
        keys, codes = np.unique(data.groups.codes * len(labels) + ranks, return_inverse=True)
        parts, rows = Groups.from_codes(codes, len(keys))
        queries = keys // len(labels)
        is_step = queries[1:] == queries[:-1]
        return cls(parts, rows, is_step, len(np.unique(queries[1:][is_step])))

    def is_order_of(self, values: Floats) -> bool:
        """Whether all documents with a higher label have a higher value, or all a lower one."""
        if self.n_queries < MIN_LEAK_QUERIES:
            return False
        values = values if self.rows is None else values[self.rows]
        low = self.parts.reduce(np.minimum, values)
        high = self.parts.reduce(np.maximum, values)
        rises = (high[:-1] < low[1:])[self.is_step]
        falls = (low[:-1] > high[1:])[self.is_step]
        return bool(rises.all() or falls.all())


def _statistics(
    name: str, column: NDArray[np.floating], words: int | None, levels: _LabelLevels
) -> FeatureStatistics:
    values = column.astype(np.float64)
    present = values[~np.isnan(values)]
    missing = len(values) - len(present)
    is_constant = len(present) == 0 or bool(present.min() == present.max())
    flags: tuple[str, ...] = (CONSTANT,) if is_constant else ()
    if words is not None or len(present) == 0:
        return FeatureStatistics(
            name, missing, math.nan, math.nan, math.nan, math.nan, words, flags
        )
    flags += (LABEL_ORDER,) if levels.is_order_of(values) else ()
    return FeatureStatistics(
        name, missing, float(present.min()), float(np.median(present)), float(present.max()),
        0.0 if is_constant else float(present.std()), flags=flags,
    )  # fmt: skip

"""The description of ranking data: one line per feature, and what looks wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from podium.data.feature_statistics import FeatureStatistics
from podium.errors import UnknownNameError
from podium.html_tables import html_table

HEADERS = ("feature", "missing", "min", "median", "max", "note")
MAX_LISTED_FEATURES = 40
"""The most features in a table; features that look wrong come before others."""


@dataclass(frozen=True, eq=False, repr=False)
class DataDescription:
    """Counts, ranges and odd values of each feature; `description["price"]` has those of one.

    Parameters
    ----------
    title
        The data in one line.
    features
        The statistics of each feature, in the order of the columns.
    """

    title: str
    features: tuple[FeatureStatistics, ...]

    def __getitem__(self, name: str) -> FeatureStatistics:
        for feature in self.features:
            if feature.name == name:
                return feature
        raise UnknownNameError("feature", name, [feature.name for feature in self.features])

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        listed = select_features(self.features)
        rows = [HEADERS, *(feature_cells(feature) for feature in listed)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                text.ljust(width) if j in (0, len(HEADERS) - 1) else text.rjust(width)
                for j, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        n_more = len(self.features) - len(listed)
        return "\n".join([self.title, *lines, *[f"... and {n_more:,} more"] * (n_more > 0)])

    def _repr_html_(self) -> str:
        """Return the features as a table for notebooks."""

        def cells(i: int) -> tuple[object, ...]:
            return feature_cells(self.features[i])

        return html_table(self.title, HEADERS, len(self.features), cells)


def select_features(features: Sequence[FeatureStatistics]) -> list[FeatureStatistics]:
    """Return those that look wrong and the first ones, at most MAX_LISTED_FEATURES, in their order."""
    by_need = sorted(range(len(features)), key=lambda i: (not features[i].flags, i))
    return [features[i] for i in sorted(by_need[:MAX_LISTED_FEATURES])]


def feature_cells(feature: FeatureStatistics) -> tuple[str, ...]:
    """Return the cells of a feature's row, as text.

    Examples
    --------
    >>> feature_cells(FeatureStatistics("price", 2, 0.5, 3.0, 12500.0, 9.0, flags=("largest scale",)))
    ('price', '2', '0.5', '3', '12,500', 'largest scale')
    """
    notes = list(feature.flags)
    if feature.words is not None:
        notes.insert(0, f"category: {feature.words:,} word{'s' * (feature.words != 1)}")
    numbers = [_number(value) for value in (feature.min, feature.median, feature.max)]
    return feature.name, f"{feature.missing:,}", *numbers, "; ".join(notes)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.6g}"

"""The table of features that ``podium data info`` prints, and what it advises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from podium.apps.cli.outputs.printing import finite_or_none, print_table
from podium.data.feature_statistics import LABEL_ORDER, FeatureStatistics, scale_extremes

MAX_ROWS = 40
"""The most features in the table; features that look wrong come before others."""


def print_features(features: Sequence[FeatureStatistics]) -> None:
    """Print one row per feature, and how many are left out."""
    listed = _select_features(features)
    headers = ["feature", "missing", "min", "median", "max", "note"]
    print_table("Features", headers, [_row(feature) for feature in listed], text_last=True)
    if len(listed) < len(features):
        typer.echo(f"... and {len(features) - len(listed):,} more (--json lists all)")


def features_as_json(features: Sequence[FeatureStatistics]) -> list[dict[str, Any]]:
    """Return one object per feature; numbers that a feature has not are null."""
    return [
        {name: finite_or_none(value) for name, value in asdict(feature).items()}
        for feature in features
    ]


def feature_advice(features: Sequence[FeatureStatistics], scaled: str | None) -> list[str]:
    """Return what to do about features that look wrong, one sentence each."""
    notes = []
    leaks = [feature.name for feature in features if LABEL_ORDER in feature.flags]
    if leaks:
        notes.append(
            f"{', '.join(leaks[:5])}{' ...' if len(leaks) > 5 else ''}: the order of the label in "
            "every query; leave out a feature that is not known when users search (--ignore)"
        )
    extremes = scale_extremes(features)
    if extremes is not None and scaled is None:
        smallest, largest = extremes
        ratio = float(f"{largest.deviation / smallest.deviation:.2g}")
        notes.append(
            f"{largest.name} varies {ratio:,.0f} times as much as {smallest.name}; use "
            "--scale zscore with podium train, tune and compare (trees do not need it)"
        )
    if any(feature.missing for feature in features):
        notes.append(
            "values are missing; use --impute median with podium train, tune and compare "
            "(lambdamart takes them as they are)"
        )
    return notes


def _select_features(features: Sequence[FeatureStatistics]) -> list[FeatureStatistics]:
    """Return those that look wrong and the first ones, at most MAX_ROWS, in their order."""
    by_need = sorted(range(len(features)), key=lambda i: (not features[i].flags, i))
    return [features[i] for i in sorted(by_need[:MAX_ROWS])]


def _row(feature: FeatureStatistics) -> list[str]:
    notes = list(feature.flags)
    if feature.words is not None:
        notes.insert(0, f"category: {feature.words:,} word{'s' * (feature.words != 1)}")
    numbers = [_number(value) for value in (feature.min, feature.median, feature.max)]
    return [feature.name, f"{feature.missing:,}", *numbers, "; ".join(notes)]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.6g}"

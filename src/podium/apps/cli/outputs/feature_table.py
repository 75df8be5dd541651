"""The table of features that ``podium data info`` prints, and what it advises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import typer

from podium.apps.cli.outputs.printing import finite_or_none, print_table
from podium.data import RankingData
from podium.data.data_description import HEADERS, feature_cells, select_features
from podium.data.feature_statistics import LABEL_ORDER, FeatureStatistics, scale_extremes
from podium.rankers import Prepared, Ranker, innermost_ranker

SCALE_FREE_RANKERS = ("lambdamart", "catboost", "auto", "rankboost", "focused-boost")
"""Rankers that look at the order of a feature's values alone, or scale features themselves."""
SAMPLED_ROWS = 1 << 14
"""The rows whose scales are looked at before a fit."""


def print_features(features: Sequence[FeatureStatistics]) -> None:
    """Print one row per feature, and how many are left out."""
    listed = select_features(features)
    print_table("Features", HEADERS, [feature_cells(feature) for feature in listed], text_last=True)
    if len(listed) < len(features):
        typer.echo(f"... and {len(features) - len(listed):,} more (--json lists all)")


def scale_advice(data: RankingData, rankers: Iterable[Ranker]) -> list[str]:
    """Return a note if scales are far apart, and a ranker minds that does not scale them; at most one."""
    minds = [
        innermost_ranker(ranker).name
        for ranker in rankers
        if innermost_ranker(ranker).name not in SCALE_FREE_RANKERS
        and not (isinstance(ranker, Prepared) and ranker.scale != "none")
    ]
    if not minds or data.scaled is not None:
        return []
    X = data.feature_rows(0, SAMPLED_ROWS).astype(np.float64)
    nothing = np.nan
    features = [
        FeatureStatistics(name, 0, nothing, nothing, nothing, float(np.std(own)))
        for name, column in zip(data.names(), X.T, strict=True)
        if name not in data.categories and len(own := column[~np.isnan(column)])
    ]
    extremes = scale_extremes(features)
    if extremes is None:
        return []
    return [
        f"{_scales_text(*extremes)}; --scale zscore helps {', '.join(minds[:5])} (trees do not need it)"
    ]


def _scales_text(smallest: FeatureStatistics, largest: FeatureStatistics) -> str:
    ratio = float(f"{largest.deviation / smallest.deviation:.2g}")
    return f"{largest.name} varies {ratio:,.0f} times as much as {smallest.name}"


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
        notes.append(
            f"{_scales_text(*extremes)}; use --scale zscore with podium train, tune and compare (trees do "
            "not need it)"
        )
    if any(feature.missing for feature in features):
        notes.append(
            "values are missing; use --impute median with podium train, tune and compare "
            "(lambdamart takes them as they are)"
        )
    return notes

"""Figures of metrics: means with intervals, by cutoff or by metric, and differences per query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from podium.figure_style import (
    BLUE,
    DOWN,
    MUTED,
    PALETTE,
    UP,
    draw_interval_dots,
    plain_label,
    tidy_axes,
)
from podium.metrics.bootstrap import bootstrap_intervals
from podium.metrics.metric import Metric
from podium.typing import Floats

_LINE_COLOURS = PALETTE[:0:-1] + PALETTE[:1]
_MARKERS = "osD^vPX"


def draw_metrics(
    ax: Any, means: Mapping[Metric, float], columns: Mapping[Metric, Floats], weight: Floats | None
) -> None:
    """Draw lines over k if every metric has a cutoff and one has several; else a dot for each metric."""
    metrics = [m for m in means if not np.isnan(means[m])]
    ends = {}
    if metrics:
        intervals = bootstrap_intervals([columns[m] for m in metrics], weight=weight)
        ends = {m: (i.low, i.high) for m, i in zip(metrics, intervals, strict=True)}
    families: dict[Metric, list[Metric]] = {}
    for metric in metrics:
        # Metrics of one family share one cutoff here, so that they count as the same metric.
        families.setdefault(replace(metric, k=None if metric.k is None else 1), []).append(metric)
    if all(m.k is not None for m in metrics) and any(len(f) > 1 for f in families.values()):
        for i, family in enumerate(families.values()):
            _draw_cutoffs(ax, sorted(family, key=lambda m: m.k or 0), means, ends, i)
        ax.set_xlabel("cutoff k (places)")
        ax.set_ylabel("mean over queries (95% interval)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        if len(families) > 1:
            ax.legend(frameon=False, fontsize="small")
        else:
            ax.set_ylabel(f"{plain_label(_family_name(metrics[0]), 40)} (95% interval)")
        tidy_axes(ax)
        return
    draw_interval_dots(
        ax, [str(m) for m in metrics], [means[m] for m in metrics],
        [ends[m] for m in metrics], [BLUE] * len(metrics),
    )  # fmt: skip
    ax.set_xlabel("mean over queries (95% interval)")


def _draw_cutoffs(
    ax: Any,
    family: list[Metric],
    means: Mapping[Metric, float],
    ends: Mapping[Metric, tuple[float, float]],
    i: int,
) -> None:
    colour, marker = _LINE_COLOURS[i % len(_LINE_COLOURS)], _MARKERS[i % len(_MARKERS)]
    cutoffs = [m.k for m in family]
    low, high = zip(*(ends[m] for m in family), strict=True)
    ax.fill_between(cutoffs, low, high, color=colour, alpha=0.16, linewidth=0)
    label = plain_label(_family_name(family[0]), 40)
    ax.plot(
        cutoffs, [means[m] for m in family], marker=marker, markersize=4, color=colour, label=label
    )


def _family_name(metric: Metric) -> str:
    return str(metric).rsplit("@", 1)[0] + "@k"


def draw_differences(ax: Any, differences: Floats, mean: float, label: str, title: str) -> None:
    """Draw the difference of each query as a bar, the largest gain first, and their mean."""
    ordered = np.sort(differences[~np.isnan(differences)])[::-1]
    edges = np.arange(len(ordered) + 1)
    for sign, colour in ((ordered > 0, UP), (ordered < 0, DOWN)):
        if sign.any():
            ax.stairs(np.where(sign, ordered, 0.0), edges, fill=True, color=colour, linewidth=0)
    ax.axhline(0, color="black", linewidth=0.6)
    ax.axhline(mean, color=MUTED, linestyle="--", linewidth=1.2)
    ax.annotate(
        f"mean {mean:+.4f}", (0.99 if mean >= 0 else 0.01, mean),
        ha="right" if mean >= 0 else "left", va="bottom" if mean >= 0 else "top",
        xycoords=("axes fraction", "data"), fontsize="small", color="#444444",
    )  # fmt: skip
    tidy_axes(ax)
    ax.set_xlim(0, max(len(ordered), 1))
    ax.set_xlabel("queries, the largest gain first")
    ax.set_ylabel(plain_label(label, 60))
    ax.set_title(plain_label(title, 70), fontsize="medium")

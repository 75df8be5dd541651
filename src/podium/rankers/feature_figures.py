"""Figures of features: what each one adds to a score, and how important it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.figure_style import BLUE, DOWN, MUTED, UP, label_size, plain_label, tidy_axes
from podium.typing import Floats


def draw_waterfall(ax: Any, parts: list[tuple[str, float]], score: float, title: str) -> None:
    """Draw bars that begin where the bar above ends; the last one ends at the score."""
    start = score - sum(part for _, part in parts)
    if abs(start) <= 1e-9 * max(1.0, abs(score)):
        start = 0.0
    names = [*["constant"] * (start != 0), *(name for name, _ in parts), "score"]
    edges = np.cumsum([start, *(part for _, part in parts)])
    bars = [(0.0, start, MUTED)] * (start != 0)
    for left, (_, part) in zip(edges, parts, strict=False):
        bars.append((float(left), float(left + part), UP if part >= 0 else DOWN))
    bars.append((0.0, score, "#444444"))
    for y, (left, right, colour) in enumerate(bars):
        ax.barh(y, right - left, left=left, color=colour, height=0.62)
        is_sum = y == len(bars) - 1
        text = f"{right:.4g}" if is_sum else f"{right - left:+.3g}"
        side = 1 if right >= left else -1
        ax.annotate(
            text, (right, y), xytext=(4 * side, 0), textcoords="offset points", va="center",
            ha="left" if side > 0 else "right", fontsize="small",
        )  # fmt: skip
        if not is_sum:
            ax.plot([right, right], [y, y + 1], color=MUTED, linewidth=0.8)
    ax.axvline(0, color="black", linewidth=0.6)
    _name_rows(ax, names)
    ax.use_sticky_edges = False  # the numbers need room on both sides
    ax.margins(x=0.16)
    ax.set_xlabel("score (adds up from top to bottom)")
    ax.set_title(plain_label(title, 60), fontsize="medium")


def draw_importance(
    ax: Any, names: list[str], falls: Floats, deviations: Floats, label: str
) -> None:
    """Draw a bar with a whisker of one standard deviation for each feature, the first on top."""
    ax.barh(range(len(names)), falls, color=BLUE, height=0.62)
    for y, (fall, deviation) in enumerate(zip(falls, deviations, strict=True)):
        ax.plot([fall - deviation, fall + deviation], [y, y], color="black", linewidth=1.2)
    ax.axvline(0, color="black", linewidth=0.6)
    _name_rows(ax, names)
    ax.set_xlabel(plain_label(label, 70))


def _name_rows(ax: Any, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), [plain_label(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    tidy_axes(ax, "x")
    ax.tick_params(axis="y", length=0, labelsize=label_size(len(names)))

"""Drawings of the statistics: agreement matrices, and the times of judgments."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.figure_style import BLUE, ORANGE, label_size, plain_label, tidy_axes
from podium.labelling.judging_statistics.agreement import PREFERENCES, AssessorAgreement
from podium.labelling.judging_statistics.judgment_times import TIME_BINS, JudgmentTimes

# Okabe and Ito's colours, which people with any kind of colour vision can distinguish.
_COLOURS = {"preference": BLUE, "grade": ORANGE}
MAX_ASSESSORS = 30
"""The maximum number of assessors in a figure: those with the most judgments."""


def draw_agreement(ax: Any, agreement: AssessorAgreement, title: str) -> None:
    """Draw the matrix of answers: one assessor's by row, another's by column."""
    names = [f"A{p}B" for p in PREFERENCES]
    ax.set_title(f"Agreement: {title}", fontsize="small")
    ax.set_xticks(range(3), names)
    ax.set_yticks(range(3), names)
    ax.tick_params(labelsize="x-small", length=0)
    matrix = agreement.matrix
    ax.imshow(np.nan_to_num(matrix), vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for (row, column), share in np.ndenumerate(matrix):
        text = "-" if share != share else f"{share:.3f}"
        colour = "white" if share > 0.55 else "black"
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize="small")
    summary = (
        f"{agreement.overall:.3f} agreed of {agreement.n_pairs:,}"
        if agreement.n_pairs
        else "no pairs"
    )
    ax.set_xlabel(f"another says ({summary})", fontsize="x-small")
    ax.set_ylabel("one says", fontsize="x-small")


def draw_times(ax: Any, methods: tuple[JudgmentTimes, ...]) -> None:
    """Draw the distribution of the active time of a judgment as one line per method."""
    styles = ("-", "--", ":", "-.")
    for i, times in enumerate(methods):
        if (n := sum(times.histogram)) == 0:
            continue
        ax.stairs(
            np.array(times.histogram) / n,
            TIME_BINS,
            color=_COLOURS[times.tool],
            linestyle=styles[i % len(styles)],
            label=f"{times.name}: mean {times.seconds:.1f} s",
        )
    ax.set_xscale("log")
    ax.set_xticks([0.25, 1, 4, 16, 64, 256, 1024], ["¼", "1", "4", "16", "64", "256", "1024"])
    ax.set_xlabel("active seconds of a judgment", fontsize="small")
    ax.set_ylabel("share of judgments", fontsize="small")
    if ax.patches:
        ax.legend(fontsize="x-small", frameon=False)
    tidy_axes(ax, "both", tick_size="x-small")


def draw_assessor_times(ax: Any, rows: tuple[JudgmentTimes, ...]) -> None:
    """Draw the median and the quartiles of each assessor's times."""
    busiest = sorted((r for r in rows if r.median == r.median), key=lambda r: -r.judgments)
    busiest = sorted(busiest[:MAX_ASSESSORS], key=lambda r: (r.name, r.tool))[::-1]
    for y, times in enumerate(busiest):
        ax.plot(times.quartiles, [y, y], color=_COLOURS[times.tool], linewidth=2)
        ax.plot(times.median, y, "o", color=_COLOURS[times.tool], markersize=4)
    ax.set_yticks(range(len(busiest)), [plain_label(f"{t.name} ({t.tool})") for t in busiest])
    ax.set_xlabel("seconds of a judgment: median, quartiles", fontsize="small")
    ax.set_xlim(left=0)
    tidy_axes(ax, "both", tick_size="x-small")
    ax.tick_params(axis="y", labelsize=label_size(len(busiest)))

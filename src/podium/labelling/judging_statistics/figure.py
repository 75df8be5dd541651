"""Pictures of judging: who agrees on what, and how long a judgment takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.errors import require
from podium.labelling.judging_statistics.agreement import PREFERENCES, AssessorAgreement
from podium.labelling.judging_statistics.judgment_times import TIME_BINS, JudgmentTimes
from podium.labelling.judging_statistics.summary import Statistics

# Okabe and Ito's colours, which people with any kind of colour vision tell apart.
_COLOURS = {"preference": "#0072B2", "grade": "#E69F00"}
MAX_ASSESSORS = 30
"""Assessors drawn: those with most judgments."""


def plot_statistics(statistics: Statistics) -> Any:
    """Agreement matrices, the time of a judgment by method and by assessor; a Figure."""
    library = require("matplotlib.figure", "report", "drawing a figure")
    # Without pyplot: nothing global, no window, any thread.
    figure = library.Figure(figsize=(11, 7.5), layout="constrained")
    figure.set_facecolor("white")
    panels = figure.subplot_mosaic(
        [["preferences", "grades", "judged"], ["times", "times", "assessors"]]
    )
    _draw_matrix(panels["preferences"], statistics.preferences, "preferences, all pairs")
    _draw_matrix(panels["grades"], statistics.grades, "inferred from grades")
    _draw_matrix(panels["judged"], statistics.judged, "preferences, pairs both judged")
    _draw_times(panels["times"], statistics.methods)
    _draw_assessors(panels["assessors"], statistics.assessors)
    figure.suptitle(repr(statistics)[len("Statistics(") : -1], fontsize="medium")
    return figure


def _draw_matrix(ax: Any, agreement: AssessorAgreement, title: str) -> None:
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


def _draw_times(ax: Any, methods: tuple[JudgmentTimes, ...]) -> None:
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
    _tidy(ax)


def _draw_assessors(ax: Any, rows: tuple[JudgmentTimes, ...]) -> None:
    """Where the middle half of an assessor's times lies, and the median."""
    kept = sorted((r for r in rows if r.median == r.median), key=lambda r: -r.judgments)
    kept = sorted(kept[:MAX_ASSESSORS], key=lambda r: (r.name, r.tool))[::-1]
    for y, times in enumerate(kept):
        ax.plot(times.quartiles, [y, y], color=_COLOURS[times.tool], linewidth=2)
        ax.plot(times.median, y, "o", color=_COLOURS[times.tool], markersize=4)
    ax.set_yticks(range(len(kept)), [f"{t.name} ({t.tool})"[:24] for t in kept], fontsize="x-small")
    ax.set_xlabel("seconds of a judgment: median, quartiles", fontsize="small")
    ax.set_xlim(left=0)
    _tidy(ax)


def _tidy(ax: Any) -> None:
    ax.grid(color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize="x-small")

"""A figure of the statistics: agreement matrices, and the times of judgments."""

from __future__ import annotations

from typing import Any

from podium.errors import require
from podium.labelling.judging_statistics.summary import Statistics


def plot_statistics(statistics: Statistics) -> Any:
    """Return a Figure with agreement matrices and the times of judgments by method and by assessor.

    `Statistics.plot` draws one of the panels.
    """
    library = require("matplotlib.figure", "report", "drawing a figure")
    # Without pyplot there is no global state and no window, and any thread may draw.
    figure = library.Figure(figsize=(11, 7.5), layout="constrained")
    figure.set_facecolor("white")
    panels = figure.subplot_mosaic(
        [["preferences", "grades", "judged"], ["times", "times", "assessors"]]
    )
    for what, ax in panels.items():
        statistics.plot(ax, what=what)
    figure.suptitle(repr(statistics)[len("Statistics(") : -1], fontsize="medium")
    return figure

"""A figure of feedback: the factors by user class, and the distribution of alpha."""

from __future__ import annotations

from typing import Any

from podium.counted_nouns import count_text
from podium.errors import require
from podium.feedback.factors import FACTORS
from podium.feedback.feedback import Feedback


def plot_feedback(feedback: Feedback) -> Any:
    """Return a Figure with one panel per factor, by user class, and the distribution of alpha.

    `Feedback.plot` draws one of the panels.
    """
    library = require("matplotlib.figure", "report", "drawing a figure")
    # Without pyplot there is no global state and no window, so any thread may draw.
    figure = library.Figure(figsize=(11, 6.5), layout="constrained")
    figure.set_facecolor("white")
    panels = figure.subplot_mosaic([list(FACTORS[:4]), list(FACTORS[4:]), ["alpha"] * 4])
    for name, ax in panels.items():
        feedback.plot(ax, factor=name)
        ax.tick_params(labelsize="x-small")
    figure.suptitle(
        f"Feedback on {count_text(len(feedback), 'list')}: means by list", fontsize="medium"
    )
    return figure

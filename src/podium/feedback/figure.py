"""A picture of feedback: the factors of each class, and how alpha is spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.errors import require
from podium.feedback.actions import FACTORS, N_POSITIVE
from podium.feedback.feedback import Feedback

# Okabe and Ito's colours, which people with any kind of colour vision tell apart.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999")
MAX_CLASSES = 12
"""Classes drawn one by one: those with most lists."""


def plot_feedback(feedback: Feedback) -> Any:
    """Mean factors by user class, a panel each, and below the distribution of alpha; a Figure.

    Factors that the log never carries have an empty panel.
    """
    library = require("matplotlib.figure", "report", "drawing a figure")
    parts: dict[str, Feedback] = {"all": feedback}
    largest = sorted(feedback.by_class().items(), key=lambda item: -len(item[1]))[:MAX_CLASSES]
    parts |= dict(sorted(largest))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(parts)}
    # Without pyplot: nothing global, no window, any thread.
    figure = library.Figure(figsize=(11, 6.5), layout="constrained")
    figure.set_facecolor("white")
    panels = figure.subplot_mosaic([list(FACTORS[:4]), list(FACTORS[4:]), ["alpha"] * 4])
    for j, factor in enumerate(FACTORS):
        ax = panels[factor]
        sign = "+" if j < N_POSITIVE else "−"
        unit = " (s)" if factor == "dwell" else ""
        ax.set_title(f"μ{j + 1} {factor}{unit} {sign}", fontsize="small")
        _tidy(ax)
        if not feedback.carried[j]:
            ax.text(
                0.5, 0.5, "not in the log", ha="center", transform=ax.transAxes, fontsize="small"
            )
            ax.set_xticks([])
            ax.set_yticks([])
            continue
        means = [part.factors[:, j].mean() for part in parts.values()]
        ax.bar(range(len(parts)), means, color=list(colours.values()))
        ax.set_xticks(range(len(parts)), list(parts), fontsize="x-small")
    _draw_alpha(panels["alpha"], parts, colours)
    figure.suptitle(f"Feedback on {len(feedback):,} lists: means by list", fontsize="medium")
    return figure


def _draw_alpha(ax: Any, parts: dict[str, Feedback], colours: dict[str, str]) -> None:
    bins = np.linspace(0, 1, 41)
    for name, part in parts.items():
        share = np.histogram(part.alphas, bins)[0] / len(part)
        ax.stairs(share, bins, color=colours[name], label=name, linewidth=1.4)
    ax.set_xlabel("alpha", fontsize="small")
    ax.set_ylabel("share of lists", fontsize="small")
    ax.set_xlim(0, 1)
    ax.legend(fontsize="x-small", frameon=False, ncols=min(6, len(parts)))
    _tidy(ax)


def _tidy(ax: Any) -> None:
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize="x-small")

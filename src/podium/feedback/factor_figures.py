"""Drawings of feedback: a factor by user class, and the distribution of alpha."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from podium.errors import UnknownNameError
from podium.feedback.factors import FACTORS, N_POSITIVE
from podium.figure_style import PALETTE, label_size, plain_label, tidy_axes
from podium.typing import Floats


def draw_factor(ax: Any, factor: str, means: Mapping[str, Floats]) -> None:
    """Draw the mean of a factor as one bar per class; NaN means that the log lacks it.

    Parameters
    ----------
    means
        The mean of each of the eight factors, by class.
    """
    if factor not in FACTORS:
        raise UnknownNameError("factor", factor, ["alpha", *FACTORS])
    j = FACTORS.index(factor)
    sign = "+" if j < N_POSITIVE else "−"
    unit = " (s)" if factor == "dwell" else ""
    ax.set_title(f"μ{j + 1} {factor}{unit} {sign}", fontsize="small")
    ax.set_xlabel("mean over lists", fontsize="x-small")
    tidy_axes(ax, "x", tick_size="small")
    widths = [values[j] for values in means.values()]
    if np.isnan(widths).all():
        ax.text(0.5, 0.5, "not in the log", ha="center", transform=ax.transAxes, fontsize="small")
        ax.set_xticks([])
        ax.set_yticks([])
        return
    ax.barh(range(len(means)), widths, color=_colours(len(means)))
    ax.set_yticks(range(len(means)), [plain_label(name) for name in means])
    ax.tick_params(axis="y", length=0, labelsize=label_size(len(means)))
    ax.invert_yaxis()


def draw_alphas(ax: Any, alphas: Mapping[str, Floats]) -> None:
    """Draw the distribution of alpha over lists as one line per class."""
    bins = np.linspace(0, 1, 41)
    for (name, values), colour in zip(alphas.items(), _colours(len(alphas)), strict=True):
        share = np.histogram(values, bins)[0] / len(values)
        ax.stairs(share, bins, color=colour, label=plain_label(name), linewidth=1.4)
    ax.set_xlabel("alpha", fontsize="small")
    ax.set_ylabel("share of lists", fontsize="small")
    ax.set_xlim(0, 1)
    ax.legend(fontsize="x-small", frameon=False, ncols=min(6, len(alphas)))
    tidy_axes(ax, tick_size="small")


def _colours(n: int) -> list[str]:
    return [PALETTE[i % len(PALETTE)] for i in range(n)]

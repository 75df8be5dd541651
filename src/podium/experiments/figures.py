"""Figures: colours, tidy axes, and files that do not change from run to run."""

from __future__ import annotations

from typing import Any

from podium.data.files import Path_, atomic_path
from podium.errors import require

# Okabe and Ito's colours, which people with any kind of colour vision tell apart.
PALETTE = ("#999999", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00")


def tidy_axes(ax: Any) -> None:
    """Draw a grid behind the data and drop the frame that is not needed."""
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="x", length=0)
    ax.tick_params(axis="y", labelsize="small")


def save_figure(figure: Any, path: Path_) -> None:
    """Write a matplotlib figure as SVG or PNG; the same figure gives the same bytes."""
    matplotlib = require("matplotlib", "report", "saving a figure")
    kind = str(path).rsplit(".", 1)[-1]
    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}.get(kind)
    text = {"svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"]}
    settings = {"svg.hashsalt": "podium", **text}
    with matplotlib.rc_context(settings), atomic_path(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=metadata, dpi=110)

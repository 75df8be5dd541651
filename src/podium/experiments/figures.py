"""Figure files that do not change from run to run."""

from __future__ import annotations

from typing import Any

from podium.data.atomic_files import atomic_path
from podium.errors import require
from podium.figure_style import PALETTE, tidy_axes
from podium.typing import Path_

__all__ = ["PALETTE", "save_figure", "tidy_axes"]


def save_figure(figure: Any, path: Path_) -> None:
    """Write a matplotlib figure as SVG or PNG; the same figure gives the same bytes."""
    matplotlib = require("matplotlib", "report", "saving a figure")
    kind = str(path).rsplit(".", 1)[-1]
    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}.get(kind)
    text = {"svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"]}
    settings = {"svg.hashsalt": "podium", **text}
    with matplotlib.rc_context(settings), atomic_path(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=metadata, dpi=110)

"""The style of podium's figures: colours, axes, labels. Matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
import re
import warnings
from functools import partial
from typing import Any

from podium.errors import require

PALETTE = ("#999999", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00")
"""Okabe and Ito's colours, which people with any kind of colour vision tell apart."""
MUTED, ORANGE, BLUE, UP, DOWN = PALETTE[0], PALETTE[1], PALETTE[5], PALETTE[5], PALETTE[6]
"""What stays in the background; two lines; and what rises or falls."""
SIZE_INCHES = (6.0, 4.0)
MAX_LABEL_CHARACTERS = 24

_CONTROL_CHARACTERS = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")


def new_axes(purpose: str, size: tuple[float, float] = SIZE_INCHES) -> Any:
    """Return axes of a new figure; a notebook shows them.

    The figure is not one of pyplot's: there is no global state and no window, and any thread may draw.
    """
    figure = require("matplotlib.figure", "report", purpose).Figure(size, layout="constrained")
    ax = figure.add_subplot()
    vars(ax)["_repr_png_"] = partial(_png, figure)  # what notebooks ask an object for
    return ax


def _png(figure: Any) -> bytes:
    """Return the picture of a figure, for notebooks."""
    canvas = require("matplotlib.backends.backend_agg", "report", "showing a figure")
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        canvas.FigureCanvasAgg(figure).print_png(out, metadata={"Software": None})
    return out.getvalue()


def tidy_axes(ax: Any, grid: str = "y", tick_size: str | None = None) -> None:
    """Draw a grid behind the data and drop the frame that is not needed; set the size of all tick labels."""
    ax.grid(axis=grid, color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="x", length=0)
    ax.tick_params(axis="y", labelsize="small")
    if tick_size is not None:
        ax.tick_params(labelsize=tick_size)


def plain_label(text: object, max_characters: int = MAX_LABEL_CHARACTERS) -> str:
    """Return a label that matplotlib draws as it is: no formula, no control characters, the middle cut out
    if it is too long.

    Examples
    --------
    >>> plain_label("a$b$")
    'a\\\\$b\\\\$'
    >>> plain_label("a long name of product 17", 11)
    'a lon…ct 17'
    """
    label = _CONTROL_CHARACTERS.sub(" ", str(text)).encode("utf-8", "backslashreplace").decode()
    if len(label) > max_characters:
        tail = (max_characters - 1) // 2
        label = f"{label[: max_characters - 1 - tail]}…{label[-tail:]}"
    return label.replace("$", r"\$")


def draw_interval_dots(
    ax: Any,
    names: list[str],
    means: list[float],
    intervals: list[tuple[float, float]],
    colours: list[str],
) -> None:
    """Draw a dot with an interval for each name, the first one on top."""
    for y, (mean, ends, colour) in enumerate(zip(means, intervals, colours, strict=True)):
        ax.plot(ends, [y, y], color=colour, linewidth=2, solid_capstyle="butt")
        ax.plot([mean], [y], "o", color=colour, markersize=5)
    ax.set_yticks(range(len(names)), [plain_label(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    tidy_axes(ax, "x")
    ax.tick_params(axis="y", length=0, labelsize=label_size(len(names)))


def label_size(n: int) -> str:
    """Return the font size at which n labels fit one below the other."""
    return "small" if n <= 15 else "x-small" if n <= 20 else "xx-small"

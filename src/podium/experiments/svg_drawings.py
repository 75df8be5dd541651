"""Pictures of a report as SVG that follows the page: its text colour, its theme, its width."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import require

Floats = NDArray[np.float64]
Points = Sequence[float | None]

SERIES = 8
"""Colours there are; the ninth curve is the first one's colour, dashed."""
DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.5), (1, 1.2))
"""Of the first, second and third eight: drawn and left out, in widths of the line; empty is a whole line."""
WIDE, SMALL = (4.1, 2.7), (2.7, 1.75)
"""Inches of 72 units: as wide as a phone, so that text is never scaled down to nothing."""

# matplotlib draws with colours that stand for others, which the page has one for each theme of.
_INK, _RULE, _UP, _DOWN = "#010101", "#010102", "#010103", "#010104"
_PAGE = {_INK: "currentColor", _RULE: "var(--rule)", _UP: "var(--up)", _DOWN: "var(--down)"}
_PAGE |= {f"#0102{i:02x}": f"var(--s{i})" for i in range(SERIES)}


def colour(i: int) -> str:
    """What stands for the colour of the i-th ranker."""
    return f"#0102{i % SERIES:02x}"


def dashes(i: int) -> tuple[float, ...]:
    """What is drawn and left out of the line of the i-th ranker."""
    return DASHES[i // SERIES % len(DASHES)]


@dataclass(frozen=True)
class Drawing:
    """An SVG to stand in a page, and what it shows in words."""

    svg: str
    alt: str


@dataclass(frozen=True)
class RankerCurve:
    """A line: which ranker's it is by number, and whether it is one of several thin ones."""

    series: int
    x: Sequence[float]
    y: Points
    thin: bool = False
    dots: bool = False


def lines(
    curves: Sequence[RankerCurve], x_label: str, y_label: str, alt: str, name: str, *,
    small: bool = False, log: bool = False, marks: Sequence[tuple[int, float, float]] = (),
    whole: bool = False,
) -> Drawing:  # fmt: skip
    """Curves over x; marks are dots (series, x, y)."""
    with _sheet(SMALL if small else WIDE, alt, name) as (ax, done):
        for curve in curves:
            points = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
            if points:
                ax.plot(
                    *zip(*points, strict=True), color=colour(curve.series),
                    linestyle=(0, dashes(curve.series)) if dashes(curve.series) else "-",
                    linewidth=0.8 if curve.thin else 1.6, alpha=0.45 if curve.thin else 1.0,
                    marker="o" if curve.dots else None, markersize=2.6,
                )  # fmt: skip
        for series, x, y in marks:
            ax.plot([x], [y], "o", color=colour(series), markersize=3.2)
        if log:
            ax.set_xscale("log")
            ax.minorticks_off()
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
        _tidy(ax, "y", whole=whole)
    return done[0]


def intervals(
    names: Sequence[str], series: Sequence[int], means: Points, low: Points, high: Points,
    baseline: float | None, label: str, alt: str, name: str,
) -> Drawing:  # fmt: skip
    """A dot and a whisker for each ranker, the first on top; a line where the baseline is."""
    size = (WIDE[0], 0.55 + 0.24 * len(names))
    with _sheet(size, alt, name, left=_margin(names)) as (ax, done):
        for i, (mean, a, b) in enumerate(zip(means, low, high, strict=True)):
            if mean is not None and a is not None and b is not None:
                ax.plot([a, b], [i, i], color=colour(series[i]), linewidth=1.6, alpha=0.6)
                ax.plot([mean], [i], "o", color=colour(series[i]), markersize=4.5)
        if baseline is not None:
            ax.axvline(baseline, color=_INK, linewidth=0.7, linestyle=(0, (2, 2)), alpha=0.6)
        _rows(ax, names, label)
    return done[0]


def bars(
    names: Sequence[str], values: Sequence[float], low: Sequence[float], high: Sequence[float],
    label: str, alt: str, name: str,
) -> Drawing:  # fmt: skip
    """A bar for each name, the first on top, with the range over folds."""
    size = (SMALL[0], 0.5 + 0.17 * len(names))
    with _sheet(size, alt, name, left=_margin(names)) as (ax, done):
        ax.barh(
            range(len(names)), values, 0.72, alpha=0.65,
            color=[_UP if v >= 0 else _DOWN for v in values],
        )  # fmt: skip
        for i, (a, b) in enumerate(zip(low, high, strict=True)):
            ax.plot([a, b], [i, i], color=_INK, linewidth=0.8, alpha=0.7)
        ax.axvline(0, color=_INK, linewidth=0.6)
        _rows(ax, names, label)
    return done[0]


def differences(values: Floats, label: str, alt: str, name: str) -> Drawing:
    """What each query gains or loses, sorted: one step a query."""
    ordered = np.sort(values[~np.isnan(values)])[::-1]
    with _sheet(SMALL, alt, name) as (ax, done):
        edges = np.arange(len(ordered) + 1)
        for sign, shade in ((ordered > 0, _UP), (ordered < 0, _DOWN)):
            if sign.any():
                ax.stairs(np.where(sign, ordered, 0), edges, fill=True, color=shade, linewidth=0)
        ax.axhline(0, color=_INK, linewidth=0.6)
        bound = max(float(np.abs(ordered).max(initial=0)) * 1.08, 1e-3)
        ax.set_ylim(-bound, bound)
        ax.set_xlim(0, max(len(ordered), 1))
        ax.set_xlabel("queries, sorted")
        ax.set_ylabel(label)
        _tidy(ax, "y")
    return done[0]


@contextmanager
def _sheet(
    size: tuple[float, float], alt: str, name: str, left: float = 0.52
) -> Iterator[tuple[Any, list[Drawing]]]:
    """Axes to draw on; afterwards the drawing is in the list."""
    matplotlib = require("matplotlib", "report", "drawing a report")
    figures = require("matplotlib.figure", "report", "drawing a report")
    width, height = size
    done: list[Drawing] = []
    with matplotlib.rc_context(_STYLE):
        figure = figures.Figure(figsize=size)
        figure.patch.set_alpha(0)
        bottom, top, right = 0.4, 0.08, 0.1
        ax = figure.add_axes(
            (left / width, bottom / height, (width - left - right) / width,
             (height - bottom - top) / height)
        )  # fmt: skip
        ax.patch.set_alpha(0)
        yield ax, done
        out = io.StringIO()
        with warnings.catch_warnings():  # text stays text: the browser has the letters
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    done.append(Drawing(_inline(out.getvalue(), name), alt))


_STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "podium", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"], "font.size": 8, "text.color": _INK, "axes.labelcolor": _INK,
    "axes.edgecolor": _INK, "xtick.color": _INK, "ytick.color": _INK, "axes.linewidth": 0.6,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "axes.labelsize": 8, "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5, "axes.spines.top": False, "axes.spines.right": False,
    "axes.formatter.use_mathtext": False, "path.simplify": True, "axes.unicode_minus": True,
    "text.parse_math": False,
}  # fmt: skip


def _tidy(ax: Any, axis: str, *, whole: bool = False) -> None:
    ax.grid(axis=axis, color=_RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.locator_params(axis="y", nbins=5)
    low, high = ax.get_xlim()
    if ax.get_xscale() == "log":
        ax.set_xticks(*_powers(low, high))
    elif whole and high - low < 12:
        ax.set_xticks(range(math.ceil(low), math.floor(high) + 1))
    else:
        ax.locator_params(axis="x", nbins=5, integer=whole)


def _powers(low: float, high: float) -> tuple[list[float], list[str]]:
    """Ticks of a logarithmic axis as plain text: math text would be drawn letter by letter."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    step = max(1, math.ceil((last - first + 1) / 4))
    ticks = [10.0**e for e in range(first, last + 1, step)]
    return ticks, [f"{tick:g}" for tick in ticks]


def _rows(ax: Any, names: Sequence[str], label: str) -> None:
    ax.set_yticks(range(len(names)), [short(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(label)
    ax.grid(axis="x", color=_RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.locator_params(axis="x", nbins=5)


def short(name: str, letters: int = 22) -> str:
    """A name in a line that leaves room for the picture."""
    name = " ".join(name.split())
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _margin(names: Sequence[str]) -> float:
    return 0.15 + 0.068 * max(len(short(name)) for name in names)


def _inline(svg: str, name: str) -> str:
    """The picture as it stands in a page: no header, its own ids, colours of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r'<svg[^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', svg
    )
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r'\s*font-family:[^;"]*;?', "", svg)
    svg = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", svg)
    for own, page in _PAGE.items():
        svg = svg.replace(own, page)
    return re.sub(r"\n\s*", "\n", svg).strip()

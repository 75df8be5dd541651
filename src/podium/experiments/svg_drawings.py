"""SVG drawings that adapt to the page: its text colour, its theme, its width."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from podium.errors import require
from podium.experiments.text_escapes import escape_text
from podium.typing import Floats

Points = Sequence[float | None]

N_COLOURS = 8
"""The number of colours; the ninth curve has the colour of the first one, dashed."""
DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.5), (1, 1.2))
"""The dashes of curves 1-8, 9-16 and 17-24: dash and gap, in units of the line width."""
WIDE_INCHES, SMALL_INCHES = (4.1, 2.7), (2.7, 1.75)
"""Width and height; an inch has 72 units. A drawing fits on a phone, so that its text is readable."""

TICK_LABEL_INCHES = 0.6
"""Room for a label such as −0.00010 and a gap."""

# matplotlib draws with placeholders, which the page replaces by a colour in each theme.
_INK, _RULE, _UP, _DOWN = "#010101", "#010102", "#010103", "#010104"
_PAGE_COLOURS = {_INK: "currentColor", _RULE: "var(--rule)", _UP: "var(--up)", _DOWN: "var(--down)"}
_PAGE_COLOURS |= {f"#0102{i:02x}": f"var(--s{i})" for i in range(N_COLOURS)}


def colour(i: int) -> str:
    """Return the placeholder for the colour of the i-th ranker."""
    return f"#0102{i % N_COLOURS:02x}"


def dashes(i: int) -> tuple[float, ...]:
    """Return the dashes of the line of the i-th ranker."""
    return DASHES[i // N_COLOURS % len(DASHES)]


@dataclass(frozen=True)
class Drawing:
    """An SVG for a page, and a text that describes it."""

    svg: str
    alt: str


@dataclass(frozen=True)
class RankerCurve:
    """A line of the ranker with this number; it may be thin or have dots.

    If there is a title, the page shows it with the values under the pointer. With `is_dim` the line
    stays in the background until its ranker is chosen.
    """

    series: int
    x: Sequence[float]
    y: Points
    thin: bool = False
    dots: bool = False
    title: str = ""
    is_dim: bool = False


class HoverTexts(dict[str, str]):
    """The start of the SVG group of each artist with a text, by the artist's id."""

    def add(self, series: int, text: str, *, is_dim: bool = False) -> str | None:
        """Keep the hover text of an artist; return the id for the artist, None without a text."""
        if not text:
            return None
        gid = f"hover{len(self)}"
        kind = "series dim" if is_dim else "series"
        title = escape(escape_text(text))
        self[gid] = f'<g class="{kind}" data-series="{series}"><title>{title}</title>'
        return gid


def lines(
    curves: Sequence[RankerCurve], x_label: str, y_label: str, alt: str, name: str, *,
    small: bool = False, log: bool = False, marks: Sequence[tuple[int, float, float]] = (),
    whole: bool = False,
) -> Drawing:  # fmt: skip
    """Draw curves over x; marks are dots (series, x, y)."""
    with _axes(SMALL_INCHES if small else WIDE_INCHES, alt, name) as (ax, done, hovers):
        for curve in curves:
            points = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
            if points:
                ax.plot(
                    *zip(*points, strict=True), color=colour(curve.series),
                    linestyle=(0, dashes(curve.series)) if dashes(curve.series) else "-",
                    linewidth=0.8 if curve.thin else 1.6, alpha=0.45 if curve.thin else 1.0,
                    marker="o" if curve.dots else None, markersize=2.6,
                    gid=hovers.add(curve.series, curve.title, is_dim=curve.is_dim),
                )  # fmt: skip
                if curve.title:
                    _add_targets(ax, hovers, curve, points)
        for series, x, y in marks:
            ax.plot([x], [y], "o", color=colour(series), markersize=3.2)
        if log:
            ax.set_xscale("log")
            ax.minorticks_off()
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
        _format_axes(ax, "y", whole=whole)
    return done[0]


def _add_targets(
    ax: Any, hovers: HoverTexts, curve: RankerCurve, points: Sequence[tuple[float, float]]
) -> None:
    """Add an invisible dot at each point, so that the pointer shows its value."""
    for x, y in points:
        gid = hovers.add(curve.series, f"{curve.title} at {x:g}: {y:.4f}")
        ax.plot([x], [y], "o", color=colour(curve.series), markersize=6, alpha=0, gid=gid)


def intervals(
    names: Sequence[str], series: Sequence[int], means: Points, low: Points, high: Points,
    baseline: float | None, label: str, alt: str, name: str,
) -> Drawing:  # fmt: skip
    """Draw a dot and a whisker for each ranker, the first on top, and a line at the baseline."""
    size = (WIDE_INCHES[0], 0.55 + 0.24 * len(names))
    with _axes(size, alt, name, left=_margin(names)) as (ax, done, hovers):
        for i, (mean, a, b) in enumerate(zip(means, low, high, strict=True)):
            if mean is not None and a is not None and b is not None:
                text = f"{names[i]}: {mean:.4f} (95% interval {a:.4f} to {b:.4f})"
                whisker, dot = hovers.add(series[i], text), hovers.add(series[i], text)
                shade = colour(series[i])
                ax.plot([a, b], [i, i], color=shade, linewidth=1.6, alpha=0.6, gid=whisker)
                ax.plot([mean], [i], "o", color=shade, markersize=4.5, gid=dot)
        if baseline is not None:
            ax.axvline(baseline, color=_INK, linewidth=0.7, linestyle=(0, (2, 2)), alpha=0.6)
        _label_rows(ax, names, label)
    return done[0]


def bars(
    names: Sequence[str], values: Sequence[float], low: Sequence[float], high: Sequence[float],
    label: str, alt: str, name: str,
) -> Drawing:  # fmt: skip
    """Draw a bar for each name, the first on top, with the range over folds."""
    size = (SMALL_INCHES[0], 0.5 + 0.17 * len(names))
    with _axes(size, alt, name, left=_margin(names)) as (ax, done, _):
        ax.barh(
            range(len(names)), values, 0.72, alpha=0.65,
            color=[_UP if v >= 0 else _DOWN for v in values],
        )  # fmt: skip
        for i, (a, b) in enumerate(zip(low, high, strict=True)):
            ax.plot([a, b], [i, i], color=_INK, linewidth=0.8, alpha=0.7)
        ax.axvline(0, color=_INK, linewidth=0.6)
        _label_rows(ax, names, label)
    return done[0]


def differences(values: Floats, label: str, alt: str, name: str) -> Drawing:
    """Draw the gain or loss of each query, sorted, one step per query."""
    ordered = np.sort(values[~np.isnan(values)])[::-1]
    with _axes(SMALL_INCHES, alt, name) as (ax, done, _):
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
        _format_axes(ax, "y")
    return done[0]


@contextmanager
def _axes(
    size: tuple[float, float], alt: str, name: str, left: float = 0.52
) -> Iterator[tuple[Any, list[Drawing], HoverTexts]]:
    """Yield axes to draw on, a list that receives the drawing, and the hover texts."""
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
        hovers = HoverTexts()
        yield ax, done, hovers
        out = io.StringIO()
        with warnings.catch_warnings():  # keep text as text; the browser has the fonts
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    done.append(Drawing(_inline_svg(out.getvalue(), name, hovers), alt))


_STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "podium", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"], "font.size": 8, "text.color": _INK, "axes.labelcolor": _INK,
    "axes.edgecolor": _INK, "xtick.color": _INK, "ytick.color": _INK, "axes.linewidth": 0.6,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "axes.labelsize": 8, "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5, "axes.spines.top": False, "axes.spines.right": False,
    "axes.formatter.use_mathtext": False, "path.simplify": True, "axes.unicode_minus": True,
    "text.parse_math": False,
}  # fmt: skip


def _format_axes(ax: Any, axis: str, *, whole: bool = False) -> None:
    ax.grid(axis=axis, color=_RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.locator_params(axis="y", nbins=5)
    low, high = ax.get_xlim()
    if ax.get_xscale() == "log":
        ax.set_xticks(*_log_ticks(low, high))
    elif whole and high - low < 12:
        ax.set_xticks(range(math.ceil(low), math.floor(high) + 1))
    else:
        ax.locator_params(axis="x", nbins=5, integer=whole)


def _log_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Return ticks of a logarithmic axis as plain text, because math text is drawn letter by letter."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    step = max(1, math.ceil((last - first + 1) / 4))
    ticks = [10.0**e for e in range(first, last + 1, step)]
    return ticks, [f"{tick:g}" for tick in ticks]


def _label_rows(ax: Any, names: Sequence[str], label: str) -> None:
    ax.set_yticks(range(len(names)), [shorten_name(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(label)
    ax.grid(axis="x", color=_RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    inches = ax.get_position().width * ax.figure.get_figwidth()
    ax.locator_params(axis="x", nbins=min(5, max(2, int(inches / TICK_LABEL_INCHES))))


def shorten_name(name: str, letters: int = 22) -> str:
    """Return a name, shortened to leave room for the picture."""
    name = " ".join(name.split())
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _margin(names: Sequence[str]) -> float:
    return 0.15 + 0.068 * max(len(shorten_name(name)) for name in names)


def _inline_svg(svg: str, name: str, hovers: Mapping[str, str]) -> str:
    """Return the SVG for a page: without header, with unique ids, the page's colours and hover texts."""
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
    for own, page in _PAGE_COLOURS.items():
        svg = svg.replace(own, page)
    for gid, group in hovers.items():
        svg = svg.replace(f'<g id="{name}-{gid}">', group)
    return re.sub(r"\n\s*", "\n", svg).strip()

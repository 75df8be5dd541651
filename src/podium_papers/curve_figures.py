"""Curve figures: panels that draw the same methods, or lines in one panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podium.errors import require
from podium.experiments import PALETTE, tidy_axes


@dataclass(frozen=True)
class Panel:
    """One value for each x and curve."""

    title: str
    label: str
    x: tuple[float, ...]
    curves: Mapping[str, tuple[float, ...]]
    log: bool = False
    ticks: tuple[float, ...] | None = None
    """Positions of the marks on the axis; None marks every x."""


@dataclass(frozen=True)
class CurveFigure:
    """Panels in rows of `columns`. `names` holds the curves in the order of the legend."""

    title: str
    label: str
    names: Mapping[str, str]
    colours: Mapping[str, str]
    panels: tuple[Panel, ...]
    columns: int = 2

    def plot(self) -> Any:
        """Draw the figure; return a matplotlib Figure."""
        rows = -(-len(self.panels) // self.columns)
        figure = _empty_figure(5.0 * self.columns, 3.4 * rows + 0.7)
        axes = figure.subplots(rows, self.columns, squeeze=False)
        for panel, ax in zip(self.panels, axes.flat, strict=False):
            self._draw(ax, panel)
        for ax in axes.flat[len(self.panels) :]:
            ax.set_axis_off()
        for ax in axes[:, 0]:
            ax.set_ylabel(self.label, fontsize="small")
        figure.suptitle(self.title, fontsize="medium")
        figure.legend(
            handles=axes[0, 0].get_lines(), loc="outside lower center",
            ncols=min(len(self.names), 4), frameon=False, fontsize="small",
        )  # fmt: skip
        return figure

    def _draw(self, ax: Any, panel: Panel) -> None:
        for curve, name in self.names.items():
            if curve in panel.curves:
                ax.plot(
                    panel.x, panel.curves[curve], color=self.colours[curve], label=name,
                    marker="o", markersize=3.5, linewidth=1.5,
                )  # fmt: skip
        if panel.log:
            ax.set_xscale("log")
        ticks = panel.x if panel.ticks is None else panel.ticks
        ax.set_xticks(ticks, [f"{x:g}" for x in ticks])
        ax.minorticks_off()
        ax.set_title(panel.title, fontsize="medium")
        ax.set_xlabel(panel.label, fontsize="small")
        tidy_axes(ax)
        ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        ax.tick_params(axis="x", labelsize="small")


@dataclass(frozen=True)
class FigureLine:
    """A named curve; a dashed one is there for comparison."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    dashed: bool = False
    marks: tuple[float, ...] = ()
    """The x of each point that gets a dot."""


@dataclass(frozen=True)
class LineFigure:
    """Lines in one panel. Their order chooses their colours.

    Examples
    --------
    >>> figure = LineFigure("Bagging", "compositions", "NDCG@10", (FigureLine("test", (1, 2), (0.4, 0.5)),))
    >>> figure.lines[0].name
    'test'
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[FigureLine, ...]

    def plot(self) -> Any:
        """Draw the figure; return a matplotlib Figure."""
        figure = _empty_figure(7.2, 4.2)
        ax = figure.subplots()
        for i, line in enumerate(self.lines):
            colour = PALETTE[(i + 1) % len(PALETTE)]
            style = "--" if line.dashed else "-"
            ax.plot(line.x, line.y, style, color=colour, linewidth=1.6, label=line.name)
            dots = [(x, y) for x, y in zip(line.x, line.y, strict=True) if x in line.marks]
            if dots:
                ax.plot(*zip(*dots, strict=True), "o", color=colour, markersize=6)
        ax.set_xlabel(self.x_label, fontsize="small")
        ax.set_ylabel(self.y_label, fontsize="small")
        ax.tick_params(axis="x", labelsize="small")
        tidy_axes(ax)
        figure.suptitle(self.title, fontsize="medium")
        figure.legend(
            loc="outside lower center", ncols=3, frameon=False, fontsize="small", handlelength=1.6
        )
        return figure


def _empty_figure(width: float, height: float) -> Any:
    """Return an empty matplotlib Figure.

    It does without pyplot, so it keeps no global state, opens no window and works in any thread.
    """
    library = require("matplotlib.figure", "report", "drawing a figure")
    figure = library.Figure(figsize=(width, height), layout="constrained")
    figure.set_facecolor("white")
    return figure

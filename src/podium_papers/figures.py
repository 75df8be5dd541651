"""Grouped bars as the papers draw them, and below each group what the differences are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.errors import require
from podium.experiments import tidy_axes
from podium_papers.outcomes import MeanScore, PairedComparison

Floats = NDArray[np.float64]

WIDTH = 0.84
"""Of a group of bars, where groups are 1 apart."""


@dataclass(frozen=True)
class BarFigure:
    """A panel for each data set, a group of bars for each measure, a bar for each ranker.

    `names` has the rankers in the order of their bars, and their names in the legend; `colours` those
    of their bars. Below the bars are the differences that were tested, with intervals of two standard
    errors; filled markers are significant after correction.
    """

    title: str
    names: Mapping[str, str]
    measures: tuple[str, ...]
    bars: tuple[MeanScore, ...]
    comparisons: tuple[PairedComparison, ...]
    colours: Mapping[str, str]

    @property
    def rankers(self) -> tuple[str, ...]:
        """The rankers in the order of their bars."""
        return tuple(self.names)

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets in the order of their panels."""
        return tuple(dict.fromkeys(bar.data for bar in self.bars))

    @property
    def marks(self) -> tuple[PairedComparison, ...]:
        """The comparisons that are significant."""
        return tuple(c for c in self.comparisons if c.significant)

    def mean(self, data: str, ranker: str, measure: str) -> float:
        """The height of a bar."""
        wanted = (data, ranker, measure)
        return next(b.mean for b in self.bars if (b.data, b.ranker, b.measure) == wanted)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """As `dataclasses.asdict` and JSON give it."""
        return cls(
            content["title"],
            dict(content["names"]),
            tuple(content["measures"]),
            tuple(MeanScore(**bar) for bar in content["bars"]),
            tuple(PairedComparison(**comparison) for comparison in content["comparisons"]),
            dict(content["colours"]),
        )

    def plot(self) -> Any:
        """Draw it; a matplotlib Figure."""
        library = require("matplotlib.figure", "report", "drawing a figure")
        # Without pyplot: nothing global, no window, any thread.
        figure = library.Figure(figsize=(5.4 * len(self.data), 5.4), layout="constrained")
        figure.set_facecolor("white")
        axes = figure.subplots(2, len(self.data), squeeze=False, sharex=True, height_ratios=[3, 2])
        for column, data in enumerate(self.data):
            self._draw_bars(axes[0, column], data)
            self._draw_differences(axes[1, column], data)
        axes[0, 0].set_ylabel("mean over queries")
        axes[1, 0].set_ylabel(self._difference_label())
        figure.suptitle(self.title, fontsize="medium")
        handles = [*axes[0, 0].get_legend_handles_labels()[0], *_marks()]
        rows = 1 if len(handles) <= 8 else 2
        figure.legend(
            handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows),
            frameon=False, fontsize="small", handlelength=1.2, columnspacing=1.2,
        )  # fmt: skip
        return figure

    def _where(self, ranker: str) -> Floats:
        """The middle of a ranker's bar in each group."""
        share = (self.rankers.index(ranker) + 0.5) / len(self.names) - 0.5
        return np.arange(len(self.measures), dtype=np.float64) + WIDTH * share

    def _draw_bars(self, ax: Any, data: str) -> None:
        width = 0.94 * WIDTH / len(self.names)
        for ranker, name in self.names.items():
            heights = [self.mean(data, ranker, measure) for measure in self.measures]
            ax.bar(self._where(ranker), heights, width, color=self.colours[ranker], label=name)
        ax.set_title(data, fontsize="medium")
        tidy_axes(ax)

    def _draw_differences(self, ax: Any, data: str) -> None:
        """Each below the bar of the other one; where there is one other only, below the group."""
        here = [c for c in self.comparisons if c.data == data]
        several = len({c.other for c in here}) > 1
        for ranker, other, real in dict.fromkeys((c.ranker, c.other, c.significant) for c in here):
            drawn = [c for c in here if (c.ranker, c.other, c.significant) == (ranker, other, real)]
            groups = np.array([self.measures.index(c.measure) for c in drawn])
            colour = self.colours[other if several else ranker]
            ax.errorbar(
                self._where(other)[groups] if several else groups,
                [c.difference for c in drawn], [2 * c.error for c in drawn], fmt="o",
                markersize=4.5, linewidth=1.3, color=colour, zorder=3,
                markerfacecolor=colour if real else "white",
            )  # fmt: skip
        ax.axhline(0, color="#444444", linewidth=0.8)
        ax.set_xticks(range(len(self.measures)), self.measures, fontsize="small")
        tidy_axes(ax)

    def _difference_label(self) -> str:
        rankers = [self.names[r] for r in dict.fromkeys(c.ranker for c in self.comparisons)]
        others = [self.names[o] for o in dict.fromkeys(c.other for c in self.comparisons)]
        return f"{rankers[0]} less {others[0] if len(others) == 1 else 'the other'}"


def _marks() -> list[Any]:
    """What the legend says of significance."""
    lines = require("matplotlib.lines", "report", "drawing a figure")
    kinds = {"significant": "#444444", "not significant": "white"}
    return [
        lines.Line2D(
            [], [], color="#444444", marker="o", linestyle="", markersize=4.5,
            markerfacecolor=face, label=label,
        )
        for label, face in kinds.items()
    ]  # fmt: skip

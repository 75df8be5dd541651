"""Bar figures: grouped bars, and below each group the tested differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import require
from podium.experiments import tidy_axes
from podium.typing import Floats
from podium_papers.comparisons import MeanScore, PairedComparison

GROUP_WIDTH = 0.84
"""Width of a group of bars; groups are 1 apart."""


@dataclass(frozen=True)
class BarFigure:
    """A panel for each data set, a group of bars for each measure, a bar for each ranker.

    `names` maps the rankers, in the order of their bars, to their names in the legend. `colours` maps
    them to the colours of their bars. Below the bars are the tested differences with intervals of two
    standard errors. Filled markers are significant after correction.
    """

    title: str
    names: Mapping[str, str]
    measures: tuple[str, ...]
    bars: tuple[MeanScore, ...]
    comparisons: tuple[PairedComparison, ...]
    colours: Mapping[str, str]

    @property
    def rankers(self) -> tuple[str, ...]:
        """Rankers in the order of their bars."""
        return tuple(self.names)

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets in the order of their panels."""
        return tuple(dict.fromkeys(bar.data for bar in self.bars))

    @property
    def significant_comparisons(self) -> tuple[PairedComparison, ...]:
        """Significant comparisons."""
        return tuple(c for c in self.comparisons if c.significant)

    def mean(self, data: str, ranker: str, measure: str) -> float:
        """Return the height of a bar."""
        key = (data, ranker, measure)
        return next(b.mean for b in self.bars if (b.data, b.ranker, b.measure) == key)

    def plot(self) -> Any:
        """Draw the figure; return a matplotlib Figure."""
        library = require("matplotlib.figure", "report", "drawing a figure")
        # pyplot would keep global state, open windows and fail outside of the main thread.
        figure = library.Figure(figsize=(5.4 * len(self.data), 5.4), layout="constrained")
        figure.set_facecolor("white")
        axes = figure.subplots(2, len(self.data), squeeze=False, sharex=True, height_ratios=[3, 2])
        for column, data in enumerate(self.data):
            self._draw_bars(axes[0, column], data)
            self._draw_differences(axes[1, column], data)
        axes[0, 0].set_ylabel("mean over queries")
        axes[1, 0].set_ylabel(self._difference_label())
        figure.suptitle(self.title, fontsize="medium")
        handles = [*axes[0, 0].get_legend_handles_labels()[0], *_significance_handles()]
        rows = 1 if len(handles) <= 8 else 2
        figure.legend(
            handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows),
            frameon=False, fontsize="small", handlelength=1.2, columnspacing=1.2,
        )  # fmt: skip
        return figure

    def _bar_centres(self, ranker: str) -> Floats:
        """Return the middle of a ranker's bar in each group."""
        share = (self.rankers.index(ranker) + 0.5) / len(self.names) - 0.5
        return np.arange(len(self.measures), dtype=np.float64) + GROUP_WIDTH * share

    def _draw_bars(self, ax: Any, data: str) -> None:
        width = 0.94 * GROUP_WIDTH / len(self.names)
        for ranker, name in self.names.items():
            heights = [self.mean(data, ranker, measure) for measure in self.measures]
            ax.bar(
                self._bar_centres(ranker), heights, width, color=self.colours[ranker], label=name
            )
        ax.set_title(data, fontsize="medium")
        tidy_axes(ax)

    def _draw_differences(self, ax: Any, data: str) -> None:
        """Draw each difference below the other ranker's bar, or below the group if there is one other."""
        comparisons = [c for c in self.comparisons if c.data == data]
        several = len({c.other for c in comparisons}) > 1
        for ranker, other, significant in dict.fromkeys(
            (c.ranker, c.other, c.significant) for c in comparisons
        ):
            drawn = [
                c
                for c in comparisons
                if (c.ranker, c.other, c.significant) == (ranker, other, significant)
            ]
            groups = np.array([self.measures.index(c.measure) for c in drawn])
            colour = self.colours[other if several else ranker]
            ax.errorbar(
                self._bar_centres(other)[groups] if several else groups,
                [c.difference for c in drawn], [2 * c.error for c in drawn], fmt="o",
                markersize=4.5, linewidth=1.3, color=colour, zorder=3,
                markerfacecolor=colour if significant else "white",
            )  # fmt: skip
        ax.axhline(0, color="#444444", linewidth=0.8)
        ax.set_xticks(range(len(self.measures)), self.measures, fontsize="small")
        tidy_axes(ax)

    def _difference_label(self) -> str:
        rankers = [self.names[r] for r in dict.fromkeys(c.ranker for c in self.comparisons)]
        others = [self.names[o] for o in dict.fromkeys(c.other for c in self.comparisons)]
        return f"{rankers[0]} less {others[0] if len(others) == 1 else 'the other'}"


def _significance_handles() -> list[Any]:
    """Return the legend's entries for significance."""
    lines = require("matplotlib.lines", "report", "drawing a figure")
    kinds = {"significant": "#444444", "not significant": "white"}
    return [
        lines.Line2D(
            [], [], color="#444444", marker="o", linestyle="", markersize=4.5,
            markerfacecolor=face, label=label,
        )
        for label, face in kinds.items()
    ]  # fmt: skip

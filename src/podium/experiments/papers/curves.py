"""Curves as the papers draw them: panels of the same methods along something that is varied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from podium.errors import require


@dataclass(frozen=True)
class Panel:
    """One value for each x and curve."""

    title: str
    label: str
    x: tuple[float, ...]
    curves: Mapping[str, tuple[float, ...]]
    log: bool = False

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """As `dataclasses.asdict` and JSON give it."""
        curves = {name: tuple(y) for name, y in told["curves"].items()}
        return cls(**{**told, "x": tuple(told["x"]), "curves": curves})


@dataclass(frozen=True)
class CurveFigure:
    """Panels in rows of `columns`; `names` has the curves in the order of the legend."""

    title: str
    label: str
    names: Mapping[str, str]
    colours: Mapping[str, str]
    panels: tuple[Panel, ...]
    columns: int = 2

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """As `dataclasses.asdict` and JSON give it."""
        return cls(**{**told, "panels": tuple(Panel.from_dict(p) for p in told["panels"])})

    def plot(self) -> Any:
        """Draw it; a matplotlib Figure."""
        library = require("matplotlib.figure", "report", "drawing a figure")
        rows = -(-len(self.panels) // self.columns)
        size = (5.0 * self.columns, 3.4 * rows + 0.7)
        # Without pyplot: nothing global, no window, any thread.
        figure = library.Figure(figsize=size, layout="constrained")
        figure.set_facecolor("white")
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
        ax.set_xticks(panel.x, [f"{x:g}" for x in panel.x])
        ax.minorticks_off()
        ax.set_title(panel.title, fontsize="medium")
        ax.set_xlabel(panel.label, fontsize="small")
        ax.grid(color="#DDDDDD", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize="small", length=0)

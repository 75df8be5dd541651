"""The learning curve of a ranker: the objective and the validation metric after each iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from podium.figure_style import BLUE, DOWN, MUTED, new_axes, plain_label, tidy_axes
from podium.html_tables import html_table
from podium.typing import Floats


@dataclass(frozen=True)
class FitStep:
    """One iteration of a fit: the objective, and the metric on validation queries if there are any.

    Rankers that learn in stages name the current stage. A step of iteration 0 announces a stage to
    callbacks: its objective is NaN, and it is not on the curve.
    """

    ranker: str
    iteration: int
    total: int | None
    objective: float
    metric: str
    valid: float | None
    stage: str = ""
    scores: Floats | None = field(default=None, repr=False, compare=False)
    """The scores of the validation queries, for callbacks; they may change after the call."""


Callback = Callable[[FitStep], object]
"""A function that is called with each step of a fit."""


@dataclass(frozen=True, repr=False)
class History:
    """The learning curve: one step per iteration.

    `best` is the iteration that the ranker kept. Rankers that solve a convex problem keep the last one.

    Examples
    --------
    >>> step = FitStep("ranknet", 1, None, 0.69, "NDCG@10", 0.4)
    >>> history = History((step,), best=1)
    >>> history.objective, history.valid, history.best
    ([0.69], [0.4], 1)
    """

    steps: tuple[FitStep, ...] = ()
    best: int | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[FitStep]:
        return iter(self.steps)

    @property
    def iteration(self) -> list[int]:
        """The numbers of the iterations."""
        return [step.iteration for step in self.steps]

    @property
    def objective(self) -> list[float]:
        """The objective after each iteration."""
        return [step.objective for step in self.steps]

    @property
    def valid(self) -> list[float | None]:
        """The metric on the validation queries after each iteration."""
        return [step.valid for step in self.steps]

    def __repr__(self) -> str:
        kept_step = "" if self.best is None else f", kept: {self.best}"
        return f"History({len(self)} iteration{'s' * (len(self) != 1)}{kept_step})"

    def _repr_html_(self) -> str:
        """Return the first and last iterations as a table for notebooks."""
        metric = self.steps[0].metric if self.steps else ""
        has_stages = any(step.stage for step in self.steps)
        headers = (
            "iteration",
            *["stage"] * has_stages,
            "objective",
            f"{metric}, validation".strip(", "),
        )

        def cells(i: int) -> tuple[object, ...]:
            step = self.steps[i]
            return (step.iteration, *[step.stage] * has_stages, step.objective, step.valid)

        note = "" if self.best is None else f"the ranker keeps iteration {self.best}"
        ranker = f" of {self.steps[0].ranker}" if self.steps else ""
        return html_table(f"Learning curve{ranker}", headers, len(self), cells, note)

    def plot(self, ax: Any = None) -> Any:
        """Draw the objective and, on a second axis, the validation metric; return the axes."""
        ax = new_axes("drawing a learning curve") if ax is None else ax
        ax.plot(self.iteration, self.objective, color=BLUE)
        tidy_axes(ax)
        ax.set_xlabel("iteration")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel("objective", color=BLUE)
        if any(value is not None for value in self.valid):
            right = ax.twinx()
            metric = self.steps[0].metric
            right.plot(self.iteration, self.valid, color=DOWN, linestyle="--")
            right.spines[["top"]].set_visible(False)
            right.tick_params(axis="y", labelsize="small")
            right.locator_params(axis="y", nbins=6)
            name = f"{plain_label(metric, 40)}, validation (dashed)"
            right.set_ylabel(name, color=DOWN, fontsize="small")
            if self.best is not None:
                style = {"color": MUTED, "linestyle": ":", "linewidth": 1.5}
                right.axvline(self.best, **style)
                ax.set_xlabel(f"iteration (dotted: {self.best}, which the ranker keeps)")
        if self.steps:
            ax.set_title(plain_label(self.steps[0].ranker), fontsize="medium")
        return ax

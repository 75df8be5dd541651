"""What happens while a ranker learns: the curve, the best model so far, and who wants to know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData
from podium.errors import require
from podium.metrics import Metric, evaluate
from podium.rankers.models import Linear, Model


@dataclass(frozen=True)
class Step:
    """One iteration: the objective, and the metric on the validation queries where there are any.

    Rankers that learn in stages name the one they are in. A step of iteration 0 says that a stage
    begins: it has no objective (NaN), and is told to callbacks, but is not on the curve.
    """

    ranker: str
    iteration: int
    total: int | None
    objective: float
    metric: str
    valid: float | None
    stage: str = ""


Callback = Callable[[Step], object]


@dataclass(frozen=True)
class History:
    """The learning curve: one step an iteration, and which of them the ranker kept.

    Examples
    --------
    >>> step = Step("ranknet", 1, None, 0.69, "NDCG@10", 0.4)
    >>> history = History((step,), best=1)
    >>> history.objective, history.valid, history.best
    ([0.69], [0.4], 1)
    """

    steps: tuple[Step, ...] = ()
    best: int | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def iteration(self) -> list[int]:
        """Numbers of the iterations."""
        return [step.iteration for step in self.steps]

    @property
    def objective(self) -> list[float]:
        """The objective after each iteration."""
        return [step.objective for step in self.steps]

    @property
    def valid(self) -> list[float | None]:
        """The metric on the validation queries after each iteration."""
        return [step.valid for step in self.steps]

    def plot(self, ax: Any = None) -> Any:
        """Draw the objective and, on a second axis, the validation metric; returns the axes."""
        if ax is None:
            pyplot = require("matplotlib.pyplot", "report", "drawing a learning curve")
            _, ax = pyplot.subplots(figsize=(7, 4), layout="constrained")
        ax.plot(self.iteration, self.objective, color="tab:blue", label="objective")
        ax.set_xlabel("iteration")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel("objective", color="tab:blue")
        if any(value is not None for value in self.valid):
            other = ax.twinx()
            metric = self.steps[0].metric
            other.plot(self.iteration, self.valid, color="tab:orange", label=metric)
            other.set_ylabel(f"{metric}, validation", color="tab:orange")
            if self.best is not None:
                kept = {"color": "tab:orange", "linestyle": ":", "linewidth": 1}
                other.axvline(self.best, label=f"kept: iteration {self.best}", **kept)
                other.legend(loc="center right", frameon=False)
        if self.steps:
            ax.set_title(self.steps[0].ranker)
        return ax


@dataclass
class Watch:
    """Follows a fit: records steps, evaluates on validation, remembers the best model."""

    ranker: str
    metric: Metric
    valid: RankingData | None = None
    callback: Callback | None = None
    total: int | None = None
    keep_best: bool = True
    steps: list[Step] = field(default_factory=list)
    best: int | None = None
    stage: str = ""
    _best: float = -float("inf")
    _made: Model | Callable[[], Model] | None = None

    @property
    def model(self) -> Model | None:
        """The best model so far."""
        return None if self._made is None else _made(self._made)

    def __call__(
        self, objective: float, model: Model | Callable[[], Model], scores: Any = None
    ) -> float | None:
        """One iteration is done; returns the validation metric.

        `scores` are the model's on the validation queries, where the ranker has them at hand; a
        model that is dear to make is given as a function.
        """
        value = None
        if self.valid is not None:
            if scores is None:
                scores = _made(model).scores(self.valid.X, self.valid.groups)
            value = evaluate(self.valid, scores, self.metric)[self.metric].mean
        step = Step(
            self.ranker, len(self.steps) + 1, self.total, float(objective), str(self.metric), value,
            self.stage,
        )  # fmt: skip
        self.steps.append(step)
        # Without validation the lowest objective counts. Written so that NaN, where no validation
        # query has a value, does not keep the first iteration.
        quality = -objective if value is None else value
        if not self.keep_best or not (quality < self._best or value == self._best):
            self._made, self.best, self._best = model, step.iteration, quality
        if self.callback is not None:
            self.callback(step)
        return value

    def begin(self, stage: str) -> None:
        """A stage of the fit begins."""
        self.stage = stage
        if self.callback is not None:
            self.callback(Step(self.ranker, 0, None, float("nan"), str(self.metric), None, stage))

    def weights(self, _: int, w: NDArray[np.float64], objective: float) -> None:
        """One iteration of an optimiser of linear models is done."""
        self(objective, Linear(w.copy()))

    def history(self) -> History:
        """The curve so far."""
        return History(tuple(self.steps), self.best)


def _made(model: Model | Callable[[], Model]) -> Model:
    return model if isinstance(model, Model) else model()

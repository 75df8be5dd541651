"""Coordinate search: line searches on one coordinate after another, without a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.typing import Floats, Rows

MIN_GAIN = 1e-12
"""A smaller gain counts as a rounding error."""


class CoordinateSearch:
    """Maximises objective(w) - l2 |w / |w|_1 - start|^2; the objective must not depend on the scale of w.

    A line search tries w_j + stride |w_j| for all strides in both directions and keeps the best
    point; after each sweep over all coordinates, w is scaled to |w|_1 = 1. The state is the current
    point: `weights` and its `value`.

    Parameters
    ----------
    objective
        w -> the value to maximise.
    start
        The first point.
    strides
        Steps in units of the coordinate (in units of 1 / d if it is 0).
    l2
        The strength of the penalty on the distance from the start.
    nonnegative
        Whether every coordinate stays at 0 or more: a step that would pass 0 stops at 0.

    Examples
    --------
    >>> search = CoordinateSearch(lambda w: -abs(w[0] / w.sum() - 0.9), np.array([0.5, 0.5]))
    >>> values = list(search.sweeps(seed=0))
    >>> bool(values[-1] > -0.01), search.weights.round(1).tolist()
    (True, [0.9, 0.1])
    """

    def __init__(
        self,
        objective: Callable[[Floats], float],
        start: Floats,
        *,
        strides: Floats | None = None,
        l2: float = 0.0,
        nonnegative: bool = False,
    ) -> None:
        self.objective, self.l2, self.nonnegative = objective, l2, nonnegative
        self.strides = 0.05 * 2.0 ** np.arange(8) if strides is None else strides
        self.start, self.weights = start, start.copy()
        self.value = self._value(objective(start), start)

    def sweeps(self, seed: int, tolerance: float = 1e-4) -> Iterator[float]:
        """Sweep over all coordinates in random orders; yield the value after each sweep.

        The search ends with the first sweep that gains less than the tolerance.
        """
        rng = np.random.default_rng(seed)
        while True:
            before = self.value
            for j in rng.permutation(len(self.weights)).tolist():
                self._search(j)
            self._rescale()
            yield self.value
            if self.value - before < max(tolerance, MIN_GAIN):
                return

    def _search(self, j: int) -> None:
        best = 0.0
        for step in self._steps(j):
            moved = self.weights.copy()
            moved[j] += step
            if not moved.any():
                continue
            value = self._value(self._objective_after(j, step, moved), moved)
            if value > self.value + MIN_GAIN:
                best, self.value = step, value
        if best:
            self._move(j, best)

    def _steps(self, j: int) -> list[float]:
        scale = abs(self.weights[j]) or 1 / len(self.weights)
        down = -scale * self.strides
        if self.nonnegative:
            down = np.unique(np.maximum(down, -self.weights[j]))
            down = down[down < 0]
        return [*(scale * self.strides).tolist(), *down.tolist()]

    def _objective_after(self, j: int, step: float, moved: Floats) -> float:
        return self.objective(moved)

    def _move(self, j: int, step: float) -> None:
        self.weights[j] += step

    def _rescale(self) -> None:
        self.weights = _normalised(self.weights)

    def _value(self, value: float, weights: Floats) -> float:
        if self.l2:
            value -= self.l2 * float(np.sum((_normalised(weights) - self.start) ** 2))
        return value


class LinearCoordinateSearch(CoordinateSearch):
    """A coordinate search on an objective of X w: a step along w_j adds a column to the predictions.

    Parameters
    ----------
    X
        Features, one row per example.
    rows
        The rows of X that are the examples, in their order; None: all rows. Nothing is copied.
    objective
        Predictions -> the value to maximise.
    start, strides, l2, nonnegative
        As in CoordinateSearch.
    """

    def __init__(
        self,
        X: NDArray[np.float32 | np.float64],
        objective: Callable[[Floats], float],
        start: Floats,
        *,
        strides: Floats | None = None,
        l2: float = 0.0,
        nonnegative: bool = False,
        rows: Rows | None = None,
    ) -> None:
        self.X, self.rows, self.predictions = X, rows, kernels.matvec(X, start, rows)
        self._objective_of_predictions = objective
        super().__init__(
            lambda w: objective(kernels.matvec(X, w, rows)), start,
            strides=strides, l2=l2, nonnegative=nonnegative,
        )  # fmt: skip

    def _steps(self, j: int) -> list[float]:
        column = self.X[:, j] if self.rows is None else self.X[self.rows, j]
        self.column = column.astype(np.float64)
        constant = len(self.column) == 0 or self.column.min() == self.column.max()
        return [] if constant else super()._steps(j)

    def _objective_after(self, j: int, step: float, moved: Floats) -> float:
        return self._objective_of_predictions(self.predictions + step * self.column)

    def _move(self, j: int, step: float) -> None:
        super()._move(j, step)
        self.predictions += step * self.column

    def _rescale(self) -> None:
        super()._rescale()
        self.predictions = kernels.matvec(self.X, self.weights, self.rows)


def _normalised(weights: Floats) -> Floats:
    total = np.abs(weights).sum()
    return weights / total if total > 0 else weights

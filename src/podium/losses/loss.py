"""What a loss is: a value per query and a gradient per document, as a function of the scores alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data import Groups, RankingData
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Derivatives = tuple[Floats, Floats, Floats]


class Loss(ABC):
    """A loss with its parameters; ``bind`` makes it a function of the scores.

    Subclasses are frozen dataclasses. A loss never sees features or an optimiser: a linear
    learner's gradient is ``X.T @ gradient``, a tree's target is the gradient itself.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> from podium.losses import PairHinge
    >>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
    >>> loss = PairHinge(power=1).bind(data)
    >>> values, gradient = loss(np.zeros(3))
    >>> values.tolist(), gradient.tolist()
    ([3.0], [-2.0, 0.0, 2.0])
    """

    name: ClassVar[str]

    @abstractmethod
    def bind(self, data: RankingData, seed: int = 0) -> BoundLoss:
        """The loss on the labels of this data; what depends on labels alone is done here, once.

        The seed is that of the order drawn among equal labels, where the loss needs one.
        """

    def spec(self) -> dict[str, Any]:
        """Name and parameters, as JSON takes them; ``podium.losses.make`` is the way back."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        parts = {k: v.spec() if isinstance(v, Loss) else v for k, v in values.items()}
        return {"name": self.name, **parts}


class BoundLoss(ABC):
    """A loss on the labels of one data set: a function of the scores, one a row, alone."""

    groups: Groups

    @property
    @abstractmethod
    def active(self) -> Bools:
        """Whether each query says anything; one that does not has value and gradient 0."""

    @property
    def smooth(self) -> bool:
        """Whether there is a curvature."""
        return True

    @abstractmethod
    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """The value of each query (not weighted) and the gradient, one number a row."""

    def curvature(self, scores: Floats) -> Floats:
        """The diagonal of the Hessian, one number of 0 or more a row."""
        raise UsageError(f"expected a loss with a curvature, got {type(self).__name__}")

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """The Hessian (of a hinge: a generalised one) times a direction, one number a row."""
        raise UsageError(f"expected a loss with a Hessian product, got {type(self).__name__}")

    def products(self, scores: Floats, directions: Floats) -> Floats:
        """The Hessian times each column of a matrix, at the cost of a few of them where that can be."""
        columns = [self.product(scores, column) for column in directions.T]
        return np.stack(columns, axis=1) if columns else np.zeros(directions.shape)

    def derivatives(self, scores: Floats) -> Derivatives:
        """Values, gradient and curvature together, at the cost of one of them where that can be."""
        return *self(scores), self.curvature(scores)

    def vector(self, values: ArrayLike, what: str = "scores") -> Floats:
        """One number a row, as kernels take them."""
        array = np.ascontiguousarray(values, dtype=np.float64)
        self.groups.check(array, what)
        return array


@dataclass(frozen=True, eq=False)
class KernelLoss(BoundLoss):
    """A bound loss that kernels compute.

    Parameters
    ----------
    loss
        The loss it comes from, for messages.
    groups
        The queries.
    mask
        Which of them are active.
    evaluate
        scores -> values, gradient, curvature.
    multiply
        scores, direction -> Hessian times direction; None where there is none.
    bound
        What else both take beside the queries' offsets, by name: all that was bound.
    flat
        That there is no curvature.
    multiply_many
        scores, directions -> the same for each column, where there is a faster way than one by one.
    """

    loss: Loss
    groups: Groups
    mask: Bools
    evaluate: Callable[..., Derivatives]
    multiply: Callable[..., Floats] | None
    bound: Mapping[str, Any]
    flat: bool = False
    multiply_many: Callable[..., Floats] | None = None

    @property
    def smooth(self) -> bool:
        """But for a hinge."""
        return not self.flat

    @property
    def active(self) -> Bools:
        """Which queries say anything."""
        return self.mask

    def arguments(self, scores: Floats) -> dict[str, Any]:
        """What the kernels take beside scores and direction."""
        return {**self.bound, "offsets": self.groups.offsets}

    def _evaluate(self, scores: Floats) -> Derivatives:
        scores = self.vector(scores)
        return self.evaluate(scores, **self.arguments(scores))

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Values and gradient."""
        values, gradient, _ = self._evaluate(scores)
        return values, gradient

    def curvature(self, scores: Floats) -> Floats:
        """The diagonal of the Hessian."""
        return self.derivatives(scores)[2]

    def derivatives(self, scores: Floats) -> Derivatives:
        """Values, gradient and curvature of one pass."""
        if self.flat:
            raise UsageError(f"expected a loss with a curvature, got {self.loss}")
        return self._evaluate(scores)

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """Hessian times direction."""
        if self.multiply is None:
            raise UsageError(f"expected a loss with a Hessian product, got {self.loss}")
        scores, direction = self.vector(scores), self.vector(direction, "values in direction")
        return self.multiply(scores, direction=direction, **self.arguments(scores))

    def products(self, scores: Floats, directions: Floats) -> Floats:
        """Hessian times each column."""
        if self.multiply_many is None:
            return super().products(scores, directions)
        scores, directions = self.vector(scores), np.ascontiguousarray(directions, dtype=np.float64)
        self.groups.check(directions, "rows in directions")
        return self.multiply_many(scores, directions=directions, **self.arguments(scores))


class OrderedLoss(KernelLoss):
    """A loss whose kernels also take the order by score; the last one is kept for its products."""

    def arguments(self, scores: Floats) -> dict[str, Any]:
        """What was bound, and the rows by score, best first."""
        kept = self.__dict__.get("_kept")
        if kept is None or not np.array_equal(kept[0], scores):
            kept = scores.copy(), self.groups.order(scores)
            self.__dict__["_kept"] = kept  # frozen dataclasses keep caches here
        return {**super().arguments(scores), "order": kept[1]}


@dataclass(frozen=True, eq=False)
class WeightedLoss(BoundLoss):
    """A bound loss with a weight, 0 or more, on each query."""

    bound: BoundLoss
    weight: Floats

    @property
    def groups(self) -> Groups:  # type: ignore[override]
        """The queries of the loss it weighs."""
        return self.bound.groups

    @property
    def smooth(self) -> bool:
        """As the loss it weighs."""
        return self.bound.smooth

    @property
    def active(self) -> Bools:
        """Active queries with a weight."""
        return np.asarray(self.bound.active & (self.weight > 0))

    def _rows(self, values: Floats) -> Floats:
        return np.asarray(values * self.groups.spread(self.weight))

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Values and gradient, weighted."""
        values, gradient = self.bound(scores)
        return values * self.weight, self._rows(gradient)

    def curvature(self, scores: Floats) -> Floats:
        """The curvature, weighted."""
        return self._rows(self.bound.curvature(scores))

    def derivatives(self, scores: Floats) -> Derivatives:
        """All three, weighted."""
        values, gradient, curvature = self.bound.derivatives(scores)
        return values * self.weight, self._rows(gradient), self._rows(curvature)

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """The product, weighted."""
        return self._rows(self.bound.product(scores, direction))

    def products(self, scores: Floats, directions: Floats) -> Floats:
        """The products, weighted."""
        out = self.bound.products(scores, directions)
        out *= self.groups.spread(self.weight)[:, None]
        return out


class ListLoss(Loss):
    """A loss of the whole list of a query; it can be bound on some of its documents only."""

    def bind(self, data: RankingData, seed: int = 0) -> BoundLoss:
        """The loss on all documents."""
        return self.on(LabelledLists.of(data, seed))

    @abstractmethod
    def on(self, judged: LabelledLists) -> BoundLoss:
        """The loss on these documents."""


class QueryLoss(ListLoss):
    """A loss of your own: write one query in NumPy, this class owns the loop over queries.

    ``query`` gets the scores and labels of one query and returns value and gradient;
    ``query_curvature`` (optional: Newton steps and trees need it) returns the diagonal of the
    Hessian. Queries whose labels are all equal are passed over unless ``needs_contrast`` is False.

    Examples
    --------
    Scores that differ from each other as the labels do:

    >>> from podium.data import RankingData
    >>> class ListwiseMSE(QueryLoss):
    ...     name = "listwise-mse"
    ...
    ...     def query(self, scores, labels):
    ...         gap = (scores - scores.mean()) - (labels - labels.mean())
    ...         return gap @ gap, 2 * gap
    ...
    ...     def query_curvature(self, scores, labels):
    ...         return np.full(len(scores), 2 - 2 / len(scores))
    >>> data = RankingData.from_arrays([[0.0]] * 3, [1, 0, 5], qid=[1, 1, 2])
    >>> values, gradient = ListwiseMSE().bind(data)(np.array([0.0, 2.0, 9.0]))
    >>> values.tolist(), gradient.tolist()
    ([4.5, 0.0], [-3.0, 3.0, 0.0])
    """

    name: ClassVar[str] = "query"
    needs_contrast: ClassVar[bool] = True

    @abstractmethod
    def query(self, scores: Floats, labels: Floats) -> tuple[float, Floats]:
        """Value and gradient of one query."""

    def query_curvature(self, scores: Floats, labels: Floats) -> Floats:
        """The diagonal of the Hessian of one query."""
        raise UsageError(f"expected a loss with a curvature: give {self.name} a query_curvature")

    def on(self, judged: LabelledLists) -> BoundLoss:
        """The loss on these documents."""
        return BoundQueryLoss(self, judged)

    def spec(self) -> dict[str, Any]:
        """Name and attributes."""
        return {"name": self.name, **vars(self)}


@dataclass(frozen=True, eq=False)
class BoundQueryLoss(BoundLoss):
    """The loop over the queries of a QueryLoss."""

    loss: QueryLoss
    judged: LabelledLists

    @property
    def groups(self) -> Groups:  # type: ignore[override]
        """The queries."""
        return self.judged.groups

    @property
    def smooth(self) -> bool:
        """Where the loss says its curvature."""
        return type(self.loss).query_curvature is not QueryLoss.query_curvature

    @property
    def active(self) -> Bools:
        """Queries the loss is asked about."""
        return self.judged.contrast if self.loss.needs_contrast else self.groups.sizes > 0

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Values and gradient, query by query."""
        scores = self.vector(scores)
        values, gradient = np.zeros(len(self.groups)), np.zeros(len(scores))
        for q, rows in self._queries():
            answer = self.loss.query(scores[rows], self.judged.labels[rows])
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise UsageError(
                    f"expected (value, gradient) of a query from {self.loss.name}, "
                    f"got {type(answer).__name__}"
                )
            values[q] = answer[0]
            gradient[rows] = self._checked(answer[1], rows, "gradient")
        return values, gradient

    def curvature(self, scores: Floats) -> Floats:
        """The diagonal of the Hessian, query by query; what falls below 0 is cut off."""
        scores = self.vector(scores)
        out = np.zeros(len(scores))
        for _, rows in self._queries():
            part = self.loss.query_curvature(scores[rows], self.judged.labels[rows])
            out[rows] = np.maximum(self._checked(part, rows, "curvature"), 0)
        return out

    def _queries(self) -> list[tuple[int, slice]]:
        slices, active = list(self.groups.slices()), self.active
        return [(q, slices[q]) for q in np.flatnonzero(active).tolist()]

    def _checked(self, part: Floats, rows: slice, what: str) -> Floats:
        n = rows.stop - rows.start
        if np.shape(part) != (n,):
            raise UsageError(
                f"expected {n} numbers as the {what} of a query with {n} documents from "
                f"{self.loss.name}, got shape {np.shape(part)}"
            )
        return part

"""The contract of a loss: one value per query and one gradient per document, from scores alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from podium import kernels
from podium.data import Groups, RankingData
from podium.errors import UsageError
from podium.losses.labelled_lists import LabelledLists
from podium.typing import Bools, Derivatives, Floats, Matrix, Rows

LinearPass = Callable[[Matrix, Floats, Rows | None, Floats], tuple[Floats, Floats]]
"""(X, w, rows, weight) -> two results for X w, or X[rows] w, in one pass over X; one weight per query."""


class Loss(ABC):
    """A loss with its parameters; ``bind`` turns it into a function of the scores.

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
        """Bind the loss to the labels of this data; what depends only on labels is computed once.

        The seed draws an order among equal labels, if the loss needs one.
        """

    def spec(self) -> dict[str, Any]:
        """Return name and parameters for JSON; ``podium.losses.make`` is the inverse."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        parts = {k: v.spec() if isinstance(v, Loss) else v for k, v in values.items()}
        return {"name": self.name, **parts}


class BoundLoss(ABC):
    """A loss on the labels of one data set: a function of the scores, one per row."""

    groups: Groups

    @property
    @abstractmethod
    def active(self) -> Bools:
        """Whether each query has something to learn; other queries have value and gradient 0."""

    @property
    def smooth(self) -> bool:
        """Whether the loss has a curvature."""
        return True

    def redraw(self, round_number: int) -> BoundLoss:
        """Return the loss with the random numbers of a round; without random numbers, the loss itself.

        Learners call it once per round: per tree, or per pass over the queries. The same round has the same
        numbers.
        """
        return self

    @abstractmethod
    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query (not weighted) and the gradient, one number per row.

        Both are new arrays, which the caller may change.
        """

    def values(self, scores: Floats) -> Floats:
        """Return the value of each query alone."""
        return self(scores)[0]

    def curvature(self, scores: Floats) -> Floats:
        """Return the diagonal of the Hessian, one number of 0 or more per row."""
        raise UsageError(f"{type(self).__name__} has no curvature; use another loss")

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """Return the Hessian (for a hinge, a generalised one) times a direction, one number per row."""
        raise UsageError(f"{type(self).__name__} has no Hessian product; use another loss")

    def products(self, scores: Floats, directions: Floats) -> Floats:
        """Return the Hessian times each column of a matrix; some losses share work between columns."""
        columns = [self.product(scores, column) for column in directions.T]
        return np.stack(columns, axis=1) if columns else np.zeros(directions.shape)

    def derivatives(self, scores: Floats) -> Derivatives:
        """Return values, gradient and curvature together; some losses share work between them."""
        return *self(scores), self.curvature(scores)

    def linear_pass(self) -> LinearPass | None:
        """Return the kernel of this loss for linear scores, if there is one.

        It returns the value of each query (not weighted), and the gradient of the weighted sum with
        respect to w. The loss names its kernel and binds labels to it; features it never sees.
        """
        return None

    def product_pass(self, scores: Floats) -> LinearPass | None:
        """Return the kernel of the product with the Hessian at these scores, if there is one.

        It returns X w, and X' H X w, where H is the Hessian of the weighted sum.
        """
        return None

    def vector(self, values: ArrayLike, what: str = "scores") -> Floats:
        """Return one number per row, as kernels take them."""
        array = np.ascontiguousarray(values, dtype=np.float64)
        self.groups.check(array, what)
        return array


@dataclass(frozen=True, eq=False)
class KernelLoss(BoundLoss):
    """A bound loss that kernels compute.

    Parameters
    ----------
    loss
        The loss that was bound, for messages.
    groups
        The queries.
    mask
        Which queries are active.
    evaluate
        scores -> values, gradient, curvature.
    multiply
        scores, direction -> Hessian times direction; None if the loss has no Hessian.
    bound
        The other arguments of `evaluate` and `multiply` by name, computed from the labels.
    flat
        Whether there is no curvature.
    multiply_many
        scores, directions -> the Hessian times each column, if that is faster than one at a time.
    has_flat_form
        Whether `evaluate` takes ``curved=False``, and then leaves the curvature out.
    pass_over, multiply_in_pass
        The kernels of `linear_pass` and `product_pass`, if there are any.
    """

    loss: Loss
    groups: Groups
    mask: Bools
    evaluate: Callable[..., Derivatives]
    multiply: Callable[..., Floats] | None
    bound: Mapping[str, Any]
    flat: bool = False
    multiply_many: Callable[..., Floats] | None = None
    has_flat_form: bool = False
    pass_over: Callable[..., tuple[Floats, Floats]] | None = None
    multiply_in_pass: Callable[..., tuple[Floats, Floats]] | None = None

    @property
    def smooth(self) -> bool:
        """Whether the loss has a curvature."""
        return not self.flat

    @property
    def active(self) -> Bools:
        """The queries that have something to learn."""
        return self.mask

    def arguments(self, scores: Floats) -> dict[str, Any]:
        """Return the arguments of the kernels other than scores and direction."""
        return {**self.bound, "offsets": self.groups.offsets}

    def _evaluate(self, scores: Floats, **how: bool) -> Derivatives:
        scores = self.vector(scores)
        return self.evaluate(scores, **self.arguments(scores), **how)

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return values and gradient."""
        without = {"curved": False} if self.has_flat_form else {}
        values, gradient, _ = self._evaluate(scores, **without)
        return values, gradient

    def curvature(self, scores: Floats) -> Floats:
        """Return the diagonal of the Hessian."""
        return self.derivatives(scores)[2]

    def derivatives(self, scores: Floats) -> Derivatives:
        """Return values, gradient and curvature in one pass."""
        if self.flat:
            raise UsageError(f"{self.loss} has no curvature; use another loss")
        return self._evaluate(scores)

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """Return the Hessian times a direction."""
        if self.multiply is None:
            raise UsageError(f"{self.loss} has no Hessian product; use another loss")
        scores, direction = self.vector(scores), self.vector(direction, "values in direction")
        return self.multiply(scores, direction=direction, **self.arguments(scores))

    def products(self, scores: Floats, directions: Floats) -> Floats:
        """Return the Hessian times each column."""
        if self.multiply_many is None:
            return super().products(scores, directions)
        scores, directions = self.vector(scores), np.ascontiguousarray(directions, dtype=np.float64)
        self.groups.check(directions, "rows in directions")
        return self.multiply_many(scores, directions=directions, **self.arguments(scores))

    def linear_pass(self) -> LinearPass | None:
        """Return the kernel with the labels bound to it."""
        if self.pass_over is None:
            return None
        return partial(self.pass_over, offsets=self.groups.offsets, **self.bound)

    def product_pass(self, scores: Floats) -> LinearPass | None:
        """Return the kernel with labels and scores bound to it."""
        if self.multiply_in_pass is None:
            return None
        scores = self.vector(scores)
        return partial(self.multiply_in_pass, scores=scores, **self.arguments(scores))


class OrderedLoss(KernelLoss):
    """A loss whose kernels also take the order by score; the last order is cached for products."""

    def arguments(self, scores: Floats) -> dict[str, Any]:
        """Return the bound arguments and the rows by score, best first."""
        order = self.__dict__.get("_last_order")
        if order is None or not kernels.is_order(scores, order, self.groups.offsets):
            order = self.__dict__["_last_order"] = (
                None  # frees its memory before the next takes some
            )
            order = self.groups.order(scores)
            self.__dict__["_last_order"] = order  # a frozen dataclass allows no assignment
        return {**super().arguments(scores), "order": order}


@dataclass(frozen=True, eq=False)
class WeightedLoss(BoundLoss):
    """The inner loss `bound` with one weight of 0 or more per query."""

    bound: BoundLoss
    weight: Floats

    @property
    def groups(self) -> Groups:  # type: ignore[override]
        """The queries of the inner loss."""
        return self.bound.groups

    @property
    def smooth(self) -> bool:
        """Whether the inner loss has a curvature."""
        return self.bound.smooth

    @property
    def active(self) -> Bools:
        """The active queries with a weight above 0."""
        return np.asarray(self.bound.active & (self.weight > 0))

    def redraw(self, round_number: int) -> BoundLoss:
        """Return the loss with the random numbers of this round."""
        return WeightedLoss(self.bound.redraw(round_number), self.weight)

    def _rows(self, values: Floats) -> Floats:
        return np.asarray(values * self.groups.spread(self.weight))

    def linear_pass(self) -> LinearPass | None:
        """Return the kernel of the inner loss, weighted."""
        inner = self.bound.linear_pass()
        if inner is None:
            return None

        def weighted(
            X: Matrix, w: Floats, rows: Rows | None, weight: Floats
        ) -> tuple[Floats, Floats]:
            values, gradient = inner(X, w, rows, weight * self.weight)
            return values * self.weight, gradient

        return weighted

    def product_pass(self, scores: Floats) -> LinearPass | None:
        """Return the kernel of the inner loss, weighted."""
        inner = self.bound.product_pass(scores)
        if inner is None:
            return None
        return lambda X, w, rows, weight: inner(X, w, rows, weight * self.weight)

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return values and gradient, weighted."""
        values, gradient = self.bound(scores)
        gradient *= self.groups.spread(self.weight)
        return values * self.weight, gradient

    def values(self, scores: Floats) -> Floats:
        """Return the values, weighted."""
        return self.bound.values(scores) * self.weight

    def curvature(self, scores: Floats) -> Floats:
        """Return the curvature, weighted."""
        return self._rows(self.bound.curvature(scores))

    def derivatives(self, scores: Floats) -> Derivatives:
        """Return values, gradient and curvature, weighted."""
        values, gradient, curvature = self.bound.derivatives(scores)
        return values * self.weight, self._rows(gradient), self._rows(curvature)

    def product(self, scores: Floats, direction: Floats) -> Floats:
        """Return the product, weighted."""
        return self._rows(self.bound.product(scores, direction))

    def products(self, scores: Floats, directions: Floats) -> Floats:
        """Return the products, weighted."""
        out = self.bound.products(scores, directions)
        out *= self.groups.spread(self.weight)[:, None]
        return out


class ListLoss(Loss):
    """A loss of the whole list of a query; it can also be bound to some of the documents."""

    def bind(self, data: RankingData, seed: int = 0) -> BoundLoss:
        """Bind the loss to all documents."""
        return self.bind_lists(LabelledLists.from_data(data, seed))

    @abstractmethod
    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""


class QueryLoss(ListLoss):
    """Your own loss: write the loss of one query in NumPy, and this class loops over queries.

    ``query`` gets the scores and labels of one query and returns value and gradient;
    ``query_curvature`` (optional: Newton steps and trees need it) returns the diagonal of the
    Hessian. Queries whose labels are all equal are skipped unless ``needs_contrast`` is False.

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
        """Return value and gradient of one query."""

    def query_curvature(self, scores: Floats, labels: Floats) -> Floats:
        """Return the diagonal of the Hessian of one query."""
        raise UsageError(f"{self.name} has no curvature; define query_curvature")

    def bind_lists(self, lists: LabelledLists) -> BoundLoss:
        """Bind the loss to these lists."""
        return BoundQueryLoss(self, lists)

    def spec(self) -> dict[str, Any]:
        """Return name and attributes."""
        return {"name": self.name, **vars(self)}


@dataclass(frozen=True, eq=False)
class BoundQueryLoss(BoundLoss):
    """The loop over the queries of a QueryLoss."""

    loss: QueryLoss
    lists: LabelledLists

    @property
    def groups(self) -> Groups:  # type: ignore[override]
        """The queries."""
        return self.lists.groups

    @property
    def smooth(self) -> bool:
        """Whether the loss defines its curvature."""
        return type(self.loss).query_curvature is not QueryLoss.query_curvature

    @property
    def active(self) -> Bools:
        """The queries for which the loss is computed."""
        return self.lists.contrast if self.loss.needs_contrast else self.groups.sizes > 0

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return values and gradient, query by query."""
        scores = self.vector(scores)
        values, gradient = np.zeros(len(self.groups)), np.zeros(len(scores))
        for q, rows in self._queries():
            answer = self.loss.query(scores[rows], self.lists.labels[rows])
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise UsageError(
                    f"expected query of {self.loss.name} to return (value, gradient), got "
                    f"{type(answer).__name__}"
                )
            values[q] = answer[0]
            gradient[rows] = self._checked(answer[1], rows, "gradient")
        return values, gradient

    def curvature(self, scores: Floats) -> Floats:
        """Return the diagonal of the Hessian, query by query; values below 0 become 0."""
        scores = self.vector(scores)
        out = np.zeros(len(scores))
        for _, rows in self._queries():
            part = self.loss.query_curvature(scores[rows], self.lists.labels[rows])
            out[rows] = np.maximum(self._checked(part, rows, "curvature"), 0)
        return out

    def _queries(self) -> list[tuple[int, slice]]:
        slices, active = list(self.groups.slices()), self.active
        return [(q, slices[q]) for q in np.flatnonzero(active).tolist()]

    def _checked(self, part: Floats, rows: slice, what: str) -> Floats:
        n = rows.stop - rows.start
        if np.shape(part) != (n,):
            raise UsageError(
                f"the {what} of {self.loss.name} must have {n} numbers, one per document of "
                f"the query, got shape {np.shape(part)}"
            )
        return part

"""Multi-task ListMLE: one linear ranking function a cluster, all of them near their mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.groups import Groups
from podium.errors import LengthMismatchError
from podium.multitask.checks import check_solver, clusters_of, features, not_negative, whole
from podium.multitask.orders import Orders
from podium.optim import Adam, lbfgs
from podium.optim.linear import check_finite, norm2

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Each = Callable[[int, Floats, float], None]
"""Called once an iteration with its number, W and the objective."""

Solver = Literal["lbfgs", "sgd"]

BATCH = 16
"""Lists of a stochastic step."""
TOLERANCE: dict[Solver, float] = {"lbfgs": 1e-6, "sgd": 1e-5}


@dataclass(frozen=True, eq=False)
class Sublists:
    """Each list cut where its cluster changes: cluster after cluster, list after list, best first.

    Parameters
    ----------
    X, rows
        Features in that order, and which rows of the data they are.
    tasks
        The rows of each cluster.
    parts
        The rows of each sublist.
    lists
        The list each sublist comes from.
    stages
        Choices of each sublist that count: 0 where it says nothing.
    weight
        What each sublist counts: that of its list, divided by that of all lists.
    """

    X: NDArray[Any]
    rows: Rows
    tasks: Groups
    parts: Groups
    lists: Rows
    stages: Rows
    weight: Floats

    @classmethod
    def of(
        cls,
        X: NDArray[Any],
        orders: Orders,
        index: Rows,
        n_clusters: int,
        *,
        weight: Floats | None = None,
        labels: Floats | None = None,
    ) -> Sublists:
        """The sublists of clusters `index` (one a row of `orders`); see `fit_tasks`."""
        whole = orders.groups
        tasks, by_task = Groups.from_codes(index, n_clusters)
        place = np.arange(whole.n_rows) if by_task is None else by_task
        lists_of_rows = whole.codes[place]
        starts = np.ones(len(place), dtype=bool)
        starts[1:] = (lists_of_rows[1:] != lists_of_rows[:-1]) | (np.diff(index[place]) != 0)
        parts = Groups(np.append(np.flatnonzero(starts), len(place)))
        lists = lists_of_rows[parts.offsets[:-1]]
        # How many of a sublist are ordered: those that stand above its list's depth.
        ordered = (whole.places < whole.spread(orders.depth))[place]
        stages = parts.reduce(np.add, ordered.astype(np.int64)) * (parts.sizes > 1)
        rows = orders.rows[place]
        telling = np.asarray(whole.sizes > 1)
        if labels is not None:
            stages = stages * _contrast(parts, labels[rows])
            telling = _contrast(whole, labels[orders.rows])
        each = np.ones(len(whole)) if weight is None else weight
        total = float(np.sum(each * telling))
        share = each / (total if total > 0 else 1.0)
        return cls(X[rows], rows, tasks, parts, lists, stages, share[lists])

    def completed(self, W: Floats) -> Floats:
        """W, with the mean of the others for clusters that have no choices (the rest of top-k truth).

        But for its size that is what any lambda above 0 makes of them; 0 alone leaves them at 0.
        """
        told = np.zeros(len(W), dtype=bool)
        told[self.tasks.codes[self.parts.offsets[:-1][self.stages > 0]]] = True
        return np.where(told[:, None] | ~told.any(), W, W[told].sum(axis=0) / max(told.sum(), 1))

    def scores(self, W: Floats) -> Floats:
        """w_k.x of each row, k its own cluster."""
        return np.concatenate(
            [
                kernels.matvec(self.X[rows], w)
                for rows, w in zip(self.tasks.slices(), W, strict=True)
            ]
        )

    def pull(self, g: Floats) -> Floats:
        """A gradient with respect to scores -> with respect to W."""
        slices = self.tasks.slices()
        return np.stack([kernels.rmatvec(self.X[rows], g[rows]) for rows in slices])

    def __call__(self, W: Floats) -> tuple[float, Floats]:
        """The likelihood loss and its gradient with respect to W."""
        order = np.arange(self.parts.n_rows)
        values, g, _ = kernels.plackett_luce(self.scores(W), order, self.stages, self.parts.offsets)
        value = float(np.sum(values * self.weight))
        return value, self.pull(g * self.parts.spread(self.weight))


def _contrast(groups: Groups, labels: Floats) -> NDArray[np.bool_]:
    """Which lists have different labels."""
    lowest = groups.reduce(np.minimum, labels)
    return np.asarray(lowest < groups.reduce(np.maximum, labels))


@dataclass(frozen=True, eq=False)
class TasksObjective:
    """Psi(W) = L(W) + lambda sum_k |w_k - mean w|^2 + l2/2 sum_k |w_k|^2, (10) with a small penalty.

    L is the mean over lists of the negative log likelihoods (Plackett-Luce) of their sublists. The
    gradient of the middle term is 2 lambda (w_k - mean w): the deviations add up to 0.

    Examples
    --------
    >>> sublists = Sublists.of(
    ...     np.eye(4), Orders(np.arange(4), np.array([0, 4]), np.array([4])), np.array([0, 0, 1, 1]), 2
    ... )
    >>> value, gradient = TasksObjective(sublists, lam=1.0, l2=0.0)(np.zeros((2, 4)))
    >>> bool(np.isclose(value, 2 * np.log(2))), gradient.tolist()
    (True, [[-0.5, 0.5, 0.0, 0.0], [0.0, 0.0, -0.5, 0.5]])
    """

    sublists: Sublists
    lam: float
    l2: float

    def __call__(self, W: Floats) -> tuple[float, Floats]:
        """Psi and its gradient."""
        value, gradient = self.sublists(W)
        apart = W - W.mean(axis=0)
        value += self.lam * norm2(apart) + 0.5 * self.l2 * norm2(W)
        return value, gradient + 2 * self.lam * apart + self.l2 * W


@dataclass(frozen=True, eq=False, repr=False)
class Tasks:
    """One ranking function a cluster.

    Parameters
    ----------
    W
        Weights, one row a cluster.
    converged, reason
        Whether the minimiser was done, and where it stopped.
    history
        Psi after each iteration (pass, of stochastic steps).
    """

    W: Floats
    converged: bool
    reason: str
    history: tuple[float, ...]

    def __repr__(self) -> str:
        end = f"Psi {self.history[-1]:.6g} after " if self.history else ""
        done = "converged" if self.converged else "not converged"
        return (
            f"Tasks({self.W.shape[0]} functions of {self.W.shape[1]} features, {end}"
            f"{len(self.history)} iterations, {done})"
        )


def fit_tasks(
    X: NDArray[Any],
    orders: Orders,
    clusters_index: Rows,
    n_clusters: int,
    lam: float = 0.01,
    l2: float = 1e-3,
    solver: Solver = "lbfgs",
    *,
    weight: Floats | None = None,
    labels: Floats | None = None,
    start: Floats | None = None,
    tol: float | None = None,
    max_iter: int = 500,
    learning_rate: float = 0.2,
    seed: int = 0,
    each: Each | None = None,
) -> Tasks:
    """Multi-task ListMLE, equations (10) and (11) of Wu et al. (RPC-MTL), section 2.2.

        Psi(W) = 1/N sum_i sum_k -log P(sublist k of list i | w_k)
                 + lambda sum_k |w_k - mean w|^2 + l2/2 sum_k |w_k|^2

    A list is cut where its cluster changes; P is Plackett-Luce's likelihood of a sublist's order.
    A sublist of one object says nothing. Psi is convex, and L-BFGS minimises it in all of W at
    once, with the mean as a function of W: the minimum that alternating as in (11) goes to. With one
    cluster Psi is ListMLE's objective. ``solver="sgd"`` is the paper's: mean w is held during a
    pass over the lists, in a random order, with stochastic steps (scaled as Adam does, and shorter
    from pass to pass).

    Parameters
    ----------
    X
        Features, one row an object.
    orders
        Rows of X best first, list after list, and how many of each list are ordered.
    clusters_index
        The cluster of each row of `orders`, never falling along a list.
    n_clusters
        K; a cluster may be empty.
    lam
        How strongly w_k are held together.
    l2
        A small penalty, without which w grows without bound where sublists are linearly ordered.
    solver
        "lbfgs" or "sgd".
    weight
        What each list counts; None: 1.
    labels
        One a row of X. A sublist whose labels are all equal then says nothing; nor does such a list.
    start
        The first W; None: 0.
    tol
        L-BFGS: how small the gradient must become, against the one at 0 (1e-6). SGD: the share of Psi
        by which a pass must change it to go on (1e-5).
    max_iter
        Iterations of L-BFGS, or passes, at most.
    learning_rate, seed
        Of the stochastic steps.
    each
        Called once an iteration.

    Examples
    --------
    Larger is better in the first cluster, smaller in the second:

    >>> X = np.array([[0.9], [0.5], [0.1], [0.2], [0.4], [0.8]])
    >>> orders = Orders(np.arange(6), np.array([0, 6]), np.array([6]))
    >>> tasks = fit_tasks(X, orders, np.array([0, 0, 0, 1, 1, 1]), 2, lam=0.0, l2=0.1)
    >>> tasks.converged, np.sign(tasks.W).ravel().tolist()
    (True, [1.0, -1.0])
    """
    check_solver(solver, Solver)
    whole(1, n_clusters=n_clusters, max_iter=max_iter)
    not_negative(lam=lam, l2=l2, learning_rate=learning_rate, tol=0.0 if tol is None else tol)
    matrix = features(X, orders)
    index = clusters_of(clusters_index, orders, n_clusters)
    each_list = None if weight is None else _one_each(weight, len(orders), "weights", "list")
    each_row = None if labels is None else _one_each(labels, len(matrix), "labels", "row of X")
    sublists = Sublists.of(matrix, orders, index, n_clusters, weight=each_list, labels=each_row)
    return minimise(
        TasksObjective(sublists, lam, l2), solver, start=start, tol=tol, max_iter=max_iter,
        learning_rate=learning_rate, seed=seed, each=each,
    )  # fmt: skip


def _one_each(given: Any, n: int, what: str, of: str) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all():
        raise LengthMismatchError(
            f"expected {n} finite {what}, one a {of}, got an array of shape {values.shape}"
        )
    return values


def minimise(
    objective: TasksObjective,
    solver: Solver = "lbfgs",
    *,
    start: Floats | None = None,
    tol: float | None = None,
    max_iter: int = 500,
    learning_rate: float = 0.2,
    seed: int = 0,
    each: Each | None = None,
) -> Tasks:
    """The minimum of Psi; see `fit_tasks`."""
    sublists = objective.sublists
    first = np.zeros((len(sublists.tasks), sublists.X.shape[1])) if start is None else start
    tol = TOLERANCE[solver] if tol is None else tol
    curve: list[float] = []

    def told(iteration: int, W: Floats, value: float) -> None:
        curve.append(value)
        if each is not None:
            each(iteration, W, value)

    if solver == "sgd":
        W, converged, reason = _descend(objective, first, tol, max_iter, learning_rate, seed, told)
    else:
        W, converged, reason = _minimise(objective, first, tol, max_iter, told)
    return Tasks(W, converged, reason, tuple(curve))


def _minimise(
    objective: TasksObjective, start: Floats, tol: float, max_iter: int, each: Each
) -> tuple[Floats, bool, str]:
    shape = start.shape

    def flat(w: Floats) -> tuple[float, Floats]:
        value, gradient = objective(w.reshape(shape))
        return value, gradient.ravel()

    # Where features say nothing, the slope at 0 is rounding, and nothing is steeper than that.
    rounding = 1e-9 * float(np.abs(objective.sublists.X).max(initial=0.0))
    cold = max(float(np.abs(objective(np.zeros(shape))[1]).max()), rounding)
    found = lbfgs(
        flat, start.ravel(), tol=tol, steepest=cold, max_iter=max_iter,
        each=lambda iteration, w, value: each(iteration, w.reshape(shape), value),
    )  # fmt: skip
    return found.x.reshape(shape), found.converged, found.reason


def _descend(
    objective: TasksObjective,
    start: Floats,
    tol: float,
    passes: int,
    learning_rate: float,
    seed: int,
    each: Each,
) -> tuple[Floats, bool, str]:
    """Stochastic steps; a pass changes Psi by `tol` of it or less: done."""
    rng, W = np.random.default_rng(seed), start.copy()
    batches = _Batches.of(objective.sublists)
    adam = Adam([W], learning_rate)
    before, change = objective(W)[0], np.inf
    for iteration in range(1, passes + 1):
        mean = W.mean(axis=0)  # held during a pass: the first line of (11)
        adam.learning_rate = learning_rate / np.sqrt(iteration)
        for gradient in batches.gradients(W, rng):
            adam.step([gradient + 2 * objective.lam * (W - mean) + objective.l2 * W])
        value = objective(W)[0]
        check_finite(value, iteration)
        each(iteration, W.copy(), value)
        change, before = abs(value - before) / max(abs(value), 1e-300), value
        if change <= tol:
            break
    return (
        W,
        change <= tol,
        f"the last pass changed the objective by {change:.1e} of it, wanted {tol:.1e}",
    )


@dataclass(frozen=True, eq=False)
class _Batches:
    """The sublists by list, for steps on some lists at a time."""

    sublists: Sublists
    by_list: Rows
    """Sublists, list after list."""
    lists: Groups
    """Which of these are a list's."""

    @classmethod
    def of(cls, sublists: Sublists) -> _Batches:
        n = int(sublists.lists.max(initial=-1)) + 1
        lists, by_list = Groups.from_codes(sublists.lists, n)
        return cls(sublists, np.arange(len(sublists.lists)) if by_list is None else by_list, lists)

    def gradients(self, W: Floats, rng: np.random.Generator) -> Any:
        """The gradients of the likelihood, batch after batch, as if each batch were all lists."""
        n, task = len(self.lists), self.sublists.tasks.codes
        for some in np.array_split(rng.permutation(n), -(-n // BATCH)):
            _, places = self.lists.take(some)
            parts, rows = self.sublists.parts.take(self.by_list[places])
            mine, X = self.by_list[places], self.sublists.X[rows]
            scores = np.einsum("ij,ij->i", X, W[task[rows]], dtype=np.float64)
            stages, order = self.sublists.stages[mine], np.arange(len(rows))
            _, g, _ = kernels.plackett_luce(scores, order, stages, parts.offsets)
            g *= parts.spread(self.sublists.weight[mine]) * (n / len(some))
            gradient = np.zeros(W.shape)
            for k in range(len(W)):
                own = task[rows] == k
                gradient[k] = kernels.rmatvec(np.ascontiguousarray(X[own]), g[own])
            yield gradient

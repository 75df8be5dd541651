"""Multi-task ListMLE: one linear ranking function per cluster, pulled towards their mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.groups import Groups
from podium.errors import LengthMismatchError
from podium.multitask.argument_checks import (
    check_clusters,
    check_features,
    check_not_negative,
    check_solver,
    check_whole_numbers,
)
from podium.multitask.list_orders import Orders
from podium.multitask.sublists import Sublists
from podium.optim import Adam, IterationCallback, lbfgs
from podium.optim.linear_problem import check_finite, norm2
from podium.typing import Floats, Rows

Solver = Literal["lbfgs", "sgd"]

LISTS_PER_STEP = 16
"""The number of lists of a stochastic step."""
DEFAULT_TOL: dict[Solver, float] = {"lbfgs": 1e-6, "sgd": 1e-5}


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
        """Return Psi and its gradient."""
        value, gradient = self.sublists(W)
        apart = W - W.mean(axis=0)
        value += self.lam * norm2(apart) + 0.5 * self.l2 * norm2(W)
        return value, gradient + 2 * self.lam * apart + self.l2 * W


@dataclass(frozen=True, eq=False, repr=False)
class Tasks:
    """One linear ranking function per cluster.

    Parameters
    ----------
    W
        Weights, one row per cluster.
    converged, reason
        Whether the minimiser converged, and where it stopped.
    history
        Psi after each iteration, or after each pass of stochastic steps.
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
    each: IterationCallback | None = None,
) -> Tasks:
    """Fit multi-task ListMLE, equations (10) and (11) of Wu et al. (RPC-MTL), section 2.2.

        Psi(W) = 1/N sum_i sum_k -log P(sublist k of list i | w_k)
                 + lambda sum_k |w_k - mean w|^2 + l2/2 sum_k |w_k|^2

    A list is cut where its cluster changes. P is the Plackett-Luce likelihood of a sublist's order;
    a sublist of one object adds nothing. Psi is convex. L-BFGS minimises it over all of W at once,
    with the mean as a function of W; alternating as in (11) leads to the same minimum. With one
    cluster, Psi is the objective of ListMLE. ``solver="sgd"`` is that of the paper: stochastic
    steps over the lists in a random order, with a constant mean w during a pass. Adam scales the
    steps, which shrink from pass to pass.

    Parameters
    ----------
    X
        Features, one row per object.
    orders
        Rows of X best first, list after list, and how many of each list are ordered.
    clusters_index
        The cluster of each row of `orders`, never falling along a list.
    n_clusters
        K; a cluster may be empty.
    lam
        How strongly the w_k are pulled towards their mean.
    l2
        A small penalty; without it, w grows without bound if a w orders all sublists correctly.
    solver
        "lbfgs" or "sgd".
    weight
        The weight of each list; None: 1.
    labels
        One label per row of X. A list or sublist with equal labels then adds nothing.
    start
        The first W; None: 0.
    tol
        L-BFGS: the gradient at the end, relative to the one at 0 (1e-6). SGD: the relative change of
        Psi by the last pass (1e-5).
    max_iter
        The maximum number of L-BFGS iterations, or of passes.
    learning_rate, seed
        The learning rate and the seed of the stochastic steps.
    each
        Called once per iteration.

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
    check_whole_numbers(1, n_clusters=n_clusters, max_iter=max_iter)
    check_not_negative(lam=lam, l2=l2, learning_rate=learning_rate, tol=0.0 if tol is None else tol)
    matrix = check_features(X, orders)
    index = check_clusters(clusters_index, orders, n_clusters)
    weight = None if weight is None else _check_values(weight, len(orders), "weights", "list")
    labels = None if labels is None else _check_values(labels, len(matrix), "labels", "row of X")
    sublists = Sublists.of(matrix, orders, index, n_clusters, weight=weight, labels=labels)
    return minimise(
        TasksObjective(sublists, lam, l2), solver, start=start, tol=tol, max_iter=max_iter,
        learning_rate=learning_rate, seed=seed, each=each,
    )  # fmt: skip


def _check_values(values: Any, n: int, name: str, unit: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise LengthMismatchError(
            f"expected {n} finite {name}, one per {unit}, got an array of shape {array.shape}"
        )
    return array


def minimise(
    objective: TasksObjective,
    solver: Solver = "lbfgs",
    *,
    start: Floats | None = None,
    tol: float | None = None,
    max_iter: int = 500,
    learning_rate: float = 0.2,
    seed: int = 0,
    each: IterationCallback | None = None,
) -> Tasks:
    """Minimise Psi; see `fit_tasks`."""
    sublists = objective.sublists
    first = np.zeros((len(sublists.tasks), sublists.X.shape[1])) if start is None else start
    tol = DEFAULT_TOL[solver] if tol is None else tol
    history: list[float] = []

    def record(iteration: int, W: Floats, value: float) -> None:
        history.append(value)
        if each is not None:
            each(iteration, W, value)

    if solver == "sgd":
        W, converged, reason = _minimise_by_sgd(
            objective, first, tol, max_iter, learning_rate, seed, record
        )
    else:
        W, converged, reason = _minimise_by_lbfgs(objective, first, tol, max_iter, record)
    return Tasks(W, converged, reason, tuple(history))


def _minimise_by_lbfgs(
    objective: TasksObjective, start: Floats, tol: float, max_iter: int, each: IterationCallback
) -> tuple[Floats, bool, str]:
    shape = start.shape

    def flat(w: Floats) -> tuple[float, Floats]:
        value, gradient = objective(w.reshape(shape))
        return value, gradient.ravel()

    # If the features have no information, the slope at 0 is only rounding, which L-BFGS must not
    # follow.
    rounding = 1e-9 * float(np.abs(objective.sublists.X).max(initial=0.0))
    steepest = max(float(np.abs(objective(np.zeros(shape))[1]).max()), rounding)
    minimum = lbfgs(
        flat, start.ravel(), tol=tol, steepest=steepest, max_iter=max_iter,
        callback=lambda iteration, w, value: each(iteration, w.reshape(shape), value),
    )  # fmt: skip
    return minimum.x.reshape(shape), minimum.converged, minimum.reason


def _minimise_by_sgd(
    objective: TasksObjective,
    start: Floats,
    tol: float,
    passes: int,
    learning_rate: float,
    seed: int,
    each: IterationCallback,
) -> tuple[Floats, bool, str]:
    """Take stochastic steps until a pass changes Psi by a share of `tol` or less."""
    rng, W = np.random.default_rng(seed), start.copy()
    batches = _Batches.of(objective.sublists)
    adam = Adam([W], learning_rate)
    before, change = objective(W)[0], np.inf
    for iteration in range(1, passes + 1):
        mean = W.mean(axis=0)  # constant during a pass: the first line of (11)
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
        f"the last pass changed the objective by a share of {change:.1e}, above the requested "
        f"{tol:.1e}",
    )


@dataclass(frozen=True, eq=False)
class _Batches:
    """The sublists by list, for steps on a few lists at a time."""

    sublists: Sublists
    by_list: Rows
    """Sublists, list after list."""
    lists: Groups
    """The sublists of each list."""

    @classmethod
    def of(cls, sublists: Sublists) -> _Batches:
        n = int(sublists.lists.max(initial=-1)) + 1
        lists, by_list = Groups.from_codes(sublists.lists, n)
        return cls(sublists, np.arange(len(sublists.lists)) if by_list is None else by_list, lists)

    def gradients(self, W: Floats, rng: np.random.Generator) -> Any:
        """Yield the gradient of the likelihood for each batch, scaled as if the batch were all lists."""
        n, task = len(self.lists), self.sublists.tasks.codes
        for batch in np.array_split(rng.permutation(n), -(-n // LISTS_PER_STEP)):
            _, places = self.lists.take(batch)
            own = self.by_list[places]
            parts, rows = self.sublists.parts.take(own)
            X = self.sublists.X[rows]
            scores = np.einsum("ij,ij->i", X, W[task[rows]], dtype=np.float64)
            stages, order = self.sublists.stages[own], np.arange(len(rows))
            _, g, _ = kernels.plackett_luce(scores, order, stages, parts.offsets)
            g *= parts.spread(self.sublists.weight[own]) * (n / len(batch))
            gradient = np.zeros(W.shape)
            for k in range(len(W)):
                in_task = task[rows] == k
                gradient[k] = kernels.rmatvec(np.ascontiguousarray(X[in_task]), g[in_task])
            yield gradient

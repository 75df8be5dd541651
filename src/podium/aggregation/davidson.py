"""Davidson's model: Bradley-Terry strengths from paired comparisons with ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium.errors import DataError, DivergedError, LengthMismatchError, UsageError
from podium.typing import Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class DavidsonFit:
    """A fit of Davidson's model: log-strengths theta, the tie parameter nu, and the quality of the fit.

    Parameters
    ----------
    theta
        One log-strength per item, mean 0; higher is better.
    tie
        nu; 0 if there are no ties.
    loss
        The negative log-likelihood including the prior, at its minimum.
    gradient
        The largest slope at the minimum.
    iterations
        The number of Newton steps.
    prior
        The precision of the normal prior on each theta.
    """

    theta: Floats
    tie: float
    loss: float
    gradient: float
    iterations: int
    prior: float

    def __repr__(self) -> str:
        return f"DavidsonFit({len(self.theta):,} items, nu {self.tie:.4g}, loss {self.loss:.6g})"

    def probabilities(self, i: int, j: int) -> tuple[float, float, float]:
        """Return the probabilities that i wins, that they tie, and that j wins."""
        half = (self.theta[i] - self.theta[j]) / 2
        weights = np.exp(np.array([half, 0.0, -half]) - abs(half))
        weights[1] *= self.tie
        win, tie, loss = (weights / weights.sum()).tolist()
        return win, tie, loss


def fit_davidson(
    n: int,
    first: ArrayLike,
    second: ArrayLike,
    wins: ArrayLike,
    losses: ArrayLike,
    ties: ArrayLike,
    *,
    prior: float = 0.1,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> DavidsonFit:
    """Fit strengths pi = e^theta to comparisons by Newton's method.

    P(i > j) = pi_i / (pi_i + pi_j + nu sqrt(pi_i pi_j)), P(i ~ j) = nu sqrt(pi_i pi_j) / (...).
    The fit minimises -sum log P + (prior/2) (|theta|^2 + (log nu)^2), which is convex. Without a prior,
    an item that never lost would be infinitely strong. Bradley and Terry, Biometrika 1952; Davidson,
    On extending the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 1970.

    Parameters
    ----------
    n
        The number of items.
    first, second
        The items of each comparison, from 0.
    wins, losses, ties
        How often the first won, lost and tied, 0 or more; fractions are weights.
    prior
        The precision of the prior, above 0. A smaller prior is nearer to maximum likelihood.
    tol
        The fit has converged if no slope is larger.
    max_iter
        The maximum number of Newton steps; then a DivergedError is raised.

    Examples
    --------
    >>> fit = fit_davidson(3, [0, 1], [1, 2], wins=[3, 2], losses=[1, 0], ties=[0, 2])
    >>> fit.theta.argsort()[::-1].tolist(), round(fit.tie, 3)
    ([0, 1, 2], 0.829)
    """
    a, b, counts = _check_comparisons(n, first, second, (wins, losses, ties))
    if not prior > 0 or not np.isfinite(prior):
        raise UsageError(f"expected a prior above 0, got {prior}")
    tied = bool(counts[:, 1].any())
    x = np.zeros(n + tied)  # theta, then log nu if there are ties
    loss, gradient, hessian = _likelihood(x, a, b, counts, prior)
    for iteration in range(max_iter + 1):
        slope = float(np.abs(gradient).max(initial=0.0))
        if slope <= tol * max(1.0, float(counts.sum())):
            theta = x[:n] - x[:n].mean()
            nu = float(np.exp(x[n])) if tied else 0.0
            return DavidsonFit(theta, nu, loss, slope, iteration, prior)
        step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
        x, loss, gradient, hessian = _line_search(x, step, loss, gradient, a, b, counts, prior)
    raise DivergedError(
        f"Davidson's fit did not converge within {max_iter} Newton steps (slope {slope:.3g}); "
        "raise max_iter or the prior"
    )


def _check_comparisons(
    n: int, first: ArrayLike, second: ArrayLike, outcomes: Sequence[ArrayLike]
) -> tuple[Ints, Ints, Floats]:
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    wins, losses, ties = (np.asarray(values, dtype=np.float64) for values in outcomes)
    if len({values.shape for values in (a, b, wins, losses, ties)}) > 1 or a.ndim != 1:
        raise LengthMismatchError(
            "first, second, wins, losses and ties must have the same "
            "length: one entry per comparison"
        )
    if len(a) and (min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= n):
        raise DataError(f"items must be numbers from 0 to {n - 1}")
    if (a == b).any():
        raise DataError(
            f"item {a[a == b][0]} is compared with itself; expected two different items"
        )
    counts = np.stack([wins, ties, losses], axis=1)
    if not np.isfinite(counts).all() or (counts < 0).any():
        raise DataError("wins, losses and ties must be finite numbers of 0 or more")
    return a, b, counts


def _likelihood(
    x: Floats, a: Ints, b: Ints, counts: Floats, prior: float
) -> tuple[float, Floats, Floats]:
    """Return value, gradient and Hessian.

    The outcomes win, tie, loss have the logits (theta_a - theta_b)/2, log nu, -(theta_a - theta_b)/2:
    a multinomial logit in d = theta_a - theta_b and log nu.
    """
    tied = bool(counts[:, 1].any())
    n = len(x) - tied
    half = (x[a] - x[b]) / 2
    logits = np.stack([half, np.full_like(half, x[n] if tied else -np.inf), -half], axis=1)
    top = logits.max(axis=1, keepdims=True)
    log_p = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    p, total = np.exp(log_p), counts.sum(axis=1)
    value = -float(np.sum(counts * np.where(counts > 0, log_p, 0.0))) + 0.5 * prior * float(x @ x)
    # With respect to d and log nu; the mean of the slope of d under p is (p_win - p_loss) / 2.
    mean = (p[:, 0] - p[:, 2]) / 2
    by_d = total * mean - (counts[:, 0] - counts[:, 2]) / 2
    curve = total * ((p[:, 0] + p[:, 2]) / 4 - mean**2)
    gradient, hessian = prior * x, prior * np.eye(len(x))
    np.add.at(gradient, a, by_d)
    np.add.at(gradient, b, -by_d)
    for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
        np.add.at(hessian, (i, j), sign * curve)
    if tied:
        gradient[n] += float(np.sum(total * p[:, 1] - counts[:, 1]))
        hessian[n, n] += float(np.sum(total * p[:, 1] * (1 - p[:, 1])))
        cross = -total * mean * p[:, 1]
        for i, sign in ((a, 1), (b, -1)):
            np.add.at(hessian[:, n], i, sign * cross)
            np.add.at(hessian[n], i, sign * cross)
    return value, gradient, hessian


def _line_search(
    x: Floats,
    step: Floats,
    loss: float,
    gradient: Floats,
    a: Ints,
    b: Ints,
    counts: Floats,
    prior: float,
) -> tuple[Floats, float, Floats, Floats]:
    """Take the Newton step, halved until the loss falls far enough (Armijo's condition)."""
    share, down = 1.0, float(gradient @ step)
    while True:
        new = x - share * step
        new_loss, new_gradient, hessian = _likelihood(new, a, b, counts, prior)
        # Near the minimum rounding decides, and the full step is right.
        if new_loss <= loss - 1e-4 * share * down + 1e-12 * abs(loss) or share < 1e-10:
            return new, new_loss, new_gradient, hessian
        share /= 2

"""Newton's method for linear models: exact for few weights, truncated (Newton-CG) for many."""

from __future__ import annotations

import numpy as np

from podium.errors import UsageError
from podium.optim.lbfgs import ROUNDING_SLOPE
from podium.optim.linear_problem import (
    IterationCallback,
    LinearProblem,
    Minimum,
    check_finite,
    norm2,
)
from podium.optim.small_gradient import SmallGradient
from podium.optim.threads import one_blas_thread
from podium.typing import Floats

MAX_EXACT_WEIGHTS = 200
"""The maximum number of weights for exact steps: a Hessian costs d^2 operations per row of X."""

WEIGHTS_PER_CG_STEP = 5
"""A Hessian takes about as long as d / 5 steps of conjugate gradients, each of which reads X once or
twice."""


def newton_cg(
    problem: LinearProblem,
    start: Floats,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    callback: IterationCallback | None = None,
) -> Minimum:
    """Minimise f(w) = l2/2 |w|^2 + loss(X w) by Newton steps, each solved as exactly as it is worth.

    Each step solves H d = -g by conjugate gradients to |H d + g| <= eta |g|, then searches along d.
    Predictions are linear along a line, so the search needs no product with X. If the loss has
    `products` and there are few weights, directions are solved exactly as soon as conjugate
    gradients have cost as much as H itself. Lin, Weng and Keerthi, Trust region Newton method for
    large-scale logistic regression, JMLR 2008; Chapelle and Keerthi, Efficient algorithms for
    ranking with SVMs, Information Retrieval 2010.

    Parameters
    ----------
    problem
        A problem with a `product` and with l2 > 0, so that H is positive definite.
    start
        The first weights.
    tol
        The search has converged if |g| <= tol |g at w = 0|.

    Examples
    --------
    >>> X, y = np.eye(2), np.array([1.0, 3.0])
    >>> problem = LinearProblem(
    ...     X, lambda s: (0.5 * float(np.sum((s - y) ** 2)), s - y), 1.0, lambda s, d: d
    ... )
    >>> newton_cg(problem, np.zeros(2)).x.tolist()
    [0.5, 1.5]
    """
    if problem.product is None:
        raise UsageError("Newton's method needs a Hessian product, and this loss has none")
    w, scores = start.astype(np.float64), problem.scores(start)
    loss, g = problem.loss(scores)
    gradient = problem.pull(g) + problem.l2 * w
    # Slopes are relative to that at 0, so that a warm start need not be better than a cold one.
    at_zero = gradient if not w.any() else problem.pull(problem.loss(np.zeros_like(scores))[1])
    stop = SmallGradient(tol, float(np.sqrt(norm2(at_zero))))
    gradient_norm, iteration, step = float(np.sqrt(norm2(gradient))), 0, 1.0
    solver = _DirectionSolver(problem, stop)
    check_finite(loss, iteration)
    check_finite(gradient_norm, iteration, "gradient's norm")
    while not stop(gradient_norm) and iteration < max_iter and step > 0:
        iteration += 1
        direction, score_direction = solver(scores, gradient, gradient_norm)
        line = _NewtonLine(problem, w, direction, scores, score_direction, iteration)
        slope = line.slope(g, 0.0)
        del g  # each number per row is 8 bytes, much beside a row of float32
        step, loss, lower_g = line.search(loss, slope)
        if lower_g is not None:
            g = lower_g
            w, scores = w + step * direction, line.scores_at(step)
            gradient = problem.pull(g) + problem.l2 * w
        del line, score_direction, lower_g
        gradient_norm = float(np.sqrt(norm2(gradient)))
        check_finite(gradient_norm, iteration, "gradient's norm")
        if callback is not None:
            callback(iteration, w, loss + 0.5 * problem.l2 * norm2(w))
    return Minimum(
        x=w,
        value=loss + 0.5 * problem.l2 * norm2(w),
        iterations=iteration,
        # step == 0: no lower point, because of the limit of double precision or a failed search.
        converged=stop(gradient_norm)
        or (step == 0 and gradient_norm <= ROUNDING_SLOPE * stop.first),
        reason=f"the gradient norm is {gradient_norm:.1e}; the limit is "
        f"{stop.tol * stop.first:.1e}",
        gradient_norm=gradient_norm,
    )


class _DirectionSolver:
    """Solves H d = -g for the direction d, exactly or approximately; returns d and X d."""

    def __init__(self, problem: LinearProblem, stop: SmallGradient) -> None:
        self.problem, self.stop = problem, stop
        d = problem.X.shape[1]
        is_exact = problem.products is not None and d <= MAX_EXACT_WEIGHTS
        self.steps_left = d // WEIGHTS_PER_CG_STEP if is_exact else None

    def __call__(self, scores: Floats, gradient: Floats, slope: float) -> tuple[Floats, Floats]:
        if self.steps_left == 0:
            d = _exact_direction(self.problem.hessian(scores), gradient)
            if d is not None:
                return d, self.problem.scores(d)
            self.steps_left = None
        return self._truncated(scores, gradient, slope)

    def _truncated(self, scores: Floats, gradient: Floats, slope: float) -> tuple[Floats, Floats]:
        """Solve by conjugate gradients.

        Early steps need little accuracy, so eta = min(0.1, sqrt(|g| / |g_0|)). The last step needs
        no more accuracy than the tolerance, because its residual is the next gradient, except for
        the change of the curvature (Eisenstat and Walker, SIAM J. Sci. Comput. 1996, section 2.1).
        """
        problem, stop = self.problem, self.stop
        eta = min(0.1, np.sqrt(slope / stop.first)) if stop.first > 0 else 0.1
        small = max(eta * slope, 0.5 * stop.tol * stop.first)
        d, Xd = np.zeros_like(gradient), np.zeros_like(scores)
        r = -gradient
        p, rr = r, norm2(r)
        for _ in range(2 * len(gradient)):
            forward, Hp = problem.hessian_product(scores, p)
            curvature = float(np.sum(p * Hp))
            if curvature <= 0:  # a rounding error: the loss is flat and l2 is tiny
                break
            step = rr / curvature
            d, r = d + step * p, r - step * Hp
            forward *= step  # in place: such an array is as long as the data
            Xd += forward
            del forward
            rr, before = norm2(r), rr
            if self._was_last_step() or np.sqrt(rr) <= small:
                break
            p = r + (rr / before) * p
        return (d, Xd) if d.any() else (-gradient, problem.scores(-gradient))

    def _was_last_step(self) -> bool:
        """Count a step and return whether it was the last; d is then a direction of descent."""
        if self.steps_left is not None:
            self.steps_left -= 1
        return self.steps_left == 0


def _exact_direction(hessian: Floats, gradient: Floats) -> Floats | None:
    """Return d with H d = -g; None if rounding made H not positive definite."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        with one_blas_thread():
            return np.asarray(-cho_solve(cho_factor(hessian), gradient), dtype=np.float64)
    except (LinAlgError, ValueError):  # ValueError: a value is not finite
        return None


class _NewtonLine:
    """f(w + t d), with scores that are linear in t, so that no point of it needs a product with X."""

    def __init__(
        self,
        problem: LinearProblem,
        w: Floats,
        d: Floats,
        scores: Floats,
        Xd: Floats,
        iteration: int,
    ) -> None:
        self.problem, self.scores, self.Xd, self.iteration = problem, scores, Xd, iteration
        self.linear, self.quadratic = problem.l2 * float(np.sum(w * d)), problem.l2 * norm2(d)

    def scores_at(self, t: float) -> Floats:
        """Return the predictions at w + t d."""
        out = t * self.Xd
        out += self.scores
        return np.asarray(out)

    def slope(self, g: Floats, t: float) -> float:
        """Return the derivative with respect to t, from the loss's gradient at the predictions."""
        return float(np.sum(g * self.Xd)) + self.linear + t * self.quadratic

    def loss(self, t: float) -> tuple[float, float, Floats]:
        """Return f, the loss alone, and its gradient."""
        loss, g = self.problem.loss(self.scores_at(t))
        value = loss + t * self.linear + 0.5 * t * t * self.quadratic
        check_finite(value, self.iteration)
        return value, loss, g

    def search(self, loss: float, first: float) -> tuple[float, float, Floats | None]:
        """Return a step t near the minimum, with the loss and its gradient there.

        Regula falsi on the slope, which is `first` at t = 0: for a convex piecewise quadratic
        (squared hinge) the slope is piecewise linear, so one or two steps are exact. If the same end
        of the bracket stays, its slope is halved (the Illinois rule); otherwise the other end would
        move too slowly. If there is no lower point, t = 0 without a gradient.
        """
        best, lowest, t = (0.0, loss), loss, 1.0
        low, slope_low, high, slope_high, last = 0.0, first, np.inf, np.inf, 0.0
        for _ in range(30):
            g: Floats | None = None  # the gradient of the last point frees its memory
            value, loss_t, g = self.loss(t)
            slope, tried = self.slope(g, t), t
            if value <= lowest:
                best, lowest = (t, loss_t), value
            if best[0] == t and abs(slope) <= 0.1 * abs(first):
                break
            side = np.sign(slope)
            if slope < 0:
                low, slope_low, slope_high = t, slope, slope_high / (2 if side == last else 1)
            else:
                high, slope_high, slope_low = t, slope, slope_low / (2 if side == last else 1)
            last = side
            if np.isinf(high):
                # Twice as far as a line through the slopes says: they often change less behind t.
                further = 2 * slope / (first - slope) if slope > first else 1.0
                t *= 1 + min(1.0, max(0.25, further))
                continue
            t = low + (high - low) * slope_low / (slope_low - slope_high)
            if not low < t < high:
                break
        if best[0] != tried:
            g = self.loss(best[0])[2] if best[0] > 0 else None
        return *best, g

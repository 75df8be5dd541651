"""Newton's method for linear models, exact for few weights, truncated for many; line search in prediction
space."""

from __future__ import annotations

import numpy as np

from podium.errors import UsageError
from podium.optim.lbfgs import PRECISION
from podium.optim.linear import Each, Floats, LinearProblem, Minimum, check_finite, norm2
from podium.optim.stopping import SmallGradient
from podium.optim.threads import one_blas_thread

FEW = 200
"""With more weights than this the whole Hessian, d^2 numbers for each row of X, is never made."""

STEP_SHARE = 5
"""Making it takes about as long as d / 5 steps of conjugate gradients, each of which reads X twice."""


def newton_cg(
    problem: LinearProblem,
    start: Floats,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    each: Each | None = None,
) -> Minimum:
    """Minimise f(w) = l2/2 |w|^2 + loss(X w) by Newton steps that are solved only as far as it pays.

    Each step solves H d = -g by conjugate gradients to |H d + g| <= eta |g|, then searches along d.
    Predictions are linear along a line, so the search costs no product with X. Where the loss
    multiplies many directions in one go and there are few weights, conjugate gradients get as many
    steps in all as making H costs; from then on steps are exact. Lin, Weng and
    Keerthi, Trust region Newton method for large-scale logistic regression, JMLR 2008; Chapelle
    and Keerthi, Efficient algorithms for ranking with SVMs, Information Retrieval 2010.

    Parameters
    ----------
    problem
        With a `product` (and l2 > 0, so that H is positive definite).
    start
        The first weights.
    tol
        Converged where |g| <= tol |g at w = 0|.

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
        raise UsageError("expected a loss with a Hessian product for Newton's method, got none")
    w, scores = start.astype(np.float64), problem.scores(start)
    loss, g = problem.loss(scores)
    gradient = problem.pull(g) + problem.l2 * w
    # Measured against the slope at 0, so that a warm start need not be better than a cold one.
    cold = gradient if not w.any() else problem.pull(problem.loss(np.zeros_like(scores))[1])
    stop = SmallGradient(tol, float(np.sqrt(norm2(cold))))
    slope, iteration, step = float(np.sqrt(norm2(gradient))), 0, 1.0
    solver = _Solver(problem, stop)
    check_finite(loss, iteration)
    check_finite(slope, iteration, "gradient's norm")
    while not stop(slope) and iteration < max_iter and step > 0:
        iteration += 1
        direction, along = solver(scores, gradient, slope)
        step, loss, g = _line_search(problem, w, direction, scores, along, loss, g, iteration)
        w, scores = w + step * direction, scores + step * along
        gradient = problem.pull(g) + problem.l2 * w
        slope = float(np.sqrt(norm2(gradient)))
        check_finite(slope, iteration, "gradient's norm")
        if each is not None:
            each(iteration, w, loss + 0.5 * problem.l2 * norm2(w))
    return Minimum(
        x=w,
        value=loss + 0.5 * problem.l2 * norm2(w),
        iterations=iteration,
        # No lower point: as far as doubles go, or a search that failed.
        converged=stop(slope) or (step == 0 and slope <= PRECISION * stop.first),
        reason=f"gradient norm {slope:.1e}, wanted {stop.tol * stop.first:.1e}",
        gradient_norm=slope,
    )


class _Solver:
    """Newton's directions: d with H d = -g, or about that, and X d."""

    def __init__(self, problem: LinearProblem, stop: SmallGradient) -> None:
        self.problem, self.stop = problem, stop
        d = problem.X.shape[1]
        self.steps_left = d // STEP_SHARE if problem.products is not None and d <= FEW else None

    def __call__(self, scores: Floats, gradient: Floats, slope: float) -> tuple[Floats, Floats]:
        if self.steps_left == 0:
            d = _exact_direction(self.problem.hessian(scores), gradient)
            if d is not None:
                return d, self.problem.scores(d)
            self.steps_left = None
        return self._truncated(scores, gradient, slope)

    def _truncated(self, scores: Floats, gradient: Floats, slope: float) -> tuple[Floats, Floats]:
        """By conjugate gradients.

        The accuracy grows with the steps (eta = min(0.1, sqrt(|g| / |g_0|))): early ones need
        little. The last one needs no more than what is asked for in the end: its residual is the
        next gradient, but for the curvature's change (Eisenstat and Walker, SIAM J. Sci. Comput.
        1996, section 2.1).
        """
        problem, stop = self.problem, self.stop
        assert problem.product is not None
        eta = min(0.1, np.sqrt(slope / stop.first)) if stop.first > 0 else 0.1
        small = max(eta * slope, 0.5 * stop.tol * stop.first)
        d, along = np.zeros_like(gradient), np.zeros_like(scores)
        r = -gradient
        p, rr = r, norm2(r)
        for _ in range(2 * len(gradient)):
            forward = problem.scores(p)
            Hp = problem.pull(problem.product(scores, forward)) + problem.l2 * p
            curvature = float(np.sum(p * Hp))
            if curvature <= 0:  # rounding, where the loss is flat and l2 tiny
                break
            step = rr / curvature
            d, along, r = d + step * p, along + step * forward, r - step * Hp
            rr, before = norm2(r), rr
            if self._was_last_step() or np.sqrt(rr) <= small:
                break
            p = r + (rr / before) * p
        return (d, along) if d.any() else (-gradient, problem.scores(-gradient))

    def _was_last_step(self) -> bool:
        """Count a step; after the last one, what is found so far still is a direction to go."""
        if self.steps_left is not None:
            self.steps_left -= 1
        return self.steps_left == 0


def _exact_direction(hessian: Floats, gradient: Floats) -> Floats | None:
    """d with H d = -g; None where rounding has left H not positive definite."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        with one_blas_thread():
            return np.asarray(-cho_solve(cho_factor(hessian), gradient), dtype=np.float64)
    except (LinAlgError, ValueError):  # the latter for what is no number
        return None


def _line_search(
    problem: LinearProblem, w: Floats, d: Floats, scores: Floats, along: Floats,
    loss: float, g: Floats, iteration: int,
) -> tuple[float, float, Floats]:  # fmt: skip
    """A step t near the minimum of f(w + t d), with the loss and its gradient there.

    Regula falsi on the slope: for a convex piecewise quadratic (squared hinge) the slope is
    piecewise linear, so one or two steps are exact. Where the same end of the bracket stays, its
    slope is halved (the Illinois rule), or the other end would creep. t = 0 where no lower point
    is found.
    """
    linear, quadratic = problem.l2 * float(np.sum(w * d)), problem.l2 * norm2(d)

    def at(t: float) -> tuple[float, float, float, Floats]:
        loss_t, g_t = problem.loss(scores + t * along)
        value = loss_t + t * linear + 0.5 * t * t * quadratic
        check_finite(value, iteration)
        return value, float(np.sum(g_t * along)) + linear + t * quadratic, loss_t, g_t

    first = float(np.sum(g * along)) + linear
    best, lowest, t = (0.0, loss, g), loss, 1.0
    low, slope_low, high, slope_high, last = 0.0, first, np.inf, np.inf, 0.0
    for _ in range(30):
        value, slope, loss_t, g_t = at(t)
        if value <= lowest:
            best, lowest = (t, loss_t, g_t), value
        if best[0] == t and abs(slope) <= 0.1 * abs(first):
            break
        side = np.sign(slope)
        if slope < 0:
            low, slope_low, slope_high = t, slope, slope_high / (2 if side == last else 1)
        else:
            high, slope_high, slope_low = t, slope, slope_low / (2 if side == last else 1)
        last = side
        if np.isinf(high):
            t *= 2
            continue
        t = low + (high - low) * slope_low / (slope_low - slope_high)
        if not low < t < high:
            break
    return best

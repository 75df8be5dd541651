"""L-BFGS: limited-memory BFGS for smooth functions, by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.optim.linear_problem import IterationCallback, Minimum, check_finite
from podium.optim.threads import one_blas_thread
from podium.typing import Floats

ROUNDING_SLOPE = 1e-6
"""If a line search finds no lower point, slopes up to this share of the steepest count as converged."""


def lbfgs(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    tol: float = 1e-6,
    steepest: float | None = None,
    max_iter: int = 1000,
    callback: IterationCallback | None = None,
    nonnegative: bool = False,
) -> Minimum:
    """Minimise a smooth function; converged if max |g| <= tol `steepest`.

    Parameters
    ----------
    function
        x -> value and gradient.
    start
        The first point.
    tol, steepest
        The search has converged if the largest component of the gradient is at most tol times
        `steepest`, by default the largest at the start. For a warm start, pass that of the cold
        start.
    max_iter
        The maximum number of iterations. A result that reaches it is marked as not converged.
    callback
        Called once per iteration.
    nonnegative
        Whether to minimise over x >= 0: if x is 0, a gradient that points below 0 does not count.

    Examples
    --------
    >>> minimum = lbfgs(lambda x: (float(np.sum((x - 1) ** 4)), 4 * (x - 1) ** 3), np.zeros(2))
    >>> minimum.converged, minimum.x.round(1).tolist()
    (True, [1.0, 1.0])
    """
    from scipy.optimize import minimize

    iteration = 0

    def finite_function(x: Floats) -> tuple[float, Floats]:
        value, gradient = function(x)
        check_finite(value, iteration)
        return value, gradient

    def count_iteration(intermediate_result: Any) -> None:
        nonlocal iteration
        iteration += 1
        if callback is not None:
            callback(iteration, np.array(intermediate_result.x), float(intermediate_result.fun))

    if steepest is None:
        steepest = _largest_slope(start, finite_function(start)[1], nonnegative)
    limit = tol * steepest
    with one_blas_thread():
        result = minimize(
            finite_function, start, jac=True, method="L-BFGS-B", callback=count_iteration,
            bounds=[(0.0, None)] * len(start) if nonnegative else None,
            options={
                "gtol": limit, "ftol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter,
                "maxcor": 20,
            },
        )  # fmt: skip
    slope = _largest_slope(result.x, np.asarray(result.jac), nonnegative)
    if result.status != 1 and iteration < max_iter:  # no lower point: the limit of double precision
        limit = max(limit, ROUNDING_SLOPE * steepest)
    return Minimum(
        x=np.asarray(result.x, dtype=np.float64),
        value=float(result.fun),
        iterations=int(result.nit),
        converged=slope <= limit,
        reason=f"the largest gradient component is {slope:.1e}; the limit is {limit:.1e}",
        gradient_norm=slope,
    )


def _largest_slope(x: Floats, gradient: Floats, nonnegative: bool) -> float:
    """Return the largest component of the gradient along which x may move."""
    free = gradient[(x > 0) | (gradient < 0)] if nonnegative else gradient
    return float(np.abs(free).max(initial=0.0))

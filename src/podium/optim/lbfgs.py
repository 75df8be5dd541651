"""Limited-memory BFGS on the whole data, by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.optim.linear import Each, Floats, Minimum, check_finite
from podium.optim.threads import one_blas_thread

PRECISION = 1e-6
"""Where a line search finds no lower point, a slope this small against the steepest is the end."""


def lbfgs(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    tol: float = 1e-6,
    steepest: float | None = None,
    max_iter: int = 1000,
    each: Each | None = None,
    nonnegative: bool = False,
) -> Minimum:
    """Minimise a smooth function; converged where max |g| <= tol `steepest`.

    Parameters
    ----------
    function
        x -> value and gradient.
    start
        The first point.
    tol, steepest
        How small the largest component of the gradient must become, and against what: the one at
        the start, unless given (a warm start should not be asked for more than a cold one).
    max_iter
        Iterations at most; reaching it is marked in the result, not an error.
    each
        Called once an iteration.
    nonnegative
        Minimise over x >= 0: where x is 0, a gradient that points out of that is none.

    Examples
    --------
    >>> found = lbfgs(lambda x: (float(np.sum((x - 1) ** 4)), 4 * (x - 1) ** 3), np.zeros(2))
    >>> found.converged, found.x.round(1).tolist()
    (True, [1.0, 1.0])
    """
    from scipy.optimize import minimize

    iteration = 0

    def checked(x: Floats) -> tuple[float, Floats]:
        value, gradient = function(x)
        check_finite(value, iteration)
        return value, gradient

    def callback(intermediate_result: Any) -> None:
        nonlocal iteration
        iteration += 1
        if each is not None:
            each(iteration, np.array(intermediate_result.x), float(intermediate_result.fun))

    def steepness(x: Floats, gradient: Floats) -> float:
        free = gradient[(x > 0) | (gradient < 0)] if nonnegative else gradient
        return float(np.abs(free).max(initial=0.0))

    if steepest is None:
        steepest = steepness(start, checked(start)[1])
    limit = tol * steepest
    with one_blas_thread():
        found = minimize(
            checked, start, jac=True, method="L-BFGS-B", callback=callback,
            bounds=[(0.0, None)] * len(start) if nonnegative else None,
            options={
                "gtol": limit, "ftol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter,
                "maxcor": 20,
            },
        )  # fmt: skip
    slope = steepness(found.x, np.asarray(found.jac))
    if found.status != 1 and iteration < max_iter:  # no lower point: as far as doubles go
        limit = max(limit, PRECISION * steepest)
    return Minimum(
        x=np.asarray(found.x, dtype=np.float64),
        value=float(found.fun),
        iterations=int(found.nit),
        converged=slope <= limit,
        reason=f"largest gradient component {slope:.1e}, wanted {limit:.1e}",
        gradient_norm=slope,
    )

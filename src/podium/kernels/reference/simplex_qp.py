"""A small dense quadratic programme over a simplex, by an active set method."""

from __future__ import annotations

import numpy as np

from podium.typing import Floats


def simplex_qp(H: Floats, b: Floats, total: float, start: Floats) -> Floats:
    """Minimise 1/2 a'Ha - b'a over a >= 0, sum a = total, from `start` (scaled to the total).

    On the support (a > 0) it walks to the minimum of the affine hull and drops the index that stops the
    walk. At the minimum it admits the index of steepest descent.
    """
    a = np.maximum(start, 0.0)
    if len(a) == 0:
        return a
    without_curvature = not H.diagonal().max() > 0  # then the minimum is a corner
    if without_curvature or not a.sum() > 0:
        a = np.zeros(len(a))
        a[np.argmin(total * H.diagonal() / 2 - b)] = 1.0
    a *= total / a.sum()
    support, admitted, full_steps = np.flatnonzero(a).tolist(), -1, 0
    for _ in range(100 + 50 * len(a)):
        gradient = H[:, support] @ a[support] - b
        small = 1e-14 * float((abs(H[:, support]) @ a[support] + abs(b)).max())  # rounding
        low, high = gradient[support].min(), gradient[support].max()
        if high - low <= small or full_steps == 3:
            steepest = int(np.argmin(gradient))
            if steepest in support or gradient[steepest] >= low - small:
                break
            support, admitted, full_steps = [*support, steepest], steepest, 0
        p = _hull_step(H[np.ix_(support, support)], gradient[support])
        falling = np.flatnonzero(-p > a[support])
        if len(falling) == 0:
            a[support] = np.maximum(a[support] + p, 0.0)
            admitted, full_steps = -1, full_steps + 1
            continue
        lengths = a[support][falling] / -p[falling]
        stopped = int(falling[np.argmin(lengths)])
        a[support] = np.maximum(a[support] + lengths.min() * p, 0.0)
        dropped = support.pop(stopped)
        a[dropped] = 0.0
        if dropped == admitted:  # dropped at once: the rest is rounding
            break
        admitted, full_steps = -1, 0
    return np.asarray(a * (total / a.sum()))


def _hull_step(H: Floats, gradient: Floats) -> Floats:
    """Return p with H p = mu - g and sum p = 0; 11' changes nothing for such p and makes H definite."""
    sigma = float(H.diagonal().max()) or 1.0
    K = H + sigma + 1e-13 * sigma * np.eye(len(H))
    ones, p = np.linalg.solve(K, np.column_stack([np.ones(len(H)), gradient])).T
    return np.asarray(p.sum() / ones.sum() * ones - p)

"""The dual of cutting planes in blocks, climbed block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def block_ascent(
    slopes: Floats,
    offsets: Floats,
    used: Rows,
    weights: Floats,
    w: Floats,
    sweeps: int,
    steps: int,
    enough: float,
) -> tuple[Floats, Floats, float]:
    """Minimise 1/2 |w|^2 + sum_i total_i max_k (offset_ik + slope_ik.w) through its dual.

    The weights a_ik >= 0 of block i sum to total_i and w = -sum a slope. A step moves weight within
    a block from the lowest plane that has any to the highest, as far as the dual rises; a sweep
    takes up to `steps` in each block. Sweeps end when the blocks' gaps are no more than `enough` in
    all. Returns weights, w, and the gaps the last sweep found.
    """
    a, w, gap = weights.copy(), w.copy(), 0.0
    for _ in range(sweeps):
        gap = 0.0
        for i, n in enumerate(used.tolist()):
            planes, values = slopes[i, :n], offsets[i, :n] + slopes[i, :n] @ w
            gap += float((a[i, :n] * (values.max() - values)).sum())
            for _ in range(steps):
                high, low = (
                    int(values.argmax()),
                    int(np.where(a[i, :n] > 0, values, np.inf).argmin()),
                )
                if not (a[i, low] > 0 and values[high] > values[low]):
                    break
                way = planes[high] - planes[low]
                length = float(way @ way)
                moved = a[i, low]
                if length > 0:
                    moved = min(moved, (values[high] - values[low]) / length)
                a[i, high] += moved
                a[i, low] -= moved
                w -= moved * way
                values -= moved * (planes @ way)
        if gap <= enough:
            break
    return a, w, gap

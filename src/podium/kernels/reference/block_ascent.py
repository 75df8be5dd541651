"""Block ascent: maximise the dual of block cutting planes, block by block."""

from __future__ import annotations

import numpy as np

from podium.typing import Floats, Rows


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
    a block from the lowest plane with a positive weight to the highest, as long as the dual rises. A
    sweep takes up to `steps` steps in each block. Sweeps end if the gaps of all blocks sum
    to at most `enough`. Returns weights, w, and the sum of gaps of the last sweep.
    """
    a, w, gap = weights.copy(), w.copy(), 0.0
    for _ in range(sweeps):
        gap = 0.0
        for i, n in enumerate(used.tolist()):
            planes, values = slopes[i, :n], offsets[i, :n] + slopes[i, :n] @ w
            gap += float((a[i, :n] * (values.max() - values)).sum())
            for _ in range(steps):
                high = int(values.argmax())
                low = int(np.where(a[i, :n] > 0, values, np.inf).argmin())
                if not (a[i, low] > 0 and values[high] > values[low]):
                    break
                direction = planes[high] - planes[low]
                length = float(direction @ direction)
                moved = a[i, low]
                if length > 0:
                    moved = min(moved, (values[high] - values[low]) / length)
                a[i, high] += moved
                a[i, low] -= moved
                w -= moved * direction
                values -= moved * (planes @ direction)
        if gap <= enough:
            break
    return a, w, gap

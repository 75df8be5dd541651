"""Cohen's kappa and Krippendorff's alpha: agreement of assessors beyond chance."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from podium.errors import LengthMismatchError, UnknownNameError
from podium.typing import Floats, Ints

Level = Literal["nominal", "ordinal", "interval"]


def cohen_kappa(counts: ArrayLike) -> float:
    """Agreement of two assessors beyond chance: kappa = (p_o - p_e) / (1 - p_e).

    p_o is the share of the diagonal. p_e = sum_c p_c. p_.c is the agreement of independent assessors with
    the same shares of answers. Cohen, A coefficient of agreement for nominal scales, 1960.

    Parameters
    ----------
    counts
        How often the first answered c (row) and the second d (column). If all answers are the same,
        kappa is undefined: nan.

    Examples
    --------
    >>> round(cohen_kappa([[20, 5], [10, 15]]), 4)        # p_o = 0.7, p_e = 0.5
    0.4
    """
    table = np.asarray(counts, dtype=np.float64)
    total = table.sum()
    if total == 0:
        return float("nan")
    chance = float(table.sum(axis=1) @ table.sum(axis=0)) / total**2
    return float((np.trace(table) / total - chance) / (1 - chance)) if chance < 1 else float("nan")


def same_units(unit: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of rows of the same unit, the earlier row first.

    Examples
    --------
    >>> [rows.tolist() for rows in same_units(np.array([7, 3, 7, 7]))]
    [[0, 2, 0], [2, 3, 3]]
    """
    order = np.argsort(unit, kind="stable")
    ordered = unit[order]
    first, second = [order[:0]], [order[:0]]
    rows = np.arange(len(order))
    gap = 1
    # Sorted rows of a unit are neighbours: take pairs at distance 1, then 2, ... until none is left.
    while len(rows := rows[rows + gap < len(order)]):
        rows = rows[ordered[rows] == ordered[rows + gap]]
        first.append(order[rows])
        second.append(order[rows + gap])
        gap += 1
    return np.concatenate(first), np.concatenate(second)


def coincidences(unit: ArrayLike, value: ArrayLike, n_values: int) -> Floats:
    """Count coincidences of values: each ordered pair of the m values of a unit counts 1 / (m - 1).

    Parameters
    ----------
    unit
        The number of the question, for each judgment.
    value
        The answer, from 0.
    n_values
        The number of possible answers.
    """
    units, values = np.asarray(unit, dtype=np.int64), np.asarray(value, dtype=np.int64)
    if units.shape != values.shape:
        raise LengthMismatchError(
            f"expected as many units as values, got {units.shape} and {values.shape}"
        )
    codes = np.unique(units, return_inverse=True)[1]
    a, b = same_units(codes)
    weight = 1.0 / (np.bincount(codes)[codes[a]] - 1)
    counts = np.bincount(values[a] * n_values + values[b], weight, n_values**2)
    table = counts.reshape(n_values, n_values)
    return np.asarray(table + table.T)


def krippendorff_alpha(coincidence: ArrayLike, level: Level = "nominal") -> float:
    """Agreement of any number of assessors beyond chance: alpha = 1 - D_o / D_e.

    D_o = sum_cd o_cd delta^2_cd / n, D_e = sum_cd n_c n_d delta^2_cd / (n (n - 1)), with o the matrix
    of `coincidences`, n_c its sums. delta^2 is 1 for different values (nominal), (c - d)^2 (interval),
    or (sum_{g=c..d} n_g - (n_c + n_d) / 2)^2 (ordinal). Krippendorff, Content analysis, 2004, ch. 11.

    Parameters
    ----------
    coincidence
        See `coincidences`. If all values are the same, alpha is undefined: nan.
    level
        How values differ: ``"nominal"``, ``"ordinal"`` or ``"interval"``.

    Examples
    --------
    Two assessors and eight units: they agree on 0 five times, on 1 twice, and disagree once:

    >>> o = [[10, 1], [1, 4]]
    >>> round(krippendorff_alpha(o), 4)      # 1 - (16 - 1) 2 / (2 * 11 * 5)
    0.7273
    """
    if level not in get_args(Level):
        raise UnknownNameError("level", level, get_args(Level))
    o = np.asarray(coincidence, dtype=np.float64)
    sums = o.sum(axis=1)
    n = sums.sum()
    distance = _distance(sums, level)
    expected = float(sums @ distance @ sums)
    if expected == 0:
        return float("nan")
    return float(1 - (n - 1) * np.sum(o * distance) / expected)


def _distance(sums: Floats, level: Level) -> Floats:
    """Return delta^2 between all values."""
    place = np.arange(len(sums), dtype=np.float64)
    if level == "nominal":
        return np.not_equal.outer(place, place).astype(np.float64)
    if level == "ordinal":  # the mean rank of a value among all answers
        place = np.cumsum(sums) - sums / 2
    return np.subtract.outer(place, place) ** 2

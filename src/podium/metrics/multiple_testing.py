"""Multiple testing: Holm, Bonferroni and Benjamini-Hochberg corrections of p-values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from podium.data.argument_checks import to_array
from podium.errors import DataError, UnknownNameError
from podium.typing import Floats


def correct(p_values: Sequence[float], method: str = "holm") -> list[float]:
    """Return p-values corrected for many comparisons.

    "holm" and "bonferroni" bound the probability of any false claim; "bh" (Benjamini-Hochberg)
    bounds the share of false claims; "none" changes nothing.

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03], "holm")
    [0.03, 0.06, 0.06]
    """
    if method not in CORRECTIONS:
        raise UnknownNameError("correction", method, CORRECTIONS)
    p = to_array(p_values, "p-values", np.float64)
    if ((p < 0) | (p > 1) | np.isnan(p)).any():
        raise DataError(f"expected p-values from 0 to 1, got {list(p_values)}")
    return [float(v) for v in CORRECTIONS[method](p)] if len(p) else []


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1)


def _benjamini_hochberg(p: Floats) -> Floats:
    order = np.argsort(-p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1)


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "holm": _holm,
    "bonferroni": lambda p: np.minimum(p * len(p), 1),
    "bh": _benjamini_hochberg,
    "none": lambda p: p,
}
"""Every correction of p-values by name."""

"""Alpha, the value of a list for its user: phi maps the eight factors to a number in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import UsageError
from podium.feedback.factors import FACTORS, N_POSITIVE
from podium.typing import Floats

PhiFunction = Callable[[Floats], ArrayLike]
"""A function: factors (n, 8), with NaN in columns that the log lacks -> n numbers in [0, 1]."""


@dataclass(frozen=True)
class Phi:
    """The default phi: positive against negative factors, each saturated and weighted.

    s_j = 1 - exp(-mu_j / scale_j) P = sum_j w_j s_j / sum_j w_j over the positive factors of the
    log, N in the same way over the negative ones phi(mu) = (1 + P - N) / 2

    So alpha is 1/2 if nobody reacted (or the log has no factor), near 1 if all positive factors are
    large, and near 0 if all negative ones are. A factor that a log lacks is not 0: it is left out
    of the mean. (CFBRS, Definition 4, does not define phi: "a heuristically defined function".)

    Parameters
    ----------
    weights
        w_1..w_8, 0 or more, at least one of them above 0.
    scales
        A large value of each factor, at which s_j = 0.63. The defaults: one event per list of ten
        documents, ten seconds per document, and all documents ignored.

    Examples
    --------
    >>> import numpy as np
    >>> mu = np.array([[0.2, 0, 12, 0, 0, 0.1, 0, 0]])     # 2 clicks on 10 documents, 2 minutes, ...
    >>> Phi()(mu).round(4).tolist()
    [0.6405]
    >>> mu[:, [1, 3, 4, 6]] = np.nan                       # a log with none of these
    >>> Phi()(mu).round(4).tolist()
    [0.8671]
    """

    weights: tuple[float, ...] = (1.0,) * 8
    scales: tuple[float, ...] = (0.1, 0.1, 10.0, 0.1, 0.1, 1.0, 0.1, 0.1)

    def __post_init__(self) -> None:
        for name, least in (("weights", 0.0), ("scales", np.nextafter(0, 1))):
            try:
                values = tuple(float(v) for v in getattr(self, name))
            except (TypeError, ValueError):
                raise UsageError(
                    f"expected 8 {name} of phi, each a number, got {getattr(self, name)!r}"
                ) from None
            if len(values) != len(FACTORS) or not all(least <= v < np.inf for v in values):
                raise UsageError(
                    f"expected 8 {name} of phi, {'0 or more' if least == 0 else 'above 0'} and "
                    f"finite, got {values}"
                )
            object.__setattr__(self, name, values)
        if not any(self.weights):
            raise UsageError("all 8 weights of phi are 0; expected at least one above 0")

    def __call__(self, mu: Floats) -> Floats:
        """Return alpha of each row of factors."""
        s = -np.expm1(-mu / np.array(self.scales))
        w = np.where(np.isnan(mu), 0.0, np.array(self.weights))
        s = np.where(np.isnan(mu), 0.0, s)
        good, bad = slice(0, N_POSITIVE), slice(N_POSITIVE, None)
        return np.asarray((1 + _mean(s[:, good], w[:, good]) - _mean(s[:, bad], w[:, bad])) / 2)


def _mean(s: Floats, w: Floats) -> Floats:
    total = w.sum(axis=1)
    return np.asarray((w * s).sum(axis=1) / np.where(total > 0, total, 1.0))


def apply_phi(phi: PhiFunction, mu: Floats) -> Floats:
    """Return phi of these factors; raise if the result is invalid."""
    if not callable(phi):
        raise UsageError(f"expected phi as a function of the factors, got {phi!r}")
    values = phi(mu.copy())
    try:
        alpha = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError):
        raise UsageError(f"expected phi to return numbers, got {values!r:.60}") from None
    if alpha.shape != (len(mu),):
        raise UsageError(
            f"expected phi to return {len(mu)} numbers, one per row of factors, got an array "
            f"of shape {alpha.shape}"
        )
    wrong = ~((alpha >= 0) & (alpha <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        factors = ", ".join(f"{n}={v:.4g}" for n, v in zip(FACTORS, mu[row], strict=True))
        raise UsageError(
            f"expected phi to return numbers in [0, 1], got {alpha[row]} for {factors}"
        )
    return alpha


def check_sizes(sizes: Sequence[int] | ArrayLike) -> NDArray[np.int64]:
    """Return the sizes of a composition's blocks as an array; raise for wrong sizes."""
    values = np.asarray(sizes)
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "iu" or (values < 1).any():
        raise UsageError(f"expected the sizes of a composition's blocks, 1 or more, got {sizes!r}")
    return values.astype(np.int64)


def split_alpha(alpha: float, sizes: Sequence[int] | ArrayLike) -> Floats:
    """Divide the feedback on a composition among its blocks: alpha n_k / N (CFBRS).

    Examples
    --------
    >>> split_alpha(0.5, [1, 3, 4]).tolist()
    [0.0625, 0.1875, 0.25]
    """
    n = check_sizes(sizes)
    if not 0 <= alpha <= 1:
        raise UsageError(f"expected alpha in [0, 1], got {alpha}")
    return np.asarray(alpha * n / n.sum())

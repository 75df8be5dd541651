"""The aggregator, the base of all methods: it combines rankings of the same documents into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.aggregation.rankings import Rankings
from podium.counted_nouns import count_text
from podium.errors import LengthMismatchError, NonFiniteError, UsageError
from podium.typing import Floats


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    try:
        return bool(np.isfinite(float(value)) and value >= 0)
    except OverflowError:
        return False


def _is_count(value: object) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and 0 <= value < 2**63  # type: ignore[operator]


_OPTION_CHECKS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": _is_count,
    "float": _is_number,
    "float | None": lambda value: value is None or _is_number(value),
}
_OPTION_DESCRIPTIONS = {
    "bool": "true or false",
    "int": "a whole number of 0 or more",
    "float": "a number of 0 or more",
    "float | None": "a number of 0 or more, or None",
}


@dataclass(frozen=True, eq=False, repr=False)
class Consensus:
    """The result of an aggregator: one score per row, higher is better.

    Aggregators that minimise a distance also return, for each query, the distance of their order
    and a proved lower bound for all orders (`bound`).
    """

    scores: Floats
    distance: Floats | None = None
    bound: Floats | None = None

    def __repr__(self) -> str:
        proved = (
            "" if self.optimal is None else f", {int(self.optimal.sum()):,} queries proved optimal"
        )
        return f"Consensus({count_text(len(self.scores), 'document')}{proved})"

    @property
    def optimal(self) -> NDArray[np.bool_] | None:
        """Whether each query's order is proved to be optimal; None without a bound."""
        if self.distance is None or self.bound is None:
            return None
        return self.distance - self.bound <= 1e-9 * np.maximum(1.0, np.abs(self.distance))


@dataclass(frozen=True)
class Aggregator(ABC):
    """A method that combines many rankings into one; its settings are its fields."""

    name: ClassVar[str]
    paper: ClassVar[str]

    def __post_init__(self) -> None:
        for option in fields(self):
            value, kind = getattr(self, option.name), str(option.type)
            if kind in _OPTION_CHECKS and not _OPTION_CHECKS[kind](value):
                expected = _OPTION_DESCRIPTIONS[kind]
                raise UsageError(
                    f"expected {option.name} of {self.name} to be {expected}, got {value!r:.200}"
                )

    @abstractmethod
    def __call__(
        self, rankings: Rankings, weights: ArrayLike | None = None, initial: Floats | None = None
    ) -> Consensus:
        """Aggregate, query by query.

        Parameters
        ----------
        rankings
            The rankings of all rankers.
        weights
            The weight of each ranker; by default all are equal.
        initial
            One score per row: the order to start from; by default the weighted Borda count.
            Aggregators that need no start ignore it.
        """


@dataclass(frozen=True)
class PointAggregator(Aggregator):
    """Aggregators that sum points: the score of a document is sum_a p_a points_a(document)."""

    @abstractmethod
    def points(self, rankings: Rankings) -> Floats:
        """Return the points of documents by rankers: one row per document, one column per ranker."""

    def __call__(
        self, rankings: Rankings, weights: ArrayLike | None = None, initial: Floats | None = None
    ) -> Consensus:
        """Return the weighted sum of the points."""
        p = check_weights(weights, rankings)
        return Consensus(round_scores(weighted_sum(self.points(rankings), p)))


def weighted_sum(points: Floats, weights: Floats) -> Floats:
    """Return points @ weights, summed in the same order for any number of threads."""
    return np.asarray(np.einsum("ij,j->i", points, weights))


def round_scores(scores: Floats) -> Floats:
    """Round scores to twelve digits, so that rounding errors of sums do not break ties.

    Examples
    --------
    >>> round_scores(np.array([0.5000000000000001, 0.1 + 0.2, 0.0])).tolist()
    [0.5, 0.3, 0.0]
    """
    size = np.abs(scores)
    exponent = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    unit = 10.0 ** np.clip(11 - exponent, -290, 290)
    return np.asarray(np.rint(scores * unit) / unit)


def check_weights(weights: ArrayLike | None, rankings: Rankings) -> Floats:
    """Return one weight per ranker, 0 or more, with sum 1; raise for wrong weights."""
    if not isinstance(rankings, Rankings):
        raise UsageError(
            "expected Rankings, such as Rankings.of(...) or Rankings.from_runs(...), got "
            f"{type(rankings).__name__}"
        )
    if rankings.n_rankers == 0:
        raise UsageError("there are no rankings; expected at least one")
    if weights is None:
        return np.full(rankings.n_rankers, 1 / rankings.n_rankers)
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"expected numbers as weights, got {weights!r}") from None
    if values.shape != (rankings.n_rankers,):
        raise LengthMismatchError(
            f"expected {rankings.n_rankers} weights, one per ranking, got "
            f"{values.size if values.ndim == 1 else f'an array of shape {values.shape}'}"
        )
    if not np.isfinite(values).all() or (values < 0).any():
        wrong = values[~np.isfinite(values) | (values < 0)][0]
        raise UsageError(f"expected weights of 0 or more, got {wrong}")
    if not values.any():
        raise UsageError("all weights are 0; expected at least one above 0")
    values = values / values.max()  # so that their sum does not overflow
    return np.asarray(values / values.sum())


def order_by_scores(
    scores: ArrayLike, rankings: Rankings, what: str = "initial scores"
) -> NDArray[np.int64]:
    """Return the rows sorted by score, the highest first; ties are in the order of rows."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"expected numbers as {what}, got {scores!r}") from None
    rankings.groups.check(values, what)
    if np.isnan(values).any():
        raise NonFiniteError(
            f"expected {what} that can be sorted, got NaN in row {np.isnan(values).argmax()}"
        )
    return rankings.groups.order(values)

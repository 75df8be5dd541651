"""One list with its soft rules, and what a method makes of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium.errors import NonFiniteError, UsageError
from podium.postranking.binding import BoundRule, Listing
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.rules.conditions import short
from podium.postranking.rules.rule import Rule

Floats = NDArray[np.float64]
Base = Literal["uniform", "margin"]

SCORE_DIGITS = 8
"""Digits to which scores are compared; documents that differ by less keep the original order."""


@dataclass(frozen=True, eq=False)
class PostRankingProblem:
    """The documents in their original order, the model's scores of them, and soft rules."""

    listing: Listing
    scores: Floats | None
    rules: tuple[BoundRule, ...]
    prior: float = 0.1
    base: Base = "uniform"
    pairs: Pairs = "without"
    scale: Scale = "rule"

    @property
    def n(self) -> int:
        """The length of the list."""
        return len(self.listing.docs)


@dataclass(frozen=True, eq=False)
class Solution:
    """A score for every row: the higher, the further up; and how the method got there."""

    scores: Floats
    value: float = float("nan")
    gradient_norm: float = 0.0
    iterations: int = 0
    converged: bool = True


class Method(ABC):
    """Soft rules and an original order in, scores out; hard rules then restrict the places."""

    name: ClassVar[str]

    @abstractmethod
    def solve(self, problems: Sequence[PostRankingProblem]) -> list[Solution]:
        """The scores of every list."""

    def takes(self, rule: Rule) -> bool:
        """Whether the method can follow this rule where it is soft."""
        return True


def is_number(value: object) -> bool:
    """Whether a value is a real number; truth values are not."""
    numbers = int | float | np.integer | np.floating
    return isinstance(value, numbers) and not isinstance(value, bool)


def floats(values: object, what: str) -> Floats:
    """Numbers as an array, of any shape; anything else is a `UsageError`."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        raise NonFiniteError(f"expected finite {what}, got {short(values)}") from None
    except (TypeError, ValueError):
        raise UsageError(f"expected numbers as {what}, got {short(values)}") from None


def descending(order: Sequence[int]) -> Floats:
    """Scores n, n - 1, ..., 1 of rows best first, for methods that know an order only.

    Examples
    --------
    >>> descending([2, 0, 1])
    array([2., 1., 3.])
    """
    scores = np.empty(len(order))
    scores[list(order)] = np.arange(len(order), 0, -1)
    return scores

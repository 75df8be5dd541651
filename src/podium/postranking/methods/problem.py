"""The problem that methods solve: from one list and its soft rules to one score per document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from podium.postranking.listing import Listing
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.rules.rule import BoundRule, Rule
from podium.typing import Floats

Base = Literal["uniform", "margin"]

SCORE_DIGITS = 8
"""Scores are compared to this many digits; documents that differ by less keep the original order."""


@dataclass(frozen=True, eq=False)
class PostRankingProblem:
    """The documents in their original order, the model's scores, and the soft rules."""

    listing: Listing
    scores: Floats | None
    rules: tuple[BoundRule, ...]
    prior: float = 0.1
    base: Base = "uniform"
    pairs: Pairs = "without"
    scale: Scale = "rule"
    moves_later: bool = False
    """Whether hard rules move documents after the scores."""

    @property
    def n(self) -> int:
        """The length of the list."""
        return len(self.listing.docs)


@dataclass(frozen=True, eq=False)
class Solution:
    """A score for every row, higher is better, and how the method ended."""

    scores: Floats
    value: float = float("nan")
    gradient_norm: float = 0.0
    iterations: int = 0
    converged: bool = True


class Method(ABC):
    """A method turns the original order and soft rules into scores. Hard rules then restrict the places."""

    name: ClassVar[str]

    @abstractmethod
    def solve(self, problems: Sequence[PostRankingProblem]) -> list[Solution]:
        """Return the scores of every list."""

    def takes(self, rule: Rule) -> bool:
        """Whether the method accepts this rule as a soft rule."""
        return True


def by_score(scores: Floats) -> NDArray[np.int64]:
    """Return rows best first; scores that agree to `SCORE_DIGITS` digits keep the original order."""
    return np.argsort(-np.round(scores, SCORE_DIGITS), kind="stable")


def descending(order: Sequence[int]) -> Floats:
    """Return scores n, n - 1, ..., 1 for rows best first, for methods that return only an order.

    Examples
    --------
    >>> descending([2, 0, 1])
    array([2., 1., 3.])
    """
    scores = np.empty(len(order))
    scores[list(order)] = np.arange(len(order), 0, -1)
    return scores

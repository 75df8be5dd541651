"""Vote weights of TopRank, and the voters: the rankers to fit as members."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.ensemble.toprank.reranked_model import Member
from podium.errors import UsageError
from podium.rankers import Ranker

BEST_VOTERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lambdamart", {"loss": "lambdarank"}),
    ("lambdamart", {"loss": "xendcg"}),
    ("focused-boost", {"shrinkage": 0.1}),
    ("topk-listmle", {}),
)
"""The voters of mode "best": several families, and an odd number of votes with the base."""
PAPER_VOTERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("regression", {}),
    ("ranksvm", {}),
    ("listnet", {}),
)
"""The voters of mode "paper"."""


@dataclass(frozen=True)
class MemberSpec:
    """A ranker to fit with its own settings, or with the best settings of a grid."""

    ranker: Ranker
    grid: Mapping[str, Sequence[Any]] | None = None
    label: str = ""
    """Its name among the members; empty: the name of the ranker."""

    def __str__(self) -> str:
        return f"{self.ranker!r}" + ("" if self.grid is None else " tuned")


def check_vote_weights(weights: Any, voters: Sequence[str]) -> None:
    """Raise if weights are not "measured", "equal", or one number per voter."""
    if isinstance(weights, str):
        if weights not in ("measured", "equal"):
            raise UsageError(
                f"expected weights of toprank to be 'measured', 'equal' or numbers, got {weights!r}"
            )
    elif np.shape(weights) != (len(voters),):
        raise UsageError(
            f"expected {len(voters)} weights, one per voter ({', '.join(voters)}), got {weights!r}"
        )
    elif not all(_is_weight(weight) for weight in weights) or not any(weights):
        raise UsageError(
            f"expected weights of 0 or more, at least one of them above 0, got {weights!r}"
        )


def _is_weight(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    return math.isfinite(value) and float(value) >= 0


def vote_weights(
    weights: str | Sequence[float], members: Sequence[Member], base_has_vote: bool
) -> tuple[float, ...]:
    """Return p_a, the weight of each member's vote; they add up to 1.

    A base that does not vote has weight 0, unless it is the only member.
    """
    first = 0 if base_has_vote or len(members) == 1 else 1
    voters = members[first:]
    if isinstance(weights, str):
        values = [m.value for m in voters] if weights == "measured" else []
        p = [value for value in values if value is not None]
        usable = len(p) == len(voters) and any(p)
    else:
        p = list(weights)[: len(voters)]
        usable = any(p)
    return (0.0,) * first + _shares(p if usable else [1.0] * len(voters))


def _shares(weights: Sequence[float]) -> tuple[float, ...]:
    """Return weights that add up to 1."""
    total = math.fsum(weights)
    return tuple(float(weight / total) for weight in weights)

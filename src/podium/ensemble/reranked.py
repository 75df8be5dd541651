"""Lists whose heads are re-ranked by several models: what TopRank has learned."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium.aggregation import AGGREGATORS, Aggregator, Rankings
from podium.data.archives import read_json
from podium.data.groups import Groups
from podium.ensemble.heads import Heads
from podium.errors import ModelFileError, UsageError
from podium.rankers.certificate import Certificate
from podium.rankers.model_files import MODELS
from podium.rankers.models import Floats, Model, Part
from podium.rankers.parameters import check_parameters

DEEPEST, MOST_MEMBERS = 4, 256
"""What a model file may hold; more is taken for an attack."""


@dataclass(frozen=True, eq=False)
class Member:
    """One of the rankers: its name, how it was made, its model, and its value on validation."""

    name: str
    settings: str
    model: Model
    value: float | None = None
    asked: str = ""
    """What it was asked to be, before its settings were chosen."""
    reason: str = ""
    """Why its fit stopped, where that was too early."""
    certificate: Certificate | None = None
    """Where its optimiser stopped; not in files."""


@dataclass(frozen=True, eq=False)
class Reranked(Model):
    """The first member orders all documents; its first t are ordered by the votes of the members.

    A member of weight 0 has no vote. Of each voter's order of a head the first `depth` count.
    `from_base` says whether the aggregator starts from the base's order or from one of its own.
    """

    kind: ClassVar[str] = "reranked"

    members: tuple[Member, ...]
    weights: tuple[float, ...]
    t: int
    depth: int
    aggregator: Aggregator
    from_base: bool = False

    @property
    def base(self) -> Member:
        """The member that orders all documents."""
        return self.members[0]

    @property
    def voters(self) -> list[int]:
        """The members that vote."""
        return [a for a, weight in enumerate(self.weights) if weight > 0]

    @property
    def how(self) -> str:
        """The aggregator in words: its name, and what of it is not the default."""
        own = type(self.aggregator)()
        options = [
            f"{f.name}={getattr(self.aggregator, f.name)}"
            for f in dataclasses.fields(self.aggregator)
            if getattr(self.aggregator, f.name) != getattr(own, f.name)
        ]
        return " ".join([self.aggregator.name, *options])

    def told(self) -> str:
        """The vote in words."""
        if len(self.voters) == 1:
            return f"none: {self.members[self.voters[0]].name} alone orders the first {self.t}"
        votes = (f"{self.members[a].name} {self.weights[a]:.3f}" for a in self.voters)
        counted = "" if self.depth >= self.t else f", of each the first {self.depth}"
        return (
            f"on the first {self.t} of {self.base.name} by {self.how}{counted}: {', '.join(votes)}"
        )

    @property
    def n_features(self) -> int:
        """Those of the base."""
        return self.base.model.n_features

    def predict(self, X: NDArray[Any]) -> Floats:
        """There are no heads without queries."""
        raise UsageError(
            "expected to know which rows are a query's, whose first documents are re-ranked: give a "
            "RankingData, or an array with query ids, as in predict(X, qid=qid); "
            "got features alone"
        )

    def scores(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Minus the place of each row in its query."""
        base = self.base.model.scores(X, groups)
        heads = Heads.of(groups, base, self.t)
        return self.combine(groups, base, heads, self.votes(X, base, heads))

    def votes(self, X: NDArray[Any], base: Floats, heads: Heads) -> Floats:
        """The voters' scores of the heads' documents, a column each; nobody scores the others."""
        X = X[heads.rows]
        columns = [
            base[heads.rows] if a == 0 else self.members[a].model.scores(X, heads.groups)
            for a in self.voters
        ]
        return np.stack(columns, axis=1)

    def combine(self, groups: Groups, base: Floats, heads: Heads, votes: Floats) -> Floats:
        """The order of the heads by the aggregator, on top of the base's order of the rest."""
        consensus = np.empty(0)
        if len(heads.rows):
            rankings = Rankings.from_scores(heads.groups, votes).top(self.depth)
            weights = [self.weights[a] for a in self.voters]
            mu = -heads.groups.places.astype(np.float64)  # heads are in the base's order
            initial = mu if self.from_base else None
            consensus = self.aggregator(rankings, weights, initial).scores
        return heads.on_top(groups, consensus, base)

    def contributions(self, X: NDArray[Any]) -> Floats:
        """An order that is voted for has no parts that belong to one feature each."""
        raise UsageError(
            "expected a linear or tree model to explain by contributions, got a reranked one; its "
            "ranker's explain shows the votes, permutation_importance which features it needs"
        )

    def importance(self) -> Floats:
        """The features' shares in each voter, weighted as the votes are."""
        total = np.zeros(self.n_features)
        for a in self.voters:
            share = self.members[a].model.importance()
            total += self.weights[a] * share / (share.sum() or 1.0)
        return total

    def parts(self) -> dict[str, Part]:
        """What the vote is made of as JSON, and the parts of each member under its number."""
        described = [
            {"name": m.name, "settings": m.settings, "model": m.model.kind, "value": m.value,
             "asked": m.asked, "reason": m.reason, "weight": weight}
            for m, weight in zip(self.members, self.weights, strict=True)
        ]  # fmt: skip
        vote = {
            "members": described,
            "t": self.t,
            "depth": self.depth,
            "aggregator": self.aggregator.name,
            "options": dataclasses.asdict(self.aggregator),
            "from_base": self.from_base,
        }
        parts: dict[str, Part] = {"vote": json.dumps(vote, indent=1, allow_nan=False)}
        for number, member in enumerate(self.members):
            for name, part in member.model.parts().items():
                parts[f"{number}/{name}"] = part
        return parts

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """From the JSON and the members' parts; all must have the base's number of features."""
        if any(name.count("/") > DEEPEST for name in parts):
            raise ModelFileError(f"expected members within members {DEEPEST} deep at most")
        text = parts.get("vote")
        if not isinstance(text, str):
            raise ModelFileError("expected a text named 'vote' in the model")
        try:
            vote = read_json(text)
            if len(vote["members"]) > MOST_MEMBERS:
                raise ModelFileError(f"expected {MOST_MEMBERS} members at most")
            own = by_member(parts)
            members = tuple(_member(m, own.get(i, {})) for i, m in enumerate(vote["members"]))
            found = cls(
                members,
                tuple(number(m["weight"], 0.0) for m in vote["members"]),
                _count(vote["t"]),
                _count(vote["depth"]),
                aggregator_of(vote["aggregator"], vote["options"]),
                vote["from_base"] is True,
            )
        except ModelFileError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ModelFileError(
                f"expected members and how they vote in the model, got something else ({error})"
            ) from error
        if not found.members or not found.voters:
            raise ModelFileError("expected members with a vote in the model, got none")
        if any(m.model.n_features != found.n_features for m in found.members):
            raise ModelFileError("expected members with the same number of features each")
        return found


def by_member(parts: Mapping[str, Part]) -> dict[int, dict[str, Part]]:
    """Return the parts of every member by its number, in one pass: a file may have many members.

    Examples
    --------
    >>> by_member({"vote": "{}", "0/trees": "tree", "1/0/loss": "hinge"})
    {0: {'trees': 'tree'}, 1: {'0/loss': 'hinge'}}
    """
    members: dict[int, dict[str, Part]] = {}
    for name, part in parts.items():
        member, slash, rest = name.partition("/")
        if slash and member.isdecimal() and member.isascii() and len(member) < 10:
            members.setdefault(int(member), {})[rest] = part
    return members


def _member(told: Mapping[str, Any], parts: dict[str, Part]) -> Member:
    kinds: dict[str, type[Model]] = {**MODELS, Reranked.kind: Reranked}
    if told["model"] not in kinds:
        raise ModelFileError(
            f"expected a member of a known kind of model, got {told['model']!r:.80}"
        )
    value = told["value"]
    return Member(
        _text(told["name"]),
        _text(told["settings"]),
        kinds[told["model"]].from_parts(parts),
        None if value is None else number(value),
        _text(told["asked"]),
        _text(told["reason"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value


def aggregator_of(name: object, options: Any) -> Aggregator:
    """An aggregator as a file tells it."""
    if not isinstance(name, str) or name not in AGGREGATORS:
        raise ModelFileError(f"expected a known aggregator, got {name!r:.80}")
    made = AGGREGATORS[name](**options)
    check_parameters(made, name)
    return made


def number(value: object, least: float = -math.inf) -> float:
    """A finite number of at least this, or a ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.80} is no number")
    if value < least:
        raise ValueError(f"{value!r:.80} is below {least:g}")
    return float(value)


def _count(value: object) -> int:
    if type(value) is not int or not 1 <= value < 2**31:
        raise ValueError(f"{value!r:.80} is no count")
    return value


def shares(weights: Sequence[float]) -> tuple[float, ...]:
    """Weights that add up to 1."""
    total = math.fsum(weights)
    return tuple(float(weight / total) for weight in weights)

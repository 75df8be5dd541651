"""The fitted model of TopRank: members, their votes on heads, and the file form."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium.aggregation import Aggregator, Rankings
from podium.data.groups import Groups
from podium.ensemble.nested_model_files import (
    MAX_MEMBERS,
    check_nesting,
    number_parts,
    parts_by_model,
    read_aggregator,
    read_nested_model,
    read_number,
)
from podium.ensemble.toprank.heads import Heads
from podium.errors import ModelFileError, UsageError
from podium.rankers import MODELS
from podium.rankers.models import Model, Part, json_part
from podium.rankers.optimality_certificate import Certificate
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted ranker of a TopRank: its name, its settings, its model, and its value on validation."""

    name: str
    settings: str
    model: Model
    value: float | None = None
    spec: str = ""
    """The ranker before its settings were chosen, as text."""
    reason: str = ""
    """Why its fit stopped early; empty if it converged."""
    certificate: Certificate | None = None
    """The optimiser's certificate; files do not keep it."""


def aggregate_heads(
    groups: Groups,
    base: Floats,
    heads: Heads,
    voter_scores: Floats,
    weights: Sequence[float],
    aggregator: Aggregator,
    depth: int,
    from_base: bool = False,
) -> Floats:
    """Return minus the place of each row: the heads by the aggregator, then the rest by the base.

    Parameters
    ----------
    voter_scores
        The voters' scores of the heads' documents, one column per voter.
    """
    consensus = np.empty(0)
    if len(heads.rows):
        rankings = Rankings.from_scores(heads.groups, voter_scores).top(depth)
        mu = -heads.groups.places.astype(np.float64)  # heads are in the base's order
        consensus = aggregator(rankings, list(weights), mu if from_base else None).scores
    return heads.place_on_top(groups, consensus, base)


@dataclass(frozen=True, eq=False)
class RerankedModel(Model):
    """The first member orders all documents; the votes of the members order its first t.

    Parameters
    ----------
    members
        The base, then the other rankers.
    weights
        The weight of each member's vote; 0: it has no vote.
    t
        How many documents of a list are re-ranked.
    depth
        How many of the first documents of each vote count.
    aggregator
        The aggregator that combines the votes.
    from_base
        Whether the aggregator starts from the base's order, or from its own order.
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
        """The numbers of the members that vote."""
        return [a for a, weight in enumerate(self.weights) if weight > 0]

    @property
    def aggregator_text(self) -> str:
        """The aggregator's name, and its options that differ from the default."""
        default = type(self.aggregator)()
        options = [
            f"{f.name}={getattr(self.aggregator, f.name)}"
            for f in dataclasses.fields(self.aggregator)
            if getattr(self.aggregator, f.name) != getattr(default, f.name)
        ]
        return " ".join([self.aggregator.name, *options])

    def describe(self) -> str:
        """Return the vote in words."""
        if len(self.voters) == 1:
            return f"none: {self.members[self.voters[0]].name} alone orders the first {self.t}"
        votes = (f"{self.members[a].name} {self.weights[a]:.3f}" for a in self.voters)
        depth = "" if self.depth >= self.t else f", only the first {self.depth} of each"
        return (
            f"on the first {self.t} of {self.base.name} by {self.aggregator_text}{depth}: "
            f"{', '.join(votes)}"
        )

    @property
    def n_features(self) -> int:
        """The number of features of the base."""
        return self.base.model.n_features

    def predict(self, X: NDArray[Any]) -> Floats:
        """Raise, because there are no heads without queries."""
        raise UsageError(
            "the first documents of each query are re-ranked, but the query ids are missing; "
            "use a RankingData, or an array with query ids, as in predict(X, qid=qid)"
        )

    def scores(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Return minus the place of each row in its query."""
        base = self.base.model.scores(X, groups)
        heads = Heads.of(groups, base, self.t)
        return self.combine_votes(groups, base, heads, self.voter_scores(X, base, heads))

    def voter_scores(self, X: NDArray[Any], base: Floats, heads: Heads) -> Floats:
        """Return the voters' scores of the heads' documents, one column per voter.

        Documents below a head are not scored.
        """
        X = X[heads.rows]
        columns = [
            base[heads.rows] if a == 0 else self.members[a].model.scores(X, heads.groups)
            for a in self.voters
        ]
        return np.stack(columns, axis=1)

    def combine_votes(
        self, groups: Groups, base: Floats, heads: Heads, voter_scores: Floats
    ) -> Floats:
        """Return minus the place of each row: the heads by the aggregator, then the rest by the base."""
        weights = [self.weights[a] for a in self.voters]
        return aggregate_heads(
            groups, base, heads, voter_scores, weights, self.aggregator, self.depth, self.from_base
        )

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Raise, because an order by votes is not a sum over features."""
        raise UsageError(
            "a re-ranked model has no contributions per feature; explain of its ranker shows "
            "the votes, and permutation_importance measures which features matter"
        )

    def importance(self) -> Floats:
        """Return the features' shares in each voter, weighted by the votes' weights."""
        total = np.zeros(self.n_features)
        for a in self.voters:
            share = self.members[a].model.importance()
            total += self.weights[a] * share / (share.sum() or 1.0)
        return total

    def parts(self) -> dict[str, Part]:
        """Return the vote as JSON, and the parts of each member under its number."""
        members = [
            {"name": m.name, "settings": m.settings, "model": m.model.kind, "value": m.value,
             "asked": m.spec, "reason": m.reason, "weight": weight}
            for m, weight in zip(self.members, self.weights, strict=True)
        ]  # fmt: skip
        vote = {
            "members": members,
            "t": self.t,
            "depth": self.depth,
            "aggregator": self.aggregator.name,
            "options": dataclasses.asdict(self.aggregator),
            "from_base": self.from_base,
        }
        parts: dict[str, Part] = {"vote": json.dumps(vote, indent=1, allow_nan=False)}
        return parts | number_parts(member.model for member in self.members)

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from its parts; members are models of ``podium.rankers``, or re-ranked."""
        return cls.read(parts, {**MODELS, cls.kind: cls})

    @classmethod
    def read(cls, parts: dict[str, Part], kinds: Mapping[str, type[Model]]) -> Self:
        """Build the model from its parts; raise ModelFileError if they do not fit each other."""
        check_nesting(parts)
        with json_part(parts, "vote", "the members of the model") as vote:
            model = cls._from_vote(vote, parts, kinds)
        if not model.members or not model.voters:
            raise ModelFileError("no member of the model has a vote")
        if any(m.model.n_features != model.n_features for m in model.members):
            raise ModelFileError("all members of the model must have the same number of features")
        return model

    @classmethod
    def _from_vote(
        cls, vote: Mapping[str, Any], parts: dict[str, Part], kinds: Mapping[str, type[Model]]
    ) -> Self:
        entries = vote["members"]
        if len(entries) > MAX_MEMBERS:
            raise ModelFileError(f"a model may have at most {MAX_MEMBERS} members")
        by_member = parts_by_model(parts)
        return cls(
            tuple(
                _read_member(entry, by_member.get(i, {}), kinds) for i, entry in enumerate(entries)
            ),
            tuple(read_number(entry["weight"], 0.0) for entry in entries),
            _read_count(vote["t"]),
            _read_count(vote["depth"]),
            read_aggregator(vote["aggregator"], vote["options"]),
            vote["from_base"] is True,
        )


def _read_member(
    entry: Mapping[str, Any], parts: dict[str, Part], kinds: Mapping[str, type[Model]]
) -> Member:
    value = entry["value"]
    return Member(
        _read_text(entry["name"]),
        _read_text(entry["settings"]),
        read_nested_model(entry["model"], parts, kinds),
        None if value is None else read_number(value),
        _read_text(entry["asked"]),
        _read_text(entry["reason"]),
    )


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is not text")
    return value


def _read_count(value: object) -> int:
    if type(value) is not int or not 1 <= value < 2**31:
        raise ValueError(f"{value!r:.80} is not a count")
    return value

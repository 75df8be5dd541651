"""Weighted sums of models: members whose scores are standardised, weighted and added."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.groups import Groups
from podium.ensemble.nested_model_files import (
    MAX_MEMBERS,
    check_nesting,
    number_parts,
    parts_by_model,
    read_nested_model,
    read_number,
)
from podium.errors import ModelFileError, UsageError
from podium.rankers import MODELS
from podium.rankers.models import MAX_STUMP_FEATURES, Model, Part, json_part
from podium.typing import Floats

MAX_SUM_FEATURES = MAX_STUMP_FEATURES
"""The maximum number of features of a sum: a small file could otherwise claim any number."""


@dataclass(frozen=True, eq=False)
class SummedMember:
    """One member of a sum: weight * (s(x) - offset) / scale.

    Parameters
    ----------
    model
        The member's model, whose scores are s(x).
    weight, offset, scale
        The weight in the sum, and two numbers that standardise the scores.
    columns
        The features that the model takes, ascending; None: all.

    Examples
    --------
    >>> from podium.rankers import Linear
    >>> member = SummedMember(Linear(np.array([3.0])), weight=2.0, offset=1.0, scale=4.0, columns=(1,))
    >>> member.standardise(member.model.predict(member.rows(np.array([[9.0, 5.0]])))).tolist()
    [7.0]
    """

    model: Model
    weight: float = 1.0
    offset: float = 0.0
    scale: float = 1.0
    columns: tuple[int, ...] | None = None

    @property
    def factor(self) -> float:
        """The factor of the model's scores: weight / scale."""
        return self.weight / self.scale

    def rows(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the rows as the model takes them."""
        return X if self.columns is None else np.ascontiguousarray(X[:, list(self.columns)])

    def standardise(self, scores: Floats) -> Floats:
        """Return what the member adds to the sum."""
        return (scores - self.offset) * self.factor

    def widen(self, values: Floats, width: int) -> Floats:
        """Return numbers per feature of the model, along the last axis, as numbers per feature of the sum."""
        if self.columns is None:
            return values
        out = np.zeros((*values.shape[:-1], width))
        out[..., list(self.columns)] = values
        return out


@dataclass(frozen=True, eq=False)
class ScoreSum(Model):
    """A weighted sum of members' standardised scores: s = sum_m weight_m (s_m(x) - offset_m) / scale_m.

    `combine_models` makes one where no simpler model is equal.

    Examples
    --------
    >>> from podium.rankers.models import Linear, Stumps
    >>> linear = Linear(np.array([1.0]))
    >>> stump = Stumps(1, np.array([0]), np.array([0.5]), np.array([1.0]))
    >>> model = ScoreSum((SummedMember(linear, weight=2.0), SummedMember(stump, offset=1.0)), 1)
    >>> model.predict(np.array([[0.0], [3.0]])).tolist()
    [-1.0, 6.0]
    """

    kind: ClassVar[str] = "score-sum"

    members: tuple[SummedMember, ...]
    width: int

    @property
    def n_features(self) -> int:
        """The number of features of a row, used or not."""
        return self.width

    def describe(self) -> str:
        """Return the kinds of the members, and their weights in words."""
        words = (f"{member.model.kind} {member.weight:.3g}" for member in self.members)
        return f"{len(self.members)} standardised scores: {', '.join(words)}"

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return one score per row; raise if a member needs to know the rows of each query."""
        total = np.zeros(len(X))
        for member in self.members:
            total += member.standardise(member.model.predict(member.rows(X)))
        return total

    def scores(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Return one score per row."""
        total = np.zeros(len(X))
        for member in self.members:
            total += member.standardise(member.model.scores(member.rows(X), groups))
        return total

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Return what each feature adds through all members; raise if a member's score is no such sum."""
        total = np.zeros(X.shape)
        for member in self.members:
            own = member.factor * member.model.contributions(member.rows(X))
            total += member.widen(own, self.width)
        return total

    def query_contributions(self, X: NDArray[Any], groups: Groups) -> Floats:
        """Return what each feature adds through all members."""
        total = np.zeros(X.shape)
        for member in self.members:
            own = member.factor * member.model.query_contributions(member.rows(X), groups)
            total += member.widen(own, self.width)
        return total

    def importance(self) -> Floats:
        """Return the features' shares in each member, times the member's absolute weight."""
        total = np.zeros(self.width)
        for member in self.members:
            share = member.model.importance()
            total += member.widen(abs(member.weight) * share / (share.sum() or 1.0), self.width)
        return total

    def parts(self) -> dict[str, Part]:
        """Return the members' numbers as JSON, and the parts of each member under its number."""
        if self.width > MAX_SUM_FEATURES:
            raise UsageError(
                f"expected at most {MAX_SUM_FEATURES:,} features of a sum to save, got {self.width:,}"
            )
        members = [
            {
                "model": member.model.kind,
                "weight": member.weight,
                "offset": member.offset,
                "scale": member.scale,
                "columns": None if member.columns is None else list(member.columns),
            }
            for member in self.members
        ]
        text = json.dumps({"width": self.width, "members": members}, allow_nan=False)
        parts: dict[str, Part] = {"sum": text}
        return parts | number_parts(member.model for member in self.members)

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from its parts; members are models of ``podium.rankers``, or sums."""
        return cls.read(parts, {**MODELS, cls.kind: cls})

    @classmethod
    def read(cls, parts: dict[str, Part], kinds: Mapping[str, type[Model]]) -> Self:
        """Build the model from its parts; raise ModelFileError if they do not fit each other."""
        check_nesting(parts)
        with json_part(parts, "sum", "the members of the sum") as stored:
            width, entries = _read_width(stored["width"]), stored["members"]
            if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_MEMBERS:
                raise ModelFileError(f"expected 1 to {MAX_MEMBERS} members of a sum")
            own = parts_by_model(parts)
            members = tuple(
                _read_member(entry, own.get(i, {}), width, kinds) for i, entry in enumerate(entries)
            )
        return cls(members, width)


def _read_width(value: object) -> int:
    if type(value) is not int or not 1 <= value <= MAX_SUM_FEATURES:
        raise ModelFileError(
            f"expected a sum over 1 to {MAX_SUM_FEATURES:,} features, got {value!r:.80}"
        )
    return value


def _read_member(
    entry: Mapping[str, Any], parts: dict[str, Part], width: int, kinds: Mapping[str, type[Model]]
) -> SummedMember:
    columns = _read_columns(entry["columns"], width)
    member = SummedMember(
        read_nested_model(entry["model"], parts, kinds),
        read_number(entry["weight"]),
        read_number(entry["offset"]),
        read_number(entry["scale"], 0.0),
        columns,
    )
    if not member.scale > 0 or not math.isfinite(member.factor):
        raise ModelFileError("expected a finite weight of each member and a scale above 0")
    n_features = width if columns is None else len(columns)
    if member.model.n_features != n_features:
        raise ModelFileError(
            f"expected a member of {n_features} features, got {member.model.n_features}"
        )
    return member


def _read_columns(value: object, width: int) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(column) is int for column in value):
        raise ValueError(f"{value!r:.80} are not the numbers of features")
    if not value or value[0] < 0 or value[-1] >= width or sorted(set(value)) != value:
        raise ModelFileError(f"expected ascending features from 0 to {width - 1} of a member")
    return tuple(value)

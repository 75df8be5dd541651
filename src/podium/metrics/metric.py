"""A metric: a frozen value whose name states the whole convention."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from podium.errors import UsageError
from podium.metrics.ranked_lists import RankedLists
from podium.metrics.tool_conventions import RULES, fits_cutoff
from podium.typing import Floats

Ties = Literal["stable", "average", "worst", "trec"]
Empty = Literal[0, 1, "skip"]


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """One number per query from labels and scores; the convention is part of the value.

    A subclass computes its values in ``values`` and marks queries without a relevant document in
    ``blank``.

    Examples
    --------
    >>> from podium.metrics import NDCG
    >>> NDCG(gain="linear") @ 10
    NDCG(gain='linear')@10
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    formula: ClassVar[str]
    needs_cutoff: ClassVar[bool] = False
    takes_cutoff: ClassVar[bool] = True

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {}

    k: int | None = None

    def __init_subclass__(cls) -> None:
        """Find the parameters that take one of a few values."""
        hints = get_type_hints(cls)
        cls.choices = {name: get_args(h) for name, h in hints.items() if get_origin(h) is Literal}

    def __post_init__(self) -> None:
        for field in fields(self):  # NumPy numbers would appear as np.float64(...) in names
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())
        if self.k is not None and not self.takes_cutoff:
            raise UsageError(f"{self.name} takes no cutoff, got @{self.k}")
        if self.k is not None and (not isinstance(self.k, int) or self.k is True or self.k < 1):
            raise UsageError(f"expected a cutoff of 1 or more for {self.name}, got {self.k!r}")
        for name, allowed in self.choices.items():
            value = getattr(self, name)
            if not any(value == a and type(value) is type(a) for a in allowed):
                raise UsageError(
                    f"expected {name} to be one of {', '.join(map(repr, allowed))} in {self.name}, "
                    f"got {value!r}"
                )

    def __matmul__(self, k: int) -> Self:
        return replace(self, k=k)

    def __str__(self) -> str:
        """Return the shortest name: with a rule if that is complete, else with the parameters that differ."""
        changed = self.changes()
        rules = [
            rule
            for rule, metrics in RULES.items()
            if changed
            and metrics.get(self.name) == changed
            and fits_cutoff(rule, self.name, self.k)
        ]
        if rules:
            changed = {"rule": rules[0]}
        arguments = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        cutoff = "" if self.k is None else f"@{self.k}"
        return f"{self.name}({arguments}){cutoff}" if arguments else f"{self.name}{cutoff}"

    __repr__ = __str__

    def convention(self) -> dict[str, Any]:
        """Every parameter except the cutoff."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "k"}

    def changes(self) -> dict[str, Any]:
        """The parameters that differ from those of the bare name."""
        defaults = self.defaults()
        return {name: v for name, v in self.convention().items() if v != defaults[name]}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The convention of the bare name."""
        return {
            f.name: f.default for f in fields(cls) if f.name != "k" and f.default is not MISSING
        }

    def averaging_ties(self) -> Self:
        """Return the same metric with the mean over all orders of equal scores.

        Examples
        --------
        >>> from podium.metrics import NDCG
        >>> (NDCG() @ 10).averaging_ties()
        NDCG(ties='average')@10
        """
        rule: dict[str, Any] = {f.name: "average" for f in fields(self) if f.name == "ties"}
        return replace(self, **rule)

    def depth(self, lists: RankedLists) -> int:
        """Return the number of places that count: the cutoff, but at most the longest list."""
        longest = max(1, lists.longest())
        return longest if self.k is None else min(self.k, longest)

    def check_cutoff(self) -> None:
        """Raise UsageError if the metric needs a cutoff and has none."""
        if self.needs_cutoff and self.k is None:
            raise UsageError(f"{self.name} needs a cutoff, as in {self.name}@10")

    def per_query(self, lists: RankedLists) -> Floats:
        """Return the metric of each query; NaN if a query without a relevant document is skipped."""
        self.check_cutoff()
        values = np.array(self.values(lists), dtype=np.float64)
        if self.k is not None and getattr(self, "short", "keep") == "zero":
            values[lists.lengths() < self.k] = 0.0
        empty = getattr(self, "empty", 0)
        values[self.blank(lists)] = np.nan if empty == "skip" else empty
        return values

    @abstractmethod
    def values(self, lists: RankedLists) -> Floats:
        """Return the metric of each query; ``per_query`` replaces the values of ``blank`` queries."""

    @abstractmethod
    def blank(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return whether each query is blank: all orders are equal, as without relevant documents."""


def is_number(value: object) -> bool:
    """Whether a parameter is a number (True is not)."""
    return isinstance(value, int | float) and not isinstance(value, bool)

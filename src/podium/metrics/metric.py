"""A metric is a frozen value: its name says the whole convention."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from podium.errors import UsageError
from podium.metrics.lists import Lists, Ranking

Floats = NDArray[np.float64]

Ties = Literal["stable", "average", "worst", "trec"]
Empty = Literal[0, 1, "skip"]
Gain = Literal["exp2", "linear", "rank", "rank-exp2"]
Discount = Literal["log2", "letor"]


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """One number per query from labels and scores; the convention is part of the value.

    Subclasses say what they compute in ``values`` and which queries have no answer in ``blank``.

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
        """Note which parameters take one of a few values."""
        hints = get_type_hints(cls)
        cls.choices = {name: get_args(h) for name, h in hints.items() if get_origin(h) is Literal}

    def __post_init__(self) -> None:
        for field in fields(self):  # NumPy's numbers would spell np.float64(...)
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())
        if self.k is not None and not self.takes_cutoff:
            raise UsageError(f"expected {self.name} without a cutoff, got @{self.k}")
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
        from podium.metrics.naming import spell

        return spell(self)

    __repr__ = __str__

    def convention(self) -> dict[str, Any]:
        """Every parameter but the cutoff."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "k"}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The convention of the bare name."""
        return {
            f.name: f.default for f in fields(cls) if f.name != "k" and f.default is not MISSING
        }

    def averaging_ties(self) -> Self:
        """The same metric in the mean over all orders of equal scores, whatever order rows are in.

        Examples
        --------
        >>> from podium.metrics import NDCG
        >>> (NDCG() @ 10).averaging_ties()
        NDCG(ties='average')@10
        """
        rule: dict[str, Any] = {f.name: "average" for f in fields(self) if f.name == "ties"}
        return replace(self, **rule)

    def depth(self, lists: Lists) -> int:
        """Places to look at: the cutoff, at most the longest list."""
        longest = max(1, lists.longest())
        return longest if self.k is None else min(self.k, longest)

    def check_cutoff(self) -> None:
        """Raise where the metric needs a cutoff and has none."""
        if self.needs_cutoff and self.k is None:
            raise UsageError(f"expected a cutoff, as in {self.name}@10, got {self.name}")

    def per_query(self, lists: Lists) -> Floats:
        """The metric of each query; NaN where a query without an answer is skipped."""
        self.check_cutoff()
        values = np.array(self.values(lists), dtype=np.float64)
        if self.k is not None and getattr(self, "short", "keep") == "zero":
            values[lists.lengths() < self.k] = 0.0
        empty = getattr(self, "empty", 0)
        values[self.blank(lists)] = np.nan if empty == "skip" else empty
        return values

    @abstractmethod
    def values(self, lists: Lists) -> Floats:
        """The metric of each query that has an answer."""

    @abstractmethod
    def blank(self, lists: Lists) -> NDArray[np.bool_]:
        """Queries without an answer (say, no relevant document)."""


def is_number(value: object) -> bool:
    """Whether a parameter is a number, which True is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def correct_ties(
    values: Floats,
    ranking: Ranking,
    per_row: NDArray[Any],
    expected: Callable[[list[NDArray[Any]]], float],
) -> Floats:
    """Replace the value of each query with tied scores by its expectation over the ties."""
    starts = ranking.tie_starts()
    tied = np.unique(ranking.groups.codes[~starts])
    out = values.copy()
    for q in tied.tolist():
        rows = slice(*ranking.groups.offsets[q : q + 2])
        cuts = np.flatnonzero(starts[rows])[1:]
        out[q] = expected(np.split(per_row[ranking.order[rows]], cuts))
    return out

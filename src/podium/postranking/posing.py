"""A list and rules as a problem: who is shown, which rules act, which are soft and which hard."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import DataError, UnknownNameError, UsageError
from podium.postranking.binding import Acting, Bound, Listing, bind, text_for_numbers
from podium.postranking.lists import Catalogue, read_list
from podium.postranking.methods.bradley_terry import BradleyTerry
from podium.postranking.methods.preferences import Pairs, Scale
from podium.postranking.methods.problem import Base, Floats, Method, Problem, is_number
from podium.postranking.places.constraints import Constraint
from podium.postranking.places.placement import LIMIT
from podium.postranking.rules.conditions import short
from podium.postranking.rules.kinds import Hide
from podium.postranking.rules.rule import Rule

Missing = Literal["error", "report"]
Conflicts = Literal["error", "yield"]
CHOICES: dict[str, tuple[str, ...]] = {
    "base": get_args(Base),
    "pairs": get_args(Pairs),
    "scale": get_args(Scale),
    "missing": get_args(Missing),
    "conflicts": get_args(Conflicts),
}
"""What settings may be."""


HIGHEST = 1e9
"""A prior beyond which nothing but the prior would count."""


@dataclass(frozen=True)
class Settings:
    """How lists are post-ranked."""

    prior: float = 0.1
    base: Base = "uniform"
    pairs: Pairs = "without"
    scale: Scale = "rule"
    method: Method = field(default_factory=BradleyTerry)
    missing: Missing = "error"
    conflicts: Conflicts = "error"
    limit: int = LIMIT

    def __post_init__(self) -> None:
        for what, known in CHOICES.items():
            if getattr(self, what) not in known:
                raise UnknownNameError(what, str(getattr(self, what)), known)
        if not is_number(self.prior) or not 0 <= self.prior <= HIGHEST:
            raise UsageError(f"expected a prior of 0 to {HIGHEST:g}, got {short(self.prior)}")
        if type(self.limit) is not int or self.limit < 1:
            raise UsageError(f"expected a limit of 1 step or more, got {short(self.limit)}")


@dataclass(frozen=True, eq=False)
class Posed:
    """A list and what each rule makes of it."""

    listing: Listing
    scores: Floats | None
    acting: tuple[Acting, ...]
    notes: Mapping[int, str]
    """Why a rule, by its number, does not act, or changes nothing."""
    rules: tuple[Rule, ...]
    idle: tuple[Acting, ...] = ()
    """Rules that name nothing in the list."""
    yielded: frozenset[int] = frozenset()
    """Hard rules, by their numbers, that gave way to others and are taken as soft."""
    undecided: frozenset[int] = frozenset()
    """Those of them that gave way because the search reached its limit."""
    yielded_to: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For a rule that gave way, the rules that it clashes with; none where the search did not end."""

    def is_hard(self, number: int) -> bool:
        """Whether a rule must hold."""
        return self.rules[number].hard and number not in self.yielded

    @cached_property
    def hard(self) -> list[int]:
        """The numbers of the hard rules."""
        return sorted({number for number, _ in self.acting if self.is_hard(number)})

    def showing(self, numbers: Collection[int]) -> NDArray[np.int64]:
        """The rows of the documents that these rules do not hide."""
        rows = np.arange(len(self.listing.docs))
        hidden: set[int] = set()
        for number, bound in self.acting:
            if number in numbers and isinstance(bound.rule, Hide):
                hidden.update(bound.rows)
        return np.delete(rows, sorted(hidden)) if hidden else rows

    @cached_property
    def shown(self) -> NDArray[np.int64]:
        """The rows of the documents that are shown."""
        return self.showing(self.hard)

    @cached_property
    def hidden(self) -> NDArray[np.int64]:
        """The rows of the others."""
        n = len(self.listing.docs)
        return np.setdiff1d(np.arange(n), self.shown) if len(self.shown) < n else self.shown[:0]

    def places(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of every row where those shown are in this order, and hidden ones behind all."""
        to = np.empty(len(self.listing.docs), dtype=np.int64)
        to[self.shown[order]] = np.arange(1, len(self.shown) + 1)
        if len(self.hidden):
            to[self.hidden] = len(to) + np.arange(1, len(self.hidden) + 1)
        return to

    @cached_property
    def hard_acting(self) -> tuple[Acting, ...]:
        """The hard rules on the whole list."""
        return tuple(one for one in self.acting if self.is_hard(one[0]))

    @cached_property
    def soft_acting(self) -> tuple[Acting, ...]:
        """The soft rules on the whole list."""
        return tuple(one for one in self.acting if not self.is_hard(one[0]))

    def among(self, shown: NDArray[np.int64]) -> tuple[Acting, ...]:
        """The rules on the documents shown, which are their rows now."""
        if len(shown) == len(self.listing.docs):
            return self.acting
        return self._shown_only if shown is self.shown else self._only(shown)

    @cached_property
    def _shown_only(self) -> tuple[Acting, ...]:
        return self._only(self.shown)

    def _only(self, shown: NDArray[np.int64]) -> tuple[Acting, ...]:
        new = {row: at for at, row in enumerate(shown.tolist())}
        return tuple((number, bound.among(new)) for number, bound in self.acting)

    @cached_property
    def demanded(self) -> list[tuple[int, list[Constraint]]]:
        """What each hard rule, by its number, demands while no document is hidden."""
        return [
            (number, list(bound.rule.constraints(bound)))
            for number, bound in self.acting
            if self.rules[number].hard
        ]

    def constraints(self, numbers: Collection[int]) -> tuple[int, list[Constraint]]:
        """How many documents these hard rules show, and what they demand of their places."""
        numbers = frozenset(numbers)
        if not numbers:
            return len(self.listing.docs), []
        shown = self.showing(numbers)
        demanded = self.demanded
        if len(shown) < len(self.listing.docs):
            demanded = [
                (number, list(bound.rule.constraints(bound)))
                for number, bound in self.among(shown)
                if number in numbers
            ]
        return len(shown), [
            constraint for number, own in demanded if number in numbers for constraint in own
        ]

    def problem(self, settings: Settings) -> Problem:
        """The documents shown and the soft rules."""
        listing, scores = self.listing, self.scores
        if len(self.shown) < len(listing.docs):
            listing = listing.take(self.shown.tolist())
            scores = None if scores is None else scores[self.shown]
        soft = tuple(
            bound
            for number, bound in self.among(self.shown)
            if not self.is_hard(number)
            and all(bound.parts)
            and (number not in self.yielded or settings.method.takes(bound.rule))
        )
        return Problem(
            listing, scores, soft, settings.prior, settings.base, settings.pairs, settings.scale
        )


def pose(
    docs: Sequence[Any],
    rules: tuple[Rule, ...],
    scores: ArrayLike | None,
    settings: Settings,
    query: str | None,
    today: datetime.date,
    fields: Catalogue | None = None,
) -> Posed:
    """A list and rules as a problem."""
    listing, model = read_list(docs, scores, fields)
    if query is not None and not isinstance(query, str):
        raise UsageError(f"expected the text of a query, got {query!r}")
    off = ((number, rule.holds(query, today)) for number, rule in enumerate(rules))
    return meet(listing, model, rules, {number: why for number, why in off if why}, settings)


def meet(
    listing: Listing,
    scores: Floats | None,
    rules: tuple[Rule, ...],
    off: Mapping[int, str],
    settings: Settings,
) -> Posed:
    """A list and rules as a problem, some of them off."""
    if settings.base == "margin" and scores is None:
        raise UsageError("expected scores for base='margin', got none")
    notes, acting, nothing = dict(off), [], []
    missing: Missing = (
        settings.missing if listing.docs else "report"
    )  # nothing was found: no mistake
    for number, rule in enumerate(rules):
        if number in notes:
            continue
        bounds, empty, note = _named(rule, listing, missing)
        nothing += [(number, bound) for bound in empty]
        if note:
            notes[number] = note
            continue
        idle = [rule.idle(bound) for bound in bounds]
        if all(idle):
            notes[number] = idle[0]
        # Hard rules that change nothing still say that their documents are not hidden.
        acting += [(number, b) for b, why in zip(bounds, idle, strict=True) if rule.hard or not why]
    return Posed(listing, scores, tuple(acting), notes, rules, tuple(nothing))


def _named(rule: Rule, listing: Listing, missing: Missing) -> tuple[list[Bound], list[Bound], str]:
    """A rule on the documents it names, and on those too few to act; why, where there is nothing else."""
    try:
        bounds = bind(rule, listing)
    except UnknownNameError as error:
        if missing == "error":
            raise
        return [], [], str(error)
    absent = bounds[0].absent if bounds else ()
    if absent and missing == "error":
        raise DataError(
            f"expected documents of the list in {rule}, got {listing.stranger(absent[0], hints=True)}"
        )
    # A hard rule that asks for more than is there cannot hold, or it is told that it was left out.
    lacking = [rule.hard and rule.lacks(bound) for bound in bounds]
    if not any(lacking) and all(all(bound.parts) for bound in bounds):
        return bounds, [], "" if bounds else "names nothing in the list"
    strict = missing == "error" and any(lacking)
    named = [
        b
        for b, lacks in zip(bounds, lacking, strict=True)
        if strict or (all(b.parts) and not lacks)
    ]
    idle = [bound for bound in bounds if bound not in named]
    if named:
        return named, idle, ""
    few = "has too few documents" if any(map(all, (b.parts for b in bounds))) else "names nothing"
    names = ", ".join(map(listing.stranger, absent[:3]))
    typed = text_for_numbers(rule, listing)
    return [], idle, f"{few} in the list" + (names and f": {names}") + typed


def check_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Rules, and nothing else."""
    if isinstance(rules, Rule | str) or not isinstance(rules, Iterable):
        hint = "; rules.yaml is read by read_rules" if isinstance(rules, str) else ""
        raise UsageError(f"expected a list of rules, got {rules!r}{hint}")
    listed = tuple(rules)
    for rule in listed:
        if not isinstance(rule, Rule):
            raise UsageError(f"expected rules, such as TopK('a', 3), got {rule!r}")
    return listed


def check_day(today: datetime.date | None) -> datetime.date:
    """A day; that of the call where none is given."""
    if today is None:
        return datetime.date.today()
    if isinstance(today, datetime.datetime):
        return today.date()
    if not isinstance(today, datetime.date):
        raise UsageError(f"expected a day (datetime.date) as today, got {today!r}")
    return today

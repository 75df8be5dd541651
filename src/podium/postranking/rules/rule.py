"""What every rule has: a weight or the word hard, and when it holds."""

from __future__ import annotations

import datetime
import fnmatch
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, ClassVar, NoReturn, get_args, get_type_hints

from podium.errors import UsageError
from podium.postranking.places.constraints import Constraint
from podium.postranking.rules.conditions import short
from podium.postranking.rules.selectors import (
    BY_FIELD,
    Document,
    Each,
    Selector,
    Where,
    frozen,
    show,
)
from podium.postranking.work_budget import spend

if TYPE_CHECKING:
    from podium.postranking.binding import BoundRule
    from podium.postranking.methods.preferences import Preferences


LARGEST = 2**31 - 1
"""Of counts and places; no list is longer."""
HEAVIEST = 1e9
"""Of weights; what is to count more is hard."""
MAX_PATTERN_LENGTH, MAX_QUERY_LENGTH = 1_000, 10_000
"""Characters of a rule's pattern, and of its query."""
CHARACTERS_PER_STEP = 16
"""Characters that a pattern compares with a query in one step of `spend`."""


@dataclass(frozen=True)
class Whole:
    """Whole numbers from `low`."""

    low: int
    high: int = LARGEST

    def __contains__(self, value: object) -> bool:
        return type(value) is int and self.low <= value <= self.high


FromOne = Annotated[int, Whole(1)]
FromZero = Annotated[int, Whole(0)]


@dataclass(frozen=True, repr=False)
class Rule(ABC):
    """A wish about the places of documents, and when it holds.

    Parameters
    ----------
    weight
        rho of a soft rule: how much it counts against the original order.
    hard
        Whether it must hold; then its weight does not count.
    name
        What reports call it; what it says unless given.
    query
        The text of the query it is for; upper and lower case and the number of spaces do not count.
    pattern
        Or a pattern of queries, with ``*`` for any text and ``?`` for any character. A rule with
        neither is for every query.
    starts, ends
        The first and the last day on which it holds.
    priority
        Where hard rules conflict and may yield (``conflicts="yield"``), the lower priority gives way.
    """

    kind: ClassVar[str]
    roles: ClassVar[tuple[str, ...]]
    """The fields that name documents."""
    wishes: ClassVar[tuple[int, ...]] = (0,)
    """Which way it moves the documents of each role: up -1, down 1, either 0."""
    chooses: ClassVar[bool] = False
    """Whether, soft, it chooses documents from the order that the other rules give."""
    grouped: ClassVar[bool] = False
    """Whether it may hold for each value of a field by itself (`Each`)."""
    _: KW_ONLY
    weight: float = 1.0
    hard: bool = False
    name: str = ""
    query: str | None = None
    pattern: str | None = None
    starts: datetime.date | None = None
    ends: datetime.date | None = None
    priority: int = 0

    def __post_init__(self) -> None:
        for own in fields(self):
            object.__setattr__(self, own.name, frozen(getattr(self, own.name)))
        self._check()

    def _check(self) -> None:
        """Raise a `UsageError` on what it cannot be."""
        for selector in self.selectors:
            self._check_documents(selector)
        for what, whole in counts(type(self)).items():
            value = getattr(self, what)
            if value not in whole:
                high = type(value) is int and value > whole.high
                hint = f"at most {whole.high}" if high else "a whole number"
                self._refuse(f"{what} of {whole.low} or more", value, hint)
        weight = self.weight
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise UsageError(f"expected a number as weight of {self}, got {short(weight)}")
        if not 0 <= weight <= HEAVIEST:  # nor is NaN
            self._refuse("a weight of 0 or more", weight, f"at most {HEAVIEST:g}")
        self._check_words()
        self._check_dates()

    def _check_documents(self, selector: Selector) -> None:
        if isinstance(selector, Where):
            return
        if isinstance(selector, Each):
            if not self.grouped:
                takers = [kind.__name__ for kind in Rule.__subclasses__() if kind.grouped]
                self._refuse("documents", selector, f"Each is for {', '.join(takers)}")
            return
        try:
            several = set(ids(selector))
        except TypeError:
            raise UsageError(
                f"expected an id, ids, Where or Each as documents of a {self.kind} rule, "
                f"got {short(selector)}"
            ) from None
        if not several or None in several:
            self._refuse("documents", "none")
        if len(several) < len(ids(selector)):
            self._refuse("each document once", selector)

    def _check_words(self) -> None:
        for what in ("name", "query", "pattern"):
            value = getattr(self, what)
            if not isinstance(value, str) and not (value is None and what != "name"):
                self._refuse(f"text as {what}", short(value))
        for what, most in (("pattern", MAX_PATTERN_LENGTH), ("query", MAX_QUERY_LENGTH)):
            n_characters = len(getattr(self, what) or "")
            if n_characters > most:
                self._refuse(f"at most {most:,} characters as {what}", f"{n_characters:,}")
        if self.query is not None and self.pattern is not None:
            self._refuse("a query or a pattern", "both")
        if not isinstance(self.hard, bool):
            self._refuse("hard to be True or False", short(self.hard))
        if type(self.priority) is not int or abs(self.priority) > LARGEST:
            self._refuse("a whole number as priority", short(self.priority))

    def _check_dates(self) -> None:
        for what in ("starts", "ends"):
            value = getattr(self, what)
            if value is not None and type(value) is not datetime.date:
                self._refuse(f"a datetime.date as {what}", short(value))
        if self.starts is not None and self.ends is not None and self.ends < self.starts:
            self._refuse("an end after the start", f"{self.starts} to {self.ends}")

    def _refuse(self, expected: str, got: object, hint: str = "") -> NoReturn:
        got_text = got if isinstance(got, str) and not hint else short(got)
        raise UsageError(f"expected {expected}{hint and f' ({hint})'} in {self}, got {got_text}")

    def reason_off(self, query: str | None, today: datetime.date) -> str:
        """Return why the rule is off for this query on this day; empty if it is on."""
        reason = self.reason_off_today(today)
        if reason:
            return reason
        if self.query is not None and (query is None or plain(query) != plain(self.query)):
            return f"is for the query {self.query!r}"
        if self.pattern is not None and (query is None or not matches(self.pattern, query)):
            return f"is for queries like {self.pattern!r}"
        return ""

    def reason_off_today(self, today: datetime.date) -> str:
        """Return why the rule is off for every query on this day; empty if it is not."""
        if self.starts is not None and today < self.starts:
            return f"starts on {self.starts}"
        if self.ends is not None and today > self.ends:
            return f"ended on {self.ends}"
        return ""

    @cached_property
    def selectors(self) -> tuple[Selector, ...]:
        """What chooses the documents it names, one for each role they play."""
        return tuple(getattr(self, role) for role in self.roles)

    @cached_property
    def named(self) -> tuple[Document, ...]:
        """The documents it names by id, in all their roles."""
        return tuple(doc for selector in self.selectors for doc in ids(selector))

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """What it says of places: k, m, gap, position."""
        return tuple(getattr(self, name) for name in _own(type(self)) if name not in self.roles)

    @property
    def label(self) -> str:
        """Its name, or what it says."""
        return self.name or str(self)

    def __str__(self) -> str:
        own = [show(getattr(self, name)) for name in _own(type(self))]
        return f"{type(self).__name__}({', '.join(own)})"

    def __repr__(self) -> str:
        options = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)
                if f.kw_only and getattr(self, f.name) != f.default]  # fmt: skip
        return f"{str(self)[:-1]}{''.join(f', {text}' for text in options)})"

    def idle(self, bound: BoundRule) -> str:
        """Why it changes nothing on this list, whatever its order; nothing where it may."""
        return "" if self.hard or self.weight > 0 else "its weight is 0"

    def lacks(self, bound: BoundRule) -> bool:
        """Whether the list has too few of its documents for it to hold, whatever their order."""
        return False

    @abstractmethod
    def slack(self, bound: BoundRule, place: Sequence[int]) -> int:
        """By how much it is violated, 0 where it holds; place[row] counts from 1."""

    def movable(self, bound: BoundRule, place: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """The rows it may have moved, one part for each role, where row i went to place[i]."""
        return bound.parts

    @abstractmethod
    def constraints(self, bound: BoundRule) -> Iterator[Constraint]:
        """What it demands of places when it is hard."""

    def prefer(self, bound: BoundRule, preferences: Preferences) -> None:
        """Add what it wishes when it is soft, from the original order."""
        return

    def choose(self, bound: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """Add what it wishes when it is soft, of documents chosen from the order so far."""
        return


@cache
def _own(kind: type[Rule]) -> tuple[str, ...]:
    """The fields that make a rule what it is: not those that every rule has."""
    return tuple(f.name for f in fields(kind) if not f.kw_only)


def ids(selector: Selector) -> tuple[Document, ...]:
    """The documents that are named by id."""
    if isinstance(selector, tuple):
        return selector
    return () if isinstance(selector, BY_FIELD) else (selector,)


@cache
def counts(kind: type[Rule]) -> dict[str, Whole]:
    """The counts and places among a rule's fields, and what they may be."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        own.name: whole
        for own in fields(kind)
        for whole in get_args(hints[own.name])[1:]
        if isinstance(whole, Whole)
    }


def plain(query: str) -> str:
    """A query as compared: without upper case and extra spaces."""
    return " ".join(query.casefold().split())


def matches(pattern: str, query: str) -> bool:
    """Whether a query is like a pattern."""
    spend(len(pattern) * len(query) // CHARACTERS_PER_STEP)
    return _compiled(plain(pattern)).match(plain(query)) is not None


@lru_cache(maxsize=10_000)  # a service may be sent any number of patterns
def _compiled(pattern: str) -> re.Pattern[str]:
    # fnmatch's expressions do not backtrack from one star into another: no query makes them slow.
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]")))  # its sets are not ours

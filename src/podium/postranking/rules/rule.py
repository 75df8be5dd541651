"""The base class of rules (weight, dates, queries, priority), and bound rules, on the rows of a list."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, NoReturn, Self, get_args, get_type_hints

from podium.errors import UsageError
from podium.postranking.methods.preferences import Preferences
from podium.postranking.places.constraints import Constraint
from podium.postranking.rules.context_values import ContextValues
from podium.postranking.rules.dates_and_queries import reason_off_for, reason_off_on
from podium.postranking.rules.field_conditions import cut_text, short_repr
from podium.postranking.rules.request_conditions import When
from podium.postranking.rules.selectors import BY_FIELD, Each, Selector, Where, freeze, ids, show
from podium.postranking.rules.when_entries import read_when
from podium.typing import Document

MAX_NUMBER = 2**31 - 1
"""The largest count or place; no list is longer."""
MAX_WEIGHT = 1e9
"""The largest weight; make a rule hard if it must count more."""
MAX_PATTERN_LENGTH, MAX_QUERY_LENGTH = 1_000, 10_000
"""The maximum number of characters of a rule's pattern and of its query."""

FILE_SELECTORS = {"each": "Each({!r})", "where": "Where({!r})", "docs": "{!r}", "doc": "{!r}"}
"""Words of rule files that choose documents, and how Python writes them."""


@dataclass(frozen=True)
class WholeNumbers:
    """The whole numbers from `low` to `high`."""

    low: int
    high: int = MAX_NUMBER

    def __contains__(self, value: object) -> bool:
        return type(value) is int and self.low <= value <= self.high


@dataclass(frozen=True)
class RealNumbers:
    """The numbers from `low` to `high`."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high  # type: ignore[operator]


FromOne = Annotated[int, WholeNumbers(1)]
FromZero = Annotated[int, WholeNumbers(0)]


@dataclass(frozen=True, repr=False)
class Rule(ABC):
    """A rule about the places of documents, and the queries and days for which it holds.

    Parameters
    ----------
    weight
        rho of a soft rule: how much it counts against the original order.
    hard
        Whether the rule must hold; its weight then does not count.
    name
        The name of the rule in reports; by default the rule as text.
    query
        The query for which the rule is; upper and lower case and the number of spaces do not
        matter.
    pattern
        Alternatively a pattern of queries, with ``*`` for any text and ``?`` for any character. A
        rule with neither is for every query.
    starts, ends
        The first and the last day on which it holds.
    priority
        If hard rules conflict and ``conflicts="yield"``, the rule of lower priority gives way.
    class_
        The class of the rule, such as ``legal``, ``stock`` or ``campaign``; ``class`` in files. A
        rule of a weaker class gives way, whatever its priority; see ``classes`` of `postrank`.
    when
        A condition on what the request carries, as in a rule file, such as ``{"device": "mobile"}``.
    """

    kind: ClassVar[str]
    roles: ClassVar[tuple[str, ...]]
    """The fields that name documents."""
    wishes: ClassVar[tuple[int, ...]] = (0,)
    """The direction in which it moves the documents of each role: -1 up, 1 down, 0 either."""
    chooses: ClassVar[bool] = False
    """Whether a soft rule chooses documents from the order of the other rules."""
    grouped: ClassVar[bool] = False
    """Whether the rule takes `Each`: it then applies to each value of a field separately."""
    joint: ClassVar[bool] = False
    """Whether a rule with `Each` sees all values together: each is a part of its bound rule."""
    inserts: ClassVar[bool] = False
    """Whether the rule adds its documents to the list."""
    _: KW_ONLY
    weight: float = 1.0
    hard: bool = False
    name: str = ""
    query: str | None = None
    pattern: str | None = None
    starts: datetime.date | None = None
    ends: datetime.date | None = None
    priority: int = 0
    class_: str = ""
    when: When | Mapping[str, Any] | None = None

    def __new__(cls, *args: object, **parameters: object) -> Self:
        """Raise for a field of rule files that Python writes as a selector, and say how."""
        for word in FILE_SELECTORS:
            if word in parameters and word not in cls.__dataclass_fields__:
                written = FILE_SELECTORS[word].format(parameters[word])
                raise TypeError(
                    f"{cls.__name__} has no parameter {word!r}; expected the documents as "
                    f"{' and '.join(cls.roles)}, as in {cls.roles[0]}={written}"
                )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for own in fields(self):
            object.__setattr__(self, own.name, freeze(getattr(self, own.name)))
        if isinstance(self.when, Mapping):
            object.__setattr__(self, "when", read_when(self.when))
        self._check()

    def _check(self) -> None:
        """Raise a `UsageError` if a field of the rule is wrong."""
        for selector in self.selectors:
            self._check_documents(selector)
        for what, whole in counts(type(self)).items():
            value = getattr(self, what)
            if value not in whole:
                high = type(value) is int and value > whole.high
                hint = f"at most {whole.high}" if high else "a whole number"
                self._refuse(f"{what} of {whole.low} or more", value, hint)
        for what, real in measures(type(self)).items():
            value = getattr(self, what)
            if value not in real:
                self._refuse(f"{what} from {real.low:g} to {real.high:g}", short_repr(value))
        weight = self.weight
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise UsageError(f"expected a number as weight of {self}, got {short_repr(weight)}")
        if not 0 <= weight <= MAX_WEIGHT:  # NaN is refused, too
            self._refuse("a weight of 0 or more", weight, f"at most {MAX_WEIGHT:g}")
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
                f"got {short_repr(selector)}"
            ) from None
        if not several or None in several:
            self._refuse("documents", "none")
        if len(several) < len(ids(selector)):
            self._refuse("each document once", selector)

    def _check_words(self) -> None:
        for what in ("name", "class_", "query", "pattern"):
            value = getattr(self, what)
            if not isinstance(value, str) and (value is not None or what in ("name", "class_")):
                self._refuse(f"text as {what}", short_repr(value))
        for what, most in (("pattern", MAX_PATTERN_LENGTH), ("query", MAX_QUERY_LENGTH)):
            n_characters = len(getattr(self, what) or "")
            if n_characters > most:
                self._refuse(f"at most {most:,} characters as {what}", f"{n_characters:,}")
        if self.query is not None and self.pattern is not None:
            self._refuse("a query or a pattern", "both")
        if not isinstance(self.when, When | None):
            self._refuse("a condition as when, such as {'device': 'mobile'}", short_repr(self.when))
        if not isinstance(self.hard, bool):
            self._refuse("hard to be True or False", short_repr(self.hard))
        if type(self.priority) is not int or abs(self.priority) > MAX_NUMBER:
            self._refuse("a whole number as priority", short_repr(self.priority))

    def _check_dates(self) -> None:
        for what in ("starts", "ends"):
            value = getattr(self, what)
            if value is not None and type(value) is not datetime.date:
                self._refuse(f"a datetime.date as {what}", short_repr(value))
        if self.starts is not None and self.ends is not None and self.ends < self.starts:
            self._refuse("an end after the start", f"{self.starts} to {self.ends}")

    def _refuse(self, expected: str, got: object, hint: str = "") -> NoReturn:
        got_text = got if isinstance(got, str) and not hint else short_repr(got)
        raise UsageError(f"expected {expected}{hint and f' ({hint})'} in {self}, got {got_text}")

    def reason_off(
        self, query: str | None, today: datetime.date, values: ContextValues | None = None
    ) -> str:
        """Return why the rule is off for this request on this day; empty if it is on.

        Without the values of the request, its condition counts as met.
        """
        reason = self.reason_off_today(today) or reason_off_for(query, self.query, self.pattern)
        if reason or values is None or self.when is None:
            return reason
        condition = self.condition
        if condition is None or condition.is_met(values):
            return ""
        return f"is for requests where {cut_text(str(condition))}"

    @property
    def condition(self) -> When | None:
        """Its condition on requests."""
        return self.when if isinstance(self.when, When) else None

    def reason_off_today(self, today: datetime.date) -> str:
        """Return why the rule is off for all queries on this day; empty if it is on."""
        return reason_off_on(today, self.starts, self.ends)

    @cached_property
    def selectors(self) -> tuple[Selector, ...]:
        """The selectors of its documents, one for each role."""
        return tuple(getattr(self, role) for role in self.roles)

    @cached_property
    def named_docs(self) -> tuple[Document, ...]:
        """The documents that it names by id, in all roles."""
        return tuple(doc for selector in self.selectors for doc in ids(selector))

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Its numbers: k, m, gap, position, factor."""
        return tuple(
            getattr(self, name) for name in _own_fields(type(self)) if name not in self.roles
        )

    @property
    def label(self) -> str:
        """Its name, or the rule as text."""
        return self.name or str(self)

    def __str__(self) -> str:
        own = [show(getattr(self, name)) for name in _own_fields(type(self))]
        return f"{type(self).__name__}({', '.join(own)})"

    def __repr__(self) -> str:
        options = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)
                if f.kw_only and getattr(self, f.name) != f.default]  # fmt: skip
        return f"{str(self)[:-1]}{''.join(f', {text}' for text in options)})"

    def reason_no_effect(self, bound_rule: BoundRule) -> str:
        """Return why the rule cannot change this list; empty if it can."""
        return "" if self.hard or self.weight > 0 else "its weight is 0"

    def lacks_documents(self, bound_rule: BoundRule) -> bool:
        """Whether the list has too few of its documents, so that no order meets the rule."""
        return False

    @abstractmethod
    def slack(self, bound_rule: BoundRule, place: Sequence[int]) -> int:
        """Return how far the rule is violated, 0 if it holds; place[row] counts from 1."""

    def movable(self, bound_rule: BoundRule, place: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return the rows that the rule may have moved, one part per role, if row i went to place[i]."""
        return bound_rule.parts

    @abstractmethod
    def constraints(self, bound_rule: BoundRule) -> Iterator[Constraint]:
        """Yield the constraints on places of a hard rule."""

    def prefer(self, bound_rule: BoundRule, preferences: Preferences) -> None:
        """Add the preferences of a soft rule, from the original order."""
        return

    def choose(self, bound_rule: BoundRule, order: Sequence[int], preferences: Preferences) -> None:
        """Add the preferences of a soft rule for documents that it chooses from the current order."""
        return


class BoundRule(NamedTuple):
    """A rule on a list of n documents: the rows that it names, one part for each of its roles.

    `absent` are the documents that it names by id and the list does not have. `hidden` says whether
    another rule hides a document that it names by id.
    """

    rule: Rule
    parts: tuple[tuple[int, ...], ...]
    n: int
    absent: tuple[Document, ...] = ()
    hidden: bool = False

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of its first role."""
        return self.parts[0]

    def sort_key(self) -> tuple[object, ...]:
        """Return a key that is equal only for rules that act in the same way."""
        return self.rule.kind, self.parts, self.rule.numbers, self.rule.weight

    def restrict(self, new_row: Mapping[int, int]) -> BoundRule:
        """Return the rule with only the documents that have a new row, with the new rows."""
        parts = tuple(tuple(new_row[row] for row in rows if row in new_row) for rows in self.parts)
        if self.rule.joint:
            parts = tuple(filter(None, parts))
        by_id = not any(isinstance(selector, BY_FIELD) for selector in self.rule.selectors)
        lost = sum(map(len, parts)) < sum(map(len, self.parts))
        return self._replace(parts=parts, n=len(new_row), hidden=by_id and lost)

    def places(self, place: Sequence[int]) -> list[int]:
        """Return the places of its documents; hidden and absent ones come after the last place."""
        places = [place[row] for row in self.rows]
        if self.hidden or self.absent:
            places.append(int(max(self.n, *self.rule.numbers)) + 1)
        return places

    def slack(self, place: Sequence[int]) -> int:
        """Return how far the rule is violated if row i stands at place[i], from 1."""
        return self.rule.slack(self, place)


NumberedRule = tuple[int, BoundRule]
"""A rule on a list, by its number among all rules."""


@cache
def _own_fields(kind: type[Rule]) -> tuple[str, ...]:
    """Return the fields of this kind of rule, without those that every rule has."""
    return tuple(f.name for f in fields(kind) if not f.kw_only)


@cache
def counts(kind: type[Rule]) -> dict[str, WholeNumbers]:
    """Return the counts and places among a rule's fields, and their ranges."""
    return {name: range_ for name, range_ in _ranges(kind) if isinstance(range_, WholeNumbers)}


@cache
def measures(kind: type[Rule]) -> dict[str, RealNumbers]:
    """Return the factors and shares among a rule's fields, and their ranges."""
    return {name: range_ for name, range_ in _ranges(kind) if isinstance(range_, RealNumbers)}


def _ranges(kind: type[Rule]) -> Iterator[tuple[str, object]]:
    hints = get_type_hints(kind, include_extras=True)
    for own in fields(kind):
        for range_ in get_args(hints[own.name])[1:]:
            yield own.name, range_

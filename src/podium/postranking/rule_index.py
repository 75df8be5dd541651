"""The rule index, by query and document: which rules can act on a list, and how often they did."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

from podium.postranking.condition_index import ConditionIndex
from podium.postranking.list_input import Catalogue, look_up
from podium.postranking.listing import unknown_field
from podium.postranking.preparation import PreparedList
from podium.postranking.result import PostRanking
from podium.postranking.rules.context_values import ContextValues
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.selectors import BY_FIELD, Each, Where
from podium.typing import Document


@dataclass(frozen=True)
class RuleUsage:
    """The use of a rule over all lists.

    `lists` is the number of lists on which it acted, `satisfied` on which it held, and `yielded` on
    which it gave way as a hard rule. If it never acted, `note` says why.
    """

    rule: Rule
    lists: int
    satisfied: int
    yielded: int = 0
    note: str = ""

    @property
    def violated(self) -> int:
        """The number of lists on which it acted but did not hold."""
        return self.lists - self.satisfied


@dataclass(frozen=True)
class RuleCounts:
    """On how many lists each rule acted, held and gave way, and why it did not act."""

    lists: Sequence[int]
    satisfied: Sequence[int]
    yielded: Sequence[int]
    notes: Sequence[str]
    example_query: str


UNKNOWN_TEXTS = "because the texts of queries are not known"
"""Why a rule for a query may never act."""


@dataclass
class RuleIndex:
    """Rules by query and document, so that a list is prepared only with the rules that can act on it.

    With `every`, rules that name nothing in a list are candidates too. `has_texts` says whether the
    texts of queries are known; otherwise rules for a query are compared with ids.
    """

    rules: tuple[Rule, ...]
    today: datetime.date
    every: bool = False
    has_texts: bool = True
    example_query: str = ""
    values: ContextValues = field(default_factory=ContextValues)
    """What all requests of the lists carry besides their queries."""
    always: list[int] = field(default_factory=list)
    conditioned: list[int] = field(default_factory=list)
    """The numbers of the rules for some queries or requests."""
    by_doc: dict[Document, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lists, self.satisfied, self.yielded = ([0] * len(self.rules) for _ in range(3))
        self.notes = [rule.reason_off_today(self.today) for rule in self.rules]
        for number, rule in enumerate(self.rules):
            if self.notes[number]:
                continue
            if any(own is not None for own in (rule.query, rule.pattern, rule.condition)):
                self.conditioned.append(number)
            elif self.every or rule.inserts or not rule.named_docs or selects_by_field(rule):
                self.always.append(number)
            else:
                for doc in rule.named_docs:
                    self.by_doc.setdefault(doc, []).append(number)
        self.inserted = frozenset(
            doc
            for number in self.always
            if self.rules[number].inserts
            for doc in self.rules[number].named_docs
        )
        self.conditions = ConditionIndex(self.rules[number] for number in self.conditioned)

    def candidates(
        self, query: str, docs: Iterable[Document], values: ContextValues | None = None
    ) -> list[int]:
        """Return the numbers of the rules for a request that can name one of these documents.

        Documents that one of the rules inserts count as documents of the list.
        """
        self.example_query = query
        own = (self.values if values is None else values).with_query(query)
        on = [
            number
            for number in (self.conditioned[at] for at in self.conditions.candidates(own))
            if not self.rules[number].reason_off(query, self.today, own)
        ]
        # A rule may name a document that another rule inserts.
        row = frozenset(docs).union(
            self.inserted, *(self.rules[n].named_docs for n in on if self.rules[n].inserts)
        )
        numbers = set(self.always)
        for doc in row if self.by_doc else ():
            numbers.update(self.by_doc.get(doc, ()))
        numbers.update(number for number in on if self._can_name(number, row))
        return sorted(numbers)

    def _can_name(self, number: int, row: frozenset[Document]) -> bool:
        """Whether a rule for some requests is a candidate for a list of these documents."""
        rule = self.rules[number]
        if rule.query or self.every or rule.inserts or selects_by_field(rule):
            return True
        return not rule.named_docs or not row.isdisjoint(rule.named_docs)

    def check_fields(self, fields: Catalogue | None) -> None:
        """Raise if a rule uses a field that no document has."""
        if fields is None:
            return
        look_up(fields, list(fields) if isinstance(fields, Mapping) else ())
        missing = {name: rule for rule in reversed(self.rules) for name in field_names(rule)}
        for values in fields.values():
            if not missing:
                return
            for name in [name for name in missing if name in values]:
                del missing[name]
        if missing:
            names = {str(name) for values in fields.values() for name in values}
            name, rule = next(reversed(missing.items()))
            raise unknown_field(name, names, rule.selectors)

    def count(self, numbers: Sequence[int], result: PostRanking) -> None:
        """Count the outcomes of these rules on a list."""
        for number, outcome in zip(numbers, result.rules, strict=True):
            self.lists[number] += outcome.acted
            self.satisfied[number] += outcome.acted and outcome.satisfied
            self.yielded[number] += outcome.yielded
            self.notes[number] = self.notes[number] or outcome.note

    def count_prepared(self, numbers: Sequence[int], prepared: PreparedList) -> None:
        """Count which of these rules act on a prepared list, solved or not."""
        for at, number in enumerate(numbers):
            self.lists[number] += at not in prepared.notes
            self.notes[number] = self.notes[number] or prepared.notes.get(at, "")

    def without_counts(self) -> RuleIndex:
        """Return the same index with counts of its own, which begin at 0."""
        own = copy(self)
        own.lists, own.satisfied, own.yielded = ([0] * len(self.rules) for _ in range(3))
        own.notes = [rule.reason_off_today(self.today) for rule in self.rules]
        return own

    def counts(self) -> RuleCounts:
        """Return the counts so far."""
        return RuleCounts(self.lists, self.satisfied, self.yielded, self.notes, self.example_query)

    def add_counts(self, more: RuleCounts) -> None:
        """Add counts of the same rules on other lists, which come after those counted so far."""
        for own, others in (
            (self.lists, more.lists), (self.satisfied, more.satisfied), (self.yielded, more.yielded),
        ):  # fmt: skip
            own[:] = [a + b for a, b in zip(own, others, strict=True)]
        self.notes = [a or b for a, b in zip(self.notes, more.notes, strict=True)]
        self.example_query = more.example_query or self.example_query

    def usage(self) -> tuple[RuleUsage, ...]:
        """Return the use of each rule over all lists."""
        return tuple(
            RuleUsage(
                rule, self.lists[k], self.satisfied[k], self.yielded[k],
                "" if self.lists[k] else self.notes[k] or self._reason_unused(rule),
            )
            for k, rule in enumerate(self.rules)
        )  # fmt: skip

    def _reason_unused(self, rule: Rule) -> str:
        if rule.query is not None:
            reason = f"no query is {rule.query!r}"
            if self.has_texts or not self.example_query:
                return reason
            return f"{reason}, compared with ids such as {self.example_query!r}, {UNKNOWN_TEXTS}"
        if rule.condition is not None:
            return f"no request with its documents is one where {rule.condition}"
        if rule.pattern is not None:
            return f"no list of a query like {rule.pattern!r} has its documents"
        return "names nothing in any list"


def selects_by_field(rule: Rule) -> bool:
    """Whether a rule selects documents by their fields."""
    return any(isinstance(selector, BY_FIELD) for selector in rule.selectors)


def field_names(rule: Rule) -> Iterator[str]:
    """Yield the fields that a rule uses."""
    for selector in rule.selectors:
        if isinstance(selector, Where):
            yield from selector.names
        elif isinstance(selector, Each):
            yield selector.field

"""Index of rules by query and document: which rules can act on a list, and their tallies."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from podium.postranking.binding import unknown_field
from podium.postranking.lists import Catalogue, look_up
from podium.postranking.preparation import PreparedList
from podium.postranking.result import PostRanking
from podium.postranking.rules.rule import Rule, plain
from podium.postranking.rules.selectors import BY_FIELD, Document, Each, Where


@dataclass(frozen=True)
class RuleTally:
    """What became of a rule over all lists.

    It acted on `lists` of them, held on `held`, gave way as a hard rule on `yielded`; where it never
    acted, `note` says why.
    """

    rule: Rule
    lists: int
    held: int
    yielded: int = 0
    note: str = ""

    @property
    def violated(self) -> int:
        """On how many lists it acted and does not hold."""
        return self.lists - self.held


@dataclass
class RuleIndex:
    """Rules by query and document, so that a list is prepared only with those that can act on it.

    With `every`, also those that name nothing in it.
    """

    rules: tuple[Rule, ...]
    today: datetime.date
    every: bool = False
    always: list[int] = field(default_factory=list)
    by_query: dict[str, list[int]] = field(default_factory=dict)
    by_doc: dict[Document, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lists, self.held, self.yielded = ([0] * len(self.rules) for _ in range(3))
        self.notes = [rule.reason_off_today(self.today) for rule in self.rules]
        for number, rule in enumerate(self.rules):
            if self.notes[number]:
                continue
            if rule.query is not None:
                self.by_query.setdefault(plain(rule.query), []).append(number)
            elif self.every or not rule.named or by_fields(rule):
                self.always.append(number)
            else:
                for doc in rule.named:
                    self.by_doc.setdefault(doc, []).append(number)

    def acting_on(self, query: str, docs: Iterable[Document]) -> list[int]:
        """Return the numbers of the rules for a query that can name one of these documents."""
        candidates = {*self.always, *self.by_query.get(plain(query), ())}
        if self.by_doc:
            for doc in docs:
                candidates.update(self.by_doc.get(doc, ()))
        rules = self.rules
        return [
            number
            for number in sorted(candidates)
            if rules[number].pattern is None or not rules[number].reason_off(query, self.today)
        ]

    def check_fields(self, fields: Catalogue | None) -> None:
        """Raise where a rule is on a field that no document has."""
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
        """Count what became of these rules on a list."""
        for number, outcome in zip(numbers, result.rules, strict=True):
            self.lists[number] += outcome.acted
            self.held[number] += outcome.acted and outcome.satisfied
            self.yielded[number] += outcome.yielded
            self.notes[number] = self.notes[number] or outcome.note

    def count_prepared(self, numbers: Sequence[int], prepared: PreparedList) -> None:
        """Count which of these rules act on a prepared list, solved or not."""
        for at, number in enumerate(numbers):
            self.lists[number] += at not in prepared.notes
            self.notes[number] = self.notes[number] or prepared.notes.get(at, "")

    def tallies(self) -> tuple[RuleTally, ...]:
        """What became of each rule."""
        return tuple(
            RuleTally(
                rule, self.lists[k], self.held[k], self.yielded[k],
                "" if self.lists[k] else self.notes[k] or self._reason_idle(rule),
            )
            for k, rule in enumerate(self.rules)
        )  # fmt: skip

    def _reason_idle(self, rule: Rule) -> str:
        if rule.query is not None:
            return f"no query is {rule.query!r}"
        if rule.pattern is not None:
            return f"no query like {rule.pattern!r} has its documents"
        return "names nothing in any list"


def by_fields(rule: Rule) -> bool:
    """Whether a rule chooses documents by their fields."""
    return any(isinstance(selector, BY_FIELD) for selector in rule.selectors)


def field_names(rule: Rule) -> Iterator[str]:
    """The fields a rule speaks of."""
    for selector in rule.selectors:
        if isinstance(selector, Where):
            yield from selector.names
        elif isinstance(selector, Each):
            yield selector.field

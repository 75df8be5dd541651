"""The condition index: which rules can be on for a request, found by what the request has."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from podium.postranking.rules.context_values import QUERY, ContextValues
from podium.postranking.rules.dates_and_queries import normalise_query
from podium.postranking.rules.index_keys import (
    SPAN_KINDS,
    IndexKey,
    KeyKind,
    KeySet,
    Span,
    span_values,
)
from podium.postranking.rules.request_conditions import When
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.text_matching import (
    piece_of_pattern,
    pieces_of_text,
    shortened_words,
    stem_words,
)
from podium.postranking.span_axis import SpanAxis
from podium.work_budget import spend

KeyValues = frozenset[str | int]
KeyParts = tuple[tuple[KeyKind, KeyValues], ...]
"""A key set by kinds of keys; spans are nodes of their axis."""


class NumberedCondition(NamedTuple):
    """The number of a rule and the key sets of its conditions."""

    number: int
    key_sets: list[KeySet]


@dataclass
class ExcludedTexts:
    """Rules that are off for some texts of one name, and on for all others.

    For a text that switches most of them off, the others are kept.
    """

    numbers: list[int] = field(default_factory=list)
    by_text: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _others: dict[str, list[int]] = field(default_factory=dict)

    def add(self, number: int, texts: Iterable[str]) -> None:
        """Add a rule that is off for these texts."""
        self.numbers.append(number)
        for text in texts:
            self.by_text[text].add(number)

    def candidates(self, texts: Iterable[str]) -> list[int]:
        """Return the rules that are on for the text that switches the most of them off."""
        worst = max(texts, key=lambda text: len(self.by_text.get(text, ())), default="")
        off = self.by_text.get(worst)
        if off is None:
            return self.numbers
        others = self._others.get(worst)
        if others is None:
            spend(len(self.numbers) // 4)
            others = [number for number in self.numbers if number not in off]
            if 4 * len(others) <= len(self.numbers):  # so that all of them need little memory
                self._others[worst] = others
        return others


class ConditionIndex:
    """Rules by keys of their conditions: a request needs to look only at rules that share a key with it.

    A rule has key sets, and a request that meets its conditions has a key of each set. The rule is
    kept under the keys of the set that the fewest rules share, and is a candidate if the request has
    a key of the other sets, too. Rules without keys are looked at once for each distinct condition.

    Parameters
    ----------
    rules
        The rules; a candidate is named by its number among them.
    has_days
        Whether requests have a day, on which rules with dates may be off.

    Examples
    --------
    >>> from podium.postranking import Hide
    >>> index = ConditionIndex([Hide("a", when={"device": "mobile"}), Hide("b", query="chess"), Hide("c")])
    >>> index.candidates(ContextValues({"device": ("mobile",), "query": ("clock",)}))
    [0, 2]
    """

    def __init__(self, rules: Iterable[Rule], *, has_days: bool = False) -> None:
        self.always: list[int] = []
        self.by_condition: dict[When, list[int]] = {}
        self.excluded: dict[str, ExcludedTexts] = defaultdict(ExcludedTexts)
        entries = []
        for number, rule in enumerate(rules):
            key_sets = key_sets_of(rule, has_days=has_days)
            if key_sets:
                entries.append(NumberedCondition(number, key_sets))
            else:
                self._add_without_keys(number, rule)
        self.axes = _axes(entries)
        self.tables: dict[KeyKind, dict[str | int, list[int]]] = {}
        self.other_parts: dict[int, list[KeyParts]] = {}
        self._add_entries(entries)
        self.piece_lengths = _piece_lengths(entries)
        self.kinds_by_name: dict[str, list[KeyKind]] = defaultdict(list)
        for kind in self.tables:
            is_text = kind[0] not in ("absent", "week", "date", "day")
            self.kinds_by_name[kind[1] if is_text else ""].append(kind)

    def _add_without_keys(self, number: int, rule: Rule) -> None:
        condition = rule.condition
        if condition is None:
            self.always.append(number)
        elif (excluded := condition.excluded_texts()) is not None:
            name, texts = excluded
            self.excluded[name].add(number, texts)
        else:
            self.by_condition.setdefault(condition, []).append(number)

    def _add_entries(self, entries: list[NumberedCondition]) -> None:
        """Put each rule under the keys of the set that the fewest rules share."""
        parts = {
            entry.number: [_parts_of(keys, self.axes) for keys in entry.key_sets]
            for entry in entries
        }
        shared = Counter(
            (kind, value)
            for own in parts.values()
            for key_parts in own
            for kind, many in key_parts
            for value in many
        )
        for number, own in parts.items():
            best = min(
                own,
                key=lambda one: sum(shared[kind, value] for kind, many in one for value in many),
            )
            for kind, many in best:
                table = self.tables.setdefault(kind, {})
                for value in many:
                    table.setdefault(value, []).append(number)
            others = [one for one in own if one is not best]
            if others:
                self.other_parts[number] = others

    def candidates(self, values: ContextValues, today: datetime.date | None = None) -> list[int]:
        """Return the numbers of the rules whose conditions a request may meet, in their order."""
        request = _RequestKeys(self, values, today)
        numbers = set(self.always)
        for kind in self._kinds(values):
            table = self.tables[kind]
            near = [table[value] for value in request[kind] & table.keys()]
            if near:
                numbers.update(filter(request.has_others, set().union(*near)))
        for condition, own in self.by_condition.items():
            if condition.is_met(values):
                numbers.update(own)
        for name, excluded in self.excluded.items():
            numbers.update(excluded.candidates(values.texts.get(name, ())))
        return sorted(numbers)

    def _kinds(self, values: ContextValues) -> Iterator[KeyKind]:
        """Yield the kinds of keys that a request may have."""
        yield from self.kinds_by_name.get("", ())
        for name in self.kinds_by_name.keys() & values.texts.keys():
            yield from self.kinds_by_name[name] if name else ()


class _RequestKeys(dict[KeyKind, set[str | int]]):
    """The keys of a request by their kinds, found when they are first needed."""

    def __init__(
        self, index: ConditionIndex, values: ContextValues, today: datetime.date | None
    ) -> None:
        super().__init__()
        self.index, self.context, self.today = index, values, today

    def __missing__(self, kind: KeyKind) -> set[str | int]:
        keys = self[kind] = self._find(kind)
        spend(1 + len(keys) // 4)
        return keys

    def _find(self, kind: KeyKind) -> set[str | int]:
        what, name = kind[:2]
        if what in SPAN_KINDS:
            axis, numbers = self.index.axes[kind], span_values(kind, self.context, self.today)
            return {node for number in numbers for node in axis.path_of(number)}
        if what == "absent":
            return set() if span_values(("number", name), self.context, None) else {""}
        texts = self.context.texts.get(name, ())
        if what == "is":
            return set(texts)
        if what == "piece":
            lengths = self.index.piece_lengths[kind]
            return {piece for text in texts for piece in pieces_of_text(text, lengths)}
        words = {word for text in texts for word in stem_words(kind[2], text)}
        if what == "stem":
            return set(words)
        return {short for word in words for short in shortened_words(word, int(kind[3]))}

    def has_others(self, number: int) -> bool:
        """Whether the request has a key of each other set of a rule."""
        for one in self.index.other_parts.get(number, ()):
            for kind, many in one:
                if not many.isdisjoint(self[kind]):
                    break
            else:
                return False
        return True


def _axes(entries: Iterable[NumberedCondition]) -> dict[KeyKind, SpanAxis]:
    spans: dict[KeyKind, list[Span]] = defaultdict(list)
    for entry in entries:
        for keys in entry.key_sets:
            for kind, value in keys:
                if isinstance(value, Span):
                    spans[kind].append(value)
    return {kind: SpanAxis(own) for kind, own in spans.items()}


def _piece_lengths(entries: Iterable[NumberedCondition]) -> dict[KeyKind, frozenset[int]]:
    lengths: dict[KeyKind, set[int]] = defaultdict(set)
    for entry in entries:
        for keys in entry.key_sets:
            for kind, value in keys:
                if kind[0] == "piece":
                    lengths[kind].add(len(str(value)))
    return {kind: frozenset(own) for kind, own in lengths.items()}


def _parts_of(keys: KeySet, axes: dict[KeyKind, SpanAxis]) -> KeyParts:
    """Return a key set by kinds, with spans as nodes of their axis."""
    parts: dict[KeyKind, set[str | int]] = {}
    for kind, value in keys:
        own = parts.setdefault(kind, set())
        if isinstance(value, Span):
            own.update(axes[kind].nodes_of(value))
        else:
            own.add(value)
    return tuple((kind, frozenset(own)) for kind, own in parts.items())


def key_sets_of(rule: Rule, *, has_days: bool = False) -> list[KeySet]:
    """Return the key sets of a rule's query, pattern and condition, and of its dates."""
    sets = [] if rule.condition is None else list(rule.condition.index_keys())
    if rule.query is not None:
        sets.append(frozenset({IndexKey(("is", QUERY), normalise_query(rule.query))}))
    if rule.pattern is not None and piece_of_pattern(rule.pattern):
        sets.append(frozenset({IndexKey(("piece", QUERY), piece_of_pattern(rule.pattern))}))
    if has_days and (rule.starts or rule.ends):
        low, high = (None if day is None else day.toordinal() for day in (rule.starts, rule.ends))
        sets.append(frozenset({IndexKey(("day", ""), Span(low, high))}))
    return sets

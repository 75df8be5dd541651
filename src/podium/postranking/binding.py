"""Binding: find the rows of a list that a rule names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from podium.data.csv_advice import plain_spelling
from podium.data.number_parsing import decimal_of
from podium.postranking.listing import Listing
from podium.postranking.rules.field_conditions import Fields, cut_text, read_condition
from podium.postranking.rules.rule import BoundRule, Rule
from podium.postranking.rules.selectors import Where
from podium.work_budget import check_time

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "1"), ("false", "no", "0")
"""Words of documents that say true and false."""
MAX_LISTED_WORDS = 4
"""The most texts of a field that a note lists."""


def bind(rule: Rule, listing: Listing) -> list[BoundRule]:
    """Bind a rule to a list; with `Each` there is one bound rule for each value."""
    n = len(listing.docs)
    # In an empty list no document has a field; this is not an error of the rule.
    groups: list[list[tuple[int, ...]]] = [
        listing.select(selector) if n else [()] for selector in rule.selectors
    ]
    absent = tuple([doc for doc in rule.named_docs if doc not in listing.row])
    if rule.joint:
        return [BoundRule(rule, _disjoint(groups[0], n), n, absent)]
    if len(groups) == 1:
        return [BoundRule(rule, (rows,), n, absent) for rows in groups[0]]
    return [BoundRule(rule, tuple(rows for (rows,) in groups), n, absent)]


def _disjoint(groups: list[tuple[int, ...]], n: int) -> tuple[tuple[int, ...], ...]:
    """Return groups without rows of earlier ones; all other rows are the last group."""
    free = set(range(n))
    parts = []
    for rows in [*groups, tuple(range(n))]:
        part = tuple(row for row in rows if row in free)
        free.difference_update(part)
        parts.append(part)
    return tuple(filter(None, parts)) or ((),)


@dataclass(frozen=True)
class FieldTypes:
    """The types of the values that documents have in a field, counted when first asked for."""

    fields: Collection[Fields]
    counts: dict[str, Counter[type]] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def count(self, name: str) -> Counter[type]:
        """Return how many documents have a value of each type in a field."""
        if name not in self.counts:
            check_time()
            values = (own.get(name) for own in self.fields)
            self.counts[name] = Counter(type(value) for value in values if value is not None)
        return self.counts[name]

    def words(self, name: str) -> list[str]:
        """Return the different texts that documents have in a field, the first ones first."""
        check_time()
        values = (own.get(name) for own in self.fields)
        return list(dict.fromkeys(value for value in values if isinstance(value, str)))

    def example_text(self, name: str) -> str:
        """Return a text that a document has in a field: the first that spells a number, else the first."""
        if name not in self.examples:
            check_time()
            texts = [own[name] for own in self.fields if isinstance(own.get(name), str)]
            self.examples[name] = next((text for text in texts if plain_spelling(text)), texts[0])
        return self.examples[name]


def type_notes(rule: Rule, types: FieldTypes) -> list[str]:
    """Return notes on fields that a rule compares with another type than the documents have."""
    wheres = [selector for selector in rule.selectors if isinstance(selector, Where)]
    constants: dict[str, list[Any]] = {}
    ordered: set[str] = set()
    for where in wheres:
        condition = read_condition(where.condition)
        ordered |= condition.ordered
        for name, values in condition.constants.items():
            constants.setdefault(name, []).extend(values)
    notes: list[str] = []
    for name in sorted(constants):
        note = _mixed_note(name, constants[name], types, is_ordered=name in ordered)
        notes.append(note or _type_note(name, constants[name], types))
    return [note for note in notes if note]


def _mixed_note(name: str, constants: Sequence[Any], types: FieldTypes, *, is_ordered: bool) -> str:
    """Return how many documents have text where a rule expects numbers; else empty.

    A field such as a size may be a number or a word: == is a mistake only if the word spells a number.
    """
    counts, compared = types.count(name), [value for value in constants if value is not None]
    if not compared or not counts[str] or any(isinstance(value, str) for value in compared):
        return ""
    text = types.example_text(name)
    spelling, is_mixed = plain_spelling(text), counts.total() > counts[str]
    if not spelling and not (is_mixed and is_ordered):
        return ""
    documents = "1 document" if counts.total() == 1 else f"{counts.total():,} documents"
    share = f"{counts[str]:,} of {documents}" if is_mixed else documents
    remedy = (
        f"write {spelling} there, without thousands marks and with a decimal point"
        if spelling
        else "write a number there, or leave the field out"
    )
    return (
        f'{name} is text in {share}, for example "{cut_text(text)}", and the rule compares it with a '
        f"number; {remedy}"
    )


def _type_note(name: str, constants: Sequence[Any], field_types: FieldTypes) -> str:
    """Return why none of these constants can equal a value of a field, and what to write; else empty."""
    types = field_types.count(name)
    is_text, is_truth = set(types) == {str}, set(types) == {bool}
    if not types or not (is_text or set(types) <= {bool, int, float}):
        return ""
    wrong = [
        value for value in constants if value is not None and isinstance(value, str) != is_text
    ]
    if not wrong or len(wrong) < len(constants):
        return ""
    documents = "1 document" if types.total() == 1 else f"{types.total():,} documents"
    if is_text:
        kind = "true or false" if all(isinstance(value, bool) for value in wrong) else "a number"
        remedy = _remedy_for_text(name, wrong[0], field_types.words(name))
        return f"{name} is text in {documents}, and the rule compares it with {kind}; {remedy}"
    type_name = "true or false" if is_truth else "a number"
    remedy = _unquoted(wrong[0], is_truth)
    return (
        f"{name} is {type_name} in {documents}, and the rule compares it with the text "
        f'"{cut_text(wrong[0])}"' + (remedy and f"; write {remedy}, without quotes")
    )


def _remedy_for_text(name: str, constant: Any, words: Sequence[str]) -> str:
    """Return what to write instead of a number, true or false: the word of a document that says the same."""
    same_meaning = TRUE_WORDS if constant else FALSE_WORDS
    same = [word for word in words if word.strip().lower() in same_meaning]
    listed = ", ".join(f'"{cut_text(word)}"' for word in words[:MAX_LISTED_WORDS])
    more = ", ..." if len(words) > MAX_LISTED_WORDS else ""
    if constant not in (0, 1) or not same:
        return f"its texts are {listed}{more}; write one of them, in double quotes"
    return f'write {name} == "{cut_text(same[0])}" (its texts are {listed}{more})'


def _unquoted(text: str, is_truth: bool) -> str:
    """Return a constant as a rule has it without quotes; empty if text spells none."""
    word = text.strip().lower()
    if is_truth:
        is_true, is_false = word in TRUE_WORDS, word in FALSE_WORDS
        return "true" if is_true else "false" if is_false else ""
    return "" if decimal_of(word) is None else word

"""Binding: a rule on a list, with the rows of the documents that it names."""

from __future__ import annotations

from podium.postranking.listing import Listing
from podium.postranking.rules.field_conditions import read_condition
from podium.postranking.rules.rule import BoundRule, Rule
from podium.postranking.rules.selectors import Where
from podium.work_budget import spend


def bind(rule: Rule, listing: Listing) -> list[BoundRule]:
    """Bind a rule to a list; with `Each` there is one bound rule for each value."""
    n = len(listing.docs)
    # In an empty list no document has a field, which is no error of the rule.
    groups = [listing.select(selector) if n else [()] for selector in rule.selectors]
    absent = tuple([doc for doc in rule.named_docs if doc not in listing.row])
    if len(groups) == 1:
        return [BoundRule(rule, (rows,), n, absent) for rows in groups[0]]
    return [BoundRule(rule, tuple(rows for (rows,) in groups), n, absent)]


def text_for_numbers(rule: Rule, listing: Listing) -> str:
    """Return a note on fields that a rule compares with numbers and that the list has only as text."""
    wheres = [selector for selector in rule.selectors if isinstance(selector, Where)]
    names = {name for where in wheres for name in read_condition(where.condition).numeric}
    notes = []
    for name in sorted(names):
        values = [own[name] for own in listing.fields or () if own.get(name) is not None]
        spend(len(listing.docs))
        if values and all(isinstance(value, str) for value in values):
            documents = "1 document" if len(values) == 1 else f"{len(values):,} documents"
            notes.append(f"; {name} is text in {documents}, and the rule compares it with a number")
    return "".join(notes)

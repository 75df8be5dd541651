"""Documents that a rule moves up and that another rule hides, or may hide, by a field."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Sequence

from podium.postranking.list_input import Catalogue
from podium.postranking.rule_strength import StrengthOrder
from podium.postranking.rule_trial import MAX_WORK, Finding
from podium.postranking.rules.field_conditions import read_condition
from podium.postranking.rules.placing_kinds import Insert
from podium.postranking.rules.rule import Rule
from podium.postranking.rules.rule_kinds import Hide, Pin, TopK
from podium.postranking.rules.selectors import Where
from podium.postranking.sample_requests import example_request
from podium.typing import Document
from podium.work_budget import check_time

MAX_NAMED_RULES = 3
"""The most rules that a note names."""


def hidden_findings(
    rules: Sequence[Rule],
    fields: Catalogue | None,
    days: Sequence[datetime.date],
    conflicts: Collection[tuple[int, ...]],
    classes: Sequence[str],
) -> Iterator[Finding]:
    """Yield findings on pins and top-k rules whose documents a hard hide removes by a field.

    Pairs of rules in `conflicts` are left out: another finding names them. Documents that a hide
    does not remove now, but may remove once their fields change, are named in a note.
    """
    lifting = {n: rule for n, rule in enumerate(rules) if isinstance(rule, Pin | TopK | Insert)}
    documents = {
        doc for rule in lifting.values() for doc in rule.named_docs if doc in (fields or ())
    }
    strength = StrengthOrder(tuple(classes))
    work = MAX_WORK
    for number, rule in enumerate(rules):
        if not isinstance(rule, Hide) or not isinstance(rule.doc, Where) or not rule.hard:
            continue
        check_time()
        work -= len(documents) + len(lifting)
        if work < 0:
            yield Finding(
                "warning", (), "too many rules to look for pinned documents that are hidden"
            )
            return
        meets = read_condition(rule.doc.condition).meets
        hidden = {doc for doc in documents if meets(fields[doc])} if fields else set()
        later: dict[bool, list[int]] = {}
        for other, lifted in lifting.items():
            if not lifted.named_docs or tuple(sorted((other, number))) in conflicts:
                continue
            query = _common_query(lifted, rule, days)
            if query is None:
                continue
            docs = [doc for doc in lifted.named_docs if doc in hidden]
            if docs:
                yield Finding("warning", (other, number), _message(docs, lifted, query))
            if len(docs) < len(lifted.named_docs):
                wins = lifted.hard and strength.beats(lifted, rule)
                later.setdefault(wins, []).append(other)
        for wins, others in sorted(later.items()):
            lifted_docs = {
                doc: None for n in others for doc in lifting[n].named_docs if doc not in hidden
            }
            yield Finding(
                "note", (number, *others[:MAX_NAMED_RULES]), _later_message([*lifted_docs], wins)
            )


def _later_message(docs: Sequence[Document], wins: bool) -> str:
    """Return what happens once the fields of documents change."""
    listed = ", ".join(map(repr, docs[:3])) + (f" and {len(docs) - 3:,} others" * (len(docs) > 3))
    then = "this rule then gives way to the other" if wins else "the other rule then gives way"
    return f"may hide {listed} once fields change: {then}"


def _common_query(one: Rule, other: Rule, days: Sequence[datetime.date]) -> str | None:
    """Return a query for which both rules act on one of these days: "" for all; None if there is none."""
    if example_request([one, other]) is None:
        return None  # no request is known to meet both conditions
    for query in (
        "",
        *(text for rule in (one, other) for text in (rule.query, rule.pattern) if text),
    ):
        for day in days:
            if not one.reason_off(query, day) and not other.reason_off(query, day):
                return query
    return None


def _message(docs: Sequence[Document], lifted: Rule, query: str) -> str:
    listed = ", ".join(map(repr, docs[:3])) + (", ..." if len(docs) > 3 else "")
    where = f" for query {query!r}" if query else ""
    is_all = len(docs) == len(lifted.named_docs)
    effect = ", so the first rule has no effect" if is_all else ""
    return f"the second rule hides {listed}{where}{effect}"

"""Lists under rules: what a request asks for, and what the answer says of the result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.apps.serving.bodies import (
    ListedDocument,
    Moved,
    PostrankAnswer,
    PostrankRequest,
    RankRequest,
    RuleTold,
    YieldedRule,
)
from podium.apps.serving.errors import Refusal, refusal_of
from podium.errors import ConflictError
from podium.postranking import Hide, PostRanking, Rule, postrank, rules_from
from podium.postranking.work_budget import bounded_steps

Fields = Mapping[str, Any]

MAX_QUICK_FIELD_VALUES = 20_000
"""Values of lists and characters of texts that rules look at in no time."""
MAX_QUICK_DOCUMENTS = 200
"""Documents of a list that soft rules order in no time."""
MAX_TERMS = 5_000_000
"""Documents of a list times its rules: more would keep a thread for long."""
MAX_DOCUMENTS = 100_000
"""Documents of a list under rules."""
MAX_FIELD_VALUES = 1_000
"""Values of a field that is a list, with those of lists in it."""
MAX_STEPS = 20_000_000
"""Work that rules may take on a list; about a second for five million."""


@dataclass(frozen=True, eq=False)
class ServedRules:
    """The service's rules, and the fields of documents by their ids; None where it has none."""

    rules: tuple[Rule, ...] | None = None
    fields: Mapping[str, Fields] | None = None

    def choose(self, requested: bool | Sequence[Mapping[str, Any]] | None) -> tuple[Rule, ...]:
        """The rules of a request: its own, or those of the service."""
        if isinstance(requested, bool) or requested is None:
            if self.rules is None:
                message = "expected rules in the request: the service was started without --rules"
                raise Refusal(422, "no_rules", message)
            return self.rules
        return rules_from({"version": 1, "rules": requested})

    def records(
        self, ids: Sequence[str], request_fields: Sequence[Fields | None]
    ) -> list[dict[str, Any]]:
        """The documents as rules see them: the catalogue's fields, and the request's before those.

        They are records also without any field: a rule on one then says so, and the list is served.
        """
        catalogue = self.fields
        if catalogue is None:
            return [
                {**own, "id": id_} if own else {"id": id_}
                for id_, own in zip(ids, request_fields, strict=True)
            ]
        return [
            {**catalogue.get(id_, {}), **(own or {}), "id": id_}
            for id_, own in zip(ids, request_fields, strict=True)
        ]


def is_quick(rules: Sequence[Rule], n_documents: int) -> bool:
    """Whether rules take no time: places under hard rules are searched for."""
    return n_documents <= MAX_QUICK_DOCUMENTS and not any(
        r.hard and not isinstance(r, Hide) for r in rules
    )


def has_small_fields(documents: Sequence[Any]) -> bool:
    """Return whether rules look at a request's fields in no time: short texts, and lists of plain values."""
    fields = (doc.fields for doc in documents if not isinstance(doc, str) and doc.fields)
    return (
        sum(_field_size(value) for own in fields for value in own.values())
        <= MAX_QUICK_FIELD_VALUES
    )


def _field_size(value: Any) -> float:
    """Return the values and characters of a field; infinity if it has lists or mappings in each other."""
    if not isinstance(value, list | dict):
        return len(value) if isinstance(value, str) else 0
    parts = value.values() if isinstance(value, dict) else value
    if any(isinstance(part, list | dict) for part in parts):
        return math.inf
    return len(value) + sum(len(part) for part in parts if isinstance(part, str))


def check_documents(fields: Sequence[Fields | None]) -> None:
    """Raise 413 where a request has too many documents, or a field too many values."""
    if len(fields) > MAX_DOCUMENTS:
        message = f"expected at most {MAX_DOCUMENTS:,} documents under rules, got {len(fields):,}"
        raise Refusal(413, "too_many", message)
    for at, own in enumerate(fields):
        for name, value in own.items() if own else ():
            if isinstance(value, list | dict) and _has_many_values(value):
                place = f"documents[{at}].fields.{name:.100}"
                message = f"expected at most {MAX_FIELD_VALUES:,} values in {place}, got more"
                raise Refusal(413, "too_many", message, at=place)


def _has_many_values(value: list[Any] | dict[str, Any]) -> bool:
    """Whether lists and mappings in each other have more values than a field may have."""
    todo, n_values = [value], 0
    while todo and n_values <= MAX_FIELD_VALUES:
        one = todo.pop()
        n_values += len(one)
        if n_values <= MAX_FIELD_VALUES:
            values = one.values() if isinstance(one, dict) else one
            todo += [part for part in values if isinstance(part, list | dict)]
    return n_values > MAX_FIELD_VALUES


def check_ids(ids: Sequence[str]) -> None:
    """Raise where an id comes twice: a rule would not know which is meant."""
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(id_ for id_ in ids if id_ in seen or seen.add(id_))  # type: ignore[func-returns-value]
        raise Refusal(422, "duplicate_id", f"expected each document once, got {twice!r:.200} twice")


@dataclass(frozen=True)
class Ruled:
    """A list under rules: ids, best first, those that are hidden, hard rules that gave way.

    Moves and what became of each rule are there if they were asked for.
    """

    ids: list[str]
    hidden: list[str]
    yielded: list[YieldedRule]
    moves: list[Moved] | None = None
    rules: list[RuleTold] | None = None


def apply_rules(
    documents: Sequence[Mapping[str, Any]],
    rules: tuple[Rule, ...],
    request: RankRequest | PostrankRequest,
    scores: Sequence[float] | None,
    **options: Any,
) -> Ruled:
    """A list under rules; documents that are not in it do no harm."""
    if len(documents) * len(rules) > MAX_TERMS:
        message = (
            f"expected at most {MAX_TERMS:,} documents times rules, "
            f"got {len(documents):,} times {len(rules):,}"
        )
        raise Refusal(413, "too_many", message)
    try:
        with bounded_steps(MAX_STEPS):
            result = postrank(
                documents, rules, scores, query=request.query, today=request.today, missing="report",
                conflicts=request.conflicts, explain=bool(request.explain), **options,
            )  # fmt: skip
    except ConflictError as error:
        raise _conflict(error, rules) from error
    ids, hidden = [*map(str, result.order)], [*map(str, result.hidden)]
    yielded = yielded_rules(result)
    if not request.explain:
        return Ruled(ids, hidden, yielded)
    return Ruled(ids, hidden, yielded, moves_of(result, rules), outcomes_of(result))


def yielded_rules(result: PostRanking) -> list[YieldedRule]:
    """Return the hard rules that gave way, by their numbers, and the rules they gave way to."""
    numbers = {id(outcome.rule): number for number, outcome in enumerate(result.rules)}
    return [
        YieldedRule(
            number=number,
            rule=outcome.rule.label,
            undecided=outcome.undecided,
            to=[numbers[id(rule)] for rule in outcome.yielded_to],
        )
        for number, outcome in enumerate(result.rules)
        if outcome.yielded
    ]


def _conflict(error: ConflictError, rules: Sequence[Rule]) -> Refusal:
    """Hard rules that cannot hold together, also by their numbers."""
    numbers = _numbers(rules)
    refusal = refusal_of(error)
    refusal.told["numbers"] = [numbers[id(rule)] for rule in error.rules]
    return refusal


def _numbers(rules: Sequence[Rule]) -> dict[int, int]:
    """Rules' numbers by what they are, not by what they say: two may say the same."""
    return {id(rule): at for at, rule in enumerate(rules)}


def moves_of(result: PostRanking, rules: Sequence[Rule]) -> list[Moved]:
    """The documents that rules moved or hid, and because of which rules."""
    numbers = _numbers(rules)
    return [
        Moved(
            id=str(move.doc),
            origin=move.origin,
            to=move.to,
            because=[numbers[id(rule)] for rule in move.because],
        )
        for move in result.moved
    ]


def outcomes_of(result: PostRanking) -> list[RuleTold]:
    """What became of each rule."""
    return [
        RuleTold(
            rule=outcome.rule.label,
            satisfied=outcome.satisfied,
            slack=outcome.slack,
            note=outcome.note,
            yielded=outcome.yielded,
        )
        for outcome in result.rules
    ]


def postrank_answer(request: PostrankRequest, served_rules: ServedRules) -> PostrankAnswer:
    """The answer to a list and rules."""
    rules, documents = served_rules.choose(request.rules), request.documents
    ids = [doc if isinstance(doc, str) else doc.id for doc in documents]
    check_ids(ids)
    fields = [None if isinstance(doc, str) else doc.fields for doc in documents]
    check_documents(fields)
    records = served_rules.records(ids, fields)
    ruled = apply_rules(
        records, rules, request, _scores(documents), base=request.base, prior=request.prior
    )
    row = {id_: at for at, id_ in enumerate(ids)}
    order = ruled.ids[: request.k]
    return PostrankAnswer(
        ids=order,
        order=[row[id_] for id_ in order],
        id=request.id,
        hidden=ruled.hidden or None,
        yielded=ruled.yielded or None,
        moves=ruled.moves,
        rules=ruled.rules,
    )


def _scores(documents: Sequence[str | ListedDocument]) -> list[float] | None:
    """Scores of all documents, or of none."""
    scores = [None if isinstance(doc, str) else doc.score for doc in documents]
    present = [score for score in scores if score is not None]
    if present and len(present) < len(scores):
        at = scores.index(None)
        message = f"expected a score for every document, or for none, got none at documents[{at}]"
        raise Refusal(422, "missing_score", message, at=f"documents[{at}]")
    return present or None

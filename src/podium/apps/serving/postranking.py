"""Post-ranking in the service: a list and rules in, the list after its rules out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import (
    ListedDocument,
    MoveInfo,
    PostrankAnswer,
    PostrankRequest,
    RankRequest,
    RuleInfo,
    UnappliedRule,
    YieldedRule,
)
from podium.apps.serving.error_answers import refusal_of
from podium.apps.serving.unapplied_rules import FieldSources, find_unapplied_rules
from podium.errors import ConflictError
from podium.postranking import PostRanking, Rule, postrank, rules_from
from podium.postranking.rules.field_conditions import Fields
from podium.work_budget import bounded_steps

MAX_RULE_DOCUMENT_PAIRS = 5_000_000
"""The largest product of documents and rules; a larger one would block a thread for long."""
MAX_DOCUMENTS = 100_000
"""Documents of a list under rules."""
MAX_FIELD_VALUES = 1_000
"""The largest number of values in a field, nested lists included."""
MAX_STEPS = 20_000_000
"""Steps of work that rules may take on a list; five million take about a second."""

CONTAINERS = (list, dict)
"""Types of JSON values that have values in them."""


@dataclass(frozen=True, eq=False)
class ServedRules:
    """The service's rules, and the fields of documents by their ids; None if it has none."""

    rules: tuple[Rule, ...] | None = None
    fields: Mapping[str, Fields] | None = None

    def choose(self, requested: bool | Sequence[Mapping[str, Any]] | None) -> tuple[Rule, ...]:
        """Return the rules of a request: its own, or those of the service."""
        if isinstance(requested, bool) or requested is None:
            if self.rules is None:
                message = "expected rules in the request: the service was started without --rules"
                raise Refusal(422, "no_rules", message)
            return self.rules
        return rules_from({"version": 1, "rules": requested})

    @cached_property
    def field_names(self) -> frozenset[str]:
        """The names of all fields of the catalogue."""
        return frozenset(name for own in (self.fields or {}).values() for name in own)

    def sources(self, feature_names: Sequence[str] = ()) -> FieldSources:
        """Return where fields come from, for a request with these features."""
        return FieldSources(self.fields, self.field_names, feature_names)

    def records(
        self, ids: Sequence[str], request_fields: Sequence[Fields | None]
    ) -> list[dict[str, Any]]:
        """Return the documents as rules see them: fields of the catalogue, overridden by the request's.

        A document without any field is a record too: a rule on a field then says so, and the list is served.
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


def check_documents(fields: Sequence[Fields | None]) -> None:
    """Raise 413 if a request has too many documents, or a field too many values."""
    if len(fields) > MAX_DOCUMENTS:
        message = f"expected at most {MAX_DOCUMENTS:,} documents under rules, got {len(fields):,}"
        raise Refusal(413, "too_many", message)
    for at, own in enumerate(fields):
        if own:
            for name, value in own.items():
                if isinstance(value, CONTAINERS) and _has_many_values(value):
                    place = f"documents[{at}].fields.{name:.100}"
                    message = f"expected at most {MAX_FIELD_VALUES:,} values in {place}, got more"
                    raise Refusal(413, "too_many", message, at=place)


def _has_many_values(value: list[Any] | dict[str, Any]) -> bool:
    """Return whether lists and mappings in each other have more values than a field may have."""
    containers, n_values = [value], 0
    while containers and n_values <= MAX_FIELD_VALUES:
        container = containers.pop()
        n_values += len(container)
        if n_values <= MAX_FIELD_VALUES:
            values = container.values() if isinstance(container, dict) else container
            containers += [part for part in values if isinstance(part, CONTAINERS)]
    return n_values > MAX_FIELD_VALUES


def check_ids(ids: Sequence[str]) -> None:
    """Raise 422 if an id comes twice: a rule would not know which document is meant."""
    if len(set(ids)) < len(ids):
        counts = Counter(ids)
        twice = next(id_ for id_ in ids if counts[id_] > 1)
        raise Refusal(422, "duplicate_id", f"expected each document once, got {twice!r:.200} twice")


@dataclass(frozen=True)
class RuledList:
    """A list after its rules: ids, best first, hidden ids, hard rules that gave way or lack fields.

    Moves and outcomes of rules are there if the request asks for an explanation.
    """

    ids: list[str]
    hidden: list[str]
    yielded: list[YieldedRule]
    unapplied_rules: list[UnappliedRule] = field(default_factory=list)
    moves: list[MoveInfo] | None = None
    rules: list[RuleInfo] | None = None


def apply_rules(
    documents: Sequence[Mapping[str, Any]],
    rules: tuple[Rule, ...],
    request: RankRequest | PostrankRequest,
    scores: Sequence[float] | None,
    sources: FieldSources,
    **options: Any,
) -> RuledList:
    """Return a list after its rules; rules on documents that are not in it do no harm."""
    if len(documents) * len(rules) > MAX_RULE_DOCUMENT_PAIRS:
        message = (
            f"expected at most {MAX_RULE_DOCUMENT_PAIRS:,} documents times rules, "
            f"got {len(documents):,} times {len(rules):,}"
        )
        raise Refusal(413, "too_many", message)
    try:
        with bounded_steps(MAX_STEPS):
            result = postrank(
                documents, rules, scores, query=request.query, today=request.today, missing="report",
                conflicts=request.conflicts, explain=bool(request.explain), **options,
            )  # fmt: skip
            unapplied_rules = find_unapplied_rules(documents, rules, request, sources)
    except ConflictError as error:
        raise _conflict(error, rules) from error
    ids, hidden = [*map(str, result.order)], [*map(str, result.hidden)]
    yielded = yielded_rules(result)
    if not request.explain:
        return RuledList(ids, hidden, yielded, unapplied_rules)
    return RuledList(
        ids, hidden, yielded, unapplied_rules, moves_of(result, rules), outcomes_of(result)
    )


def yielded_rules(result: PostRanking) -> list[YieldedRule]:
    """Return the hard rules that gave way, by their numbers, and the rules they gave way to."""
    numbers = _numbers([outcome.rule for outcome in result.rules])
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
    """Return 409 for hard rules that cannot hold together, with their numbers."""
    numbers = _numbers(rules)
    refusal = refusal_of(error)
    refusal.details["numbers"] = [numbers[id(rule)] for rule in error.rules]
    return refusal


def _numbers(rules: Sequence[Rule]) -> dict[int, int]:
    """Return the numbers of rules by their identity: two rules may be equal."""
    return {id(rule): at for at, rule in enumerate(rules)}


def moves_of(result: PostRanking, rules: Sequence[Rule]) -> list[MoveInfo]:
    """Return the documents that rules moved or hid, with these rules."""
    numbers = _numbers(rules)
    return [
        MoveInfo(
            id=str(move.doc),
            origin=move.origin,
            to=move.to,
            because=[numbers[id(rule)] for rule in move.because],
        )
        for move in result.moved
    ]


def outcomes_of(result: PostRanking) -> list[RuleInfo]:
    """Return the outcome of each rule."""
    return [
        RuleInfo(
            rule=outcome.rule.label,
            satisfied=outcome.satisfied,
            slack=outcome.slack,
            note=outcome.note,
            yielded=outcome.yielded,
        )
        for outcome in result.rules
    ]


def postrank_answer(request: PostrankRequest, served_rules: ServedRules) -> PostrankAnswer:
    """Return the answer to a list and rules."""
    rules, documents = served_rules.choose(request.rules), request.documents
    ids = [doc if isinstance(doc, str) else doc.id for doc in documents]
    check_ids(ids)
    fields = [None if isinstance(doc, str) else doc.fields for doc in documents]
    check_documents(fields)
    records = served_rules.records(ids, fields)
    scores = _scores(documents)
    if request.base == "margin" and scores is None:
        message = 'expected a "score" for every document with "base": "margin", got none; "base": '
        raise Refusal(422, "missing_score", message + '"uniform" needs no scores', at="documents")
    ruled = apply_rules(
        records,
        rules,
        request,
        scores,
        served_rules.sources(),
        base=request.base,
        prior=request.prior,
    )
    row = {id_: at for at, id_ in enumerate(ids)}
    order = ruled.ids[: request.k]
    return PostrankAnswer(
        ids=order,
        order=[row[id_] for id_ in order],
        id=request.id,
        hidden=ruled.hidden or None,
        degraded=bool(ruled.yielded) or None,
        yielded=ruled.yielded or None,
        unapplied=ruled.unapplied_rules or None,
        moves=ruled.moves,
        rules=ruled.rules,
    )


def _scores(documents: Sequence[str | ListedDocument]) -> list[float] | None:
    """Return the scores of the documents; None if none has one, 422 if only some have."""
    scores = [None if isinstance(doc, str) else doc.score for doc in documents]
    present = [score for score in scores if score is not None]
    if present and len(present) < len(scores):
        at = scores.index(None)
        message = f"expected a score for every document, or for none, got none at documents[{at}]"
        raise Refusal(422, "missing_score", message, at=f"documents[{at}]")
    return present or None

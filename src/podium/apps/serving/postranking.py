"""Post-ranking in the service: a list and rules in, the list after its rules out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import (
    DegradedReason,
    ListedDocument,
    PostrankAnswer,
    PostrankRequest,
    RankRequest,
)
from podium.apps.serving.error_answers import refusal_of
from podium.apps.serving.rule_outcomes import (
    ActiveRules,
    RuledList,
    conflict_refusal,
    moves_of,
    outcomes_of,
    yielded_rules,
)
from podium.apps.serving.unapplied_rules import FieldSources, find_unapplied_rules
from podium.errors import ConflictError, DeadlineError, PodiumError, WorkLimitError
from podium.postranking import (
    Hide,
    Rule,
    RuleRequest,
    RuleStore,
    postrank,
    read_request,
    rules_from,
)
from podium.postranking.rules.field_conditions import Fields
from podium.postranking.settings import DEFAULT_CLASSES
from podium.work_budget import bounded_share, bounded_steps

MAX_RULE_DOCUMENT_PAIRS = 5_000_000
"""The largest product of documents and rules; a larger one would block a thread for long."""
MAX_DOCUMENTS = 100_000
"""Documents of a list under rules."""
MAX_FIELD_VALUES = 1_000
"""The largest number of values in a field, nested lists included."""
MAX_STEPS = 20_000_000
"""Steps of work that rules may take on a list; five million take about a second."""

ACTIVATION_SHARE = 0.25
"""The share of the remaining time in which the service finds its rules that are on."""
RULES_SHARE, HIDES_SHARE = 0.75, 0.5
"""Shares of the remaining time for all rules of the service, and then for those that hide documents."""

CONTAINERS = (list, dict)
"""Types of JSON values that have values in them."""


@dataclass(frozen=True, eq=False)
class ServedRules:
    """The service's rules, and the fields of documents by their ids; None if it has none."""

    rules: tuple[Rule, ...] | None = None
    fields: Mapping[str, Fields] | None = None
    classes: tuple[str, ...] = DEFAULT_CLASSES

    @cached_property
    def store(self) -> RuleStore:
        """The rules with an index of their conditions."""
        return RuleStore(self.rules or ())

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

    def activate(self, request: RankRequest | PostrankRequest) -> ActiveRules:
        """Return the rules that are on for a request."""
        rules = self.choose(request.rules)
        rule_request = read_request(request.query, context_of(request), request.today)
        if rules is self.rules:
            return self._activate_served(rules, rule_request)
        with bounded_steps(MAX_STEPS):
            numbers = [n for n, rule in enumerate(rules) if not rule_request.reason_off(rule)]
        return ActiveRules(rules, numbers, rule_request, self.classes)

    def _activate_served(self, rules: tuple[Rule, ...], request: RuleRequest) -> ActiveRules:
        """Return the rules of the service that are on; none if finding them takes too long."""
        numbers: list[int] = []
        failure = None
        try:
            with bounded_steps(MAX_STEPS), bounded_share(ACTIVATION_SHARE):
                numbers = self.store.active_numbers(request.query, request.day, request.values)
        except (WorkLimitError, DeadlineError) as error:
            failure = degraded_reason(error, len(rules))
        return ActiveRules(rules, numbers, request, self.classes, True, failure)

    def sources(self, feature_names: Sequence[str] = ()) -> FieldSources:
        """Return where fields come from, for a request with these features."""
        return FieldSources(self.fields, self.field_names, feature_names)

    def insertable(
        self, chosen: ActiveRules, request: RankRequest | PostrankRequest
    ) -> list[dict[str, Any]]:
        """Return the documents that the active rules insert and that the catalogue or the request has."""
        inserts = dict.fromkeys(
            str(doc) for rule in chosen.active if rule.inserts for doc in rule.named_docs
        )
        if not inserts:
            return []
        own: dict[Any, Fields] = {}
        for doc in request.insertable or ():
            own |= {doc: {}} if isinstance(doc, str) else {doc.id: doc.fields or {}}
        check_documents(list(own.values()))
        ids = [doc for doc in inserts if doc in own or doc in (self.fields or {})]
        return self.records(ids, [own.get(id_) for id_ in ids])

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


def context_of(request: RankRequest | PostrankRequest) -> Mapping[str, Any] | None:
    """Return the context of a request, with its user class."""
    user_class = getattr(request, "user_class", None)
    return (
        request.context
        if user_class is None
        else {"user_class": user_class, **(request.context or {})}
    )


def check_documents(fields: Sequence[Fields | None]) -> None:
    """Raise 413 if a field of a request has too many values."""
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


def apply_active_rules(
    documents: Sequence[Mapping[str, Any]],
    chosen: ActiveRules,
    request: RankRequest | PostrankRequest,
    scores: Sequence[float] | None,
    sources: FieldSources,
    insertable: Sequence[Mapping[str, Any]] = (),
    **options: Any,
) -> RuledList:
    """Return a list after its rules.

    Rules of the request refuse a list that takes them too much work. The service's own rules never
    do: if they cannot be applied, only those that hide documents are, or else none.
    """
    if not chosen.are_served:
        return apply_rules(documents, chosen, request, scores, sources, insertable, **options)
    reason, active = chosen.failure, chosen.active
    hides = [n for n, rule in zip(chosen.numbers, active, strict=True) if _is_hard_hide(rule)]
    for numbers, share in ((chosen.numbers, RULES_SHARE), (hides, HIDES_SHARE)):
        part = chosen._replace(numbers=numbers)
        try:
            with bounded_share(share):
                ruled = apply_rules(
                    documents, part, request, scores, sources, insertable, **options
                )
        except (PodiumError, Refusal) as error:
            if isinstance(error, Refusal) and error.code == "conflict":
                raise  # the request asks for conflicts to be errors
            reason = reason or degraded_reason(error, len(active) - len(hides))
        else:
            return replace(ruled, reason=reason)
    assert reason is not None
    ids = [str(document["id"]) for document in documents]
    return RuledList(ids, [], [], reason=msgspec.structs.replace(reason, rules=len(active)))


def _is_hard_hide(rule: Rule) -> bool:
    return rule.hard and isinstance(rule, Hide)


def degraded_reason(error: PodiumError | Refusal, n_rules: int) -> DegradedReason:
    """Return why rules of the service were left out, as an answer says it."""
    refusal = error if isinstance(error, Refusal) else refusal_of(error)
    message = refusal.message
    if refusal.code == "too_slow":
        message = "the rules take longer than their share of the time of a request"
    return DegradedReason(code=refusal.code, message=message, rules=n_rules)


def apply_rules(
    documents: Sequence[Mapping[str, Any]],
    chosen: ActiveRules,
    request: RankRequest | PostrankRequest,
    scores: Sequence[float] | None,
    sources: FieldSources,
    insertable: Sequence[Mapping[str, Any]] = (),
    **options: Any,
) -> RuledList:
    """Return a list after its rules; rules on documents that are not in it do no harm."""
    active = chosen.active
    if len(documents) > MAX_DOCUMENTS:
        message = (
            f"expected at most {MAX_DOCUMENTS:,} documents under rules, got {len(documents):,}"
        )
        raise Refusal(413, "too_many", message)
    if len(documents) * len(active) > MAX_RULE_DOCUMENT_PAIRS:
        message = (
            f"expected at most {MAX_RULE_DOCUMENT_PAIRS:,} documents times rules, "
            f"got {len(documents):,} times {len(active):,}"
        )
        raise Refusal(413, "too_many", message)
    try:
        with bounded_steps(MAX_STEPS):
            result = postrank(
                documents, active, scores, query=request.query, today=request.today, missing="report",
                conflicts=request.conflicts, classes=chosen.classes, explain=bool(request.explain),
                context=context_of(request), insertable=insertable, **options,
            )  # fmt: skip
            unapplied_rules = find_unapplied_rules(
                documents, zip(chosen.numbers, active, strict=True), sources
            )
    except ConflictError as error:
        raise conflict_refusal(error, chosen) from error
    ids, hidden = [*map(str, result.order)], [*map(str, result.hidden)]
    yielded = yielded_rules(result, chosen)
    inserted = [*map(str, result.inserted)]
    if not request.explain:
        return RuledList(ids, hidden, yielded, unapplied_rules, inserted)
    return RuledList(
        ids, hidden, yielded, unapplied_rules, inserted,
        moves_of(result, chosen), outcomes_of(result, chosen),
    )  # fmt: skip


def postrank_answer(request: PostrankRequest, served_rules: ServedRules) -> PostrankAnswer:
    """Return the answer to a list and rules."""
    chosen, documents = served_rules.activate(request), request.documents
    ids = [doc if isinstance(doc, str) else doc.id for doc in documents]
    check_ids(ids)
    fields = [None if isinstance(doc, str) else doc.fields for doc in documents]
    check_documents(fields)
    records = served_rules.records(ids, fields)
    scores = _scores(documents)
    if request.base == "margin" and scores is None:
        message = 'expected a "score" for every document with "base": "margin", got none; "base": '
        raise Refusal(422, "missing_score", message + '"uniform" needs no scores', at="documents")
    ruled = apply_active_rules(
        records,
        chosen,
        request,
        scores,
        served_rules.sources(),
        served_rules.insertable(chosen, request),
        base=request.base,
        prior=request.prior,
    )
    row = {id_: at for at, id_ in enumerate(ids)}
    order = ruled.ids[: request.k]
    return PostrankAnswer(
        ids=order,
        order=[*map(row.get, order)],
        id=request.id,
        inserted=ruled.inserted or None,
        hidden=ruled.hidden or None,
        degraded=ruled.is_degraded or None,
        reason=ruled.reason,
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

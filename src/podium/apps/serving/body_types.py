"""The bodies of requests and answers; the OpenAPI description is written from these types."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

import msgspec

Value = float | bool | str | None
"""A feature: a number, true or "yes" (1), false or "no" (0), null if missing, the word of a category."""
ListDepth = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Text = Annotated[str, msgspec.Meta(max_length=10_000)]
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
RuleRecords = Annotated[
    list[dict[str, Any]],
    msgspec.Meta(
        description="Rules as in a rule file, such as "
        '{"rule": "top-k", "docs": "a", "k": 3, "weight": 10}.',
        max_length=1_000,
    ),
]
ContextMap = Annotated[
    dict[str, Any],
    msgspec.Meta(
        description="What the request carries for rules with a condition, such as "
        '{"device": "mobile", "filters": {"brand": "DGT"}}; time is its time with an offset.'
    ),
]
Prior = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class RequestPart(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A part of a request; an unknown field is an error that names it."""


class InsertableDocument(RequestPart):
    """A document that rules may insert: its id, and fields that rules select by."""

    id: Id
    fields: dict[str, Any] | None = None


class RankDocument(RequestPart):
    """A document to be ranked: its features by name, and fields that rules select by."""

    features: dict[str, Value]
    id: Id | None = None
    fields: dict[str, Any] | None = None


class RankRequest(RequestPart):
    """One query's documents: `documents` with features by name, or `features`, one row per document.

    `feature_names` names the columns of `features`, in any order; without it they are the model's, in its
    order. `rules`: true applies the service's rules; a list of rules applies these. `session` and `user` keep
    their arm in an experiment; it changes only requests with an `id`.
    """

    documents: list[RankDocument] | None = None
    features: list[list[Value]] | None = None
    feature_names: list[str] | None = None
    ids: list[Id] | None = None
    model: Text | None = None
    user_class: Text | None = None
    k: ListDepth | None = None
    explain: bool = False
    rules: bool | RuleRecords = False
    query: Text | None = None
    id: Text | None = None
    session: Text | None = None
    user: Text | None = None
    conflicts: Literal["yield", "error"] = "yield"
    today: datetime.date | None = None
    context: ContextMap | None = None
    insertable: list[Id | InsertableDocument] | None = None

    @property
    def n_documents(self) -> int:
        """How many documents it has."""
        return len(self.documents or self.features or ())


class RankBatch(RequestPart):
    """Several queries; all of them are answered, or none."""

    queries: Annotated[list[RankRequest], msgspec.Meta(max_length=10_000)]


class ListedDocument(RequestPart):
    """A document of any engine's list: its id, its score if it has one, and fields that rules select by."""

    id: Id
    score: float | None = None
    fields: dict[str, Any] | None = None


class PostrankRequest(RequestPart):
    """A list, best first (or by score, if documents have scores), and rules.

    Without `rules` the service applies its own.
    """

    documents: list[Id | ListedDocument]
    rules: RuleRecords | None = None
    query: Text | None = None
    id: Text | None = None
    k: ListDepth | None = None
    explain: bool = False
    base: Literal["uniform", "margin"] = "uniform"
    prior: Prior = 0.1
    conflicts: Literal["yield", "error"] = "yield"
    today: datetime.date | None = None
    context: ContextMap | None = None
    insertable: list[Id | InsertableDocument] | None = None


class PostrankBatch(RequestPart):
    """Several lists; all of them are answered, or none."""

    queries: Annotated[list[PostrankRequest], msgspec.Meta(max_length=10_000)]


class RulesCheck(RequestPart):
    """Rules to be checked: as records, or as the text of a rule file.

    With `findings` false the service only reads them and returns both forms, which takes less time.
    """

    rules: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=20_000)] | None = None
    yaml: Annotated[str, msgspec.Meta(max_length=4_000_000)] | None = None
    findings: bool = True
    today: datetime.date | None = None


class SampleRequest(RequestPart):
    """Which query of the sample."""

    id: Text


class SampleDocument(RequestPart):
    """A document of a sample: with features, or with a score, or neither."""

    id: Id
    features: dict[str, Value] | None = None
    score: float | None = None
    fields: dict[str, Any] | None = None


class SampleLine(msgspec.Struct, kw_only=True):
    """A line of a sample file: a request to rank or to post-rank; its other fields are ignored."""

    documents: Annotated[list[Id | SampleDocument], msgspec.Meta(max_length=10_000)]
    query: Text | None = None
    id: Text | None = None


class AnswerPart(msgspec.Struct, omit_defaults=True, kw_only=True):
    """An answer or a part of one; fields that were not asked for are absent."""


class MoveInfo(AnswerPart, rename={"origin": "from"}):
    """The place of a document before (null: inserted) and after (null: hidden), and the rules that moved it.

    Documents that only close up behind hidden ones are not listed.
    """

    id: str
    origin: int | None
    to: int | None
    because: list[int]
    """Numbers of rules in `rules`, from 0."""


class RuleInfo(AnswerPart):
    """The outcome of a rule."""

    rule: str
    satisfied: bool
    slack: int
    """By how much the order violates it: places, or documents."""
    note: str = ""
    """Why it did not act."""
    yielded: bool = False
    """Whether it is hard and gave way to others."""


class YieldedRule(AnswerPart):
    """A hard rule that gave way because it cannot hold together with stronger ones."""

    number: int
    """Its place in the request or the rule file, from 0."""
    rule: str
    undecided: bool = False
    """Whether it gave way because the search for an order reached its limit."""
    to: list[int] = []
    """Numbers of the rules that it clashes with; none if no order meets it, or the limit was reached."""
    why: str = ""
    """Why this rule gave way, and not those: its class, its priority, a pin before a hide, its name."""


class DegradedReason(AnswerPart):
    """Why rules of the service were left out of a list: all of them, or all that do not hide documents."""

    code: str
    """As in errors, such as ``too_much_work`` or ``too_slow``."""
    message: str
    rules: int
    """How many rules were left out."""


class UnappliedRule(AnswerPart):
    """A hard rule that does not see some documents, because they lack a field that it names."""

    number: int
    """Its place in the request or the rule file, from 0."""
    rule: str
    fields: list[str]
    documents: int
    """How many documents lack one of these fields."""
    note: str
    """What is missing, and what to do."""


class ExperimentInfo(AnswerPart):
    """The experiment that made a list: the arm of an A/B test, or the model that placed each document."""

    name: str
    method: str
    arm: str | None = None
    teams: list[str | None] | None = None


class RankAnswer(AnswerPart):
    """A ranked list.

    `order` has the rows of the request, from 0, best first; `scores`, `ids` and `contributions` are in
    that order, with null for a document that a rule inserted. Scores are the model's, even if rules
    changed the order. `base` is the part of a score that no feature adds: with it, the contributions of
    a document add up to its score. `degraded` is true if a hard rule gave way, which `yielded` names, or
    if rules of the service were left out, which `reason` explains. `unapplied` has hard rules whose
    fields documents lack. `base_positions` has the positions of the documents before the swaps, from 1.
    """

    model: str
    version: str
    order: list[int | None]
    scores: list[float | None]
    ids: list[str] | None = None
    id: str | None = None
    inserted: list[str] | None = None
    user_class: str | None = None
    contributions: list[dict[str, float] | None] | None = None
    base: float | None = None
    hidden: list[str] | None = None
    degraded: bool | None = None
    reason: DegradedReason | None = None
    yielded: list[YieldedRule] | None = None
    unapplied: list[UnappliedRule] | None = None
    moves: list[MoveInfo] | None = None
    rules: list[RuleInfo] | None = None
    experiment: ExperimentInfo | None = None
    base_positions: list[int] | None = None


class RankAnswers(AnswerPart):
    """Ranked lists, in the order of the queries."""

    results: list[RankAnswer]


class PostrankAnswer(AnswerPart):
    """A list after its rules: ids, best first, hidden ids, and hard rules that gave way.

    `degraded` is true if a hard rule gave way, which `yielded` names, or if rules of the service were
    left out, which `reason` explains. `unapplied` has hard rules whose fields documents lack. With
    `explain` also each move and rule.
    """

    ids: list[str]
    order: list[int | None]
    id: str | None = None
    inserted: list[str] | None = None
    hidden: list[str] | None = None
    degraded: bool | None = None
    reason: DegradedReason | None = None
    yielded: list[YieldedRule] | None = None
    unapplied: list[UnappliedRule] | None = None
    moves: list[MoveInfo] | None = None
    rules: list[RuleInfo] | None = None


class PostrankAnswers(AnswerPart):
    """Lists after their rules, in the order of the request."""

    results: list[PostrankAnswer]


class ModelInfo(AnswerPart):
    """A model that is served."""

    name: str
    version: str
    default: bool
    ranker: str
    kind: str
    n_features: int
    feature_names: list[str]
    scaled: str | None
    preparation: str | None
    user_classes: list[str]
    accepts_missing: bool
    explains: bool
    loaded: str


class ModelsAnswer(AnswerPart):
    """The models that are served, and how many rules there are."""

    models: list[ModelInfo]
    rules: int | None


class FindingInfo(AnswerPart):
    """A finding about rules, which are named by their numbers, from 0."""

    level: Literal["error", "warning", "note"]
    rules: list[int]
    message: str


class RulesAnswer(AnswerPart):
    """Rules as records and as the text of a rule file; findings, if they were checked."""

    rules: list[dict[str, Any]]
    yaml: str
    findings: list[FindingInfo] | None = None


class SampleInfo(AnswerPart):
    """A query of the sample, and how many documents it has."""

    id: str
    query: str
    documents: int


class SamplesAnswer(AnswerPart):
    """The queries of the sample; `demo` is true if the service was started without one."""

    demo: bool
    queries: list[SampleInfo]


class SampleAnswer(AnswerPart):
    """One query of the sample; its documents also have the service's fields."""

    id: str
    query: str
    documents: list[SampleDocument]


class EventsAnswer(AnswerPart):
    """The number of events that were kept."""

    accepted: int


class HealthAnswer(AnswerPart):
    """Health: `degraded` if a file cannot be read and its last good contents are still served.

    `degraded_lists` counts the lists of this process in which a rule gave way or was left out.
    """

    status: Literal["ok", "degraded"]
    reasons: list[str]
    degraded_lists: int = 0


class ErrorInfo(msgspec.Struct, omit_defaults=True):
    """An error: a code for programs, a sentence for people, and the names in it."""

    code: str
    message: str
    at: str = ""
    missing: list[str] | None = None
    extra: list[str] | None = None
    known: list[str] | None = None
    rules: list[str] | None = None
    numbers: list[int] | None = None
    """Numbers of the rules, from 0."""


class ErrorAnswer(msgspec.Struct):
    """The answer to a request that is refused."""

    error: ErrorInfo

"""The bodies of requests and answers; the OpenAPI description is written from these types."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

import msgspec

Value = float | None
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
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
Prior = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Part(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A part of a request: a field that is not known is a mistake, and told."""


class RankDocument(Part):
    """A document to be ranked: its features by name, and fields that rules select by."""

    features: dict[str, Value]
    id: Id | None = None
    fields: dict[str, Any] | None = None


class RankRequest(Part):
    """One query's documents: `documents` with features by name, or `features`, one row a document.

    `feature_names` says what the columns of `features` are, in any order; without it they are those of
    the model, in its order. `rules`: true puts the list under the service's rules, a list of rules
    under these.
    """

    documents: list[RankDocument] | None = None
    features: list[list[Value]] | None = None
    feature_names: list[str] | None = None
    ids: list[Id] | None = None
    model: Text | None = None
    user_class: Text | None = None
    k: Count | None = None
    explain: bool = False
    rules: bool | RuleRecords = False
    query: Text | None = None
    id: Text | None = None
    conflicts: Literal["yield", "error"] = "yield"
    today: datetime.date | None = None


class RankBatch(Part):
    """Several queries at once: all are answered, or none."""

    queries: Annotated[list[RankRequest], msgspec.Meta(max_length=10_000)]


class ListedDocument(Part):
    """A document of any engine's list: its id, its score if it has one, and fields that rules select by."""

    id: Id
    score: float | None = None
    fields: dict[str, Any] | None = None


class PostrankRequest(Part):
    """A list, best first (or by score, where documents have scores), and rules.

    Without `rules` the service's own are applied.
    """

    documents: list[Id | ListedDocument]
    rules: RuleRecords | None = None
    query: Text | None = None
    id: Text | None = None
    k: Count | None = None
    explain: bool = False
    base: Literal["uniform", "margin"] = "uniform"
    prior: Prior = 0.1
    conflicts: Literal["yield", "error"] = "yield"
    today: datetime.date | None = None


class PostrankBatch(Part):
    """Several lists at once: all are answered, or none."""

    queries: Annotated[list[PostrankRequest], msgspec.Meta(max_length=10_000)]


class RulesCheck(Part):
    """Rules to be checked: as records, or as the text of a rule file.

    With `findings` false they are read and given in both forms only, which takes less time.
    """

    rules: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=20_000)] | None = None
    yaml: Annotated[str, msgspec.Meta(max_length=4_000_000)] | None = None
    findings: bool = True
    today: datetime.date | None = None


class SampleRequest(Part):
    """Which query of the sample."""

    id: Text


class SampleDocument(Part):
    """A document of a sample: with features, or with a score, or neither."""

    id: Id
    features: dict[str, Value] | None = None
    score: float | None = None
    fields: dict[str, Any] | None = None


class SampleLine(msgspec.Struct, kw_only=True):
    """A line of a sample file: a request to rank or to post-rank, whatever else it asks for."""

    documents: Annotated[list[Id | SampleDocument], msgspec.Meta(max_length=10_000)]
    query: Text | None = None
    id: Text | None = None


class Answer(msgspec.Struct, omit_defaults=True, kw_only=True):
    """An answer, or a part of one; what is not there was not asked for."""


class Moved(Answer, rename={"origin": "from"}):
    """Where a document came from and went to, from 1 (null: hidden), and which rules moved it.

    Documents that only close up behind hidden ones are not listed.
    """

    id: str
    origin: int
    to: int | None
    because: list[int]
    """Numbers of rules in `rules`, from 0."""


class RuleTold(Answer):
    """What became of a rule."""

    rule: str
    satisfied: bool
    slack: int
    """By how much it is violated: places, or documents."""
    note: str = ""
    """Why it did not act."""
    yielded: bool = False
    """Whether it is hard, and gave way to others."""


class YieldedRule(Answer):
    """A hard rule that gave way because it cannot hold together with stronger ones."""

    number: int
    """From 0, as rules were given."""
    rule: str
    undecided: bool = False
    """Whether it gave way because the search for an order reached its limit."""
    to: list[int] = []
    """Numbers of the rules that it clashes with; none where no order meets it, or the limit was reached."""


class RankAnswer(Answer):
    """A ranked list.

    `order` are the rows of the request, from 0, best first; `scores`, `ids` and `contributions` are in
    that order. Scores are the model's, also where rules changed the order. `contributions` and a number
    that is the same for all documents add up to the score.
    """

    model: str
    version: str
    order: list[int]
    scores: list[float]
    ids: list[str] | None = None
    id: str | None = None
    user_class: str | None = None
    contributions: list[dict[str, float]] | None = None
    base: float | None = None
    hidden: list[str] | None = None
    yielded: list[YieldedRule] | None = None
    moves: list[Moved] | None = None
    rules: list[RuleTold] | None = None


class RankAnswers(Answer):
    """Ranked lists, as the queries were given."""

    results: list[RankAnswer]


class PostrankAnswer(Answer):
    """A list after its rules: ids, best first, those that rules hide, and hard rules that gave way.

    With `explain` also each move and rule.
    """

    ids: list[str]
    order: list[int]
    id: str | None = None
    hidden: list[str] | None = None
    yielded: list[YieldedRule] | None = None
    moves: list[Moved] | None = None
    rules: list[RuleTold] | None = None


class PostrankAnswers(Answer):
    """Lists after their rules, as they were given."""

    results: list[PostrankAnswer]


class ModelTold(Answer):
    """A model that is served."""

    name: str
    version: str
    default: bool
    ranker: str
    kind: str
    n_features: int
    feature_names: list[str]
    scaled: str | None
    user_classes: list[str]
    accepts_missing: bool
    explains: bool
    loaded: str


class ModelsAnswer(Answer):
    """The models that are served, and how many rules there are."""

    models: list[ModelTold]
    rules: int | None


class FindingTold(Answer):
    """Something about rules, given by their numbers, from 0."""

    level: Literal["error", "warning"]
    rules: list[int]
    message: str


class RulesAnswer(Answer):
    """Rules as records and as the text of a rule file; where they were checked, what was found."""

    rules: list[dict[str, Any]]
    yaml: str
    findings: list[FindingTold] | None = None


class SampleTold(Answer):
    """A query of the sample, and how many documents it has."""

    id: str
    query: str
    documents: int


class SamplesAnswer(Answer):
    """The queries of the sample; `demo`: the service was started without one."""

    demo: bool
    queries: list[SampleTold]


class SampleAnswer(Answer):
    """One query of the sample; documents have the service's fields, too."""

    id: str
    query: str
    documents: list[SampleDocument]


class EventsAnswer(Answer):
    """How many events were kept."""

    accepted: int


class HealthAnswer(Answer):
    """Whether all is well: `degraded` where a file could not be read and what was there before serves on."""

    status: Literal["ok", "degraded"]
    reasons: list[str]


class ErrorTold(msgspec.Struct, omit_defaults=True):
    """What was wrong: a code for programs, a sentence for people, and what it names."""

    code: str
    message: str
    at: str = ""
    missing: list[str] | None = None
    extra: list[str] | None = None
    known: list[str] | None = None
    rules: list[str] | None = None
    numbers: list[int] | None = None
    """Of the rules, from 0, as they were given."""


class ErrorAnswer(msgspec.Struct):
    """An answer that is none."""

    error: ErrorTold

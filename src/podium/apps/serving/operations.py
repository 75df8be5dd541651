"""What the service does, as a table: paths, bodies, answers; the app serves it, OpenAPI describes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from podium.apps.serving import rules
from podium.apps.serving.bodies import (
    EventsAnswer,
    HealthAnswer,
    ModelsAnswer,
    PostrankAnswer,
    PostrankAnswers,
    PostrankBatch,
    PostrankRequest,
    RankAnswer,
    RankAnswers,
    RankBatch,
    RankRequest,
    RulesAnswer,
    RulesCheck,
    SampleAnswer,
    SampleRequest,
    SamplesAnswer,
)
from podium.apps.serving.errors import Refusal, refusal_of
from podium.apps.serving.event_log import EventLog
from podium.apps.serving.events import check_events
from podium.apps.serving.metrics import ServingMetrics
from podium.apps.serving.ranking import rank_answer
from podium.apps.serving.rulefiles import check_answer, known_answer, known_is_quick
from podium.apps.serving.rules import postrank_answer
from podium.apps.serving.shelf import State
from podium.errors import DeadlineError, PodiumError
from podium.postranking.work_budget import check_time

INLINE_QUERY_LENGTH = 200
"""Characters of a query that patterns are compared with in no time."""


@dataclass(frozen=True, eq=False)
class Context:
    """What a request is answered from: all of it of one moment."""

    state: State
    metrics: ServingMetrics
    log: EventLog | None = None


@dataclass(frozen=True)
class Operation:
    """One path of the service.

    Parameters
    ----------
    path, summary, answer
        Where it is, what it does, and what it says.
    run
        The answer to a decoded body (None where there is none).
    body
        What a request brings; it is a POST then.
    is_quick
        Whether a request is answered in no time, so that no thread is needed.
    waits_for_disk
        Whether its threads mostly wait for the disk: they are others than those that compute.
    is_open
        Whether it is for everybody, also where the service has a token.
    statuses
        Which answers there are beside 200 and those that every path with a body has.
    """

    path: str
    summary: str
    answer: Any
    run: Callable[[Context, Any], Any]
    body: Any = None
    is_quick: Callable[[Context, Any], bool] = lambda context, body: True
    waits_for_disk: bool = False
    is_open: bool = False
    statuses: tuple[int, ...] = ()

    @property
    def method(self) -> str:
        """GET, or POST with a body."""
        return "GET" if self.body is None else "POST"


def rank(context: Context, request: RankRequest) -> RankAnswer:
    """One query, ranked."""
    state = context.state
    try:
        answer = rank_answer(request, state.models.find(request.model), state.book)
    except PodiumError as error:
        raise refusal_of(error) from error
    context.metrics.documents("/v1/rank").inc(_size(request))
    return answer


def rank_batch(context: Context, batch: RankBatch) -> RankAnswers:
    """Several queries, ranked."""
    return RankAnswers(results=_each(rank, context, batch.queries))


def postrank(context: Context, request: PostrankRequest) -> PostrankAnswer:
    """A list under rules."""
    try:
        answer = postrank_answer(request, context.state.book)
    except PodiumError as error:
        raise refusal_of(error) from error
    context.metrics.documents("/v1/postrank").inc(len(request.documents))
    return answer


def postrank_batch(context: Context, batch: PostrankBatch) -> PostrankAnswers:
    """Several lists under rules."""
    return PostrankAnswers(results=_each(postrank, context, batch.queries))


def _each(
    run: Callable[[Context, Any], Any], context: Context, queries: Sequence[Any]
) -> list[Any]:
    """The answers to several requests; what is wrong with one says which."""
    answers = []
    for at, query in enumerate(queries):
        try:
            check_time()
            answers.append(run(context, query))
        except Refusal as refusal:
            raise refusal.within(f"queries[{at}]") from refusal
        except DeadlineError as error:
            raise refusal_of(error) from error
    return answers


def events(context: Context, given: Any) -> EventsAnswer:
    """Events into the log."""
    if context.log is None:
        said = "events are not kept here: the service was started without --events"
        raise Refusal(404, "no_event_log", said)
    records = check_events(given)
    context.log.append(records)
    context.metrics.events.inc(len(records))
    return EventsAnswer(accepted=len(records))


def models(context: Context, _: None) -> ModelsAnswer:
    """The models that are served."""
    known = context.state.book.rules
    return ModelsAnswer(
        models=context.state.models.told(), rules=None if known is None else len(known)
    )


def health(context: Context, _: None) -> HealthAnswer:
    """Whether all is well."""
    reasons = list(context.state.reasons)
    return HealthAnswer(status="degraded" if reasons else "ok", reasons=reasons)


def known_rules(context: Context, _: None) -> RulesAnswer:
    """The service's rules."""
    return known_answer(context.state.book)


def check_rules(context: Context, request: RulesCheck) -> RulesAnswer:
    """Rules, looked at."""
    try:
        return check_answer(request, context.state.book)
    except PodiumError as error:
        raise refusal_of(error) from error


def samples(context: Context, _: None) -> SamplesAnswer:
    """The queries of the sample."""
    return context.state.samples.told()


def sample(context: Context, request: SampleRequest) -> SampleAnswer:
    """One query of the sample."""
    return context.state.samples.find(request.id, context.state.book)


def _size(request: RankRequest) -> int:
    return len(request.documents if request.features is None else request.features)  # type: ignore[arg-type]


def _rank_is_quick(context: Context, request: RankRequest) -> bool:
    model = context.state.models.find(request.model)
    if not model.is_quick or request.user_class is not None:
        return False
    return request.rules is False or (
        _few_rules(context, request, _size_or_0(request))
        and rules.has_small_fields(request.documents or ())
    )


def _postrank_is_quick(context: Context, request: PostrankRequest) -> bool:
    few = _few_rules(context, request, len(request.documents))
    return few and rules.has_small_fields(request.documents)


def _few_rules(context: Context, request: RankRequest | PostrankRequest, n_documents: int) -> bool:
    """Rules that a request brings have to be read first: in a thread. So are long queries compared."""
    known = context.state.book.rules
    if isinstance(request.rules, list) or len(request.query or "") > INLINE_QUERY_LENGTH:
        return False
    return known is None or (len(known) <= 50 and rules.is_quick(known, n_documents))


def _size_or_0(request: RankRequest) -> int:
    return len(request.documents or request.features or ())


def _never(context: Context, body: Any) -> bool:
    return False


OPERATIONS: dict[str, Operation] = {
    operation.path: operation
    for operation in (
        Operation(
            "/v1/rank", "Rank the documents of one query, under rules if asked for.",
            RankAnswer, rank, RankRequest, _rank_is_quick, statuses=(404, 409),
        ),
        Operation(
            "/v1/rank/batch", "Rank the documents of several queries.",
            RankAnswers, rank_batch, RankBatch, _never, statuses=(404, 409),
        ),
        Operation(
            "/v1/postrank", "Put the list of any engine under rules.",
            PostrankAnswer, postrank, PostrankRequest, _postrank_is_quick, statuses=(409,),
        ),
        Operation(
            "/v1/postrank/batch", "Put several lists under rules.",
            PostrankAnswers, postrank_batch, PostrankBatch, _never, statuses=(409,),
        ),
        Operation(
            "/v1/events", "Keep User Behavior Insights (UBI) events: one, a list, or {\"events\": [...]}.",
            EventsAnswer, events, Any, _never, waits_for_disk=True, statuses=(404,),
        ),
        Operation(
            "/v1/models", "The models that are served.", ModelsAnswer, models, None, _never,
            statuses=(503,),
        ),
        Operation(
            "/v1/rules", "The rules of the service.", RulesAnswer, known_rules,
            is_quick=lambda context, _: known_is_quick(context.state.book), statuses=(503,),
        ),
        Operation(
            "/v1/rules/check", "Check rules, given as records or as a rule file, and give both forms.",
            RulesAnswer, check_rules, RulesCheck, _never,
        ),
        Operation("/v1/samples", "The sample's queries, for the playground.", SamplesAnswer, samples),
        Operation(
            "/v1/samples/one", "One query of the sample with its documents.",
            SampleAnswer, sample, SampleRequest, statuses=(404,),
        ),
        Operation(
            "/healthz", "Whether all is well: degraded where a changed file cannot be read.",
            HealthAnswer, health, is_open=True,
        ),
    )
}  # fmt: skip
"""By path."""

"""Operations of the service, as a table of paths, bodies and answers for the app and for OpenAPI."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import (
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
from podium.apps.serving.editing.editing_routes import EDITING_OPERATIONS
from podium.apps.serving.error_answers import refusal_of, refuse_part
from podium.apps.serving.event_checking import check_events
from podium.apps.serving.list_log import ListLog
from podium.apps.serving.operations import Operation, RequestContext
from podium.apps.serving.postranking import postrank_answer
from podium.apps.serving.quick_requests import (
    is_quick_postrank,
    is_quick_rank,
    is_quick_rules_answer,
)
from podium.apps.serving.ranking import rank_answer, treated_answer
from podium.apps.serving.rule_checking import rules_check_answer, served_rules_answer
from podium.apps.serving.treatments import choose_treatment
from podium.clicks.experiment_records import ListRecord
from podium.errors import DeadlineError, PodiumError
from podium.work_budget import check_time

log = logging.getLogger("podium.serving")


def rank(context: RequestContext, request: RankRequest) -> RankAnswer:
    """Rank one query."""
    try:
        answer = _rank(context, request)
    except PodiumError as error:
        raise refusal_of(error) from error
    context.metrics.count_list("/v1/rank", request.n_documents, answer.degraded)
    if context.editing is not None:
        context.editing.recent.add(request)
    return answer


def _rank(context: RequestContext, request: RankRequest) -> RankAnswer:
    """Rank one query, by the experiment or with swaps if there are any."""
    state = context.state
    treatment = None
    if context.list_log is not None and (state.experiment is not None or state.swap):
        treatment = choose_treatment(request, state.models, state.experiment, state.swap)
    if context.list_log is not None and treatment is not None:
        answer, record = treated_answer(request, treatment, state.rules)
        if record is None or _is_logged(context.list_log, record):
            return answer
    return rank_answer(request, state.models.find(request.model), state.rules)


def _is_logged(list_log: ListLog, record: ListRecord) -> bool:
    """Append a record to the log; a list that cannot be logged is not served, but a plain one is."""
    try:
        list_log.append(record)
    except OSError as error:
        log.error("the log of lists cannot be written, so no experiment: %s", error.strerror)
        return False
    return True


def rank_batch(context: RequestContext, batch: RankBatch) -> RankAnswers:
    """Rank several queries."""
    return RankAnswers(results=_run_each(rank, context, batch.queries))


def postrank(context: RequestContext, request: PostrankRequest) -> PostrankAnswer:
    """Apply rules to a list."""
    try:
        answer = postrank_answer(request, context.state.rules)
    except PodiumError as error:
        raise refusal_of(error) from error
    context.metrics.count_list("/v1/postrank", len(request.documents), answer.degraded)
    if context.editing is not None:
        context.editing.recent.add(request)
    return answer


def postrank_batch(context: RequestContext, batch: PostrankBatch) -> PostrankAnswers:
    """Apply rules to several lists."""
    return PostrankAnswers(results=_run_each(postrank, context, batch.queries))


def _run_each(
    run: Callable[[RequestContext, Any], Any], context: RequestContext, queries: Sequence[Any]
) -> list[Any]:
    """Return the answers to several requests; the refusal of one names it."""
    answers = []
    for at, query in enumerate(queries):
        try:
            check_time()
            answers.append(run(context, query))
        except Refusal as refusal:
            raise refuse_part(refusal, f"queries[{at}]") from refusal
        except DeadlineError as error:
            raise refusal_of(error) from error
    return answers


def keep_events(context: RequestContext, body: Any) -> EventsAnswer:
    """Append events to the log."""
    if context.event_log is None:
        message = "events are not kept here: the service was started without --events"
        raise Refusal(404, "no_event_log", message)
    records = check_events(body)
    context.event_log.append(records)
    context.metrics.events.inc(len(records))
    return EventsAnswer(accepted=len(records))


def list_models(context: RequestContext, _: None) -> ModelsAnswer:
    """List the models that are served."""
    rules = context.state.rules.rules
    return ModelsAnswer(
        models=context.state.models.info(), rules=None if rules is None else len(rules)
    )


def check_health(context: RequestContext, _: None) -> HealthAnswer:
    """Say whether all files could be read, and in how many lists a hard rule gave way."""
    reasons = list(context.state.reasons)
    return HealthAnswer(
        status="degraded" if reasons else "ok", reasons=reasons,
        degraded_lists=context.metrics.n_degraded_lists,
    )  # fmt: skip


def check_rules(context: RequestContext, request: RulesCheck) -> RulesAnswer:
    """Check rules."""
    try:
        return rules_check_answer(request, context.state.rules)
    except PodiumError as error:
        raise refusal_of(error) from error


def _is_never_quick(context: RequestContext, body: Any) -> bool:
    return False


OPERATIONS: dict[str, Operation] = {
    operation.path: operation
    for operation in (
        Operation(
            "/v1/rank", "Rank the documents of one query, and apply rules if asked for.",
            RankAnswer, rank, RankRequest,
            lambda context, request: is_quick_rank(request, context.state), statuses=(404, 409),
        ),
        Operation(
            "/v1/rank/batch", "Rank the documents of several queries.",
            RankAnswers, rank_batch, RankBatch, _is_never_quick, statuses=(404, 409),
        ),
        Operation(
            "/v1/postrank", "Apply rules to the list of any engine.",
            PostrankAnswer, postrank, PostrankRequest,
            lambda context, request: is_quick_postrank(request, context.state), statuses=(409,),
        ),
        Operation(
            "/v1/postrank/batch", "Apply rules to several lists.",
            PostrankAnswers, postrank_batch, PostrankBatch, _is_never_quick, statuses=(409,),
        ),
        Operation(
            "/v1/events", "Keep User Behavior Insights (UBI) events: one, a list, or {\"events\": [...]}.",
            EventsAnswer, keep_events, Any, _is_never_quick, waits_for_disk=True, statuses=(404,),
        ),
        Operation(
            "/v1/models", "The models that are served.", ModelsAnswer, list_models, None, _is_never_quick,
            statuses=(503,),
        ),
        Operation(
            "/v1/rules", "The rules of the service.", RulesAnswer,
            lambda context, _: served_rules_answer(context.state.rules),
            is_quick=lambda context, _: is_quick_rules_answer(context.state.rules), statuses=(503,),
        ),
        Operation(
            "/v1/rules/check", "Check rules, given as records or as a rule file, and return both forms.",
            RulesAnswer, check_rules, RulesCheck, _is_never_quick,
        ),
        Operation(
            "/v1/samples", "The sample's queries, for the playground.", SamplesAnswer,
            lambda context, _: context.state.samples.info(),
        ),
        Operation(
            "/v1/samples/one", "One query of the sample with its documents.",
            SampleAnswer, lambda context, body: context.state.samples.find(body.id, context.state.rules),
            SampleRequest, statuses=(404,),
        ),
        Operation(
            "/healthz", "Whether all is well: degraded if a changed file cannot be read.",
            HealthAnswer, check_health, is_open=True,
        ),
        *EDITING_OPERATIONS,
    )
}  # fmt: skip
"""Operations by path."""

"""The JSON API of the judging page: read a task, store its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from podium.apps.http.refusals import Refusal
from podium.apps.judging.judging_service import JudgingService
from podium.apps.judging.refusals import JSON
from podium.apps.judging.settings import JudgingSettings
from podium.apps.judging.sign_in_checks import SignInChecks, read_json
from podium.errors import EventError
from podium.labelling.events import JudgingEvent


def make_api_routes(
    service: JudgingService, checks: SignInChecks, settings: JudgingSettings
) -> APIRouter:
    """Make the routes ``GET /api/tasks/{id}`` and ``POST /api/tasks/{id}/events``."""
    routes = APIRouter()

    @routes.get("/api/tasks/{task_id:path}")
    async def task(request: Request, task_id: str) -> Response:
        assessor = await checks.require_assessor(request)
        return JSON(await run_in_threadpool(service.state, assessor.member, task_id))

    @routes.post("/api/tasks/{task_id:path}/events")
    async def events(request: Request, task_id: str) -> Response:
        assessor = await checks.require_assessor(request)
        checks.check_change(request, assessor)
        body = await read_json(request, settings.max_body, settings.body_seconds)
        sent_events = read_events(body, task_id, settings.max_events)
        stored = await service.store_events(assessor.member, task_id, sent_events)
        if stored.refusal is not None:
            raise stored.refusal
        return JSON(stored.answer)

    return routes


def read_events(body: Any, task_id: str, max_events: int) -> list[JudgingEvent]:
    """Return the events of a request; if one is malformed, all are refused before any is stored."""
    records = body.get("events") if isinstance(body, Mapping) else None
    if not isinstance(records, list):
        raise Refusal(400, "bad_request", 'Expected {"events": [...]}.')
    if len(records) > max_events:
        raise Refusal(413, "too_many", f"Expected at most {max_events:,} events at once.")
    events = []
    for record in records:
        if isinstance(record, Mapping) and "session" in record:
            raise Refusal(400, "bad_event", "Expected events without a session: the path names it.")
        try:
            # JSON calls the id of the task "session".
            complete = {**record, "session": task_id} if isinstance(record, Mapping) else record
            events.append(JudgingEvent.from_record(complete))
        except EventError as error:
            # The id tells the page which event is refused.
            event_id = record.get("id") if isinstance(record, Mapping) else None
            raise Refusal(
                400,
                "bad_event",
                str(error),
                accepted=[],
                refused=event_id if isinstance(event_id, str) else None,
            ) from None
    return events

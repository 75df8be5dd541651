"""The routes that a page's script asks: a task, and its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from podium.apps.judging.desk import Desk
from podium.apps.judging.refusals import JSON, Refusal
from podium.apps.judging.security import Guard, read_json
from podium.apps.judging.settings import JudgingSettings
from podium.errors import EventError
from podium.labelling.events import JudgingEvent


def api_routes(desk: Desk, guard: Guard, settings: JudgingSettings) -> APIRouter:
    """``GET /api/tasks/{id}`` and ``POST /api/tasks/{id}/events``."""
    routes = APIRouter()

    @routes.get("/api/tasks/{task_id:path}")
    async def task(request: Request, task_id: str) -> Response:
        known = await guard.assessor(request)
        return JSON(await run_in_threadpool(desk.state, known.member, task_id))

    @routes.post("/api/tasks/{task_id:path}/events")
    async def events(request: Request, task_id: str) -> Response:
        known = await guard.assessor(request)
        body = await read_json(
            request,
            settings.max_body,
            settings.body_seconds,
            lambda: guard.check_change(request, known),
        )
        given = read_events(body, task_id, settings.max_events)
        outcome = await desk.take(known.member, task_id, given)
        told = {"accepted": outcome.accepted, **outcome.state}
        if outcome.refused is not None:
            outcome.refused.told |= told
            raise outcome.refused
        return JSON(told)

    return routes


def read_events(body: Any, session: str, most: int) -> list[JudgingEvent]:
    """The events in a request; one that is none refuses them all, before any is kept."""
    records = body.get("events") if isinstance(body, Mapping) else None
    if not isinstance(records, list):
        raise Refusal(400, "bad_request", 'Expected {"events": [...]}.')
    if len(records) > most:
        raise Refusal(413, "too_many", f"Expected at most {most:,} events at once.")
    events = []
    for record in records:
        if isinstance(record, Mapping) and "session" in record:
            raise Refusal(400, "bad_event", "Expected events without a session: the path names it.")
        try:
            whole = {**record, "session": session} if isinstance(record, Mapping) else record
            events.append(JudgingEvent.from_record(whole))
        except EventError as error:
            # With an id the page knows which of them it is.
            name = record.get("id") if isinstance(record, Mapping) else None
            raise Refusal(
                400,
                "bad_event",
                str(error),
                accepted=[],
                refused=name if isinstance(name, str) else None,
            ) from None
    return events

"""The pages of assessors: their tasks, judging, help, images of documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from podium.apps.http.refusals import Refusal
from podium.apps.judging.guidelines_html import guidelines_view
from podium.apps.judging.images import ImageFolder
from podium.apps.judging.judging_service import JudgingService
from podium.apps.judging.refusals import JSON
from podium.apps.judging.rendering import Pages
from podium.apps.judging.sign_in_checks import SignInChecks
from podium.labelling.store import SessionState

# A browser that opens an SVG image directly treats it as a page, so its scripts must be blocked.
_IMAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "private, max-age=3600",
}


def make_assessor_routes(
    service: JudgingService, checks: SignInChecks, pages: Pages, images: ImageFolder | None
) -> APIRouter:
    """Make the routes of all pages that assessors open, and the health check."""
    routes = APIRouter()

    @routes.get("/")
    async def tasks(request: Request) -> Response:
        return await _tasks_page(request, service, checks, pages)

    @routes.get("/judge/{task_id:path}")
    async def judge(request: Request, task_id: str) -> Response:
        return await _judge_page(request, task_id, service, checks, pages)

    @routes.get("/help")
    async def help_(request: Request) -> Response:
        role = "assessor" if await checks.identify(request, "assessor") is not None else ""
        return pages.page("help.html", role=role)

    @routes.get("/guidelines")
    async def guidelines(request: Request, version: str = "") -> Response:
        return await _guidelines_page(request, version, service, checks, pages)

    @routes.get("/images/{path:path}")
    async def image(request: Request, path: str) -> Response:
        await checks.require_member(request)
        image_file = None if images is None else await run_in_threadpool(images.file, path)
        if image_file is None:
            raise Refusal(404, "not_found", "There is no such image.")
        file, media_type = image_file
        return FileResponse(file, media_type=media_type, headers=_IMAGE_HEADERS)

    @routes.get("/healthz")
    async def healthz() -> Response:
        await run_in_threadpool(service.store.members)
        return JSON({"status": "ok"})

    return routes


async def _tasks_page(
    request: Request, service: JudgingService, checks: SignInChecks, pages: Pages
) -> Response:
    """Return the list of an assessor's tasks; an admin goes to the admin's page."""
    is_assessor = await checks.identify(request, "assessor") is not None
    if not is_assessor and await checks.identify(request, "admin") is not None:
        return RedirectResponse("/admin", status_code=303)
    assessor = await checks.require_assessor(request)
    states = await run_in_threadpool(service.store.session_states, assessor.member)
    texts = await run_in_threadpool(service.store.query_texts)
    guidelines = await run_in_threadpool(service.store.guidelines)
    return pages.page(
        "tasks.html",
        has_guidelines=not guidelines.is_empty,
        assessor=assessor.member,
        tasks=_task_rows(states, texts),
        csrf=checks.links.csrf_token(assessor),
        role="assessor",
    )


async def _judge_page(
    request: Request, task_id: str, service: JudgingService, checks: SignInChecks, pages: Pages
) -> Response:
    assessor = await checks.require_assessor(request)
    task = await run_in_threadpool(service.open_task, assessor.member, task_id)
    query = await run_in_threadpool(service.query, task.query)
    states = await run_in_threadpool(service.store.session_states, assessor.member)
    guidelines = await run_in_threadpool(service.store.guidelines)
    return pages.page(
        "judge.html",
        guidelines=guidelines_view(guidelines),
        task=task,
        query=query,
        next_task=_next_task(states, task_id),
        csrf=checks.links.csrf_token(assessor),
        role="assessor",
    )


async def _guidelines_page(
    request: Request, version: str, service: JudgingService, checks: SignInChecks, pages: Pages
) -> Response:
    """Return the latest guidelines, or an older version; 404 if there is no such version."""
    member = await checks.require_member(request)
    store = service.store
    latest = chosen = await run_in_threadpool(store.guidelines)
    if version:
        is_number = version.isascii() and version.isdecimal() and len(version) < 10
        if not is_number or not 0 < int(version) <= latest.version:
            raise Refusal(404, "not_found", "There is no such version of the guidelines.")
        chosen = await run_in_threadpool(store.guidelines, int(version))
    return pages.page(
        "guidelines.html",
        guidelines=guidelines_view(chosen),
        latest=latest.version,
        role=member.role,
    )


def _next_task(states: Sequence[SessionState], task_id: str) -> str | None:
    """Return the next unfinished task after this one; the first task follows the last one."""
    ids = [state.task.id for state in states]
    following = ids.index(task_id) + 1
    others = (*states[following:], *states[: following - 1])
    return next((state.task.id for state in others if not state.finished), None)


def _task_rows(states: Sequence[SessionState], texts: Mapping[str, str]) -> list[dict[str, object]]:
    """Return tasks as rows of the list of tasks; queries with equal texts have their ids, too."""
    rows = [_task_row(state, texts) for state in states]
    queries_of_text: dict[object, set[str]] = {}
    for row, state in zip(rows, states, strict=True):
        queries_of_text.setdefault(row["query"], set()).add(state.task.query)
    for row, state in zip(rows, states, strict=True):
        row["query_id"] = state.task.query if len(queries_of_text[row["query"]]) > 1 else ""
    return rows


def _task_row(state: SessionState, texts: Mapping[str, str]) -> dict[str, object]:
    """Return a task as a row of the list of tasks."""
    task = state.task
    total = state.judged + state.remaining
    return {
        "id": task.id,
        "query": texts.get(task.query) or task.query,
        "tool": task.tool,
        "documents": len(task.documents),
        "judged": state.judged,
        # As the page of the task counts: a part of a judgment is one that is still to come.
        "remaining": math.ceil(round(state.remaining, 1)),
        "share": 1.0 if state.finished else state.judged / total if total else 0.0,
        "finished": state.finished,
        "is_urgent": state.priority > 0,
    }

"""The pages of assessors: their tasks, judging, help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from podium.apps.judging.desk import Desk
from podium.apps.judging.images import Images
from podium.apps.judging.refusals import JSON, Refusal
from podium.apps.judging.rendering import Pages
from podium.apps.judging.security import Guard
from podium.labelling.store import SessionState

# An image of SVG that is opened by itself is a page: one that may do nothing.
_IMAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "private, max-age=3600",
}


def people_routes(desk: Desk, guard: Guard, pages: Pages, images: Images | None) -> APIRouter:
    """Everything that people open themselves, but for the admin's pages."""
    routes = APIRouter()

    @routes.get("/")
    async def tasks(request: Request) -> Response:
        known = await guard.known(request, "assessor")
        if known is None and await guard.known(request, "admin") is not None:
            return RedirectResponse("/admin", status_code=303)
        known = await guard.assessor(request)
        states = await run_in_threadpool(desk.store.session_states, known.member)
        texts = await run_in_threadpool(desk.store.query_texts)
        return pages.page(
            "tasks.html",
            assessor=known.member,
            tasks=[_row(state, texts) for state in states],
            csrf=guard.links.csrf(known),
            role="assessor",
        )

    @routes.get("/judge/{task_id:path}")
    async def judge(request: Request, task_id: str) -> Response:
        known = await guard.assessor(request)
        task = await run_in_threadpool(desk.task, known.member, task_id)
        query = await run_in_threadpool(desk.query, task.query)
        states = await run_in_threadpool(desk.store.session_states, known.member)
        return pages.page(
            "judge.html",
            task=task,
            query=query,
            following=_following(states, task_id),
            csrf=guard.links.csrf(known),
            role="assessor",
        )

    @routes.get("/help")
    async def help_(request: Request) -> Response:
        role = "assessor" if await guard.known(request, "assessor") is not None else ""
        return pages.page("help.html", role=role)

    @routes.get("/images/{path:path}")
    async def image(request: Request, path: str) -> Response:
        await guard.assessor(request)
        found = None if images is None else await run_in_threadpool(images.file, path)
        if found is None:
            raise Refusal(404, "not_found", "There is no such image.")
        file, kind = found
        return FileResponse(file, media_type=kind, headers=_IMAGE_HEADERS)

    @routes.get("/healthz")
    async def healthz() -> Response:
        await run_in_threadpool(desk.store.members)
        return JSON({"status": "ok"})

    return routes


def _following(states: Sequence[SessionState], task_id: str) -> str | None:
    """The task to go on with after this one: the next that is not finished, from the start again."""
    ids = [state.task.id for state in states]
    at = ids.index(task_id) + 1
    rest = (*states[at:], *states[: at - 1])
    return next((state.task.id for state in rest if not state.finished), None)


def _row(state: SessionState, texts: Mapping[str, str]) -> dict[str, object]:
    """A task in the list of an assessor."""
    task = state.task
    total = state.judged + state.remaining
    return {
        "id": task.id,
        "query": texts.get(task.query) or task.query,
        "tool": task.tool,
        "documents": len(task.documents),
        "judged": state.judged,
        "remaining": round(state.remaining),
        "share": 1.0 if state.finished else state.judged / total if total else 0.0,
        "finished": state.finished,
    }

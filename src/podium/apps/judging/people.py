"""The pages of assessors: their tasks, judging, help; and the way in."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from podium.apps.judging.desk import Desk
from podium.apps.judging.documents import image_file
from podium.apps.judging.links import Pass
from podium.apps.judging.refusals import JSON, Refusal
from podium.apps.judging.rendering import Pages
from podium.apps.judging.security import Guard
from podium.apps.judging.settings import JudgingSettings
from podium.labelling.store import Standing, Store

# An image of SVG that is opened by itself is a page: one that may do nothing.
_IMAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cache-Control": "private, max-age=3600",
}


def people_routes(desk: Desk, guard: Guard, pages: Pages, settings: JudgingSettings) -> APIRouter:
    """Everything that people open themselves, but for the admin's pages."""
    routes = APIRouter()

    @routes.get("/enter/{token:path}")
    async def enter(request: Request, token: str) -> Response:
        known = guard.links.read(token)
        if known is None or not await run_in_threadpool(is_member, desk.store, known):
            # The same whatever is wrong with the link: nothing is to be learned from trying.
            raise Refusal(
                403,
                "bad_link",
                "This link does not work: it is incomplete, too old, or was made for another server. "
                "Ask whoever sent it for a new one.",
            )
        response = RedirectResponse("/admin" if known.role == "admin" else "/", status_code=303)
        guard.admit(response, known, request)
        return response

    @routes.get("/")
    async def tasks(request: Request) -> Response:
        known = guard.known(request, "assessor")
        if known is None and guard.known(request, "admin") is not None:
            return RedirectResponse("/admin", status_code=303)
        known = guard.required(request, "assessor")
        standings = await run_in_threadpool(desk.store.standings, known.member)
        rows = await run_in_threadpool(lambda: [_row(desk, standing) for standing in standings])
        return pages.page(
            "tasks.html",
            assessor=known.member,
            tasks=rows,
            csrf=guard.links.csrf(known),
            role="assessor",
        )

    @routes.get("/judge/{task_id:path}")
    async def judge(request: Request, task_id: str) -> Response:
        known = guard.required(request, "assessor")
        task = await run_in_threadpool(desk.task, known.member, task_id)
        query = await run_in_threadpool(desk.query, task.query)
        return pages.page(
            "judge.html", task=task, query=query, csrf=guard.links.csrf(known), role="assessor"
        )

    @routes.get("/help")
    async def help_(request: Request) -> Response:
        role = "assessor" if guard.known(request, "assessor") is not None else ""
        return pages.page("help.html", role=role)

    @routes.get("/images/{path:path}")
    async def image(request: Request, path: str) -> Response:
        if guard.known(request, "assessor") is None:
            guard.required(request, "admin")
        found = None
        if settings.images is not None:
            found = await run_in_threadpool(image_file, settings.images, path)
        if found is None:
            raise Refusal(404, "not_found", "There is no such image.")
        file, kind = found
        return FileResponse(file, media_type=kind, headers=_IMAGE_HEADERS)

    @routes.get("/healthz")
    async def healthz() -> Response:
        await run_in_threadpool(desk.store.members)
        return JSON({"status": "ok"})

    return routes


def is_member(store: Store, known: Pass) -> bool:
    """Whether the store still has somebody in this role."""
    return any(m.id == known.member and m.role == known.role for m in store.members())


def _row(desk: Desk, standing: Standing) -> dict[str, object]:
    """A task in the list of an assessor."""
    task, query = standing.task, desk.query(standing.task.query)
    total = standing.judged + standing.remaining
    return {
        "id": task.id,
        "query": query.text or query.id,
        "description": query.description,
        "tool": task.tool,
        "documents": len(task.documents),
        "judged": standing.judged,
        "remaining": round(standing.remaining),
        "share": 1.0 if standing.finished else standing.judged / total if total else 0.0,
        "finished": standing.finished,
    }

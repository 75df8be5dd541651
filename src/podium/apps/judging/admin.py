"""The admin's pages: live progress by query and assessor, and what the judgments say."""

from __future__ import annotations

import time
from threading import Lock
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from podium.apps.judging.links import Pass
from podium.apps.judging.people import is_member
from podium.apps.judging.plots import assessor_plot, matrix_plots, time_plot
from podium.apps.judging.progress import progress
from podium.apps.judging.refusals import JSON, Refusal
from podium.apps.judging.rendering import Pages
from podium.apps.judging.security import Guard
from podium.apps.judging.settings import JudgingSettings
from podium.labelling.statistics import Statistics, statistics
from podium.labelling.store import Store

_COMMENTS = 50


class RecentStatistics:
    """Statistics no older than some seconds, made by one thread at a time."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._lock = Lock()
        self._found: Statistics | None = None
        self._made = 0.0

    def get(self) -> Statistics:
        """The statistics."""
        with self._lock:
            if self._found is None or time.monotonic() - self._made > self._seconds:
                self._found = statistics(self._store)
                self._made = time.monotonic()
            return self._found


def admin_routes(store: Store, guard: Guard, pages: Pages, settings: JudgingSettings) -> APIRouter:
    """``/admin`` and its JSON."""
    routes = APIRouter()
    recent = RecentStatistics(store, settings.statistics_seconds)

    async def required(request: Request) -> Pass:
        known = guard.required(request, "admin")
        # Whoever is no admin any more has lost it at once, whatever the cookie says.
        if not await run_in_threadpool(is_member, store, known):
            raise Refusal(403, "not_admin", "This page is for admins.")
        return known

    @routes.get("/admin")
    async def admin(request: Request) -> Response:
        await required(request)
        told, found = await run_in_threadpool(lambda: (progress(store), recent.get()))
        comments = (await run_in_threadpool(store.comments))[-_COMMENTS:][::-1]
        return pages.page(
            "admin.html",
            role="admin",
            live=request.query_params.get("live") == "1",
            progress=told,
            tables=found.tables(),
            matrices=matrix_plots(found),
            times=time_plot(found.methods),
            by_assessor=assessor_plot(found.assessors),
            comments=[_comment(event, told) for event in comments],
        )

    @routes.get("/admin/progress.json")
    async def progress_json(request: Request) -> Response:
        await required(request)
        return JSON(await run_in_threadpool(lambda: progress(store).to_dict()))

    @routes.get("/admin/statistics.json")
    async def statistics_json(request: Request) -> Response:
        await required(request)
        return JSON(await run_in_threadpool(lambda: recent.get().to_dict()))

    return routes


def _comment(event: Any, told: Any) -> dict[str, str]:
    task = told.tasks.get(event.session)
    return {
        "at": event.time.strftime("%Y-%m-%d %H:%M"),
        "assessor": "" if task is None else task.assessor,
        "query": "" if task is None else told.query_text(task.query),
        "text": event.data["text"],
    }

"""The admin's pages: live progress by query and assessor, and what the judgments say."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from podium.apps.judging.plots import assessor_plot, matrix_plots, time_plot
from podium.apps.judging.progress import progress
from podium.apps.judging.refusals import JSON
from podium.apps.judging.rendering import Pages
from podium.apps.judging.security import Guard
from podium.apps.judging.settings import JudgingSettings
from podium.labelling.judging_statistics.summary import Statistics, statistics
from podium.labelling.store import Store

_COMMENTS = 50


_SHARE = 20
"""Statistics that take a second are made every 20 seconds at most, if they may be so old."""


class Dated(NamedTuple):
    """Statistics, and the moment they are of."""

    found: Statistics
    at: datetime


class RecentStatistics:
    """Statistics no older than some seconds, made by one thread at a time.

    Those that are made in no time are as good as never old: the page agrees with itself.
    """

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._lock = Lock()
        self._known: Dated | None = None
        self._until = 0.0

    def get(self) -> Dated:
        """The statistics."""
        with self._lock:
            start = monotonic()
            if self._known is None or start > self._until:
                at = datetime.now(UTC)
                self._known = Dated(statistics(self._store), at)
                taken = monotonic() - start
                self._until = start + taken + min(self._seconds, _SHARE * taken)
            return self._known


def admin_routes(store: Store, guard: Guard, pages: Pages, settings: JudgingSettings) -> APIRouter:
    """``/admin`` and its JSON."""
    routes = APIRouter()
    recent = RecentStatistics(store, settings.statistics_seconds)

    @routes.get("/admin")
    async def admin(request: Request) -> Response:
        await guard.admin(request)
        told, (found, at) = await run_in_threadpool(lambda: (progress(store), recent.get()))
        comments = (await run_in_threadpool(store.comments, _COMMENTS))[::-1]
        return pages.page(
            "admin.html",
            role="admin",
            progress=told,
            as_of=at,
            tables=found.tables(),
            matrices=matrix_plots(found),
            times=time_plot(found.methods),
            by_assessor=assessor_plot(found.assessors),
            comments=[_comment(event, told) for event in comments],
        )

    @routes.get("/admin/progress.json")
    async def progress_json(request: Request) -> Response:
        await guard.admin(request)
        return JSON(await run_in_threadpool(lambda: progress(store).to_dict()))

    @routes.get("/admin/statistics.json")
    async def statistics_json(request: Request) -> Response:
        await guard.admin(request)
        found, at = await run_in_threadpool(recent.get)
        return JSON(found.to_dict() | {"as_of": at.isoformat(timespec="seconds")})

    return routes


def _comment(event: Any, told: Any) -> dict[str, str]:
    task = told.tasks.get(event.session)
    return {
        "at": event.time.strftime("%Y-%m-%d %H:%M"),
        "assessor": "" if task is None else task.assessor,
        "query": "" if task is None else told.query_text(task.query),
        "text": event.data["text"],
    }

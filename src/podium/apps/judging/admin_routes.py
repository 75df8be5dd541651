"""The admin's pages: live progress by query and assessor, statistics, comments."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import NamedTuple

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from podium.apps.judging.progress import ProgressReport, progress_report
from podium.apps.judging.refusals import JSON
from podium.apps.judging.rendering import Pages
from podium.apps.judging.settings import JudgingSettings
from podium.apps.judging.sign_in_checks import SignInChecks
from podium.apps.judging.statistics_plots import assessor_plot, matrix_plots, time_plot
from podium.labelling.events import JudgingEvent
from podium.labelling.judging_statistics.summary import Statistics, statistics
from podium.labelling.store import Store

MAX_COMMENTS = 50
"""Comments on the admin's page, the latest first."""

MAX_AGE_PER_COST = 20
"""Statistics that take 1 s to compute are kept for up to 20 s, if the settings allow that age."""


class DatedStatistics(NamedTuple):
    """Statistics, and when they were computed."""

    statistics: Statistics
    at: datetime


class RecentStatistics:
    """Statistics no older than some seconds, computed by one thread at a time.

    Statistics that are quick to compute are computed almost every time, so they agree with the progress
    on the same page.
    """

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._lock = Lock()
        self._latest: DatedStatistics | None = None
        self._valid_until = 0.0

    def get(self) -> DatedStatistics:
        """Return the statistics, computed now or shortly before."""
        with self._lock:
            start = monotonic()
            if self._latest is None or start > self._valid_until:
                at = datetime.now(UTC)
                self._latest = DatedStatistics(statistics(self._store), at)
                cost = monotonic() - start
                self._valid_until = start + cost + min(self._seconds, MAX_AGE_PER_COST * cost)
            return self._latest


def make_admin_routes(
    store: Store, checks: SignInChecks, pages: Pages, settings: JudgingSettings
) -> APIRouter:
    """Make the routes ``/admin``, ``/admin/progress.json`` and ``/admin/statistics.json``."""
    routes = APIRouter()
    recent = RecentStatistics(store, settings.statistics_seconds)

    @routes.get("/admin")
    async def admin(request: Request) -> Response:
        await checks.require_admin(request)
        report, (current, at) = await run_in_threadpool(
            lambda: (progress_report(store), recent.get())
        )
        comments = (await run_in_threadpool(store.comments, MAX_COMMENTS))[::-1]
        return pages.page(
            "admin.html",
            role="admin",
            progress=report,
            as_of=at,
            tables=current.tables(),
            matrices=matrix_plots(current),
            times=time_plot(current.methods),
            by_assessor=assessor_plot(current.assessors),
            comments=[_comment_row(event, report) for event in comments],
        )

    @routes.get("/admin/progress.json")
    async def progress_json(request: Request) -> Response:
        await checks.require_admin(request)
        return JSON(await run_in_threadpool(lambda: progress_report(store).to_dict()))

    @routes.get("/admin/statistics.json")
    async def statistics_json(request: Request) -> Response:
        await checks.require_admin(request)
        current, at = await run_in_threadpool(recent.get)
        return JSON(current.to_dict() | {"as_of": at.isoformat(timespec="seconds")})

    return routes


def _comment_row(event: JudgingEvent, report: ProgressReport) -> dict[str, str]:
    task = report.tasks.get(event.task_id)
    return {
        "at": event.time.strftime("%Y-%m-%d %H:%M"),
        "assessor": "" if task is None else task.assessor,
        "query": "" if task is None else report.query_text(task.query),
        "text": event.data["text"],
    }

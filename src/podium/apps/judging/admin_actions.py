"""Actions of the admin: assessors, tasks, priorities, guidelines, settlements, exports; all audited."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from podium.apps.http.refusals import Refusal
from podium.apps.judging.admin_bodies import (
    AssessorBody,
    AssignmentBody,
    Body,
    ExportBody,
    GuidelinesBody,
    NewAssessorBody,
    PriorityBody,
    ReassignmentBody,
    SettlementBody,
    decode_body,
)
from podium.apps.judging.refusals import JSON
from podium.apps.judging.settings import JudgingSettings
from podium.apps.judging.sign_in_checks import SignInChecks, read_json
from podium.errors import ChangeConflictError, DataError, UsageError
from podium.labelling.export import export
from podium.labelling.guidelines import Guidelines
from podium.labelling.settlements import Settlement
from podium.labelling.store import Store, StoreAdmin, StoreMember

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "qrels": "text/plain; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


class AdminRequests:
    """Checks a request of an admin, runs it, and turns errors into refusals."""

    def __init__(self, store: Store, checks: SignInChecks, settings: JudgingSettings) -> None:
        self.store, self.checks, self.settings = store, checks, settings

    async def run(
        self, request: Request, kind: type[Body], act: Callable[[StoreAdmin, Body], Any]
    ) -> Any:
        """Return what `act` returns for the body of a request, in a thread."""
        admin = await self.checks.require_admin(request)
        limits = self.settings.max_body, self.settings.body_seconds
        self.checks.check_change(request, admin)
        content = await read_json(request, *limits)
        body = decode_body(content, kind)
        try:
            return await run_in_threadpool(act, StoreAdmin(self.store, admin.member), body)
        except ChangeConflictError as error:
            raise Refusal(409, "conflict", str(error)) from None
        except (UsageError, DataError) as error:
            raise Refusal(400, "bad_request", str(error)) from None
        finally:
            self.checks.forget_members()

    def member_record(self, member: StoreMember, request: Request, linked: bool) -> dict[str, Any]:
        """Return a member as JSON; if `linked`, with a new personal link, which is shown only once."""
        record: dict[str, Any] = {"assessor": member.id, "disabled": member.disabled}
        if not linked:
            return record
        base_url = self.settings.base_url or str(request.base_url)
        lifetime = timedelta(days=self.settings.link_days)
        link = self.checks.links.url(base_url, member.id, "assessor", lifetime, member.generation)
        return record | {"link": link}


def make_admin_actions(store: Store, checks: SignInChecks, settings: JudgingSettings) -> APIRouter:
    """Make the routes ``POST /api/admin/...``."""
    routes = APIRouter()
    requests = AdminRequests(store, checks, settings)
    for path, (kind, act) in _ACTIONS.items():
        _add_route(routes, path, requests, kind, act)

    @routes.post("/api/admin/export")
    async def download_export(request: Request) -> Response:
        name, media_type, content = await requests.run(
            request, ExportBody, lambda admin, body: _write_export(store, admin, body)
        )
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=media_type, headers=headers)

    return routes


def _add_route(
    routes: APIRouter, path: str, requests: AdminRequests, kind: type[Any], act: Callable[..., Any]
) -> None:
    @routes.post(f"/api/admin/{path}")
    async def change(request: Request) -> Response:
        result = await requests.run(request, kind, act)
        if isinstance(result, StoreMember):
            is_linked = path != "assessors/disable"
            result = requests.member_record(result, request, is_linked)
        return JSON(result)


def _assign(admin: StoreAdmin, body: AssignmentBody) -> dict[str, list[str]]:
    if body.query:
        return {"tasks": [admin.assign(body.query, body.assessor, body.tool)]}
    return {"tasks": admin.assign_all(body.assessor, body.tool)}


def _reassign(admin: StoreAdmin, body: ReassignmentBody) -> dict[str, list[str]]:
    return {"tasks": [admin.reassign(body.task, body.assessor)]}


def _set_priority(admin: StoreAdmin, body: PriorityBody) -> dict[str, int]:
    return {"changed": admin.set_priority(body.priority, query=body.query, task=body.task)}


def _save_guidelines(admin: StoreAdmin, body: GuidelinesBody) -> dict[str, int]:
    saved = admin.save_guidelines(Guidelines(body.text, body.grades), base=body.base)
    return {"version": saved.version}


def _settle(admin: StoreAdmin, body: SettlementBody) -> dict[str, Any]:
    documents = tuple(body.documents)
    settlement = Settlement(body.query, documents, body.answer, body.grade, note=body.note)
    return asdict(admin.settle(settlement))


_ACTIONS: dict[str, tuple[type[Any], Callable[..., Any]]] = {
    "assessors": (
        NewAssessorBody,
        lambda admin, body: admin.add_assessor(body.assessor, body.name),
    ),
    "assessors/disable": (AssessorBody, lambda admin, body: admin.disable_assessor(body.assessor)),
    "assessors/enable": (AssessorBody, lambda admin, body: admin.enable_assessor(body.assessor)),
    "assessors/link": (AssessorBody, lambda admin, body: admin.renew_link(body.assessor)),
    "tasks/assign": (AssignmentBody, _assign),
    "tasks/reassign": (ReassignmentBody, _reassign),
    "tasks/priority": (PriorityBody, _set_priority),
    "guidelines": (GuidelinesBody, _save_guidelines),
    "settlements": (SettlementBody, _settle),
}
"""The body of each request below ``/api/admin/``, and what it does."""


def _write_export(store: Store, admin: StoreAdmin, body: ExportBody) -> tuple[str, str, bytes]:
    """Return the name, the type and the bytes of an export, as `podium judge export` writes it."""
    name = f"{body.what}.{body.format}"
    with tempfile.TemporaryDirectory(prefix="podium-export-") as folder:
        path = Path(folder) / name
        merge = None if body.merge == "none" else body.merge
        summary = export(store, path, body.what, body.format, merge=merge, judged_by=body.judged_by)
        content = path.read_bytes()
    admin.note_export(asdict(summary) | {"merge": body.merge})
    return name, MEDIA_TYPES[body.format], content

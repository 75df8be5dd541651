"""Personal links: a page that says who signs in, and a button that does it.

To open a link changes nothing: programs that look at the links in a mail sign nobody in. Another site can
neither press the button nor send its form: the form has a token that belongs to a cookie of the browser.
"""

from __future__ import annotations

import re
import secrets
from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.apps.judging.links import Pass
from podium.apps.judging.refusals import Refusal
from podium.apps.judging.rendering import Pages
from podium.apps.judging.security import Guard, read_body
from podium.apps.judging.settings import JudgingSettings

VISIT_COOKIE = "podium_visit"
FORM_TYPE = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 1_000
_VISIT = re.compile(r"[\w-]{20,60}", re.ASCII)


def entry_routes(guard: Guard, pages: Pages, settings: JudgingSettings) -> APIRouter:
    """``GET /enter/{token}``, the page, and ``POST /enter/{token}``, its button."""
    routes = APIRouter()

    @routes.get("/enter/{token:path}")
    async def ask(request: Request, token: str) -> Response:
        holder = await guard.holder(request, token)
        if await _is_signed_in(guard, request, holder):
            return _home(holder)
        visit = request.cookies.get(VISIT_COOKIE, "")
        if not _VISIT.fullmatch(visit):
            visit = secrets.token_urlsafe(24)
        page = pages.page(
            "enter.html",
            member=holder.member,
            is_admin=holder.role == "admin",
            form_token=guard.links.form_token(visit, token),
        )
        page.set_cookie(
            VISIT_COOKIE,
            visit,
            path="/enter/",
            secure=guard.is_secure(request),
            httponly=True,
            samesite="strict",
        )
        return page

    @routes.post("/enter/{token:path}")
    async def enter(request: Request, token: str) -> Response:
        guard.check_origin(request)
        form = await _read_form(request, settings.body_seconds)
        holder = await guard.holder(request, token)
        visit = request.cookies.get(VISIT_COOKIE, "")
        if not guard.links.is_form_token(visit, token, form.get("form_token", "")):
            message = "This page is out of date; open your personal link again."
            raise Refusal(403, "bad_token", message)
        response = _home(holder)
        guard.admit(response, holder, request)
        return response

    return routes


def _home(holder: Pass) -> RedirectResponse:
    return RedirectResponse("/admin" if holder.role == "admin" else "/", status_code=303)


async def _is_signed_in(guard: Guard, request: Request, holder: Pass) -> bool:
    """Return whether the browser is signed in by this link already, or by one that works for longer."""
    current = await guard.known(request, holder.role)
    return (
        current is not None
        and current.member == holder.member
        and current.expires >= holder.expires
    )


async def _read_form(request: Request, seconds: float) -> dict[str, str]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM_TYPE:
        raise Refusal(415, "not_a_form", f"Expected a body of type {FORM_TYPE}.")
    body = await read_body(request, MAX_FORM_BYTES, seconds)
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=10)
    except ValueError:
        raise Refusal(400, "not_a_form", "Expected the form of the page.") from None
    return {name: values[0] for name, values in fields.items() if len(values) == 1}

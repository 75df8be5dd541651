"""Sign in by a personal link: a page that says who signs in, and a button that does it.

Opening a link changes nothing, so programs that open the links in a mail sign nobody in. Another site can
neither press the button nor send its form: the form has a token that belongs to a cookie of the browser.
"""

from __future__ import annotations

import re
import secrets
from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.apps.http.refusals import Refusal
from podium.apps.http.request_bodies import check_content_type, read_body
from podium.apps.judging.links import Credential
from podium.apps.judging.rendering import Pages
from podium.apps.judging.settings import JudgingSettings
from podium.apps.judging.sign_in_checks import SignInChecks

VISIT_COOKIE = "podium_visit"
FORM_TYPE = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 1_000
_VISIT_PATTERN = re.compile(r"[\w-]{20,60}", re.ASCII)


def make_sign_in_routes(checks: SignInChecks, pages: Pages, settings: JudgingSettings) -> APIRouter:
    """Make the routes ``GET /enter/{token}``, the page, and ``POST /enter/{token}``, its button."""
    routes = APIRouter()

    @routes.get("/enter/{token:path}")
    async def sign_in_page(request: Request, token: str) -> Response:
        holder = await checks.link_holder(request, token)
        if await _is_signed_in(checks, request, holder):
            return _redirect_home(holder)
        return _render_sign_in(request, token, holder, checks, pages)

    @routes.post("/enter/{token:path}")
    async def sign_in(request: Request, token: str) -> Response:
        checks.check_origin(request)
        form = await _read_form(request, settings.body_seconds)
        holder = await checks.link_holder(request, token)
        visit = request.cookies.get(VISIT_COOKIE, "")
        if not checks.links.is_form_token(visit, token, form.get("form_token", "")):
            message = "This page is out of date; open your personal link again."
            raise Refusal(403, "bad_token", message)
        response = _redirect_home(holder)
        checks.set_cookie(response, holder, request)
        return response

    return routes


def _render_sign_in(
    request: Request, token: str, holder: Credential, checks: SignInChecks, pages: Pages
) -> Response:
    visit = request.cookies.get(VISIT_COOKIE, "")
    if not _VISIT_PATTERN.fullmatch(visit):
        visit = secrets.token_urlsafe(24)
    page = pages.page(
        "enter.html",
        member=holder.member,
        is_admin=holder.role == "admin",
        form_token=checks.links.form_token(visit, token),
    )
    page.set_cookie(
        VISIT_COOKIE,
        visit,
        path="/enter/",
        secure=checks.is_secure(request),
        httponly=True,
        samesite="strict",
    )
    return page


def _redirect_home(holder: Credential) -> RedirectResponse:
    return RedirectResponse("/admin" if holder.role == "admin" else "/", status_code=303)


async def _is_signed_in(checks: SignInChecks, request: Request, holder: Credential) -> bool:
    """Return whether the browser is signed in already, by this link or one that works for longer."""
    current = await checks.identify(request, holder.role)
    return (
        current is not None
        and current.member == holder.member
        and current.expires >= holder.expires
    )


async def _read_form(request: Request, seconds: float) -> dict[str, str]:
    check_content_type(request.headers.get("content-type", ""), FORM_TYPE, "not_a_form")
    body = await read_body(request.receive, MAX_FORM_BYTES, seconds)
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=10)
    except ValueError:
        raise Refusal(400, "not_a_form", "Expected the form of the page.") from None
    return {name: values[0] for name, values in fields.items() if len(values) == 1}

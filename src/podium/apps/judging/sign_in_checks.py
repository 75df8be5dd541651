"""Security of requests: who is signed in by a cookie, where changes come from, how large bodies are."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from podium.apps.http.access_gate import client_of
from podium.apps.http.json_bodies import load_json
from podium.apps.http.rate_limits import retry_seconds, wrong_try_allowance
from podium.apps.http.refusals import Refusal
from podium.apps.http.request_bodies import check_content_type, read_body
from podium.apps.judging.links import Credential, Links
from podium.apps.judging.member_cache import MemberCache
from podium.apps.judging.settings import JudgingSettings
from podium.labelling.store.members import Role

TOKEN_HEADER = "X-Podium-Token"

_BAD_LINK = (
    "This link does not work: it is incomplete, too old, or was made for another server. "
    "Ask whoever sent it for a new one."
)


class SignInChecks:
    """Identifies who sends a request, and checks whether the request may change anything.

    Assessors and admins have cookies of their own, so that one browser can be both.
    """

    def __init__(self, links: Links, members: MemberCache, settings: JudgingSettings) -> None:
        self.links, self._members = links, members
        self._settings = settings
        self._wrong_links = wrong_try_allowance(settings.access.wrong_tries)

    async def identify(self, request: Request, role: Role) -> Credential | None:
        """Return who sends a request in a role; None without a valid cookie for the role."""
        value = request.cookies.get(_cookie_name(role))
        credential = None if value is None else self.links.read_cookie(value)
        if credential is None or credential.role != role:
            return None
        return credential if await self._members.is_member(credential) else None

    async def require_assessor(self, request: Request) -> Credential:
        """Return the assessor who sends a request; anybody else is refused with 401 and advice."""
        assessor = await self.identify(request, "assessor")
        if assessor is None:
            raise _not_signed_in()
        return assessor

    async def require_member(self, request: Request) -> Credential:
        """Return who sends a request: the admin or an assessor; anybody else is refused with 401."""
        member = await self.identify(request, "admin")
        return await self.require_assessor(request) if member is None else member

    async def require_admin(self, request: Request) -> Credential:
        """Return the admin who sends a request; refuse an assessor with 403, others with 401."""
        admin = await self.identify(request, "admin")
        if admin is not None:
            return admin
        if await self.identify(request, "assessor") is not None:
            raise Refusal(403, "not_admin", "This page is for the admin only.")
        raise _not_signed_in()

    async def link_holder(self, request: Request, token: str) -> Credential:
        """Return who holds a link; 403 if it does not work, the same whatever is wrong with it.

        A link is signed with 256 bits, which nobody guesses. So a link that works always signs in. Only
        links that do not work are counted, and after too many of them the answer is 429: nobody is locked
        out by others behind the same address.
        """
        holder = self.links.read(token)
        if holder is not None and await self._members.is_member(holder, refresh=True):
            return holder
        wait = self._wrong_links.take(client_of(request.scope))
        if not wait:
            raise Refusal(403, "bad_link", _BAD_LINK)
        seconds = retry_seconds(wait)
        message = (
            f"Many links from your network do not work. Wait {seconds} seconds, then try again."
        )
        raise Refusal(429, "too_many_wrong_links", message, retry_seconds=seconds)

    def forget_members(self) -> None:
        """Read the members again at the next request: an admin changed them."""
        self._members.forget()

    def set_cookie(self, response: Response, holder: Credential, request: Request) -> None:
        """Give the browser a cookie that scripts cannot read and other sites cannot send."""
        response.set_cookie(
            _cookie_name(holder.role),
            self.links.cookie_value(holder),
            max_age=max(0, holder.expires - int(time.time())),
            path="/",
            secure=self.is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def is_secure(self, request: Request) -> bool:
        """Return whether the browser and the server speak https."""
        return self._settings.secure or request.scope.get("scheme") == "https"

    def check_change(self, request: Request, sender: Credential) -> None:
        """Refuse a change with 403 if it does not come from one of this server's pages."""
        self.check_origin(request)
        if not self.links.is_csrf_token(sender, request.headers.get(TOKEN_HEADER, "")):
            raise Refusal(403, "bad_token", "This page is out of date; load it again.")

    def check_origin(self, request: Request) -> None:
        """Refuse a request with 403 if the browser says that a page of another site sends it."""
        headers = request.headers
        site = headers.get("sec-fetch-site", "same-origin")
        origin = headers.get("origin")
        if site != "same-origin" or (origin is not None and not self._is_ours(origin, request)):
            raise Refusal(403, "foreign_origin", "Changes come from this server's own pages only.")

    def _is_ours(self, origin: str, request: Request) -> bool:
        if origin.lower() == self._settings.origin:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        host = request.headers.get("host", "").lower()
        return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == host


def _not_signed_in() -> Refusal:
    message = (
        "Open your personal link again: it tells the server who you are. What you judged is kept."
    )
    return Refusal(401, "no_session", message)


def _cookie_name(role: Role) -> str:
    return f"podium_{role}"


async def read_json(request: Request, limit: int, seconds: float) -> Any:
    """Return the JSON of a request; call `check_change` first, before any of it is read."""
    check_content_type(request.headers.get("content-type", ""))
    return load_json(await read_body(request.receive, limit, seconds))

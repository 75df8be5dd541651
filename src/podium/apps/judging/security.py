"""What keeps strangers out: cookies, where changes may come from, and how large they may be."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from podium.apps.http.client_limits import retry_seconds, wrong_try_allowance
from podium.apps.http.gate import client_of
from podium.apps.http.json_keys import RepeatedKeyError, unique_object
from podium.apps.judging.links import Links, Pass
from podium.apps.judging.refusals import Refusal
from podium.apps.judging.roster import Roster
from podium.apps.judging.settings import JudgingSettings
from podium.labelling.store.contents import Role

TOKEN_HEADER = "X-Podium-Token"

_BAD_LINK = (
    "This link does not work: it is incomplete, too old, or was made for another server. "
    "Ask whoever sent it for a new one."
)


class Guard:
    """Knows who asks, and whether a request may change anything.

    Assessors and admins have cookies of their own, so that one browser can be both.
    """

    def __init__(self, links: Links, roster: Roster, settings: JudgingSettings) -> None:
        self.links, self._roster = links, roster
        self._settings = settings
        self._wrong_links = wrong_try_allowance(settings.access.wrong_tries)

    async def known(self, request: Request, role: Role) -> Pass | None:
        """Who asks, in a role; None if the browser has no cookie for it that is still good."""
        value = request.cookies.get(_cookie(role))
        known = None if value is None else self.links.read_cookie(value)
        if known is None or known.role != role or not await self._roster.has(known):
            return None
        return known

    async def assessor(self, request: Request) -> Pass:
        """The assessor who asks, or 401 with advice."""
        known = await self.known(request, "assessor")
        if known is None:
            raise _stranger()
        return known

    async def admin(self, request: Request) -> Pass:
        """The admin who asks; 403 for an assessor, and 401 for strangers."""
        known = await self.known(request, "admin")
        if known is not None:
            return known
        if await self.known(request, "assessor") is not None:
            raise Refusal(403, "not_admin", "This page is for the admin only.")
        raise _stranger()

    async def holder(self, request: Request, token: str) -> Pass:
        """Return who holds a link; 403 if it does not work, the same whatever is wrong with it.

        A link is signed with 256 bits, which nobody guesses. So a link that works always lets in, and one
        that does not answers 429 after too many: nobody is locked out by others behind the same address.
        """
        known = self.links.read(token)
        if known is not None and await self._roster.has(known, now=True):
            return known
        wait = self._wrong_links.take(client_of(request.scope))
        if not wait:
            raise Refusal(403, "bad_link", _BAD_LINK)
        seconds = retry_seconds(wait)
        message = (
            f"Many links from your network do not work. Wait {seconds} seconds, then try again."
        )
        raise Refusal(429, "too_many_wrong_links", message, retry_seconds=seconds)

    def admit(self, response: Response, known: Pass, request: Request) -> None:
        """Give the browser a cookie that scripts cannot read and other sites cannot send."""
        response.set_cookie(
            _cookie(known.role),
            self.links.cookie(known),
            max_age=max(0, known.expires - int(time.time())),
            path="/",
            secure=self.is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def is_secure(self, request: Request) -> bool:
        """Return whether browsers speak https with the server."""
        return self._settings.secure or request.scope.get("scheme") == "https"

    def check_change(self, request: Request, known: Pass) -> None:
        """403 unless a request comes from one of our own pages."""
        self.check_origin(request)
        if not self.links.is_csrf(known, request.headers.get(TOKEN_HEADER, "")):
            raise Refusal(403, "bad_token", "This page is out of date; load it again.")

    def check_origin(self, request: Request) -> None:
        """403 if the browser says that a page of another site sends a request."""
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


def _stranger() -> Refusal:
    said = (
        "Open your personal link again: it tells the server who you are. What you judged is kept."
    )
    return Refusal(401, "no_session", said)


def _cookie(role: Role) -> str:
    return f"podium_{role}"


async def read_json(request: Request, limit: int, seconds: float, check: Callable[[], None]) -> Any:
    """The JSON of a request, so many bytes of it in so many seconds; `check` runs before any is read."""
    check()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "not_json", "Expected a body of type application/json.")
    body = await read_body(request, limit, seconds)
    try:
        # As text: of bytes Python would also read UTF-16 and UTF-32.
        return json.loads(body.decode(), object_pairs_hook=unique_object)
    except RepeatedKeyError as error:
        raise Refusal(400, "repeated_key", f"{str(error).capitalize()}.") from None
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "Expected a body of JSON in UTF-8.") from None


async def read_body(request: Request, limit: int, seconds: float) -> bytearray:
    """Return the body of a request; 413 if it is too large, 408 if it takes too long."""
    try:
        async with asyncio.timeout(seconds):
            return await _body(request, limit)
    except TimeoutError:
        message = f"Expected the whole request within {seconds:g} seconds."
        raise Refusal(408, "too_slow", message) from None


async def _body(request: Request, limit: int) -> bytearray:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise Refusal(413, "too_large", f"Expected at most {limit:,} bytes at once.")
    return body

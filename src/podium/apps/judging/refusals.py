"""Refusals of the judging app: JSON for programs, a page for people."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from podium.apps.http.refusals import Refusal
from podium.apps.http.request_bodies import ClientGone
from podium.apps.http.security_headers import HEADERS
from podium.apps.judging.rendering import Pages
from podium.errors import StoreError, StoreReason

log = logging.getLogger("podium.judging")

RETRY_SECONDS = 5
"""When a page may send again what the store did not keep."""

_TITLES = {
    400: "The request is not valid",
    401: "Please open your personal link",
    403: "You cannot open this page",
    404: "There is no such page",
    405: "This address does not accept this method",
    408: "This took too long",
    413: "This is too much at once",
    415: "The request is not valid",
    421: "This server has another name",
    429: "Too many requests",
    431: "The request is not valid",
    503: "Judgments cannot be stored at the moment",
}


_UNAVAILABLE: dict[StoreReason, tuple[str, str]] = {
    "full": ("disk_full", "the server's disk is full"),
    "locked": ("store_locked", "another program holds the server's database"),
    "failed": ("store_unavailable", "the server's database cannot be used"),
}


def unavailable(error: StoreError) -> Refusal:
    """Return 503: the store cannot be used. Events may be sent again; the log has the details."""
    log.error("%s", error)
    code, why = _UNAVAILABLE[error.reason]
    message = f"Nothing is lost: {why}, and your judgments are sent again until they are stored."
    return Refusal(503, code, message, retry_seconds=RETRY_SECONDS)


def busy() -> Refusal:
    """Return 503: too many judgments are waiting."""
    message = "The server is busy; your judgments are sent again until they are stored."
    return Refusal(503, "busy", message, retry_seconds=RETRY_SECONDS)


def not_yours() -> Refusal:
    """Return 403, whether the task belongs to somebody else or does not exist."""
    return Refusal(403, "not_yours", "This task is not one of yours.")


class JSON(Response):
    """JSON in ASCII, so that no text can break it."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes of the answer."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def is_json_path(path: str) -> bool:
    """Return whether the answers of a path are JSON, its refusals included."""
    return path.startswith("/api/") or path.endswith(".json") or path == "/healthz"


def as_sentence(message: str) -> str:
    """Return a message as people read it: with a capital letter and a full stop.

    Examples
    --------
    >>> as_sentence("expected a body of JSON in UTF-8")
    'Expected a body of JSON in UTF-8.'
    """
    end = "" if message.endswith((".", "!", "?")) else "."
    return f"{message[:1].upper()}{message[1:]}{end}"


class Refuser:
    """Turns errors into answers."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    @property
    def handlers(self) -> Mapping[Any, Any]:
        """Handlers by the type of the error."""
        return {
            Refusal: self.refuse,
            StoreError: self.store,
            HTTPException: self.http,
            ClientDisconnect: self.gone,
            ClientGone: self.gone,
            Exception: self.failed,
        }

    async def refuse(self, request: Request, error: Refusal) -> Response:
        """Answer with a refusal."""
        message = as_sentence(error.message)
        if is_json_path(request.scope["path"]):
            body = {"error": {"code": error.code, "message": message}, **error.details}
            return JSON(body, error.status, error.headers)
        title = _TITLES.get(error.status, "Something went wrong")
        return self._pages.page(
            "error.html",
            status=error.status,
            headers=error.headers,
            heading=title,
            message=message,
        )

    async def store(self, request: Request, error: StoreError) -> Response:
        """Answer that the store cannot be read or written."""
        return await self.refuse(request, unavailable(error))

    async def http(self, request: Request, error: HTTPException) -> Response:
        """Answer that the page does not exist, or does not accept the method."""
        code, message = {
            404: ("not_found", "This page does not exist."),
            405: ("method_not_allowed", "This address does not accept this method."),
        }.get(error.status_code, ("bad_request", "The request is not valid."))
        answer = await self.refuse(request, Refusal(error.status_code, code, message))
        answer.headers.update(error.headers or {})  # of 405: Allow
        return answer

    async def gone(self, request: Request, _: ClientDisconnect | ClientGone) -> Response:
        """Answer a client that has disconnected; nobody reads this answer."""
        return await self.refuse(request, Refusal(400, "disconnected", "The request ended early."))

    async def failed(self, request: Request, error: Exception) -> Response:
        """Answer after an internal error: the log has the details, the answer does not."""
        log.error("%s failed", request.scope["path"], exc_info=error)
        message = "Something went wrong on the server; what you judged is not lost."
        answer = await self.refuse(request, Refusal(500, "failed", message))
        answer.headers.update(HEADERS)  # no middleware sees this answer
        return answer

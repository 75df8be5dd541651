"""What the server says when it does not do what it is asked: JSON for pages, a page for people."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from podium.apps.judging.headers import HEADERS
from podium.apps.judging.rendering import Pages
from podium.errors import StoreError, StoreReason

log = logging.getLogger("podium.judging")

RETRY_SECONDS = 5
"""When to try again, where the store did not keep something."""

_TITLES = {
    400: "This request is not understood",
    401: "Please open your personal link",
    403: "This is not open to you",
    404: "There is no such page",
    405: "This cannot be done here",
    408: "This took too long",
    413: "This is too much at once",
    415: "This request is not understood",
    421: "This server has another name",
    429: "Too many requests",
    431: "This request is not understood",
    503: "Judgments cannot be kept at the moment",
}


_HEADERS = {
    408: {"Connection": "close"},  # the rest of the request would be taken for the next one
    503: {"Retry-After": str(RETRY_SECONDS)},
}

_UNAVAILABLE: dict[StoreReason, tuple[str, str]] = {
    "full": ("disk_full", "the server's disk is full"),
    "locked": ("store_locked", "another program holds the server's database"),
    "failed": ("store_unavailable", "the server's database cannot be used"),
}


class Refusal(Exception):  # noqa: N818 - an answer, not a mistake
    """An answer other than 200: a status, a code for programs, a sentence for people.

    Parameters
    ----------
    status, code, message
        Of the answer.
    retry_seconds
        For the header Retry-After, if it is not 0.
    told
        What else stands in the JSON.
    """

    def __init__(
        self, status: int, code: str, message: str, *, retry_seconds: int = 0, **told: Any
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.told = status, code, message, told
        self.headers = dict(_HEADERS.get(status, {}))
        if retry_seconds:
            self.headers["Retry-After"] = str(retry_seconds)


def unavailable(error: StoreError) -> Refusal:
    """503: what was sent is not kept; to send it again is safe. The log has the details."""
    log.error("%s", error)
    code, why = _UNAVAILABLE[error.reason]
    return Refusal(
        503, code, f"Nothing is lost: {why}, and what you judged is sent again until it is kept."
    )


def busy() -> Refusal:
    """503: too many judgments are waiting."""
    return Refusal(
        503, "busy", "The server is busy; what you judged is sent again until it is kept."
    )


def not_yours() -> Refusal:
    """403, the same for a task of somebody else and for none at all."""
    return Refusal(403, "not_yours", "This task is not one of yours.")


class JSON(Response):
    """JSON in ASCII, so that no text can break it."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def wants_json(request: Request) -> bool:
    """Whether a program asks, by the path."""
    path: str = request.scope["path"]
    return path.startswith("/api/") or path.endswith(".json") or path == "/healthz"


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
            Exception: self.failed,
        }

    async def refuse(self, request: Request, error: Refusal) -> Response:
        """Say what a refusal says."""
        if wants_json(request):
            told = {"error": {"code": error.code, "message": error.message}, **error.told}
            return JSON(told, error.status, error.headers)
        title = _TITLES.get(error.status, "Something went wrong")
        return self._pages.page(
            "error.html",
            status=error.status,
            headers=error.headers,
            heading=title,
            message=error.message,
        )

    async def store(self, request: Request, error: StoreError) -> Response:
        """The store cannot be read or written."""
        return await self.refuse(request, unavailable(error))

    async def http(self, request: Request, error: HTTPException) -> Response:
        """No such page, or not this method."""
        codes = {404: "not_found", 405: "method_not_allowed"}
        messages = {404: "Nothing is here.", 405: "Nothing is done here this way."}
        code = codes.get(error.status_code, "bad_request")
        message = messages.get(error.status_code, "This request is not understood.")
        answer = await self.refuse(request, Refusal(error.status_code, code, message))
        answer.headers.update(error.headers or {})  # of 405: Allow
        return answer

    async def gone(self, request: Request, _: ClientDisconnect) -> Response:
        """Nobody reads this answer."""
        return await self.refuse(request, Refusal(400, "disconnected", "The request ended early."))

    async def failed(self, request: Request, error: Exception) -> Response:
        """A mistake of ours: the log has it, the answer says nothing of it."""
        log.error("%s failed", request.scope["path"], exc_info=error)
        message = "Something went wrong on the server; what you judged is not lost."
        answer = await self.refuse(request, Refusal(500, "failed", message))
        answer.headers.update(HEADERS)  # outside of all that would do so
        return answer

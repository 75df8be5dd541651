"""Middleware that runs the shared gate and turns its refusals into answers of the judging app."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.apps.http.access_gate import Gate
from podium.apps.http.refusals import Refusal
from podium.apps.judging.refusals import Refuser


class GateMiddleware:
    """Passes on the requests that the gate accepts, and refuses the others."""

    def __init__(self, app: ASGIApp, gate: Gate, refuser: Refuser) -> None:
        self._app, self._gate, self._refuser = app, gate, refuser

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http":
            try:
                self._gate.check(scope)
            except Refusal as refusal:
                answer = await self._refuser.refuse(Request(scope), refusal)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)

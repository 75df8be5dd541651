"""The gate of both web apps before this one: what it refuses becomes an answer of this app."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.apps.http.gate import Gate
from podium.apps.judging.refusals import Refusal, Refuser


class Gatekeeper:
    """Passes requests on that the gate lets through, and answers the others."""

    def __init__(self, app: ASGIApp, gate: Gate, refuser: Refuser) -> None:
        self._app, self._gate, self._refuser = app, gate, refuser

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        denial = self._gate.check(scope) if scope["type"] == "http" else None
        if denial is None:
            await self._app(scope, receive, send)
            return
        message = f"{denial.message[0].upper()}{denial.message[1:]}."
        refusal = Refusal(denial.status, denial.code, message, retry_seconds=denial.retry_seconds)
        answer = await self._refuser.refuse(Request(scope), refusal)
        await answer(scope, receive, send)

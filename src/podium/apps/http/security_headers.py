"""Security headers of every answer of both web apps, which restrict what a browser may do."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
    "Cache-Control": "no-store",
}
"""Headers of every answer. An answer that already has one of them keeps its own."""

HTTPS_HEADERS = HEADERS | {"Strict-Transport-Security": "max-age=31536000"}
"""The headers of every answer over https."""

RawHeaders = tuple[tuple[bytes, bytes], ...]


def encode_headers(headers: dict[str, str]) -> RawHeaders:
    """Return headers as ASGI sends them.

    Examples
    --------
    >>> encode_headers({"X-Frame-Options": "DENY"})
    ((b'x-frame-options', b'DENY'),)
    """
    return tuple(
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
    )


_RAW_HEADERS, _RAW_HTTPS_HEADERS = encode_headers(HEADERS), encode_headers(HTTPS_HEADERS)


def security_headers(scope: Scope, is_https: bool = False) -> RawHeaders:
    """Return the headers for the answer to a request.

    A request uses https if the app's settings or a trusted proxy say so.
    """
    return _RAW_HTTPS_HEADERS if is_https or scope.get("scheme") == "https" else _RAW_HEADERS


class SecurityHeaders:
    """Adds the headers to every answer of an app, those of errors included.

    Parameters
    ----------
    app
        An ASGI app.
    is_https
        Whether browsers reach the app by https alone.
    """

    def __init__(self, app: ASGIApp, is_https: bool = False) -> None:
        self._app, self._is_https = app, is_https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own: list[Any] = list(message.get("headers", ()))
                names = {name.lower() for name, _ in own}
                added = security_headers(scope, self._is_https)
                headers = [*own, *(pair for pair in added if pair[0] not in names)]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_with_headers)

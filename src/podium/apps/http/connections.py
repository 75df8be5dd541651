"""Connections of both web apps under uvicorn: how many there may be, and how long headers may take."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections import Counter
from typing import Any, ClassVar

from podium.apps.http.rate_limits import ProxyAddresses, client_name
from podium.apps.http.settings import AccessSettings
from podium.errors import require

require("uvicorn", "web", "serving")

import uvicorn  # noqa: E402 - after the check
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware  # noqa: E402
from uvicorn.protocols.http.auto import AutoHTTPProtocol  # noqa: E402

try:
    import resource
except ImportError:  # Windows has no limit of open files
    resource = None  # type: ignore[assignment]

HEADER_SECONDS = 20.0
"""How long the headers of a request may take, from the first moment of a connection on."""

KEEP_ALIVE_SECONDS = 75
"""How long a connection stays open between requests: a judgment takes seconds."""

MAX_HEADER_BYTES = 64 << 10
"""The largest size of a request's headers, not counting those in the first received bytes."""

PEER = "podium.peer"
"""The key of a scope with the address of the connection, whatever the headers of a proxy say."""

MAX_CONNECTIONS = 10_000
BACKLOG = 2048
"""The largest number of connections that wait to be accepted."""
_RESERVED_FILES = 256  # for databases, models, logs and pages, and for Python itself
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"

_Protocol: Any = AutoHTTPProtocol


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 means any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY, so that small answers do not wait, only if the socket names its protocol.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def uvicorn_config(
    app: Any,
    header_seconds: float = HEADER_SECONDS,
    access: AccessSettings | None = None,
    **options: Any,
) -> uvicorn.Config:
    """Return the settings under which uvicorn serves an app.

    Requests are not logged, because links are secrets. If the process has its maximum number of
    connections, new ones are closed, so that connected clients are still served. A connection is also
    closed if the headers do not arrive in time.

    Parameters
    ----------
    app
        An ASGI app.
    header_seconds
        How long the headers of a request may take.
    access
        See AccessSettings.
    options
        Further options of uvicorn.
    """
    access = AccessSettings() if access is None else access
    max_connections = connection_limit()
    proxies = list(access.trusted_proxies)
    if proxies:
        app = PeerAddress(ProxyHeadersMiddleware(app, trusted_hosts=proxies))
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        limit_concurrency=max_connections,
        http=http_protocol(header_seconds, access, max_connections),
        proxy_headers=False,  # uvicorn would trust every program on loopback as a proxy
        **options,
    )


class PeerAddress:
    """Keeps the address of the connection in the scope, before headers of a proxy replace it."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request."""
        client = scope.get("client")
        await self._app({**scope, PEER: client[0] if client else ""}, receive, send)


def connection_limit() -> int:
    """Raise the limit of open files as far as possible; return how many connections the process can have."""
    if resource is None:
        return MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MAX_CONNECTIONS + _RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < files:
        raised = max(soft, files if hard == resource.RLIM_INFINITY else min(files, hard))
        with contextlib.suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(16, min(MAX_CONNECTIONS, soft - min(_RESERVED_FILES, soft // 4)))


class ConnectionCounter:
    """Counts the connections of each client, except those of trusted proxies, which many clients share.

    Parameters
    ----------
    access
        See AccessSettings.
    max_connections
        Connections that the process can have; one client has half of them at most.
    """

    def __init__(self, access: AccessSettings, max_connections: int) -> None:
        half = max(1, max_connections // 2)
        self._max_per_client = min(access.client_connections or half, half)
        self._proxies = ProxyAddresses(access.trusted_proxies)
        self._open: Counter[str] = Counter()

    def add(self, address: str) -> bool:
        """Count a connection; return whether its client may have it."""
        if self._proxies.has(address):
            return True
        name = client_name(address)
        self._open[name] += 1
        return self._open[name] <= self._max_per_client

    def remove(self, address: str) -> None:
        """Stop counting a connection."""
        if self._proxies.has(address):
            return
        name = client_name(address)
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]


class LimitedConnection(_Protocol):  # type: ignore[misc]
    """A connection of uvicorn with limits; uvicorn alone waits forever and for any number of bytes.

    Headers have a time limit and a size limit. An answer that nobody reads does not keep its connection
    open. One client cannot have all connections.
    """

    header_seconds: ClassVar[float]
    clients: ClassVar[ConnectionCounter]

    _deadline: asyncio.TimerHandle | None = None
    _header_bytes: int | None = None
    """Bytes of incomplete headers; None between headers, and with h11, which counts them itself."""
    _begins_request = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Close a connection beyond the limit; otherwise wait for its headers."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        is_allowed = self.clients.add(self._address)
        if len(self.connections) >= self.limit_concurrency or not is_allowed:
            transport.abort()
        else:
            self._watch_headers()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; answer 431 if the headers grow too large."""
        self._begins_request = False
        super().data_received(data)
        self._watch_headers()
        if self._header_bytes is not None and not self._begins_request:
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self.transport.write(_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """Start counting the bytes of headers."""
        self._header_bytes, self._begins_request = 0, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting the bytes of headers."""
        self._header_bytes = None
        super().on_headers_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; drop what its client has not read yet."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting the connection."""
        self._cancel_deadline()
        self.clients.remove(self._address)
        super().connection_lost(exc)

    def _watch_headers(self) -> None:
        """Start or stop waiting for headers; more bytes do not extend the time limit."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def http_protocol(
    seconds: float, access: AccessSettings, max_connections: int
) -> type[LimitedConnection]:
    """Return the protocol class of one server, which counts all its connections together."""

    class ServerConnection(LimitedConnection):
        header_seconds = seconds
        clients = ConnectionCounter(access, max_connections)

    return ServerConnection

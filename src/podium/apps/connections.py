"""What both web apps ask of uvicorn: how many may come, and how long they may take to say what they want."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from podium.apps.http.client_limits import ProxyAddresses, client_name
from podium.apps.http.settings import AccessSettings

HEADER_SECONDS = 20.0
"""How long the headers of a request may take, from the first moment of a connection on."""

KEEP_SECONDS = 75
"""How long a connection stays open between requests: a judgment takes seconds."""

HEADER_BYTES = 64 << 10
"""How large the headers of a request may be, beyond what comes with its first bytes."""

MOST_CONNECTIONS = 10_000
_RESERVED = 256  # files of databases, models, logs and pages, and of Python itself


def connection_limit() -> int:
    """How many connections this process can have, its limit of open files raised as far as it goes."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _RESERVED
    if soft != resource.RLIM_INFINITY and soft < wanted:
        raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, raised), hard))
            soft = max(soft, raised)
        except (OSError, ValueError):  # some systems allow less than they say
            pass
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(16, min(MOST_CONNECTIONS, soft - min(_RESERVED, soft // 4)))


_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def proxy_options(access: AccessSettings) -> dict[str, Any]:
    """Return the options of uvicorn about proxies: by default it would believe any program on loopback."""
    proxies = list(access.trusted_proxies)
    return {"proxy_headers": bool(proxies), "forwarded_allow_ips": proxies}


class ConnectionCounter:
    """How many connections each client has; those of trusted proxies are everybody's and not counted.

    Parameters
    ----------
    access
        See AccessSettings.
    most
        Connections that the process can have; one client has half of them at most.
    """

    def __init__(self, access: AccessSettings, most: int) -> None:
        half = max(1, most // 2)
        self._most = min(access.client_connections or half, half)
        self._proxies = ProxyAddresses(access.trusted_proxies)
        self._open: Counter[str] = Counter()

    def add(self, address: str) -> bool:
        """Count a connection; return whether its client may have it."""
        if self._proxies.has(address):
            return True
        name = client_name(address)
        self._open[name] += 1
        return self._open[name] <= self._most

    def remove(self, address: str) -> None:
        """Count a connection no more."""
        if self._proxies.has(address):
            return
        name = client_name(address)
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]


def http_protocol(
    seconds: float, access: AccessSettings | None = None, most: int = MOST_CONNECTIONS
) -> type[asyncio.Protocol]:
    """The protocol of uvicorn, which waits for ever and for any number of bytes, with limits.

    Headers have a time and a size; an answer that nobody reads does not keep its connection; one client
    cannot have all connections.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol
    clients = ConnectionCounter(AccessSettings() if access is None else access, most)

    class Protocol(base):  # type: ignore[misc]
        """One connection."""

        _deadline: asyncio.TimerHandle | None = None
        _head: int | None = None
        """Bytes of headers that are not complete; None elsewhere, and with h11, which counts itself."""
        _begins = False

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._address = self.client[0] if self.client else ""
            is_allowed = clients.add(self._address)
            if len(self.connections) >= self.limit_concurrency or not is_allowed:
                transport.abort()
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            self._begins = False
            super().data_received(data)
            self._watch()
            if self._head is not None and not self._begins:
                self._head += len(data)
                if self._head > HEADER_BYTES:
                    self.transport.write(_TOO_LARGE)
                    self.transport.close()

        def on_message_begin(self) -> None:
            self._head, self._begins = 0, True
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head = None
            super().on_headers_complete()

        def timeout_keep_alive_handler(self) -> None:
            """End a connection that is idle, with what its client has not read by now."""
            if self.transport.get_write_buffer_size():
                self.transport.abort()
            else:
                super().timeout_keep_alive_handler()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            clients.remove(self._address)
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Begin to wait for a header, or end it: more bytes of one give no more time."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(seconds, self.transport.close)

        def _stop(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Protocol

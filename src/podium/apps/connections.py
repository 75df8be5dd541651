"""What both web apps ask of uvicorn: how many may come, and how long they may take to say what they want."""

from __future__ import annotations

import asyncio
from typing import Any

HEADER_SECONDS = 20.0
"""How long the headers of a request may take, from the first moment of a connection on."""

KEEP_SECONDS = 75
"""How long a connection stays open between requests: a judgment takes seconds."""

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


def http_protocol(seconds: float) -> type[asyncio.Protocol]:
    """The protocol of uvicorn, which waits for ever, with a time limit for headers."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol

    class Protocol(base):  # type: ignore[misc]
        """One connection."""

        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            if len(self.connections) >= self.limit_concurrency:
                transport.abort()
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
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

"""Draining: how a server stops without dropping a request."""

from __future__ import annotations

import asyncio
import ctypes
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.apps.http.connections import BACKLOG

HANDSHAKE_SECONDS = 0.2
"""By then, pending connections are established, except over very slow lines."""

_SO_ATTACH_FILTER = 26  # Linux; Python has no name for it
# As (code, jump if true, jump if false, argument), over the bytes from TCP's header on.
_NO_SYN_FILTER = (
    (0x30, 0, 0, 13),  # load the byte of flags
    (0x45, 0, 1, 0x02),  # is SYN among them?
    (0x06, 0, 0, 0),  # then drop the packet,
    (0x06, 0, 0, 0xFFFFFFFF),  # else let it through
)


def stop_new_connections(sock: socket.socket) -> bool:
    """Block new connections on a listening socket; return False if the system cannot do that.

    When a socket is closed, Linux resets the connections that wait on it. A connection that is
    established between the last accept and the close would be dropped. This filter prevents that: the
    client gets no answer, tries again after a second, and then is refused or reaches the next server on
    this port. All processes that share the socket share the filter, so only the one that stops all sets it.
    """
    if sys.platform != "linux":
        return False
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in _NO_SYN_FILTER)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(_NO_SYN_FILTER), ctypes.addressof(buffer))
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
    except OSError:  # some sandboxes have no filters
        return False
    return True


class ClosingConnections:
    """Closes each connection with its next answer after the server begins to stop.

    Parameters
    ----------
    app
        The app that answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._is_draining = app, False

    def drain(self) -> None:
        """Start closing connections."""
        self._is_draining = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_and_close(message: Message) -> None:
            if self._is_draining and message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (b"connection", b"close")]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_and_close)


class DrainingServer(uvicorn.Server):
    """Uvicorn that stops without dropping a request.

    To stop, it blocks new connections, accepts those that wait, and closes idle connections last.

    Parameters
    ----------
    config
        See `podium.apps.http.connections.uvicorn_config`.
    drain_seconds
        How long connections stay open after the signal to stop, for requests that are on their way.
    on_start, on_drain
        Called when the server listens, and when it begins to stop.
    is_alone
        Whether no other process serves on its sockets.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        drain_seconds: float,
        on_start: Callable[[], object] = lambda: None,
        on_drain: Callable[[], object] = lambda: None,
        is_alone: bool = True,
    ) -> None:
        super().__init__(config)
        self._drain_seconds, self._is_alone = drain_seconds, is_alone
        self._on_start, self._on_drain = on_start, on_drain

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        for sock in sockets or ():
            sock.listen(BACKLOG)  # uvicorn's own backlog setting is how many it accepts at a time
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop without dropping a request."""
        self._on_drain()
        for sock in sockets or ():
            if self._is_alone:
                stop_new_connections(sock)
            await asyncio.sleep(HANDSHAKE_SECONDS)
            await self._take_waiting_connections(sock)
        for server in self.servers:
            server.close()
        for sock in sockets or ():
            sock.close()
        loop = asyncio.get_running_loop()
        end = loop.time() + self._drain_seconds
        while self.server_state.connections and loop.time() < end:
            await asyncio.sleep(0.02)
        await super().shutdown(None)

    async def _take_waiting_connections(self, sock: socket.socket) -> None:
        """Accept established connections that wait: closing the socket would reset them."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = sock.accept()
            except OSError:
                return
            connection.setblocking(False)
            await loop.connect_accepted_socket(self._make_protocol, connection)

    def _make_protocol(self) -> asyncio.Protocol:
        protocol_class: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = protocol_class(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

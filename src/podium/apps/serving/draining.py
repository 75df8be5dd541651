"""How uvicorn serves, and how nobody is cut off at the end."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import math
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from podium.apps.connections import (
    HEADER_SECONDS,
    KEEP_SECONDS,
    connection_limit,
    http_protocol,
    proxy_options,
)
from podium.apps.serving.app import RankingService
from podium.errors import require

require("uvicorn", "web", "the ranking service")

import uvicorn  # noqa: E402 - after the check

BACKLOG = 2048
HANDSHAKE_SECONDS = (
    0.2  # connections that are being made are made by then, but over very slow lines
)
SO_ATTACH_FILTER = 26  # Linux; Python has no name for it
# As (code, jump if true, jump if false, argument), over the bytes from TCP's header on.
NO_SYN = (
    (0x30, 0, 0, 13),  # load the byte of flags
    (0x45, 0, 1, 0x02),  # is SYN among them?
    (0x06, 0, 0, 0),  # then drop the packet,
    (0x06, 0, 0, 0xFFFFFFFF),  # else let it through
)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its protocol asyncio knows connections on which small answers must not wait (TCP_NODELAY).
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


def shut(sock: socket.socket) -> bool:
    """Let no new connection begin on a socket that listens; False where the system has no such thing.

    Linux resets connections that wait when the socket is closed, so one that is made after the last was
    taken and before the close would be dropped. With this filter none is made: who asks is not heard, asks
    again after a second, and is refused then, or heard by the next server on this port. All processes that
    share the socket share the filter, so it is for who ends all of them.
    """
    if sys.platform != "linux":
        return False
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in NO_SYN)
    kept = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(NO_SYN), ctypes.addressof(kept))
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
    except OSError:  # some sandboxes have no filters
        return False
    return True


class DrainingServer(uvicorn.Server):
    """Uvicorn that ends without dropping a request.

    At the end it lets no new connection begin, takes those that have come, answers with
    ``Connection: close``, and only then closes connections on which nothing happens.
    """

    def __init__(
        self, service: RankingService, ready: Callable[[], object], is_alone: bool = True
    ) -> None:
        super().__init__(_config(service))
        self._service, self._ready, self._is_alone = service, ready, is_alone
        self._refreshing: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and be told of changes by SIGHUP."""
        await super().startup(sockets)
        for sock in sockets or ():
            sock.listen(BACKLOG)  # the one of the configuration is how many are taken at a time
        if hasattr(signal, "SIGHUP"):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, self._refresh)
        gc.freeze()  # nothing of what is there now is ever garbage
        self._ready()

    def _refresh(self) -> None:
        task = asyncio.ensure_future(self._service.refresh(always=True))
        self._refreshing.add(task)  # the loop alone would not keep it
        task.add_done_callback(self._refreshing.discard)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End without dropping a request."""
        self._service.is_draining = True
        for sock in sockets or ():
            if self._is_alone:
                shut(sock)
            await asyncio.sleep(HANDSHAKE_SECONDS)
            await self._take_the_rest(sock)
        for server in self.servers:
            server.close()
        for sock in sockets or ():
            sock.close()
        loop = asyncio.get_running_loop()
        end = loop.time() + self._service.settings.drain_seconds
        while self.server_state.connections and loop.time() < end:
            await asyncio.sleep(0.02)
        await super().shutdown(None)

    async def _take_the_rest(self, sock: socket.socket) -> None:
        """Connections that are made and wait: they would be reset."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = sock.accept()
            except OSError:
                return
            connection.setblocking(False)
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        kind: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = kind(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol


def run_server(
    service: RankingService,
    sock: socket.socket,
    ready: Callable[[], object] = lambda: None,
    is_alone: bool = True,
) -> None:
    """Serve until SIGTERM or SIGINT, alone on the socket or as one of several."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn raises them again once it is done
    DrainingServer(service, ready, is_alone).run(sockets=[sock])
    if service.is_busy:
        # Threads cannot be stopped, and Python would wait for what nobody waits for any more.
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def _config(service: RankingService) -> uvicorn.Config:
    most = connection_limit()
    return uvicorn.Config(
        service,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        loop="asyncio",
        ws="none",
        # One at a time: where workers share a socket the first would take all that wait.
        backlog=1,
        timeout_keep_alive=KEEP_SECONDS,
        limit_concurrency=most,
        http=http_protocol(HEADER_SECONDS, service.settings.access, most),
        **proxy_options(service.settings.access),
        timeout_graceful_shutdown=math.ceil(
            service.settings.drain_seconds + service.settings.seconds
        ),
    )

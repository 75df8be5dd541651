"""The ranking service under uvicorn: one process, from the start to the end."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable

import uvicorn

from podium.apps.http.connections import uvicorn_config
from podium.apps.http.draining import DrainingServer
from podium.apps.serving.app import RankingService


def run_server(
    service: RankingService,
    sock: socket.socket,
    ready: Callable[[], object] = lambda: None,
    is_alone: bool = True,
) -> None:
    """Serve until SIGTERM or SIGINT, alone on the socket or as one of several."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn raises these signals again when it is done
    make_server(service, ready, is_alone).run(sockets=[sock])
    if service.is_busy:
        # Threads cannot be stopped, and Python would wait for threads whose result nobody needs.
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def make_server(
    service: RankingService, ready: Callable[[], object], is_alone: bool = True
) -> DrainingServer:
    """Return the server of a service; at SIGHUP the service reads its files again."""

    def start() -> None:
        if hasattr(signal, "SIGHUP"):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, service.start_refresh)
        gc.freeze()  # the objects that exist now are never garbage
        ready()

    return DrainingServer(
        _config(service), service.settings.drain_seconds, start, service.drain, is_alone
    )


def _config(service: RankingService) -> uvicorn.Config:
    settings = service.settings
    return uvicorn_config(
        service,
        access=settings.access,
        log_config=None,
        lifespan="on",
        loop="asyncio",
        # Accept one at a time: if workers share a socket, the first would take all waiting connections.
        backlog=1,
        timeout_graceful_shutdown=math.ceil(settings.drain_seconds + settings.seconds),
    )

"""One worker process: ``python -m podium.apps.serving.worker FD``, settings on stdin.

It ends when its stdin does, so that no worker outlives the process that started it.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading

import msgspec

from podium.apps.http.draining import stop_new_connections
from podium.apps.serving.app import make_service
from podium.apps.serving.server import run_server
from podium.apps.serving.settings import ServingSettings
from podium.errors import PodiumError


def main() -> None:
    """Serve on an inherited socket."""
    logging.basicConfig(format="podium serve [%(process)d]: %(message)s", level=logging.WARNING)
    sock = socket.socket(fileno=int(sys.argv[1]))
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=ServingSettings)
    try:
        service = make_service(settings)
    except (PodiumError, OSError) as error:
        sys.exit(f"podium serve [{os.getpid()}]: {error}")
    threading.Thread(target=_end_with_parent, args=(sock,), daemon=True).start()
    run_server(service, sock, lambda: os.write(sys.stdout.fileno(), b"ready\n"), is_alone=False)


def _end_with_parent(sock: socket.socket) -> None:
    os.read(sys.stdin.fileno(), 1)  # not through sys.stdin: its lock would be held at exit
    stop_new_connections(sock)  # all other workers stop, too
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()

"""The port on which a server listens, with advice if it is in use."""

from __future__ import annotations

from socket import socket

from podium.apps.cli.error_reports import fail
from podium.apps.http.connections import listen


def listen_or_fail(host: str, port: int) -> socket:
    """Return a socket that listens; end the command with advice if the port is in use."""
    try:
        return listen(host, port)
    except OSError as error:
        reason = error.strerror or error
        fail(
            f"cannot listen on {host} port {port}: {reason}; "
            "give another --port, or 0 for any that is free",
            1,
        )

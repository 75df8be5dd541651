"""Sums over the machines of a fit after each round: validation parts decide together when to stop."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from podium.task_runner import Machine

CONNECT_SECONDS = 120.0
ROUND_SECONDS = 3600.0
"""How long a machine waits for the others in one round."""


class RoundSums:
    """Adds up numbers over machines; every machine gets the same sums.

    Parameters
    ----------
    connections
        To all others on the first machine, which adds in their order; to the first on the others.
    is_first
        Whether this is the first machine.
    """

    def __init__(self, connections: Sequence[socket.socket], is_first: bool) -> None:
        self.connections, self.is_first = connections, is_first

    def __call__(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return the sums of these values and those of the other machines."""
        form = f"<{len(values)}d"
        own = struct.pack(form, *values)
        if not self.is_first:
            self.connections[0].sendall(own)
            return struct.unpack(form, _receive(self.connections[0], len(own)))
        totals = list(values)
        for connection in self.connections:
            for place, value in enumerate(struct.unpack(form, _receive(connection, len(own)))):
                totals[place] += value
        for connection in self.connections:
            connection.sendall(struct.pack(form, *totals))
        return tuple(totals)


@contextmanager
def round_sums(machines: Sequence[Machine], number: int) -> Iterator[RoundSums]:
    """Connect the machines to the first one; `number` is this one. Each uses its last port."""
    host, port = machines[0].host, machines[0].ports[-1]
    with ExitStack() as stack:
        connections: list[socket.socket] = []
        if number:
            connections.append(stack.enter_context(_connect(host, port)))
            connections[0].sendall(struct.pack("<i", number))
        else:
            listener = stack.enter_context(socket.create_server((host, port)))
            listener.settimeout(CONNECT_SECONDS)
            numbered: dict[int, socket.socket] = {}
            while len(numbered) < len(machines) - 1:
                connection = stack.enter_context(listener.accept()[0])
                connection.settimeout(ROUND_SECONDS)
                numbered[struct.unpack("<i", _receive(connection, 4))[0]] = connection
            connections = [numbered[other] for other in sorted(numbered)]
        yield RoundSums(connections, not number)


def _connect(host: str, port: int) -> socket.socket:
    """Return a connection to the first machine, which may still be starting."""
    end = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=ROUND_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return connection


def _receive(connection: socket.socket, n_bytes: int) -> bytes:
    """Return so many bytes; raise if the other machine is gone."""
    received = b""
    while len(received) < n_bytes:
        piece = connection.recv(n_bytes - len(received))
        if not piece:
            raise ConnectionResetError("another machine of the fit is gone")
        received += piece
    return received

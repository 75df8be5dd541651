"""Sums over the machines of a fit after each round: validation parts decide together when to stop."""

from __future__ import annotations

import hmac
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from podium.task_runner import LostMachineError, Machine

CONNECT_SECONDS = 120.0
"""How long the first machine waits for all others."""
ATTEMPT_SECONDS = 5.0
"""How long one attempt to connect may take; a machine that is starting may not answer yet."""
HANDSHAKE_SECONDS = 5.0
"""How long a new connection has to send the token of the fit and the number of its machine."""
TOKEN_BYTES = 32
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
        with _network_errors():
            return self._add_up(values)

    def _add_up(self, values: Sequence[float]) -> tuple[float, ...]:
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
def round_sums(machines: Sequence[Machine], number: int, token: bytes) -> Iterator[RoundSums]:
    """Connect the machines to the first one; `number` is this one. Each uses its last port.

    The first machine accepts only who knows the token of the fit, `TOKEN_BYTES` random bytes.
    """
    host, port = machines[0].host, machines[0].ports[-1]
    with ExitStack() as stack:
        with _network_errors():
            if number:
                connections = [stack.enter_context(_connect(host, port))]
                connections[0].sendall(token + struct.pack("<i", number))
            else:
                listener = stack.enter_context(socket.create_server((host, port)))
                connections = _accept(listener, len(machines), token, stack)
        yield RoundSums(connections, not number)


def _connect(host: str, port: int) -> socket.socket:
    """Return a connection to the first machine, which may still be starting."""
    end = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=ATTEMPT_SECONDS)
        except (ConnectionRefusedError, TimeoutError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            connection.settimeout(ROUND_SECONDS)
            return connection


def _accept(
    listener: socket.socket, n_machines: int, token: bytes, stack: ExitStack
) -> list[socket.socket]:
    """Return the connections of all other machines, in their order; drop those of strangers."""
    end = time.monotonic() + CONNECT_SECONDS
    numbered: dict[int, socket.socket] = {}
    while len(numbered) < n_machines - 1:
        if (seconds := end - time.monotonic()) <= 0:
            raise TimeoutError("not all machines of the fit have connected")
        listener.settimeout(seconds)
        connection = stack.enter_context(listener.accept()[0])
        number = _machine_number(connection, token)
        if number is None or number in numbered or not 0 < number < n_machines:
            connection.close()
            continue
        connection.settimeout(ROUND_SECONDS)
        numbered[number] = connection
    return [numbered[number] for number in sorted(numbered)]


def _machine_number(connection: socket.socket, token: bytes) -> int | None:
    """Return the number that a new connection sends after the token; None: it is no machine of the fit."""
    end = time.monotonic() + HANDSHAKE_SECONDS
    try:
        message = _receive(connection, len(token) + 4, end)
    except OSError:  # it is silent, slow or gone
        return None
    if not hmac.compare_digest(message[: len(token)], token):
        return None
    return int(struct.unpack("<i", message[len(token) :])[0])


def _receive(connection: socket.socket, n_bytes: int, end: float | None = None) -> bytes:
    """Return so many bytes; raise if the other machine is gone, or sends them after the end."""
    received = b""
    while len(received) < n_bytes:
        if end is not None:
            connection.settimeout(max(end - time.monotonic(), 1e-3))
            if time.monotonic() > end:
                raise TimeoutError("the other machine is slow")
        piece = connection.recv(n_bytes - len(received))
        if not piece:
            raise ConnectionResetError("another machine of the fit is gone")
        received += piece
    return received


@contextmanager
def _network_errors() -> Iterator[None]:
    """Raise LostMachineError in place of an error of the network: the fit may start again on other ports."""
    try:
        yield
    except OSError as error:
        raise LostMachineError(
            f"the machines of the fit cannot reach each other: {error}"
        ) from None

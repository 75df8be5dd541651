"""Sums over machines: strangers are dropped, and the machines of the fit connect all the same."""

import secrets
import socket
import struct
import threading
import time

import pytest

from podium.cluster.worker_calls import free_ports
from podium.rankers import round_sums as module
from podium.rankers.round_sums import TOKEN_BYTES, round_sums
from podium.task_runner import LostMachineError, Machine

TOKEN = secrets.token_bytes(TOKEN_BYTES)


def add_up_with(strangers, n_machines=3):
    """Return the sums on all machines; strangers connect to the first before the others do."""
    machines = [Machine("127.0.0.1", (port,)) for port in free_ports(n_machines)]
    sums = {}

    def work(number):
        with round_sums(machines, number, TOKEN) as add_up:
            sums[number] = add_up([float(number + 1), 0.5])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(n_machines)]
    threads[0].start()
    connections = [connect(machines[0]) for _ in strangers]
    for connection, message in zip(connections, strangers, strict=True):
        connection.sendall(message)
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    for connection in connections:
        connection.close()
    return sums


def connect(machine):
    while True:
        try:
            return socket.create_connection((machine.host, machine.ports[-1]))
        except ConnectionRefusedError:
            time.sleep(0.01)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"GET / HTTP/1.0\r\n\r\n",
        struct.pack("<i", 1),
        secrets.token_bytes(TOKEN_BYTES) + struct.pack("<i", 1),
        TOKEN + struct.pack("<i", 0),
        TOKEN + struct.pack("<i", 3),
        TOKEN + struct.pack("<i", -1),
    ],
    ids=["silent", "http", "number alone", "wrong token", "first", "beyond", "negative"],
)
def test_strangers_are_dropped(monkeypatch, message):
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", 0.2)
    monkeypatch.setattr(module, "CONNECT_SECONDS", 10.0)
    monkeypatch.setattr(module, "ROUND_SECONDS", 10.0)
    assert add_up_with([message]) == dict.fromkeys(range(3), (1.0 + 2.0 + 3.0, 3 * 0.5))


def test_the_second_connection_of_a_machine_is_dropped():
    listener = socket.create_server(("127.0.0.1", 0))
    place = Machine("127.0.0.1", listener.getsockname()[1:])
    first, again, other = (connect(place) for _ in range(3))
    for connection, number in ((first, 1), (again, 1), (other, 2)):
        connection.sendall(TOKEN + struct.pack("<i", number))
    with module.ExitStack() as stack:
        accepted = module._accept(stack.enter_context(listener), 3, TOKEN, stack)
        assert [c.getpeername() for c in accepted] == [c.getsockname() for c in (first, other)]
        assert again.recv(1) == b""  # closed
    for connection in (first, again, other):
        connection.close()


def test_a_machine_that_never_comes_ends_the_wait(monkeypatch):
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.3)
    machines = [Machine("127.0.0.1", (port,)) for port in free_ports(2)]
    for number in range(2):
        with pytest.raises(LostMachineError, match="cannot reach each other"):
            module.round_sums(machines, number, TOKEN).__enter__()

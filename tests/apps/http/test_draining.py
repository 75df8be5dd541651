"""A listening socket at the end of a server: who has come is served, nobody new is heard."""

import asyncio
import socket
import sys

import pytest

from podium.apps.http.connections import listen, uvicorn_config
from podium.apps.http.draining import DrainingServer, stop_new_connections


@pytest.mark.skipif(sys.platform != "linux", reason="the filter is Linux's")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_socket_that_is_shut_keeps_who_has_come_and_hears_nobody_new(host):
    try:
        sock = listen(host, 0)
    except OSError:
        assert host == "::1"
        pytest.skip("this machine has no IPv6")
    with sock:
        address = sock.getsockname()[:2]
        with socket.create_connection(address, timeout=20) as client:
            assert stop_new_connections(sock)
            with pytest.raises(TimeoutError):
                socket.create_connection(address, timeout=0.3)
            connection, _ = sock.accept()
            with connection:
                client.sendall(b"asked")
                assert connection.recv(5) == b"asked"
                connection.sendall(b"answered")
                assert client.recv(8) == b"answered"


def test_where_no_filter_can_be_set_that_is_said():
    with socket.socket() as sock:
        sock.close()
        assert not stop_new_connections(sock)


async def hello(scope, receive, send):
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
    )
    await send({"type": "http.response.body", "body": b""})


def test_a_request_on_an_open_connection_is_answered_while_the_server_ends():
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    events = []

    async def answer():
        sock, draining = listen("127.0.0.1", 0), asyncio.Event()
        config = uvicorn_config(hello, lifespan="off", backlog=1)
        server = DrainingServer(
            config, 1.0, lambda: events.append("start"), lambda: (events.append("drain"), draining.set())
        )  # fmt: skip
        serving = asyncio.create_task(server._serve([sock]))
        while not server.started:
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        server.should_exit = True
        await draining.wait()
        writer.write(request)
        status = await reader.readline()
        writer.close()
        await serving
        return status

    assert asyncio.run(answer()) == b"HTTP/1.1 200 OK\r\n"
    assert events == ["start", "drain"]

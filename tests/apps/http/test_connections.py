"""A web app under uvicorn: connections that say nothing, say it slowly, or are too many."""

import socket
import time
from contextlib import contextmanager, suppress

import pytest

from podium.apps.http import connections
from podium.apps.http.connections import connection_limit, uvicorn_config
from podium.apps.judging import make_app
from podium.labelling.store import Store
from tests.support.judging_client import SECRET, fill
from tests.support.loopback_server import serve_in_thread
from tests.support.ranking_service import eventually

HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def served(tmp_path, header_seconds=0.6):
    with Store.open(tmp_path / "judgments.db") as store:
        fill(store)
        app = make_app(store, secret=SECRET)
        config = uvicorn_config(app, header_seconds)
        with serve_in_thread(config) as address:
            yield address


def ask(connection):
    connection.sendall(HALF + b"\r\n")
    answer = b""
    while not answer.endswith(b'{"status":"ok"}') and (more := connection.recv(65536)):
        answer += more  # header and body may come apart
    return answer


def is_answered(address):
    with suppress(OSError), socket.create_connection(address, 5) as connection:
        return b"200 OK" in ask(connection)
    return False


def is_closed_within(connection, seconds):
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("first", [b"", b"G", HALF])
def test_a_header_has_a_time_limit(tmp_path, first):
    with served(tmp_path) as address, socket.create_connection(address, 5) as connection:
        connection.sendall(first)
        assert is_closed_within(connection, 5)


def test_bytes_one_by_one_give_no_more_time(tmp_path):
    with served(tmp_path) as address, socket.create_connection(address, 5) as connection:
        start = time.monotonic()
        with suppress(OSError):  # a reset, or a broken pipe
            for i in range(1000):
                connection.sendall(b"GET /"[i : i + 1] or b"x")
                time.sleep(0.03)
        assert time.monotonic() - start < 20  # all of them would take 30


def test_the_limit_holds_for_the_second_request_too(tmp_path):
    with served(tmp_path) as address, socket.create_connection(address, 5) as connection:
        assert b"200 OK" in ask(connection)
        time.sleep(1.0)  # between requests there is more time
        assert b"200 OK" in ask(connection)
        connection.sendall(HALF)
        assert is_closed_within(connection, 5)


def test_too_many_connections_leave_those_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "connection_limit", lambda: 10)
    with served(tmp_path, 120.0) as address, socket.create_connection(address, 5) as early:
        assert b"200 OK" in ask(early)
        late = [socket.create_connection(address, 5) for _ in range(30)]
        for connection in late:
            with suppress(OSError):  # it may be closed already
                connection.sendall(HALF)
        eventually(lambda: sum(is_closed_within(one, 0.01) for one in late) >= 20)
        answer = ask(early)
        for connection in late:
            connection.close()
        assert b"200 OK" in answer
        eventually(lambda: is_answered(address))


def test_the_limit_leaves_files_for_the_store():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for files, limit in ((256, 192), (1024, 768), (4096, 3840)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
            found = connection_limit()
            raised = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            assert raised >= files
            assert limit <= found <= raised - raised // 4 or found <= raised - 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

"""The service as a process: signals, workers, large bodies, and an end that drops nothing."""

import contextlib
import itertools
import json
import os
import signal
import socket
import threading
import time

import httpx
import pytest

from podium.apps.http.connections import listen
from tests.support.ranking_service import TOKEN, eventually, lines, replace, rows, running, save
from tools.forks import FORKS, fork_workers

RULES = "version: 1\nrules:\n  - {rule: top-k, docs: %s, k: 1, weight: 50}\n"
CLICK = {
    "action_name": "click", "query_id": "q1",
    "event_attributes": {"object": {"object_id": "d1"}},
}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    ranker, _ = save(tmp_path)
    other, _ = save(tmp_path, "listnet", "other.podium")
    (tmp_path / "rules.yaml").write_text(RULES % "b")
    return (
        tmp_path / "shop.podium",
        tmp_path / "other.podium",
        tmp_path / "rules.yaml",
        ranker,
        other,
    )


def first(client):
    return client.post("/v1/postrank", json={"documents": list("abc")}).json()["ids"][0]


def figure(client, start):
    """A figure by the start of its line."""
    found = [line for line in client.get("/metrics").text.splitlines() if line.startswith(start)]
    return sum(float(line.rpartition(" ")[2]) for line in found)


def fresh(address):
    """A client whose requests have a connection each, so that all workers come to serve."""
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.Client(base_url=address, limits=limits, timeout=60)


def steady(address):
    """A client whose requests share a connection."""
    return httpx.Client(base_url=address, timeout=60)


def versions(client, n=30):
    return {client.get("/v1/models").json()["models"][0]["version"] for _ in range(n)}


def test_one_process(files):
    model, _, rules, ranker, _ = files
    with (
        running(model, "--rules", rules, fork=False) as (process, address),
        steady(address) as client,
    ):
        answer = client.post("/v1/rank", json={"features": rows().tolist()})
        assert answer.json()["scores"] == sorted(ranker.predict(rows()).tolist(), reverse=True)
        assert "server" not in answer.headers
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(
                b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            told = b"".join(iter(lambda: connection.recv(65536), b""))
        assert told.startswith(b"HTTP/1.1 200 OK\r\n")
        assert told.endswith(b"\r\n\r\n")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""


def test_a_change_is_taken_by_itself_and_at_sighup(files):
    model, _, rules, *_ = files
    with (
        running(model, "--rules", rules, "--reload-seconds", "0.1") as (_, address),
        steady(address) as client,
    ):
        replace(rules, RULES % "c")
        eventually(lambda: first(client) == "c")
    with (
        running(model, "--rules", rules, "--reload-seconds", "0") as (process, address),
        steady(address) as client,
    ):
        replace(rules, RULES % "a")
        time.sleep(0.3)
        assert first(client) == "c"
        process.send_signal(signal.SIGHUP)
        eventually(lambda: first(client) == "a")
        replace(rules, "nonsense")
        process.send_signal(signal.SIGHUP)
        eventually(lambda: client.get("/healthz").json()["status"] == "degraded")
        assert first(client) == "a"


def test_workers_add_up_their_figures_and_all_reload(files, tmp_path):
    model, other, rules, *_ = files
    log = tmp_path / "events.ndjson"
    options = ["--rules", rules, "--workers", "2", "--reload-seconds", "0", "--events", log]
    with running(model, *options) as (process, address), fresh(address) as client:
        for _ in range(30):
            assert first(client) == "b"
        assert figure(client, 'podium_requests_total{path="/v1/postrank"') == 30
        assert figure(client, "podium_documents_total") == 90
        replace(model, other.read_bytes())
        before = versions(client)
        process.send_signal(signal.SIGHUP)
        taken = 'podium_reloads_total{outcome="taken",source="model shop"'
        eventually(lambda: figure(client, taken) == 2)
        assert before.isdisjoint(versions(client))
        replace(rules, "nonsense")
        process.send_signal(signal.SIGHUP)
        eventually(
            lambda: {client.get("/healthz").json()["status"] for _ in range(20)} == {"degraded"}
        )
        assert figure(client, "podium_degraded") == 1
        for _ in range(20):
            assert client.post("/v1/events", json=[CLICK, CLICK]).json() == {"accepted": 2}
        assert len(lines(log.read_text())) == 40
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def children(process):
    task = f"/proc/{process.pid}/task/{process.pid}/children"
    with open(task) as file:
        return [int(pid) for pid in file.read().split()]


@pytest.mark.skipif(
    not os.path.exists("/proc/self/task"), reason="children are found in Linux's /proc"
)
def test_a_worker_that_ends_is_begun_anew_and_none_outlives_the_service(files):
    with running(files[0], "--workers", "2") as (process, address), fresh(address) as client:
        killed, told = children(process)
        assert client.get("/healthz").status_code == 200
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: len(children(process)) == 2 and killed not in children(process))
        assert figure(client, 'podium_requests_total{path="/healthz"') == 1
        [other] = {*children(process)} - {told}
        os.kill(told, signal.SIGTERM)  # it leaves the others their socket
        eventually(lambda: told not in children(process))
        assert client.get("/healthz").status_code == 200
        eventually(lambda: len(children(process)) == 2)
        os.kill(other, signal.SIGKILL)  # the one that was begun anew is heard alone
        assert client.get("/healthz").status_code == 200
        workers = children(process)
        process.kill()
        process.wait(20)
        # The one that was begun anew may still be at its imports.
        eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers), seconds=60)


@pytest.mark.skipif(
    not os.path.exists("/proc/self/task"), reason="children are found in Linux's /proc"
)
def test_workers_that_die_while_a_file_is_broken_are_begun_with_what_was_read_last(files):
    model, _, rules, *_ = files
    with (
        running(model, "--rules", rules, "--workers", "2") as (process, address),
        fresh(address) as client,
    ):
        replace(rules, "nonsense")
        eventually(lambda: client.get("/healthz").json()["status"] == "degraded")
        for worker in children(process):
            os.kill(worker, signal.SIGKILL)
            eventually(
                lambda gone=worker: len(children(process)) == 2 and gone not in children(process)
            )
        assert first(client) == "b"
        assert client.get("/healthz").json()["status"] == "degraded"
        assert figure(client, "podium_degraded") == 1


def hammer(address, stop, results, body, said=""):
    """Requests on one connection after another, until the service is gone."""
    host, port = address.removeprefix("http://").split(":")
    request = head(body, said) + body
    while not stop.is_set():
        try:
            connection = socket.create_connection((host, int(port)), timeout=20)
        except OSError:
            return  # nobody listens any more: nothing was asked
        with connection:
            open_ = True
            while open_ and not stop.is_set():
                try:
                    connection.sendall(request)
                    answer = whole(connection)
                except OSError as error:
                    results.append(repr(error))
                    return
                results.append(answer[:15])
                open_ = b"connection: close" not in answer


def hammers(n, *arguments):
    """So many of them, each in a thread."""
    threads = [threading.Thread(target=hammer, args=arguments, daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()
    return threads


def ended(threads):
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def head(body, said=""):
    said = f"POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{said}"
    return f"{said}Content-Length: {len(body)}\r\n\r\n".encode()


def whole(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError("closed without an answer")
        data += part
    said, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in said.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    while len(body) < length:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError("closed within an answer")
        body += part
    return said.lower()


@pytest.mark.parametrize("said", ["", "Connection: close\r\n"], ids=["kept", "closed"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_end_drops_no_request(files, workers, said):
    """Where each request has its connection, some are being made at any moment."""
    body = json.dumps({"features": rows(5 if said else 50).tolist()}).encode()
    results, stop = [], threading.Event()
    with running(files[0], "--workers", workers) as (process, address):
        threads = hammers(16, address, stop, results, body, said)
        eventually(lambda: len(results) > 200)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        ended(threads)
        stop.set()
    assert set(results) == {b"http/1.1 200 ok"}


def test_a_request_that_is_being_answered_is_answered_to_its_end(files):
    """The body arrives after the signal."""
    body = json.dumps({"features": rows().tolist()}).encode()
    with running(files[0], "--drain-seconds", "0") as (process, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(head(body) + body[:10])
            # What was sent before this is asked has been read when it is answered.
            assert httpx.get(f"{address}/healthz", timeout=60).status_code == 200
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            connection.sendall(body[10:])
            assert whole(connection).startswith(b"http/1.1 200 ok")
        assert process.wait(20) == 0


def test_reloads_fail_no_request(files):
    model, other, rules, *_ = files
    body = json.dumps({"features": rows().tolist()}).encode()
    results, stop = [], threading.Event()
    with running(model, "--rules", rules, "--workers", "2", "--reload-seconds", "0.05") as (
        process,
        address,
    ):
        threads = hammers(4, address, stop, results, body)
        contents = [model.read_bytes(), other.read_bytes(), b"nonsense"]
        turns = itertools.count()

        def enough(client):
            """Change something; whether changes were taken more than twice by now."""
            turn = next(turns)
            replace(model, contents[turn % 3])
            replace(rules, "nonsense" if turn % 2 else RULES % "a")
            if turn % 4 == 0:
                process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
            taken = figure(client, 'podium_reloads_total{outcome="taken"')
            return turn >= 11 and taken > 2

        with fresh(address) as client:
            eventually(lambda: enough(client), seconds=60)
        eventually(lambda: len(results) > 50)
        stop.set()
        ended(threads)
    assert set(results) == {b"http/1.1 200 ok"}


def test_a_body_of_100_mb_is_refused_and_its_sender_hears_of_it(files):
    with running(files[0]) as (_, address), steady(address) as client:
        headers = {"content-type": "application/json"}
        answer = client.post("/v1/rank", content=b" " * 100_000_000, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")

        def chunks():
            for _ in range(1000):
                yield b" " * 100_000

        answer = client.post("/v1/rank", content=chunks(), headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        assert client.get("/healthz").status_code == 200


def test_a_token_from_a_file(files, tmp_path):
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    with (
        running(files[0], "--token-file", token, "--workers", "2", fork=False) as (
            process,
            address,
        ),
        steady(address) as client,
    ):
        assert client.get("/v1/models").status_code == 401
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert client.get("/v1/models", headers=headers).status_code == 200
        with contextlib.suppress(OSError), open(f"/proc/{process.pid}/cmdline", "rb") as file:
            assert TOKEN.encode() not in file.read()


def test_a_port_that_is_taken_is_one_line(files):
    from tests.support.cli import run

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = run("serve", files[0], "--port", port, code=1).stderr
    assert told == (
        f"podium: cannot listen on 127.0.0.1 port {port}: Address already in use; "
        "give another --port, or 0 for any that is free\n"
    )


def test_headers_that_do_not_end_are_not_waited_for(files, monkeypatch):
    import asyncio

    from podium.apps.http import connections
    from podium.apps.serving.server import make_server
    from tests.support.ranking_service import service

    protocol = connections.http_protocol
    monkeypatch.setattr(connections, "http_protocol", lambda _, *more: protocol(0.2, *more))

    async def slow():
        sock = listen("127.0.0.1", 0)
        server = make_server(service(files[0]), lambda: None)
        running_ = asyncio.create_task(server._serve([sock]))
        while not server.started:
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        writer.write(b"POST /v1/rank HTTP/1.1\r\n")
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()
        server.should_exit = True
        await running_

    asyncio.run(slow())


@pytest.mark.parametrize("flood", [b"x" * 1000, b"a: b\r\n" * 200])
def test_headers_without_end_are_refused(files, flood):
    """One that never ends, and many."""
    with running(files[0]) as (_, address):
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=20) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ")
            sent = 0
            with contextlib.suppress(OSError):  # the service closes it
                while sent < 10 << 20:
                    sent += sock.send(flood)
            assert sent < 10 << 20
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_work_that_nobody_waits_for_does_not_keep_the_service(files):
    """A thread cannot be stopped; the process ends without it."""
    body = {
        "documents": [f"d{i}" for i in range(9_000)],
        "rules": [{"rule": "pin", "docs": f"d{i}", "position": 1 + i, "weight": 1} for i in range(500)],
    }  # fmt: skip
    with running(files[0], "--seconds", "0.5", fork=False) as (process, address):
        lists = {"queries": [body] * 60}
        answer = httpx.post(f"{address}/v1/postrank/batch", json=lists, timeout=60)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "too_slow")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_what_waited_too_long_is_not_begun():
    import asyncio

    from podium.apps.http.refusals import Refusal
    from podium.apps.serving.thread_limiter import ThreadLimiter

    begun = []

    async def both():
        threads = ThreadLimiter(0.2, n_threads=1)
        release = threading.Event()
        asked = [asyncio.ensure_future(threads.run(release.wait))]
        asked += [asyncio.ensure_future(threads.run(lambda: begun.append(1))) for _ in range(3)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert threads.is_busy
        release.set()
        while threads.is_busy:
            await asyncio.sleep(0.01)
        threads.close()
        return found

    found = asyncio.run(both())
    assert [isinstance(f, Refusal) and f.code == "too_slow" for f in found] == [True] * 4
    assert begun == []


def start_workers_without_model(model, errors):
    """In a process of its own, as its signal handlers change."""
    from podium.apps.serving.settings import ServingSettings
    from podium.apps.serving.workers import run_workers

    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
    fork_workers()
    with pytest.raises(ChildProcessError, match="expected every worker to begin"):
        run_workers(ServingSettings((model,)), 2, listen("127.0.0.1", 0), lambda: None)


def test_workers_that_cannot_begin_are_an_error(tmp_path):
    errors = tmp_path / "errors"
    arguments = (str(tmp_path / "nothing.podium"), str(errors))
    process = FORKS.Process(target=start_workers_without_model, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    said = errors.read_text()
    assert "nothing.podium" in said
    assert "Traceback" not in said

"""The ranking service under load, over loopback: latency, throughput, reloads, memory."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

import podium
from benchmarks.measure import Report, Row
from benchmarks.trees import train_booster
from podium.data import make_synthetic
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.lightgbm_checks import trees_alone
from podium.rankers.models import Linear
from podium.rankers.tree_model import Trees

N_DOCS, N_FEATURES = 100, 46
RULES = """\
version: 1
rules:
  - {rule: top-k, docs: d60, k: 3, weight: 30}
  - {rule: not-top-k, docs: d0, k: 10, weight: 10}
  - {rule: at-most, each: brand, m: 2, k: 10, weight: 10}
  - {rule: before, first: d20, second: d10, weight: 5}
  - {rule: hide, where: stock == 0, hard: true}
"""
CONNECTIONS = 16


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    setting = {"documents": N_DOCS, "features": N_FEATURES, "rules": 5, "connections": CONNECTIONS}
    report = Report("serving", "Serving: the ranking service over loopback", setting)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        path = Path(folder)
        prepare(path)
        bodies = {"/v1/rank": _rank_body(), "/v1/postrank": _postrank_body()}
        setting |= {f"bytes, {name}": len(body) for name, body in bodies.items()}
        with serving(path) as server:
            for name, body in bodies.items():
                _latency(report, server, name, body, 300 if quick else 3_000)
        with serving(path, "--workers", "2") as server:
            _throughput(report, server, bodies["/v1/rank"], 500 if quick else 10_000)
            _reloads(report, server, path, bodies["/v1/rank"], 1_000 if quick else 10_000)
        _trees(report, path, 300 if quick else 3_000)
        with serving(path) as server:
            _memory(report, server, bodies["/v1/rank"], 1_000 if quick else 100_000)
    return report


# --- what is served ---


def prepare(folder: Path) -> None:
    data = make_synthetic(n_queries=60, n_features=N_FEATURES, seed=0)
    podium.RankSVM().fit(data).save(folder / "model.podium")
    podium.RankSVM(C=10).fit(data).save(folder / "other.podium")
    (folder / "rules.yaml").write_text(RULES)


def _rank_body() -> bytes:
    """Return features with six digits, as in LETOR."""
    X = np.round(np.random.default_rng(0).random((N_DOCS, N_FEATURES)), 6)
    ids = [f"d{i}" for i in range(N_DOCS)]
    return json.dumps({"features": X.tolist(), "ids": ids}).encode()


def _postrank_body() -> bytes:
    documents = [
        {"id": f"d{i}", "score": 10 - i / 10, "fields": {"brand": f"b{i % 7}", "stock": i % 9}}
        for i in range(N_DOCS)
    ]
    return json.dumps({"documents": documents}).encode()


@dataclass(frozen=True)
class Server:
    """A running service."""

    process: psutil.Process
    port: int

    def cpu(self) -> float:
        """Return the processor seconds of all its processes."""
        family = [self.process, *self.process.children(recursive=True)]
        return sum(sum(process.cpu_times()[:2]) for process in family)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    """Start the service by its command, in a process of its own."""
    command = [sys.executable, "-m", "podium", "serve", str(folder / "model.podium")]
    command += ["--rules", str(folder / "rules.yaml"), "--port", "0", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process_handle:
        assert process_handle.stdout is not None
        line = process_handle.stdout.readline()
        try:
            yield Server(
                psutil.Process(process_handle.pid), int(line.split()[2].rpartition(":")[2])
            )
        finally:
            process_handle.send_signal(signal.SIGTERM)
            process_handle.wait(30)


# --- the load generator: bytes are made once, one select serves all connections ---


def post_request(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


@dataclass
class Load:
    """Times and failures of some requests."""

    seconds: float
    latencies: list[float]
    failures: int

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.latencies) / self.seconds

    def quantile(self, share: float) -> float:
        """Return the latency that this share of requests does not exceed."""
        return float(np.quantile(self.latencies, share))


def load(
    port: int, request: bytes, n: int, connections: int, during: Callable[[int], None] | None = None
) -> Load:
    """Send n requests, one after the other on each connection."""
    open_ = {sock.fileno(): sock for sock in (_connect(port) for _ in range(connections))}
    ready = select.epoll()
    received = dict.fromkeys(open_, b"")
    sent: dict[int, float] = {}
    latencies: list[float] = []
    failures, left = 0, n
    start = time.perf_counter()
    for number, sock in open_.items():
        ready.register(number, select.EPOLLIN)
        sent[number], left = time.perf_counter(), left - 1
        sock.sendall(request)
    while len(latencies) < n:
        for number, _ in ready.poll():
            received[number] += open_[number].recv(1 << 16)
            if not received[number]:
                raise ConnectionError("the service closed a connection")
            if not _is_whole(received[number]):
                continue
            latencies.append(time.perf_counter() - sent[number])
            failures += not received[number].startswith(b"HTTP/1.1 200 ")
            received[number] = b""
            if during is not None:
                during(len(latencies))
            if left > 0:
                sent[number], left = time.perf_counter(), left - 1
                open_[number].sendall(request)
    seconds = time.perf_counter() - start
    for sock in open_.values():
        sock.close()
    ready.close()
    return Load(seconds, latencies, failures)


def _is_whole(data: bytes) -> bool:
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator:
        return False
    at = head.lower().index(b"content-length:") + 15
    return len(body) == int(head[at : head.find(b"\r\n", at) if b"\r\n" in head[at:] else None])


# --- figures ---


def _latency(report: Report, server: Server, path: str, body: bytes, n: int) -> None:
    request = post_request(path, body)
    load(server.port, request, n // 10, 1)
    before = server.cpu()
    result = load(server.port, request, n, 1)
    used = (server.cpu() - before) / n
    _check(result)
    p50, p99 = result.quantile(0.5) * 1e3, result.quantile(0.99) * 1e3
    report.rows.append(
        Row(
            f"{path}, {N_DOCS} documents, one connection, median", p50 / 1e3, at_most=0.002,
            floor="CPU time of the service", floor_value=used,
        )
    )  # fmt: skip
    report.notes.append(
        f"{path}: p50 {p50:.2f} ms, p99 {p99:.2f} ms, CPU of the service {used * 1e3:.2f} ms a request."
    )


def _trees(report: Report, folder: Path, n: int) -> None:
    """Measure trees beside a linear model: the same request, in turns, in the same service."""
    n_trees, n_features = 500, 136
    booster = train_booster(n_trees)
    trees = Trees(trees_alone(booster.model_to_string()), n_features)
    ImportedRanker.from_model(trees, "a benchmark").save(folder / "trees.podium")
    linear = Linear(np.linspace(-1.0, 1.0, n_features))
    ImportedRanker.from_model(linear, "a benchmark").save(folder / "linear.podium")
    X = np.round(np.random.default_rng(2).standard_normal((N_DOCS, n_features)), 6)
    medians: dict[str, list[float]] = {"trees": [], "linear": []}
    used = dict.fromkeys(medians, 0.0)
    with serving(folder, str(folder / "trees.podium"), str(folder / "linear.podium")) as server:
        for _ in range(10):
            for name, values in medians.items():
                body = json.dumps({"features": X.tolist(), "model": name, "rules": False}).encode()
                before = server.cpu()
                result = load(server.port, post_request("/v1/rank", body), n // 10, 1)
                used[name] += server.cpu() - before
                _check(result)
                values.append(result.quantile(0.5))
    ours, theirs = (statistics.median(values) for values in medians.values())
    kernel = _seconds_of(lambda: trees.predict(X))
    report.rows.append(
        Row(
            f"/v1/rank, {N_DOCS} documents, trees (500 x 31, 136 features) less linear, median",
            ours - theirs, at_most=0.0006,
            floor=f"the kernel alone, {N_DOCS * int(trees.arrays.depths.sum()):,} nodes", floor_value=kernel,
        )
    )  # fmt: skip
    report.notes.append(
        f"/v1/rank of {N_DOCS} x {n_features} numbers, p50: trees {ours * 1e3:.2f} ms, a linear model "
        f"{theirs * 1e3:.2f} ms; ten turns of {n // 10} requests each. CPU of the service "
        f"{used['trees'] / n * 1e3:.2f} and {used['linear'] / n * 1e3:.2f} ms a request."
    )


def _seconds_of(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(50):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _throughput(report: Report, server: Server, body: bytes, n: int) -> None:
    request = post_request("/v1/rank", body)
    load(server.port, request, n // 10, CONNECTIONS)
    rates, used = [], []
    for _ in range(3):
        before, own = server.cpu(), time.process_time()
        result = load(server.port, request, n, CONNECTIONS)
        rates.append(result.rate)
        used.append(((server.cpu() - before) / n, (time.process_time() - own) / n))
        _check(result)
    service, generator = (statistics.median(seconds) * 1e3 for seconds in zip(*used, strict=True))
    report.rows.append(
        Row(
            f"/v1/rank, {CONNECTIONS} connections, 2 workers", statistics.median(rates),
            unit="requests/s", at_least=1_500,
        )
    )  # fmt: skip
    report.notes.append(
        f"/v1/rank at {CONNECTIONS} connections: CPU of the service {service:.2f} ms and of the generator "
        f"{generator:.2f} ms a request, which two cores could do {2e3 / (service + generator):,.0f} times "
        "a second."
    )


def _reloads(report: Report, server: Server, folder: Path, body: bytes, n: int) -> None:
    """Replace models and rules, also by nonsense, during requests."""
    files = [(folder / name).read_bytes() for name in ("model.podium", "other.podium")]
    reloads = 0

    def replace(done: int) -> None:
        nonlocal reloads
        if done % (n // 20) == 0:
            turn = reloads % 3
            _write(folder / "model.podium", files[turn] if turn < 2 else b"nonsense")
            _write(folder / "rules.yaml", (RULES if turn < 2 else "rules: [").encode())
            server.process.send_signal(signal.SIGHUP)
            reloads += 1

    result = load(server.port, post_request("/v1/rank", body), n, CONNECTIONS, replace)
    _write(folder / "model.podium", files[0])
    _write(folder / "rules.yaml", RULES.encode())
    report.rows.append(
        Row(f"failed of {n:,} requests during {reloads} reloads", result.failures, unit="", at_most=0)
    )  # fmt: skip


def _write(path: Path, data: bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(data)
    new.replace(path)


def _memory(report: Report, server: Server, body: bytes, n: int) -> None:
    """Measure resident memory after a tenth of the requests, and after all of them."""
    request, sizes = post_request("/v1/rank", body), []
    for part in (n // 10, n - n // 10):
        _check(load(server.port, request, part, 4))
        sizes.append(server.process.memory_info().rss / 1e6)
    report.rows.append(
        Row(
            f"memory after {n:,} requests", sizes[1], unit="MB", peer=f"after {n // 10:,}",
            theirs=sizes[0], ratio=sizes[1] / sizes[0], says="the memory", at_most=1.05,
        )
    )  # fmt: skip


def _check(result: Load) -> None:
    if result.failures:
        raise AssertionError(f"{result.failures} requests failed")

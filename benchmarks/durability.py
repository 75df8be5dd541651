"""Durability: the cost of syncs to the disk, for files and for acknowledged events."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import podium
from benchmarks.measure import Contender, Report, Row, floor_of, slowdown
from benchmarks.serving import Load, Server, load, post_request, prepare, serving
from podium.data import make_synthetic

SERVERS = {"event": "event", "batch": "batch", "off again": "off", "off": "off"}
"""Name -> policy. Two servers have the same policy: their difference is noise."""
CONNECTIONS = (1, 16, 64)
ROUNDS = 8 * len(SERVERS)
"""Number of rounds: every server has each turn equally often."""
CLICK = {
    "action_name": "click", "query_id": "q1", "timestamp": "2026-01-31T12:00:00Z",
    "event_attributes": {"object": {"object_id": "d1"}, "position": {"ordinal": 1}},
}  # fmt: skip


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    body = json.dumps(CLICK).encode()
    setting = {"events of a request": 1, "bytes of a request": len(body), "workers": 1}
    report = Report("durability", "Durability: what a sync to the disk costs", setting)
    with tempfile.TemporaryDirectory(prefix="podium-bench-", dir=Path.cwd()) as folder:
        _files(report, Path(folder), 3 if quick else 15)
        _events(report, Path(folder), body, 100 if quick else 400)
    return report


def _files(report: Report, folder: Path, repeats: int) -> None:
    """Save a model with syncs and without."""
    model = podium.RankSVM().fit(make_synthetic(n_queries=60, n_features=46, seed=0))
    path = folder / "model.podium"

    def unsynced() -> None:
        with mock.patch.object(os, "fsync"):
            model.save(path)

    contenders = {
        "save a model": lambda: model.save(path),
        "without a sync": unsynced,
        "one sync of 4 KB": _sync_once(folder / "raw"),
    }
    timings = report.time_in_turn(
        [Contender(name, work, repeats) for name, work in contenders.items()]
    )
    floor = floor_of("one sync of 4 KB", timings["one sync of 4 KB"])
    row = slowdown("save a model", timings["save a model"], timings["without a sync"], **floor)
    report.rows.append(row)


def _sync_once(path: Path) -> Callable[[], None]:
    def write() -> None:
        with path.open("ab") as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())

    return write


def _events(report: Report, folder: Path, body: bytes, n: int) -> None:
    """Send requests by server and connections, in many short rounds whose order rotates.

    Other processes can only slow a round down, so the best round of each server counts. On a busy machine
    the medians of two equal servers differed by a factor of 3.
    """
    prepare(folder)
    request = post_request("/v1/events", body)
    loads: dict[tuple[str, int], list[Load]] = {}
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for name, policy in SERVERS.items():
            options = ["--events", str(folder / f"{name}.ndjson"), "--durability", policy]
            servers[name] = stack.enter_context(serving(folder, *options))
            load(servers[name].port, request, n // 10, 4)
        before = {name: server.cpu() for name, server in servers.items()}
        for turn in range(len(SERVERS) if n <= 100 else ROUNDS):
            for connections in CONNECTIONS:
                for name in _rotate(list(servers), turn):
                    times = load(
                        servers[name].port, request, _n_requests(n, connections), connections
                    )
                    if times.failures:
                        raise AssertionError(f"{times.failures} requests failed")
                    loads.setdefault((name, connections), []).append(times)
        sent = sum(len(result.latencies) for c in CONNECTIONS for result in loads["off", c])
        used = {name: (server.cpu() - before[name]) / sent for name, server in servers.items()}
    for connections in CONNECTIONS:
        for name in servers:
            if name != "off":
                _compare(report, name, connections, loads)
    report.notes.append(
        "CPU of the service a request: "
        + ", ".join(f"{name} {seconds * 1e3:.2f} ms" for name, seconds in used.items())
        + "."
    )
    report.notes.append(
        "Events: the best of many short rounds; off again is a second server like off."
    )


def _rotate(names: list[str], turn: int) -> list[str]:
    start = turn % len(names)
    return names[start:] + names[:start]


def _n_requests(n: int, connections: int) -> int:
    return n if connections > 1 else max(50, n // 4)


def _compare(
    report: Report, name: str, connections: int, loads: dict[tuple[str, int], list[Load]]
) -> None:
    best, off = (
        max(loads[server, connections], key=lambda result: result.rate) for server in (name, "off")
    )
    connections_text = f"{connections} connection{'s' if connections > 1 else ''}"
    report.rows.append(
        Row(
            f"/v1/events, {connections_text}, --durability {name}", best.rate, unit="requests/s",
            peer="off", theirs=off.rate, ratio=best.rate / off.rate, says="the rate",
        )
    )  # fmt: skip
    report.notes.append(
        f"{connections_text}, {name}: p50 {best.quantile(0.5) * 1e3:.1f} ms, "
        f"p99 {best.quantile(0.99) * 1e3:.1f} ms."
    )

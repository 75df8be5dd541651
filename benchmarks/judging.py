"""Judging server under load: many assessors who post one judgment per second each, on loopback."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil

from benchmarks.measure import Report, Row
from podium.labelling import (
    Assignment,
    Pool,
    PoolDocument,
    PoolQuery,
    write_assignments,
    write_pool,
)
from podium.labelling.store import Store

ASSESSORS, SECONDS = 200, 15
DOCUMENTS, WORDS = 50, 150
FORM = "application/x-www-form-urlencoded"
MAX_P99_SECONDS = 0.100
"""Seconds within which 99 of 100 judgments must be stored and answered."""


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    assessors, seconds = (20, 3) if quick else (ASSESSORS, SECONDS)
    setting = {"assessors": assessors, "seconds": seconds, "documents": DOCUMENTS}
    report = Report("judging", "The judging server", setting)
    with (
        tempfile.TemporaryDirectory() as folder,
        _server(Path(folder), assessors) as (server, links),
    ):
        all_assessors = asyncio.run(_load(links, seconds))
        used = server.cpu_times()
        stored = _stored_events(Path(folder) / "judgments.db")
    latencies = np.array([second for assessor in all_assessors for second in assessor.seconds])
    sent = {name for assessor in all_assessors for name in assessor.accepted}
    lost, strange = len(sent - stored), len(stored - sent)
    failed = sum(assessor.failed for assessor in all_assessors)
    median, p99 = np.percentile(latencies, [50, 99])
    what = f"{assessors} assessors, a judgment a second each, {len(latencies):,} judgments"
    report.rows.append(Row(f"{what}, 99 of 100", float(p99), at_most=MAX_P99_SECONDS))
    report.rows.append(
        Row(
            "judgments lost, doubled or refused",
            float(lost + strange + failed),
            unit="judgments",
            at_most=0,
        )
    )
    report.notes.append(
        f"{what}: median {median * 1e3:.1f} ms, slowest {latencies.max() * 1e3:.0f} ms; the server used "
        f"{(used.user + used.system) / len(latencies) * 1e3:.1f} ms of a processor for each, its start "
        "included. The event that says when the question was shown is in the same request. SQLite, one "
        "process."
    )
    return report


@dataclass
class _Assessor:
    """An assessor with one connection, as a browser has it."""

    link: str
    seconds: list[float] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    failed: int = 0
    _cookie: str = ""
    _token: str = ""

    async def enter(self) -> None:
        """Open the link, the list of tasks, and the first task."""
        place = urlsplit(self.link)
        self._host = place.netloc
        self._reader, self._writer = await asyncio.open_connection(place.hostname, place.port)
        head, page = await self._ask("GET", place.path)
        self._keep_cookie(head)
        token = re.search(r'name="form_token" value="(\w+)"', page)[1]  # type: ignore[index]
        head, _ = await self._ask("POST", place.path, f"form_token={token}", FORM)
        self._keep_cookie(head)
        _, page = await self._ask("GET", "/")
        self._task = re.search(r'href="/judge/([^"]+)"', page)[1]  # type: ignore[index]
        _, page = await self._ask("GET", f"/judge/{self._task}")
        self._token = re.search(r'podium-token" content="([^"]+)"', page)[1]  # type: ignore[index]
        _, body = await self._ask("GET", f"/api/tasks/{self._task}")
        self._state = json.loads(body)

    def _keep_cookie(self, head: str) -> None:
        self._cookie = re.search(r"set-cookie: ([^;]+)", head, re.IGNORECASE)[1]  # type: ignore[index]

    async def work(self, delay: float, until: float) -> None:
        """Judge once per second."""
        chance = random.Random(self.link)
        await asyncio.sleep(delay)
        due = time.perf_counter()
        while due < until and self._state["step"]["kind"] == "question":
            name, at = f"{chance.getrandbits(64):x}", time.time_ns() // 1_000_000
            question = self._state["step"]["question"]
            answer = chance.choice(("left", "right", "tie"))
            judgment = {"question": question, "answer": answer, "segments": [[at - 900, at]]}
            events = [
                {
                    "id": f"{name}-shown",
                    "kind": "shown",
                    "at": at - 900,
                    "data": {"question": question},
                },
                {"id": name, "kind": "judgment", "at": at, "data": judgment},
            ]
            start = time.perf_counter()
            head, body = await self._ask(
                "POST", f"/api/tasks/{self._task}/events", json.dumps({"events": events})
            )
            self.seconds.append(time.perf_counter() - start)
            if " 200 " in head.partition("\r\n")[0]:
                self._state = json.loads(body)
                self.accepted += self._state["accepted"]
            else:
                self.failed += 1
            due += 1
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        self._writer.close()

    async def _ask(
        self, method: str, path: str, body: str = "", kind: str = "application/json"
    ) -> tuple[str, str]:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}", f"Cookie: {self._cookie}"]
        if body:
            lines += [f"Content-Type: {kind}", f"X-Podium-Token: {self._token}"]
            lines += [f"Content-Length: {len(body)}", f"Origin: http://{self._host}"]
        self._writer.write("\r\n".join((*lines, "", body)).encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        size = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        return head, (await self._reader.readexactly(int(size[1]) if size else 0)).decode()


async def _load(links: list[str], seconds: float) -> list[_Assessor]:
    all_assessors = [_Assessor(link) for link in links]
    for at in range(0, len(all_assessors), 8):  # eight at a time, as not all people arrive at once
        await asyncio.gather(*(assessor.enter() for assessor in all_assessors[at : at + 8]))
    gc.freeze()  # garbage collection must not stop the clock, which is in this process
    # Assessors start within one second, not all at once.
    delays = np.random.default_rng(0).random(len(links))
    until = time.perf_counter() + seconds
    await asyncio.gather(
        *(one.work(d, until) for one, d in zip(all_assessors, delays, strict=True))
    )
    return all_assessors


@contextmanager
def _server(folder: Path, assessors: int) -> Iterator[tuple[psutil.Process, list[str]]]:
    """Start the server by its command; yield its process and the links of its assessors."""
    words = [f"word{i}" for i in range(2_000)]
    chance = random.Random(0)
    queries = [
        PoolQuery(
            f"q{q}",
            " ".join(chance.sample(words, 3)),
            documents=tuple(
                PoolDocument(f"d{d}", " ".join(chance.choices(words, k=WORDS)))
                for d in range(DOCUMENTS)
            ),
        )
        for q in range(20)
    ]
    write_pool(Pool(tuple(queries)), folder / "pool.jsonl")
    plan = [Assignment(f"u{i}", f"q{i % len(queries)}") for i in range(assessors)]
    write_assignments(plan, folder / "plan.csv")
    command = [
        sys.executable, "-m", "podium", "judge", "serve", "--store", str(folder / "judgments.db"),
        "--pool", str(folder / "pool.jsonl"), "--assign", str(folder / "plan.csv"), "--port", "0", "--json",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            startup: dict[str, Any] = _read_json(process)
            links = [link["link"] for link in startup["links"] if link["role"] == "assessor"]
            yield psutil.Process(process.pid), links
        finally:
            process.terminate()


def _read_json(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    text = ""
    while line := process.stdout.readline():
        text += line
        if line.rstrip() == "}":
            break
    content: dict[str, Any] = json.loads(text)
    return content


def _stored_events(path: Path) -> set[str]:
    """Return the ids of all events in the store."""
    with Store.open(path) as store:
        return {e.id for state in store.session_states() for e in store.events(state.task.id)}

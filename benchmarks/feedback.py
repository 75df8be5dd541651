"""UBI logs: events read per second, and memory that does not grow with their number."""

from __future__ import annotations

import json
import lzma
import os
import re
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Contender, Report, Row, Timing
from podium.feedback import UbiReader, make_log, read_ubi

N_LISTS = 6_000
COPIES = 15
"""Copies of the real sample, each with its own ids."""
TARGET_RATE = 100_000
"""Events per second on one thread."""
WINDOW = 20_000

_SAMPLE = Path("ubi") / "ubi_queries_events.ndjson.xz"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}")


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        logs = _logs(Path(folder), 300 if quick else N_LISTS, 1 if quick else COPIES)
        setting = {f"bytes, {name}": path.stat().st_size for name, path in logs.items()}
        report = Report("feedback", "Feedback: UBI logs", setting)
        for name, path in logs.items():
            _reading(report, name, path, 3 if quick else 9)
        _memory(report, 2_000 if quick else 60_000)
    return report


def _logs(folder: Path, n_lists: int, copies: int) -> dict[str, Path]:
    log = make_log(n_lists=n_lists, seed=0)
    logs = {"plain": folder / "plain.ndjson", "bulk": folder / "bulk.ndjson"}
    log.write(logs["plain"])
    log.write(logs["bulk"], bulk=True)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    sample = Path(os.environ.get("PODIUM_LETOR") or beside) / _SAMPLE
    if sample.exists():
        text = lzma.decompress(sample.read_bytes()).decode()
        logs["real sample, bulk"] = folder / "real.ndjson"
        with open(logs["real sample, bulk"], "w") as file:
            for copy in range(copies):
                file.write(_ID.sub(lambda m, c=copy: f"{c:03d}{m[0][3:]}", text))
    return logs


def _reading(report: Report, name: str, path: Path, repeats: int) -> None:
    """Measure the reader; the floor is parsing alone, one call of the JSON scanner per line."""
    counts = read_ubi(path).counts
    t = report.time_in_turn(
        [
            Contender(f"read_ubi, {name}", lambda: read_ubi(path), repeats),
            Contender(f"json alone, {name}", lambda: _parse(path), repeats),
        ]
    )
    ours, alone = (_rate(counts.events, timing) for timing in t.values())
    report.rows.append(
        Row(
            f"read, {name}", ours, unit="events/s", at_least=TARGET_RATE,
            floor="Python's json on the same lines, nothing else", floor_value=alone,
        )
    )  # fmt: skip
    report.notes.append(f"{name}: {counts.events:,} events in {counts.lines:,} lines.")


def _rate(events: int, timing: Timing) -> float:
    return events / timing.median


def _parse(path: Path) -> None:
    decode = json.JSONDecoder().raw_decode
    for line in path.read_text().splitlines():
        decode(line)


def _memory(report: Report, n_events: int) -> None:
    """Measure the peak of traced memory while events refer to the same lists."""
    few, many = (_peak(lambda n=n: _clicks(n)) for n in (n_events, 4 * n_events))
    report.rows.append(
        Row(
            f"peak memory, {4 * n_events:,} events (window {WINDOW:,})", many / 1e6, unit="MB",
            peer=f"{n_events:,} events", theirs=few / 1e6, ratio=many / few, says="the memory",
            at_most=1.1,
        )
    )  # fmt: skip


def _peak(lines: Callable[[], Iterator[str]]) -> int:
    reader = UbiReader(window=WINDOW)
    reader.start("generated")
    tracemalloc.start()
    reader.feed(lines())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    feedback = reader.feedback()
    if feedback.reactions[:, 0].sum() != feedback.counts.events:
        raise AssertionError("clicks were lost")
    return peak


def _clicks(n: int) -> Iterator[str]:
    for i in range(n):
        yield json.dumps(
            {
                "action_name": "click", "query_id": f"q{i % 100}", "timestamp": 1_741_000_000_000 + i,
                "event_attributes": {"object": {"object_id": f"d{i % 70}"}},
            }
        )  # fmt: skip

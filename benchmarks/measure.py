"""Timing of contenders in turn, the figures made from it, and the files they are kept in."""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from podium import kernels

RESULTS = Path(__file__).parent / "results"

_PACKAGES = (
    "podium-ltr", "numpy", "scipy", "scikit-learn", "lightgbm", "pyarrow", "pytrec-eval-terrier", "ranx",
    "numba", "clarabel", "bm25s",
)  # fmt: skip


@dataclass(frozen=True)
class Contender:
    """Something to be timed."""

    name: str
    run: Callable[[], object]
    repeats: int = 7


@dataclass(frozen=True)
class Timing:
    """What one contender took: the warm-up, and every repetition after it."""

    name: str
    warm_up: float
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle repetition."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Row:
    """One line of the table: our figure, a peer's, their ratio, the target and the floor.

    `says` completes the ratio in words ("faster", "the time", ...); `at_least` and `at_most`
    bound the ratio, or our own figure where there is no ratio.
    """

    what: str
    ours: float
    unit: str = "s"
    n_bytes: int | None = None
    peer: str | None = None
    theirs: float | None = None
    peer_bytes: int | None = None
    ratio: float | None = None
    says: str = ""
    at_least: float | None = None
    at_most: float | None = None
    floor: str | None = None
    floor_value: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met, None where there is none."""
        value = self.ours if self.ratio is None else self.ratio
        if self.at_least is not None:
            return value >= self.at_least
        return None if self.at_most is None else value <= self.at_most

    @property
    def from_floor(self) -> float | None:
        """Our figure in multiples of the floor."""
        return self.ours / self.floor_value if self.floor_value else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with what is derived."""
        return asdict(self) | {"met": self.met, "from_floor": self.from_floor}


@dataclass(frozen=True)
class _Usage:
    """Seconds so far: of the clock, of all cores at work, of this process and its children."""

    wall: float
    busy: float
    own: float

    @classmethod
    def now(cls) -> _Usage:
        machine, own = psutil.cpu_times(), psutil.Process().cpu_times()
        busy = machine.user + machine.system + getattr(machine, "nice", 0.0)
        mine = own.user + own.system + own.children_user + own.children_system
        return cls(time.perf_counter(), busy, mine)

    def others(self) -> float:
        """The share of the machine that other processes have taken since then."""
        now = _Usage.now()
        seconds = (now.wall - self.wall) * (os.cpu_count() or 1)
        return max(0.0, (now.busy - self.busy) - (now.own - self.own)) / seconds


@dataclass
class Report:
    """Everything measured on one subject."""

    subject: str
    title: str
    setting: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _start: _Usage = field(default_factory=lambda: _Usage.now())

    def race(self, contenders: Sequence[Contender]) -> dict[str, Timing]:
        """Time contenders in turn and keep every second."""
        timings = race(contenders)
        self.timings += timings.values()
        return timings

    def to_dict(self) -> dict[str, Any]:
        """For JSON: where and when, every repetition, and the table."""
        return {
            "subject": self.subject,
            "title": self.title,
            "command": f"python -m benchmarks {self.subject}",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine() | {"busy with other work": f"{self._start.others():.0%}"},
            "versions": versions(),
            "setting": self.setting,
            "rows": [row.to_dict() for row in self.rows],
            "notes": self.notes,
            "timings": {t.name: _timing(t) for t in self.timings},
        }


def race(contenders: Sequence[Contender]) -> dict[str, Timing]:
    """One warm-up each, then all in turn, so that a noisy minute hits everyone.

    A contender with fewer repetitions than the others sits out evenly spread rounds.
    """
    warm_up = {c.name: _seconds(c.run) for c in contenders}
    seconds: dict[str, list[float]] = {c.name: [] for c in contenders}
    rounds = max(c.repeats for c in contenders)
    with _old_objects_left_alone():
        for turn in range(rounds):
            for c in contenders:
                if turn * c.repeats % rounds < c.repeats:
                    seconds[c.name].append(_seconds(c.run))
    return {name: Timing(name, warm_up[name], tuple(s)) for name, s in seconds.items()}


def speedup(what: str, ours: Timing, theirs: Timing, **more: Any) -> Row:
    """A row that says how many times faster we are."""
    return _row(what, ours, theirs, theirs.median / ours.median, "faster", more)


def slowdown(what: str, ours: Timing, theirs: Timing, **more: Any) -> Row:
    """A row that says how many times the peer's time we take."""
    return _row(what, ours, theirs, ours.median / theirs.median, "the time", more)


def _row(
    what: str, ours: Timing, theirs: Timing, ratio: float, says: str, more: dict[str, Any]
) -> Row:
    peer = {"peer": theirs.name, "theirs": theirs.median}
    return Row(what, ours.median, ratio=ratio, says=says, **peer, **more)


def floor_of(what: str, timing: Timing) -> dict[str, Any]:
    """A measured floor, for the arguments of a row."""
    return {"floor": what, "floor_value": timing.median}


def machine() -> dict[str, Any]:
    """The machine in words, nothing that identifies it."""
    return {
        "CPU": _cpu_model(),
        "cores": len(psutil.Process().cpu_affinity())
        if hasattr(psutil.Process, "cpu_affinity")
        else os.cpu_count(),
        "RAM": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "OS": _os_name(),
        "Python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Versions of podium and its peers, and which kernels run."""
    found = {"kernels": kernels.BACKEND}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def save(report: Report, folder: Path = RESULTS) -> Path:
    """Write a report as JSON."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{report.subject}.json"
    path.write_text(json.dumps(_rounded(report.to_dict()), indent=1, ensure_ascii=False) + "\n")
    return path


def load(subjects: Iterable[str], folder: Path = RESULTS) -> list[dict[str, Any]]:
    """The saved reports of these subjects, those that there are."""
    paths = [folder / f"{subject}.json" for subject in subjects]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


@contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """Garbage is looked for among new objects only; all the peers' take longer than most runs."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _seconds(run: Callable[[], object]) -> float:
    """Wall-clock time of one call; what it returns is freed after the clock has stopped."""
    gc.collect()
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    del result
    return seconds


def _timing(timing: Timing) -> dict[str, Any]:
    return {"median": timing.median, "warm-up": timing.warm_up, "seconds": list(timing.seconds)}


def _rounded(value: Any) -> Any:
    """Six significant digits: more is noise."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    return [_rounded(v) for v in value] if isinstance(value, list) else value


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()

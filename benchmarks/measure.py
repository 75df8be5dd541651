"""Measurement: contenders timed in turn, the rows of a report, and its JSON file."""

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
from threadpoolctl import ThreadpoolController

from podium import kernels

RESULTS = Path(__file__).parent / "results"

_PACKAGES = (
    "podium-ltr", "numpy", "scipy", "scikit-learn", "lightgbm", "pyarrow", "pytrec-eval-terrier", "ranx",
    "numba", "clarabel", "bm25s", "onnxruntime", "xgboost-cpu", "catboost",
)  # fmt: skip


_clock: Callable[[], float] = time.perf_counter


def count_processor_time() -> None:
    """Measure processor time of one thread from now on: other work on the machine hardly changes it."""
    global _clock
    _clock = time.process_time
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # of libraries to come
    ThreadpoolController().limit(limits=1)


def counts_processor_time() -> bool:
    """Whether the seconds are those of a processor, and all work is done by one thread."""
    return _clock is time.process_time


@dataclass(frozen=True)
class Contender:
    """A call to be timed."""

    name: str
    run: Callable[[], object]
    repeats: int = 7


@dataclass(frozen=True)
class Timing:
    """Seconds of one contender: the warm-up, and every repetition after it."""

    name: str
    warm_up: float
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the repetitions."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Row:
    """One row of the table: our figure, a peer's, their ratio, the target and the floor.

    `says` completes the ratio in words ("faster", "the time", ...). `at_least` and `at_most` bound the
    ratio, or our own figure if there is no ratio.
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
    def meets_target(self) -> bool | None:
        """Whether the target is met; None without a target."""
        value = self.ours if self.ratio is None else self.ratio
        if self.at_least is not None:
            return value >= self.at_least
        return None if self.at_most is None else value <= self.at_most

    @property
    def from_floor(self) -> float | None:
        """Our figure in multiples of the floor."""
        return self.ours / self.floor_value if self.floor_value else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with the derived ones."""
        return asdict(self) | {"met": self.meets_target, "from_floor": self.from_floor}


@dataclass(frozen=True)
class ProcessorUsage:
    """Seconds so far: on the clock, of all busy cores, and of this process with its children."""

    wall: float
    busy: float
    own: float

    @classmethod
    def now(cls) -> ProcessorUsage:
        machine, own = psutil.cpu_times(), psutil.Process().cpu_times()
        busy = machine.user + machine.system + getattr(machine, "nice", 0.0)
        mine = own.user + own.system + own.children_user + own.children_system
        return cls(time.perf_counter(), busy, mine)

    def others(self) -> float:
        """Return the share of the machine that other processes have used since then."""
        now = ProcessorUsage.now()
        seconds = (now.wall - self.wall) * (os.cpu_count() or 1)
        return max(0.0, (now.busy - self.busy) - (now.own - self.own)) / seconds


@dataclass
class Report:
    """Report of everything that is measured on one subject."""

    subject: str
    title: str
    setting: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    """Tables of text beside the rows, the header first."""
    notes: list[str] = field(default_factory=list)
    _start: ProcessorUsage = field(default_factory=lambda: ProcessorUsage.now())

    def time_in_turn(self, contenders: Sequence[Contender]) -> dict[str, Timing]:
        """Time contenders in turn and keep the seconds of every repetition."""
        timings = time_in_turn(contenders)
        self.timings += timings.values()
        return timings

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: machine, date, every repetition, and the table."""
        return {
            "subject": self.subject,
            "title": self.title,
            "command": f"python -m benchmarks {self.subject}"
            + " --processor" * counts_processor_time(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine() | {"busy with other work": f"{self._start.others():.0%}"},
            "versions": versions(),
            "setting": self.setting
            | ({"seconds": "processor time of one thread"} if counts_processor_time() else {}),
            "rows": [row.to_dict() for row in self.rows],
            "tables": self.tables,
            "notes": self.notes,
            "timings": {t.name: _timing(t) for t in self.timings},
        }


def time_in_turn(contenders: Sequence[Contender]) -> dict[str, Timing]:
    """Warm up each contender, then time all in turn, so that a busy minute affects all of them.

    A contender with fewer repetitions than the others skips rounds at even distances.
    """
    warm_up = {c.name: _seconds(c.run) for c in contenders}
    seconds: dict[str, list[float]] = {c.name: [] for c in contenders}
    rounds = max(c.repeats for c in contenders)
    with _without_old_garbage():
        for turn in range(rounds):
            for c in contenders:
                if turn * c.repeats % rounds < c.repeats:
                    seconds[c.name].append(_seconds(c.run))
    return {name: Timing(name, warm_up[name], tuple(s)) for name, s in seconds.items()}


def speedup(what: str, ours: Timing, theirs: Timing, **more: Any) -> Row:
    """Return a row that says how many times faster we are."""
    return _row(what, ours, theirs, theirs.median / ours.median, "faster", more)


def slowdown(what: str, ours: Timing, theirs: Timing, **more: Any) -> Row:
    """Return a row that says how many times the peer's time we take."""
    return _row(what, ours, theirs, ours.median / theirs.median, "the time", more)


def _row(
    what: str, ours: Timing, theirs: Timing, ratio: float, says: str, more: dict[str, Any]
) -> Row:
    peer = {"peer": theirs.name, "theirs": theirs.median}
    return Row(what, ours.median, ratio=ratio, says=says, **peer, **more)


def floor_of(what: str, timing: Timing) -> dict[str, Any]:
    """Return a measured floor as arguments of a row."""
    return {"floor": what, "floor_value": timing.median}


def machine() -> dict[str, Any]:
    """Describe the machine, without anything that identifies it."""
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
    """Return the versions of podium and its peers, and the kernels in use."""
    package_versions = {"kernels": kernels.BACKEND}
    for package in _PACKAGES:
        try:
            package_versions[package] = version(package)
        except PackageNotFoundError:
            package_versions[package] = "not installed"
    return package_versions


def save(report: Report, folder: Path = RESULTS) -> Path:
    """Write a report as JSON."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{report.subject}.json"
    path.write_text(
        json.dumps(_round_floats(report.to_dict()), indent=1, ensure_ascii=False) + "\n"
    )
    return path


def load(subjects: Iterable[str], folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Load the saved reports of these subjects; skip those without one."""
    paths = [folder / f"{subject}.json" for subject in subjects]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


@contextmanager
def _without_old_garbage() -> Iterator[None]:
    """Collect garbage among new objects only: all of the peers' objects take longer than most runs."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _seconds(run: Callable[[], object]) -> float:
    """Return the seconds of one call; its result is freed after the clock has stopped."""
    gc.collect()
    start = _clock()
    result = run()
    seconds = _clock() - start
    del result
    return seconds


def _timing(timing: Timing) -> dict[str, Any]:
    return {"median": timing.median, "warm-up": timing.warm_up, "seconds": list(timing.seconds)}


def _round_floats(value: Any) -> Any:
    """Round to six significant digits: more is noise."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _round_floats(v) for key, v in value.items()}
    return [_round_floats(v) for v in value] if isinstance(value, list) else value


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

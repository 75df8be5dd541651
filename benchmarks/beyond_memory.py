"""Beyond memory: processor time and memory of work on a collection, beside the same work in memory.

``python -m benchmarks beyond_memory`` draws data in the shape of WEB30K (3.77 million documents, 136
features: 4.2 GB of text, removed afterwards) below PODIUM_BEYOND_MEMORY_FOLDER, or the temporary folder.
PODIUM_BEYOND_MEMORY_ROWS changes the size. Each job is a process of its own:
``python -m benchmarks.beyond_memory JOB FOLDER ROWS`` prints its figures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import podium
from benchmarks import memory
from benchmarks.generated_stream import GeneratedStream, write_text
from benchmarks.measure import Report, Row
from podium.metrics import evaluate_stream

ROWS, QUICK_ROWS = 3_770_000, 60_000
STREAMED_ROWS, QUICK_STREAMED_ROWS = (1_000_000, 10_000_000, 100_000_000), (100_000, 1_000_000)
PART_ROWS, VALIDATION_ROWS = 500_000, 30_000
ITERATIONS, TREES, LEAVES = 20, 50, 31
MB = 1e6
_SAMPLE_SECONDS = 0.005


@dataclass
class JobFigures:
    """What one job took: seconds, processor seconds, and bytes of memory at its peak.

    `peak` is all memory of the process. `own` is what the system cannot let go: pages of mapped files
    are left out.
    """

    seconds: float = 0.0
    cpu: float = 0.0
    peak: int = 0
    own: int = 0
    before: int = 0
    result: dict[str, Any] = field(default_factory=dict)


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    rows = QUICK_ROWS if quick else int(os.environ.get("PODIUM_BEYOND_MEMORY_ROWS", ROWS))
    parent = os.environ.get("PODIUM_BEYOND_MEMORY_FOLDER")
    setting = {
        "documents": rows, "features": 136, "numbers": "float32", "documents per part": PART_ROWS,
        "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
    }  # fmt: skip
    report = Report("beyond_memory", "Data that does not fit into memory", setting)
    with tempfile.TemporaryDirectory(prefix="podium-bench-", dir=parent) as name:
        folder = Path(name)
        _collection_jobs(report, folder, rows)
        _fits(report, folder, rows)
    _streams(report, QUICK_STREAMED_ROWS if quick else STREAMED_ROWS)
    report.notes += [
        "Each job is a process of its own. Peak memory is all of it, with the interpreter and its "
        "libraries. Own memory leaves out pages of mapped files, which the system lets go when memory "
        "is short.",
        "Ratios are of processor seconds, which other work on the machine disturbs less. A fit from disk "
        "finds its rows in the page cache.",
        f"Linear fits have {ITERATIONS} iterations at most, lambdamart {TREES} trees with {LEAVES} leaves.",
    ]
    return report


def _collection_jobs(report: Report, folder: Path, rows: int) -> None:
    """Partition text, then score and evaluate the collection."""
    write_text(GeneratedStream(rows), folder / "data.txt")
    n_bytes = (folder / "data.txt").stat().st_size
    partition = _measure("partition", folder, rows)
    (folder / "data.txt").unlink()
    _add(report, "partition from text", partition, 1_000, n_bytes)
    # The model that predict needs; its figures are measured with the other fits.
    _measure("save a model", folder, rows)
    n_bytes = sum(p.stat().st_size for p in (folder / "parts").glob("*.parquet"))
    for job in ("predict", "evaluate", "rank"):
        _add(
            report,
            f"podium {job}" if job != "rank" else "ranker.rank",
            _measure(job, folder, rows),
            500,
            n_bytes,
        )


def _add(report: Report, what: str, figures: JobFigures, most: int, n_bytes: int) -> None:
    """Add a row of seconds and a row of memory."""
    report.rows.append(Row(f"{what}, processor time", figures.cpu, n_bytes=n_bytes))
    report.rows.append(Row(f"{what}, peak memory", figures.peak / MB, unit="MB", at_most=most))


def _fits(report: Report, folder: Path, rows: int) -> None:
    """Fit from disk and in memory."""
    cache = _measure("rows", folder, rows)
    report.rows.append(Row("write the mapped rows, processor time", cache.cpu))
    report.rows.append(Row("write the mapped rows, own memory", cache.own / MB, unit="MB"))
    for name in ("listnet", "ranksvm"):
        disk, in_memory = (
            _measure(f"{name} {place}", folder, rows) for place in ("disk", "memory")
        )
        _compare(report, f"{name} from disk", disk, "in memory", in_memory, 1.3)
        report.rows.append(
            Row(
                f"{name} from disk, own memory", disk.own / MB, unit="MB", at_most=1_000,
                peer="in memory", theirs=in_memory.own / MB,
            )
        )  # fmt: skip
        equal = disk.result["model"] == in_memory.result["model"]
        report.notes.append(
            f"{name}: the two models are {'equal to the byte' if equal else 'DIFFERENT'}."
        )
    ours, theirs = (
        _measure("lambdamart disk", folder, rows),
        _measure("lightgbm memory", folder, rows),
    )
    _compare(report, "lambdamart from disk", ours, "lightgbm.train", theirs, 1.1)
    for what, own, other in (("own", ours.own, theirs.own), ("peak", ours.peak, theirs.peak)):
        report.rows.append(
            Row(
                f"lambdamart from disk, {what} memory", own / MB, unit="MB", ratio=own / other,
                says="the memory", at_most=1.0, peer="lightgbm.train", theirs=other / MB,
            )
        )  # fmt: skip


def _compare(
    report: Report, what: str, ours: JobFigures, peer: str, theirs: JobFigures, most: float
) -> None:
    report.rows.append(
        Row(
            f"{what}, processor time", ours.cpu, peer=peer, theirs=theirs.cpu,
            ratio=ours.cpu / theirs.cpu, says="the time", at_most=most,
        )
    )  # fmt: skip
    report.notes.append(
        f"{what}: {ours.seconds:,.0f} s on the clock, {peer} {theirs.seconds:,.0f} s."
    )


def _streams(report: Report, sizes: tuple[int, ...]) -> None:
    """Evaluate streams that are drawn and never stored: memory must not depend on their length."""
    smallest = None
    for rows in sizes:
        figures = _measure("stream", Path(), rows)
        growth = (figures.peak - figures.before) / MB
        smallest = growth if smallest is None else smallest
        report.rows.append(
            Row(f"evaluate a stream of {rows:,} documents, processor time", figures.cpu)
        )
        report.rows.append(
            Row(
                f"evaluate a stream of {rows:,} documents, growth of memory", growth, unit="MB",
                ratio=growth / smallest, says="the shortest", at_most=1.2,
            )
        )  # fmt: skip


def _measure(job: str, folder: Path, rows: int) -> JobFigures:
    """Run a job in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.beyond_memory", job, str(folder), str(rows)]
    done = subprocess.run(command, cwd=memory.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{job}: {done.stderr[-2000:]}")
    figures = JobFigures(**json.loads(done.stdout.splitlines()[-1]))
    print(f"{job}: {figures}"[:300], file=sys.stderr, flush=True)
    return figures


# --- one job, in a process of its own ---

Job = Callable[[Path, int], Callable[[], dict[str, Any]]]
"""A folder and a number of documents -> the work that is measured."""


def _partition(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
    def work() -> dict[str, Any]:
        podium.partition([folder / "data.txt"], folder / "parts", rows=PART_ROWS, dtype="float32")
        return {}

    return work


def _command(*arguments: str) -> Job:
    """Return a job that runs a command; {} is the folder."""

    def prepare(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
        from podium.apps.cli import app

        words = [argument.replace("{}", str(folder)) for argument in arguments]

        def work() -> dict[str, Any]:
            app(words, standalone_mode=False)
            return {}

        return work

    return prepare


def _save_model(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
    def work() -> dict[str, Any]:
        sample = next(GeneratedStream(rows).blocks())
        podium.Regression().fit(sample).save(folder / "model.podium")
        return {}

    return work


def _rank(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
    ranker = podium.load(folder / "model.podium")
    collection = podium.open_collection(folder / "parts")
    return lambda: {"lists": sum(1 for _ in ranker.rank(collection, k=10))}


def _write_rows(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
    collection = podium.open_collection(folder / "parts")
    return lambda: {"rows": len(collection.mapped())}


def _linear_fit(name: str, place: str) -> Job:
    def prepare(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
        ranker = podium.RANKERS[name](max_iter=ITERATIONS)
        data = _read_rows(folder, place)

        def work() -> dict[str, Any]:
            model = ranker.fit(data).model_
            parts = {
                key: str(getattr(v, "tolist", lambda v=v: v)()) for key, v in model.parts().items()
            }
            return {"model": parts, "score": len(ranker.history_)}

        return work

    return prepare


def _read_rows(folder: Path, place: str) -> podium.RankingData:
    """Return all rows in memory, or mapped with their pages in the page cache."""
    collection = podium.open_collection(folder / "parts")
    if place == "memory":
        return collection.read()
    data = collection.mapped()
    with (folder / "parts" / ".rows").open("rb") as file:
        while file.read(1 << 24):
            pass
    return data


def _lambdamart(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
    import lightgbm  # noqa: F401 - or the fit would import it

    data = _read_rows(folder, "disk")
    valid = next(GeneratedStream(VALIDATION_ROWS, seed=1).blocks())
    ranker = podium.LambdaMART(
        loss="lambdarank", trees=TREES, patience=TREES, leaves=LEAVES, learning_rate=0.1
    )
    return lambda: {"trees": len(ranker.fit(data, valid=valid).history_)}


def _lightgbm(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
    import lightgbm

    data = _read_rows(folder, "memory")
    X, y, sizes = data.X, data.y, data.groups.sizes
    parameters = {
        "objective": "lambdarank", "metric": "none", "verbosity": -1, "num_leaves": LEAVES,
        "learning_rate": 0.1,
    }  # fmt: skip
    return lambda: {
        "trees": lightgbm.train(parameters, lightgbm.Dataset(X, y, group=sizes), TREES).num_trees()
    }


def _stream(folder: Path, rows: int) -> Callable[[], dict[str, Any]]:
    def work() -> dict[str, Any]:
        stream = GeneratedStream(rows)
        means = evaluate_stream(stream.labels_and_scores(), ["NDCG@10", "ERR@10"], top_label=4)
        return {name: [mean.n_queries, mean.mean] for name, mean in means.items()}

    return work


JOBS: dict[str, Job] = {
    "partition": _partition,
    "save a model": _save_model,
    "predict": _command("predict", "{}/model.podium", "{}/parts", "-o", "{}/scores.txt"),
    "evaluate": _command("evaluate", "{}/parts", "{}/scores.txt", "-m", "NDCG@10", "-m", "MAP"),
    "rank": _rank,
    "rows": _write_rows,
    "listnet disk": _linear_fit("listnet", "disk"),
    "listnet memory": _linear_fit("listnet", "memory"),
    "ranksvm disk": _linear_fit("ranksvm", "disk"),
    "ranksvm memory": _linear_fit("ranksvm", "memory"),
    "lambdamart disk": _lambdamart,
    "lightgbm memory": _lightgbm,
    "stream": _stream,
}


@contextmanager
def _watching_own_memory() -> Iterator[JobFigures]:
    """Note the largest memory outside mapped files, looked at every few milliseconds."""
    figures, stop = JobFigures(), threading.Event()

    def watch() -> None:
        while not stop.wait(_SAMPLE_SECONDS):
            figures.own = max(figures.own, _own_memory())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield figures
    finally:
        stop.set()
        watcher.join()


def _own_memory() -> int:
    """Return the bytes of memory that are no page of a file."""
    match = re.search(r"^RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return 0 if match is None else int(match[1]) * 1024


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # 20 iterations are not meant to converge
    work = JOBS[options.job](options.folder, options.rows)
    with _watching_own_memory() as figures:
        memory.reset_peak()
        figures.before = memory.resident("VmRSS")
        start, cpu = time.perf_counter(), _cpu_seconds()
        figures.result = work()
        figures.seconds, figures.cpu = time.perf_counter() - start, _cpu_seconds() - cpu
        figures.peak = memory.resident("VmHWM")
    print("\n" + json.dumps(vars(figures)))


if __name__ == "__main__":
    _main()

"""Time and memory of a fit on one thread as data grows, beside LightGBM, XGBoost and CatBoost.

``python -m benchmarks scale`` takes hours. Each finished cell is kept in a file, so that an interrupted
run continues where it ended; remove the file to measure anew. The variable PODIUM_SCALE_SIZES limits the
sizes ("10000 100000"; "none" only writes the table), and PODIUM_SCALE_SECONDS the processor time of a cell:
600 s without it.
``python -m benchmarks.scale CONTENDER FOLDER LIMIT`` fits one contender to saved arrays and prints its
figures, if it takes at most LIMIT seconds of processor time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import memory
from benchmarks.measure import ProcessorUsage, Report
from podium import RANKERS
from podium.registry import compared_rankers

SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000, 3_800_000), (1_000, 2_000)
N_FEATURES, N_DOCS, ROWS_PER_BLOCK = 136, 100, 100_000
MAX_SECONDS, QUICK_SECONDS = 600, 60
N_TREES, N_LEAVES = 50, 31
QUICK_CONTENDERS = ("ranksvm", "listnet", "lambdamart", "lightgbm")
TREES = {"num_leaves": N_LEAVES, "learning_rate": 0.1}
SETTINGS: dict[str, dict[str, Any]] = {
    "lambdamart": {
        "loss": "lambdarank", "trees": N_TREES, "patience": N_TREES, "leaves": N_LEAVES, "learning_rate": 0.1,
        "threads": 1,
    },
    "focused-svm": {"eps": 1e-3},
}  # fmt: skip
"""What differs from a ranker's own settings: trees as the peers grow them, and RankSVM's gap."""
CELLS = memory.ROOT / "build" / "scale-cells.json"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Each fit has one thread: on a busy machine, threads that wait for each other use time, too."""
COMPOSED = ("toprank", "cfbrs", "rpc-mtl", "auto")
"""Rankers that are made of other rankers, or need more than labels."""


@dataclass(frozen=True)
class Cell:
    """The figures of one fit; without seconds it was cut, failed or was left out.

    `processor` are the seconds of processor time, `busy` is the share of the machine that other
    processes used meanwhile.
    """

    seconds: float | None = None
    processor: float | None = None
    extra_bytes: int = 0
    mark: str = ""
    busy: float = 0.0

    def __str__(self) -> str:
        if self.processor is None:
            return self.mark
        return f"{self.processor:,.2f} s, {self.extra_bytes / 1e6:,.0f} MB"


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    sizes = QUICK_SIZES if quick else SIZES
    limit = QUICK_SECONDS if quick else int(os.environ.get("PODIUM_SCALE_SECONDS", MAX_SECONDS))
    contenders = QUICK_CONTENDERS if quick else (*_rankers(), *PEERS)
    setting = {"features": N_FEATURES, "documents per query": N_DOCS, "numbers": "float32, normal"}
    report = Report("scale", "Scale", setting | {"trees": N_TREES, "leaves": N_LEAVES})
    kept = KeptCells(None if quick else CELLS)
    for n in _wanted_sizes(sizes):
        _measure_size(kept, n, contenders, limit)
    cells = {name: [kept.get(n, name) for n in sizes] for name in contenders}
    header = ["ranker", *(f"{n:,} documents" for n in sizes), "exponent"]
    lines = [[name, *map(str, own), _exponent(sizes, own)] for name, own in cells.items()]
    report.tables.append([header, *lines])
    report.notes += [
        "Seconds of processor time of a fit, and the growth of the process beyond the data. Each cell is a "
        "process of its own with one thread. A cell beyond its limit of processor time is cut and marked "
        "with the limit; larger ones are left out. The exponent is that of processor time as a power of "
        "documents, between the two largest sizes measured.",
        f"Other processes used {_busy(cells.values())} of the cores meanwhile. Processor time is then that "
        "of a quiet machine, or somewhat more, because they share its caches and memory.",
        f"Trees: {N_TREES} with {N_LEAVES} leaves. lambdamart learns from four fifths of the queries, and "
        "measures the others and the training queries after each tree; the other programs learn from all "
        "queries and measure nothing. Every other ranker has its own settings, but focused-svm stops at "
        "a proved gap of a thousandth.",
    ]
    return report


@dataclass
class KeptCells:
    """Finished cells by size and contender, in a file if there is a path."""

    path: Path | None

    def __post_init__(self) -> None:
        saved = self.path is not None and self.path.exists()
        text = self.path.read_text() if self.path is not None and saved else "{}"
        self._cells = {key: Cell(**cell) for key, cell in json.loads(text).items()}

    def get(self, n: int, name: str) -> Cell:
        """Return a cell; one without figures if it was not measured."""
        return self._cells.get(f"{n} {name}", Cell(mark="not measured"))

    def has(self, n: int, name: str) -> bool:
        """Whether the cell is finished."""
        return f"{n} {name}" in self._cells

    def keep(self, n: int, name: str, cell: Cell) -> None:
        """Keep a cell, also for the next run."""
        self._cells[f"{n} {name}"] = cell
        if self.path is not None:
            self.path.parent.mkdir(exist_ok=True)
            kept = {key: asdict(own) for key, own in self._cells.items()}
            self.path.write_text(json.dumps(kept, indent=1) + "\n")

    def smaller(self, n: int, name: str) -> list[Cell]:
        """Return the contender's cells of smaller sizes."""
        sizes = sorted(int(key.split()[0]) for key in self._cells if key.split()[1] == name)
        return [self.get(size, name) for size in sizes if size < n]


def _busy(cells: Iterable[Sequence[Cell]]) -> str:
    """Return the least and the largest share of the cores that other processes used."""
    shares = [cell.busy for own in cells for cell in own if cell.processor is not None]
    return f"{min(shares):.0%} to {max(shares):.0%}" if shares else "none"


def _wanted_sizes(sizes: Sequence[int]) -> list[int]:
    wanted = os.environ.get("PODIUM_SCALE_SIZES", "").split()
    return [n for n in sizes if not wanted or str(n) in wanted]


def _measure_size(kept: KeptCells, n: int, contenders: Sequence[str], limit: int) -> None:
    """Measure the cells of one size that are not finished."""
    missing = [name for name in contenders if not kept.has(n, name)]
    if not missing:
        return
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        _draw(Path(folder), n)
        for name in missing:
            kept.keep(n, name, _measure(name, Path(folder), limit, kept.smaller(n, name)))


def _rankers() -> tuple[str, ...]:
    """Return the rankers to fit; CatBoost is measured by itself, as a peer."""
    return tuple(name for name in compared_rankers() if name not in COMPOSED)


def _draw(folder: Path, n: int) -> None:
    """Save features, and five grades of a noisy linear utility."""
    rng = np.random.default_rng(0)
    X = np.empty((n, N_FEATURES), dtype=np.float32)
    for start in range(0, n, ROWS_PER_BLOCK):
        block = X[start : start + ROWS_PER_BLOCK]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32)
    w = rng.standard_normal(N_FEATURES).astype(np.float32) / np.sqrt(N_FEATURES)
    utility = X @ w + rng.standard_normal(n, dtype=np.float32)
    y = np.searchsorted(np.quantile(utility, (0.5, 0.75, 0.9, 0.97)), utility)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y.astype(np.float64))


def _measure(name: str, folder: Path, limit: int, smaller: Sequence[Cell]) -> Cell:
    """Fit in a fresh process, unless a smaller fit has not ended."""
    if smaller and smaller[-1].seconds is None:
        return Cell(mark="left out")
    command = [sys.executable, "-m", "benchmarks.scale", name, str(folder), str(limit)]
    start = ProcessorUsage.now()
    try:
        done = subprocess.run(
            command, cwd=memory.ROOT, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        if error.returncode == -signal.SIGXCPU:
            return Cell(mark=f"cut at {limit} s")
        return Cell(mark=f"failed: {error.stderr.strip().splitlines()[-1]:.80}")
    return Cell(**json.loads(done.stdout), busy=round(start.others(), 2))


def _exponent(sizes: Sequence[int], cells: Sequence[Cell]) -> str:
    """Return the slope of log processor time over log documents between the two largest sizes."""
    times = [(n, c.processor) for n, c in zip(sizes, cells, strict=True) if c.processor]
    if len(times) < 2:
        return ""
    (n, before), (more, after) = times[-2:]
    return f"{math.log(after / before) / math.log(more / n):.2f}"


# --- one cell, in a process of its own ---


def _podium(name: str, X: Any, y: Any) -> Callable[[], object]:
    from podium import RankingData

    importlib.import_module("lightgbm")  # or lambdamart's first fit would
    data = RankingData.from_arrays(X, y, qid=np.arange(len(y)) // N_DOCS)
    ranker = RANKERS[name](**SETTINGS.get(name, {}))
    return lambda: ranker.fit(data)


def _lightgbm(X: Any, y: Any) -> Callable[[], object]:
    import lightgbm

    parameters = {
        "objective": "lambdarank",
        "metric": "none",
        "verbosity": -1,
        "num_threads": 1,
        **TREES,
    }
    sizes = np.full(len(y) // N_DOCS, N_DOCS)
    return lambda: lightgbm.train(parameters, lightgbm.Dataset(X, y, group=sizes), N_TREES)


def _xgboost(X: Any, y: Any) -> Callable[[], object]:
    xgboost = importlib.import_module("xgboost")
    parameters = {
        "objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide",
        "max_leaves": N_LEAVES, "max_depth": 0, "learning_rate": 0.1, "nthread": 1,
    }  # fmt: skip
    qid = np.arange(len(y)) // N_DOCS
    return lambda: xgboost.train(parameters, xgboost.QuantileDMatrix(X, y, qid=qid), N_TREES)


def _catboost(X: Any, y: Any) -> Callable[[], object]:
    catboost = importlib.import_module("catboost")
    qid = np.arange(len(y)) // N_DOCS
    model = catboost.CatBoostRanker(
        loss_function="YetiRank", iterations=N_TREES, grow_policy="Lossguide", max_leaves=N_LEAVES,
        learning_rate=0.1, thread_count=1, verbose=False, allow_writing_files=False,
    )  # fmt: skip
    return lambda: model.fit(catboost.Pool(X, y, group_id=qid))


PEERS = {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost}


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contender", choices=(*_rankers(), *PEERS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("limit", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # a fit that has not converged has its time, too
    X, y = np.load(options.folder / "X.npy"), np.load(options.folder / "y.npy")
    name = options.contender
    fit = PEERS[name](X, y) if name in PEERS else _podium(name, X, y)
    memory.reset_peak()
    most = math.ceil(time.process_time()) + options.limit
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 10))
    before, start, used = memory.resident("VmRSS"), time.perf_counter(), time.process_time()
    fit()
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    figures = {
        "seconds": seconds,
        "processor": processor,
        "extra_bytes": memory.resident("VmHWM") - before,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    _main()

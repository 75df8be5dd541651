"""Reading and writing LETOR text: podium next to scikit-learn's svmlight functions."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks import memory
from benchmarks.letor_text import N_FEATURES, NON_ZERO, write_mq2008
from benchmarks.measure import Contender, Report, Row, floor_of, slowdown, speedup
from podium import RankingData, kernels, read_letor, read_parquet, write_letor
from podium.data.text_files import BLOCK_BYTES, decompress

MB = 1e6
SIZE, QUICK_SIZE = 110_000_000, 5_000_000
WRITTEN_SHARE = 8
"""Both writers write every 8th query only, because dump_svmlight_file is slow."""


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        text = Path(folder) / "mq2008.txt"
        lines = write_mq2008(text, QUICK_SIZE if quick else SIZE)
        report = Report("letor", "LETOR text", _setting(text, lines))
        data = _check_same(report, text)
        _reading(report, text, data, quick)
        _compressed(report, text, quick)
        _parquet(report, text, data, quick)
        _writing(report, text, data, quick)
        _memory(report, text)
    return report


def _setting(text: Path, lines: int) -> dict[str, Any]:
    return {
        "file": "text in the shape of MQ2008, generated",
        "bytes": text.stat().st_size,
        "documents": lines,
        "features": N_FEATURES,
        "share of values that are not 0": NON_ZERO,
    }


def _check_same(report: Report, text: Path) -> RankingData:
    """Check that both readers return the same numbers."""
    data = read_letor(text)
    X, y, qid = load_svmlight_file(str(text), query_id=True)
    same_qids = np.array_equal(data.groups.spread(data.qids.astype(np.int64)), qid)
    if not (np.array_equal(data.X, X.toarray()) and np.array_equal(data.y, y) and same_qids):
        raise AssertionError("podium and scikit-learn read different numbers")
    report.notes.append(
        "Checked in the same run: features, labels and query ids equal scikit-learn's bit for bit."
    )
    return data


def _reading(report: Report, text: Path, data: RankingData, quick: bool) -> None:
    few = 1 if quick else 3
    names = ["load_svmlight_file", "load_svmlight_file float32"]
    contenders = [
        Contender("read_letor", lambda: read_letor(text), 15),
        Contender("read_letor, docids", lambda: read_letor(text).docids, 15),
        Contender("read_letor float32", lambda: read_letor(text, dtype="float32"), 15),
        Contender(names[0], lambda: load_svmlight_file(str(text), query_id=True), few),
        Contender(
            names[1], lambda: load_svmlight_file(str(text), query_id=True, dtype=np.float32), few
        ),
        Contender("read the file", lambda: _read_through(text), 15),
        Contender("read the file, count lines", lambda: _count_lines(text), 15),
        Contender("fill fresh memory", lambda: np.full(data.X.shape, 1.0), 15),
    ]
    if hasattr(os, "sched_setaffinity"):
        contenders.append(Contender("read_letor, one core", lambda: _on_one_core(text), 15))
    t = report.time_in_turn(contenders)
    size = text.stat().st_size
    more = {"n_bytes": size, "peer_bytes": size}
    work = f"read {size / MB:.0f} MB through one buffer and count newlines"
    more |= floor_of(work, t["read the file, count lines"])
    report.rows += [
        speedup("read, float64", t["read_letor"], t[names[0]], at_least=40, **more),
        speedup(
            "read, float64, ids as Python strings",
            t["read_letor, docids"], t[names[0]], at_least=40, **more,
        ),
        speedup("read, float32", t["read_letor float32"], t[names[1]], at_least=40, **more),
    ]  # fmt: skip
    if "read_letor, one core" in t:
        report.rows.append(
            speedup("read, float64, one core", t["read_letor, one core"], t[names[0]], **more)
        )
    report.notes.append(
        f"Reading the bytes alone takes {t['read the file'].median * 1e3:.1f} ms, filling fresh "
        f"memory of the size of X ({data.X.nbytes / MB:.0f} MB) once "
        f"{t['fill fresh memory'].median * 1e3:.1f} ms. "
        "podium parses on all cores, scikit-learn on one and without comments or document ids."
    )


def _read_through(text: Path) -> None:
    """Read the bytes and do nothing with them."""
    buffer = bytearray(BLOCK_BYTES)
    with open(text, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def _count_lines(text: Path) -> int:
    """Count lines: the least that a reader of lines must do."""
    buffer = bytearray(BLOCK_BYTES)
    lines = 0
    with open(text, "rb", buffering=0) as file:
        while size := file.readinto(buffer):
            lines += kernels.count_lines(np.frombuffer(buffer, dtype=np.uint8, count=size))
    return lines


def _on_one_core(text: Path) -> RankingData:
    with _one_core():
        return read_letor(text)


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _compressed(report: Report, text: Path, quick: bool) -> None:
    packed = text.with_name(text.name + ".gz")
    with open(text, "rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    t = report.time_in_turn(
        [
            Contender("read_letor .gz", lambda: read_letor(packed), 3 if quick else 7),
            Contender("decompress alone (zlib)", lambda: _decompress(packed), 3 if quick else 7),
        ]
    )
    ours, alone = t["read_letor .gz"], t["decompress alone (zlib)"]
    size = text.stat().st_size
    report.rows.append(
        slowdown(
            "read .gz", ours, alone, at_most=1.2, n_bytes=size, peer_bytes=size,
            **floor_of(f"make {size / MB:.0f} MB with zlib, in the same pieces", alone),
        )
    )  # fmt: skip
    report.setting["bytes of the .gz"] = packed.stat().st_size


def _decompress(packed: Path) -> int:
    with open(packed, "rb", buffering=0) as file:
        return sum(map(len, decompress(str(packed), file, ".gz")))


def _parquet(report: Report, text: Path, data: RankingData, quick: bool) -> None:
    copy = text.with_suffix(".parquet")
    data.to_parquet(copy)
    repeats = 3 if quick else 7
    t = report.time_in_turn(
        [
            Contender("read_parquet", lambda: read_parquet(copy), repeats),
            Contender("read_letor (beside Parquet)", lambda: read_letor(text), repeats),
            Contender("pyarrow read_table", lambda: pq.read_table(copy), repeats),
        ]
    )
    ours, table = t["read_parquet"], t["pyarrow read_table"]
    floor = floor_of("pyarrow's read_table alone", table)
    report.rows.append(
        speedup("read the Parquet copy", ours, t["read_letor (beside Parquet)"], **floor)
    )
    report.setting["bytes of the Parquet copy"] = copy.stat().st_size


def _writing(report: Report, text: Path, data: RankingData, quick: bool) -> None:
    """Write the whole file for our own rate, and a part of it beside scikit-learn."""
    part = data.subset(np.arange(0, data.n_queries, WRITTEN_SHARE))
    whole, ours, theirs, raw = (text.with_name(n) for n in ("whole", "ours", "theirs", "raw"))
    write_letor(data, whole)
    contents = whole.read_bytes()
    qid = part.groups.spread(part.qids.astype(np.int64))
    few = 1 if quick else 3
    t = report.time_in_turn(
        [
            Contender("write_letor", lambda: write_letor(data, whole)),
            Contender("write bytes that are ready", lambda: raw.write_bytes(contents)),
            Contender("write_letor, an eighth", lambda: write_letor(part, ours)),
            Contender(
                "dump_svmlight_file, an eighth",
                lambda: dump_svmlight_file(
                    part.X, part.y, str(theirs), zero_based=False, query_id=qid
                ),
                few,
            ),
        ]
    )
    peer = t["dump_svmlight_file, an eighth"]
    floor = floor_of(
        f"write {len(contents) / MB:.0f} MB that are ready", t["write bytes that are ready"]
    )
    report.rows += [
        speedup(
            "write every 8th query", t["write_letor, an eighth"], peer,
            n_bytes=ours.stat().st_size, peer_bytes=theirs.stat().st_size,
        ),
        Row("write all", t["write_letor"].median, n_bytes=len(contents), **floor),
    ]  # fmt: skip
    report.notes.append(
        "write_letor writes zeros and comments, dump_svmlight_file neither: their rates count the "
        "bytes each wrote, their ratio the time for the same documents."
    )


def _memory(report: Report, text: Path) -> None:
    """Measure the growth of a fresh process, relative to the arrays it reads."""
    theirs = memory.measure("sklearn", "float64", text)
    packed = text.with_name(text.name + ".gz")
    for what, dtype, path in (
        ("peak memory, float64", "float64", text),
        ("peak memory, float32", "float32", text),
        ("peak memory, .gz, float64", "float64", packed),
    ):
        peaks = [memory.measure("podium", dtype, path) for _ in range(3)]
        peak = statistics.median(p.growth for p in peaks)
        result = peaks[0].result
        report.rows.append(
            Row(
                what, peak / MB, unit="MB", peer="load_svmlight_file float64",
                theirs=theirs.growth / MB, ratio=peak / result, says="the arrays", at_most=3,
                floor="the arrays themselves", floor_value=result / MB,
            )
        )  # fmt: skip
    report.notes.append(
        f"Memory: growth of a fresh process while reading, over X, y, document ids and comments. "
        f"load_svmlight_file grows to {theirs.ratio:.2f} times its own arrays."
    )

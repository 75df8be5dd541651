"""Reading CSV tables: podium next to pandas.read_csv followed by from_frame."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import memory
from benchmarks.measure import Contender, Report, Row, speedup
from podium import RankingData, read_table

MB = 1e6
ROWS, QUICK_ROWS, N_FEATURES = 1_000_000, 100_000, 40
ROWS_PER_QUERY, ROWS_PER_BLOCK = 100, 10_000
TEXT_COLUMNS = {"qid": str, "docid": str}


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        path = Path(folder) / "shop.csv"
        n_rows = QUICK_ROWS if quick else ROWS
        _write_csv(path, n_rows)
        setting = {
            "file": "CSV of uniform numbers with 6 digits, generated",
            "bytes": path.stat().st_size, "documents": n_rows, "features": N_FEATURES,
        }  # fmt: skip
        report = Report("tables", "CSV tables", setting)
        _check_same(report, path)
        times = report.time_in_turn(
            [
                Contender("read_table", lambda: read_table(path), 5),
                Contender(
                    "pandas.read_csv + from_frame", lambda: _by_pandas(path), 1 if quick else 3
                ),
            ]
        )
        size = path.stat().st_size
        report.rows.append(
            speedup(
                "read CSV", times["read_table"], times["pandas.read_csv + from_frame"], at_least=3,
                n_bytes=size, peer_bytes=size,
            )
        )  # fmt: skip
        _memory(report, path)
    return report


def _write_csv(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write(f"qid,docid,label,{','.join(f'f{j}' for j in range(N_FEATURES))}\n")
        for start in range(0, n_rows, ROWS_PER_BLOCK):
            X = rng.random((ROWS_PER_BLOCK, N_FEATURES)).tolist()
            y = rng.integers(0, 5, ROWS_PER_BLOCK).tolist()
            file.writelines(
                f"q{(start + i) // ROWS_PER_QUERY},d{start + i},{y[i]},"
                f"{','.join(f'{value:.6g}' for value in X[i])}\n"
                for i in range(ROWS_PER_BLOCK)
            )


def _by_pandas(path: Path) -> RankingData:
    return RankingData.from_frame(pd.read_csv(path, dtype=TEXT_COLUMNS), doc="docid")


def _check_same(report: Report, path: Path) -> None:
    """Check that both readers return the same data; pandas' default parser errs in the last digit."""
    ours, theirs = read_table(path), _by_pandas(path)
    is_same = np.allclose(ours.X, theirs.X, rtol=1e-15) and np.array_equal(ours.y, theirs.y)
    if not (is_same and ours.docids.tolist() == theirs.docids.tolist()):
        raise AssertionError("podium and pandas read different tables")
    report.notes.append(
        "Checked in the same run: labels and ids equal pandas'; features to 1e-15, because the default "
        "parser of pandas does not round to the nearest double."
    )


def _memory(report: Report, path: Path) -> None:
    """Measure the growth of a fresh process, relative to the arrays it reads."""
    theirs = memory.measure("pandas-csv", "float64", path)
    peaks = [memory.measure("podium-csv", "float64", path) for _ in range(3)]
    peak, result = statistics.median(p.growth for p in peaks), peaks[0].result
    report.rows.append(
        Row(
            "peak memory", peak / MB, unit="MB", peer="pandas.read_csv + from_frame",
            theirs=theirs.growth / MB, ratio=peak / result, says="the arrays", at_most=2,
            floor="the arrays themselves", floor_value=result / MB,
        )
    )  # fmt: skip

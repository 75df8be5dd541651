"""Peak memory of one reader in a fresh process: ``python -m benchmarks.memory READER DTYPE FILE``."""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from podium.data import RankingData

ROOT = Path(__file__).parents[1]
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Peak:
    """Bytes of the largest growth of the process while reading, and of the resulting arrays."""

    growth: int
    result: int

    @property
    def ratio(self) -> float:
        """Growth divided by result."""
        return self.growth / self.result


def measure(reader: str, dtype: str, path: Path) -> Peak:
    """Read a file in a fresh interpreter."""
    command = [sys.executable, "-m", "benchmarks.memory", reader, dtype, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return Peak(**json.loads(done.stdout))


def _podium(path: str, dtype: str) -> int:
    from podium import read_letor

    data = read_letor(path, dtype=dtype)
    columns = [c for c in (data.docid_column, data.comment_column) if c is not None]
    packed = sum(c.bytes.nbytes + c.offsets.nbytes for c in columns)
    return int(data.X.nbytes + data.y.nbytes + packed)


def _sklearn(path: str, dtype: str) -> int:
    from sklearn.datasets import load_svmlight_file

    X, y, qid = load_svmlight_file(path, query_id=True, dtype=np.dtype(dtype))
    return int(sum(a.nbytes for a in (X.data, X.indices, X.indptr, y, qid)))


def _podium_csv(path: str, dtype: str) -> int:
    from podium import read_table

    return _table_bytes(read_table(path, dtype=dtype))


def _pandas_csv(path: str, dtype: str) -> int:
    import pandas as pd

    from podium import RankingData

    frame = pd.read_csv(path, dtype={"qid": str, "docid": str})
    return _table_bytes(RankingData.from_frame(frame, doc="docid"))


def _table_bytes(data: RankingData) -> int:
    docids = data.require_docids("measuring")
    return int(data.X.nbytes + data.y.nbytes + docids.bytes.nbytes + docids.offsets.nbytes)


_READERS: dict[str, Callable[[str, str], int]] = {
    "podium": _podium,
    "sklearn": _sklearn,
    "podium-csv": _podium_csv,
    "pandas-csv": _pandas_csv,
}


def _import_reader(reader: str) -> None:
    """Import the reader before the measurement starts."""
    if reader in ("podium", "podium-csv", "pandas-csv"):
        import podium

        _ = podium.read_letor if reader == "podium" else podium.read_table
    if reader == "pandas-csv":
        import pandas  # noqa: F401
    elif reader == "sklearn":
        import sklearn.datasets  # noqa: F401


def reset_peak() -> None:
    """Start the measurement of the peak anew, where the system can; freed memory is given back first."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    if _CLEAR.exists():
        _CLEAR.write_text("5")


def resident(field: str) -> int:
    """Return VmRSS (now) or VmHWM (the peak) in bytes.

    Other systems use getrusage. On Linux its ru_maxrss survives exec, so a child would start with its
    parent's peak.
    """
    if not _STATUS.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    match = re.search(rf"^{field}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    if match is None:
        raise RuntimeError(f"no {field} in the process status")
    return int(match[1]) * 1024


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=_READERS)
    parser.add_argument("dtype", choices=("float64", "float32"))
    parser.add_argument("path")
    options = parser.parse_args()
    _import_reader(options.reader)
    reset_peak()
    before = resident("VmRSS")
    result = _READERS[options.reader](options.path, options.dtype)
    print(json.dumps({"growth": resident("VmHWM") - before, "result": result}))


if __name__ == "__main__":
    _main()

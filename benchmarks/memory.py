"""Peak memory of one reader in a fresh process: ``python -m benchmarks.memory READER DTYPE FILE``."""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_ROOT = Path(__file__).parents[1]
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Peak:
    """Bytes: the largest growth of the process while reading, and the arrays that came of it."""

    growth: int
    result: int

    @property
    def ratio(self) -> float:
        """Growth over result."""
        return self.growth / self.result


def measure(reader: str, dtype: str, path: Path) -> Peak:
    """Read a file in a fresh interpreter."""
    command = [sys.executable, "-m", "benchmarks.memory", reader, dtype, str(path)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
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


_READERS: dict[str, Callable[[str, str], int]] = {"podium": _podium, "sklearn": _sklearn}


def _import_reader(reader: str) -> None:
    """Imports are no part of reading."""
    if reader == "podium":
        import podium

        _ = podium.read_letor
    else:
        import sklearn.datasets  # noqa: F401


def _resident(field: str) -> int:
    """VmRSS (now) or VmHWM (the peak) in bytes.

    getrusage would do elsewhere; on Linux its ru_maxrss survives exec, so that a child begins
    with its parent's peak.
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
    if _CLEAR.exists():
        _CLEAR.write_text("5")  # the peak starts again from here
    before = _resident("VmRSS")
    result = _READERS[options.reader](options.path, options.dtype)
    print(json.dumps({"growth": _resident("VmHWM") - before, "result": result}))


if __name__ == "__main__":
    _main()

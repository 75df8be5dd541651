"""Free memory: what a process may still take, and an error before work that needs more."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from podium.data.collections.collection import Collection
from podium.data.ranking_data import RankingData
from podium.data.text_files import Progress
from podium.errors import MemoryLimitError

_MEMINFO = Path("/proc/meminfo")
_GROUP_LIMIT, _GROUP_USE = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
_GROUP_STATISTICS = Path("/sys/fs/cgroup/memory.stat")


def free_memory() -> int | None:
    """Return the bytes that this process may still take; None if the system does not tell."""
    free: int | None = None
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", _MEMINFO.read_text(), re.MULTILINE)
        free = None if match is None else int(match[1]) * 1024
    except OSError:
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:  # the limit of a container; pages of files can be let go
        limit, used = int(_GROUP_LIMIT.read_text()), int(_GROUP_USE.read_text())
        files = re.search(r"^inactive_file (\d+)", _GROUP_STATISTICS.read_text(), re.MULTILINE)
    except (OSError, ValueError):  # no container, or one without a limit
        return free
    left = max(0, limit - used + (0 if files is None else int(files[1])))
    return left if free is None else min(free, left)


def read_all_rows(
    collection: Collection, purpose: str, from_disk: str, *, progress: Progress | None = None
) -> RankingData:
    """Return all rows of a collection in memory; raise if they do not fit, before any is read.

    `from_disk` names the rankers that read rows from disk, for the advice.
    """
    itemsize = np.dtype(collection.manifest.layout.dtype).itemsize
    # Blocks, and the array that they are put together in.
    needed = 2 * len(collection) * collection.n_features * itemsize
    free = free_memory()
    if free is not None and needed > free:
        raise MemoryLimitError(
            f"{purpose} needs all rows of {collection.folder} in memory, about {needed / 1e9:,.1f} GB; "
            f"{free / 1e9:,.1f} GB are free"
        ).advise(
            python=f"use a ranker that reads rows from disk ({from_disk}), or a sample of the queries",
            command_line=f"use a ranker that reads rows from disk ({from_disk}), or "
            "a sample of the queries: podium data sample DIR -o sample.parquet --queries 1000",
        )
    return collection.read(progress=progress)

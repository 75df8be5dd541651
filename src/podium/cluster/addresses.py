"""Addresses of clusters: ``local:N``, ``tcp://host:port``, or what Dask's configuration says."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from podium.errors import UsageError

SCHEMES = ("tcp", "tls", "ucx", "ws", "wss")
"""The protocols of Dask's schedulers."""
DASK_CONFIGURATION = "dask"
"""The word for the scheduler that Dask's configuration names."""
_LOCAL = re.compile(r"local(?::(\d{1,4}))?")
_REMOTE = re.compile(
    rf"({'|'.join(SCHEMES)})://[^\s/:]+(?::\d{{1,5}})?|(?:tcp|tls)://\[[0-9a-fA-F:]+\]:\d{{1,5}}"
)


@dataclass(frozen=True)
class ClusterAddress:
    """Where a cluster is: a number of workers on this machine, or the address of a scheduler.

    Examples
    --------
    >>> parse_address("local:2")
    ClusterAddress(text='local:2', n_local=2, scheduler=None)
    >>> parse_address("tcp://10.0.0.1:8786").scheduler
    'tcp://10.0.0.1:8786'
    """

    text: str
    n_local: int | None = None
    scheduler: str | None = None
    """None, too, if Dask's configuration names the scheduler."""


def parse_address(text: str) -> ClusterAddress:
    """Return the address that a text means; raise if it means none."""
    if (local := _LOCAL.fullmatch(text)) and local[1] != "0":
        return ClusterAddress(text, int(local[1]) if local[1] else _n_cores())
    if _REMOTE.fullmatch(text):
        return ClusterAddress(text, scheduler=text)
    if text == DASK_CONFIGURATION:
        return ClusterAddress(text)
    raise UsageError(
        "expected a cluster as local:N (N workers on this machine), tcp://HOST:PORT (a scheduler of Dask) or "
        f"dask (the scheduler of Dask's configuration), got {text!r:.100}"
    )


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

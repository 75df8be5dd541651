"""Calls on a worker: one at a time per process, with the values that calls share, and their warnings."""

from __future__ import annotations

import os
import socket
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any
from weakref import WeakKeyDictionary

from podium.cluster.worker_checks import SoftwareVersions
from podium.data import RankingData
from podium.errors import ClusterError
from podium.optim import one_blas_thread
from podium.rankers.binned_features import process_bins
from podium.task_runner import DelayedCall

_one_call = threading.Lock()
"""A worker may have several threads, but a call may use all cores, and catches warnings for its process."""


@dataclass(frozen=True)
class SharedPlace:
    """Where an argument of a call was taken out: its number among the shared values."""

    number: int


@dataclass(frozen=True, eq=False)
class SharedValue:
    """A value that calls share, in one piece; a worker unpacks it once, and sends on the piece.

    Examples
    --------
    >>> SharedValue(pack([1, 2])).value
    [1, 2]
    """

    packed: bytes

    @cached_property
    def value(self) -> Any:
        """The value, which calls must not change."""
        return unpack(self.packed)

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedValue, (self.packed,)


@dataclass(frozen=True)
class CallResult:
    """The packed result of a call, and the warnings that it gave: their classes and messages."""

    packed: bytes
    warnings: tuple[tuple[type[Warning], str], ...]


def pack(value: Any) -> bytes:
    """Return a value in one piece, as Dask's own messages hold it.

    Arrays that Dask sends as pieces of their own may begin at any byte. NumPy adds such arrays in another
    order, which changes the last bits.
    """
    import distributed.protocol.pickle as messages

    packed: bytes = messages.dumps(value)  # type: ignore[no-untyped-call]
    return packed


def unpack(packed: bytes) -> Any:
    """Return the value of `pack`."""
    import distributed.protocol.pickle as messages

    return messages.loads(packed)  # type: ignore[no-untyped-call]


def run_call(packed: bytes, software: SoftwareVersions, *shared: Any) -> CallResult:
    """Run a call on a worker and return its result with its warnings; check the worker's software first."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = run_quiet_call(packed, software, *shared)
    return CallResult(pack(value), tuple((w.category, str(w.message)) for w in caught))


def run_quiet_call(packed: bytes, software: SoftwareVersions, *shared: Any) -> Any:
    """Run a call on a worker and return its result."""
    _check_software(software)
    call: DelayedCall = unpack(packed)
    function, args, kwargs = call
    with _one_call, one_blas_thread(), process_bins():
        values = [_aligned(value) for value in shared]
        return function(*fill_in(args, values), **fill_in(kwargs, values))


def add_in_order(*results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the sums of tuples of numbers or arrays, place by place, from first to last.

    Examples
    --------
    >>> add_in_order((1.0, 2.0), (0.5, 1.0))
    (1.5, 3.0)
    """
    total = results[0]
    for result in results[1:]:
        total = tuple(a + b for a, b in zip(total, result, strict=True))
    return total


def fill_in(value: Any, shared: Sequence[Any]) -> Any:
    """Return arguments with the shared values back in their places."""
    if isinstance(value, SharedPlace):
        return shared[value.number]
    if isinstance(value, tuple | list | dict):
        return rebuild(value, lambda item: fill_in(item, shared))
    return value


def rebuild(value: Any, change: Any) -> Any:
    """Return a tuple, a named tuple, a list or a dict with each item changed."""
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    items = [change(item) for item in value]
    if hasattr(value, "_fields"):
        return type(value)(*items)
    return type(value)(items)


def process_name() -> str:
    """Return the name of this process among those of all machines with other names."""
    return f"{socket.gethostname()} {os.getpid()}"


def is_calling() -> bool:
    """Whether this process runs a call."""
    return _one_call.locked()


def free_ports(n: int) -> list[int]:
    """Return ports of this machine that no program listens on."""
    listeners = [socket.socket() for _ in range(n)]
    try:
        for listener in listeners:
            listener.bind(("", 0))
        return [int(listener.getsockname()[1]) for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


_aligned_data: WeakKeyDictionary[RankingData, RankingData] = WeakKeyDictionary()


def _aligned(value: Any) -> Any:
    """Return an argument unpacked; data from another worker with features at a multiple of their size."""
    if isinstance(value, SharedValue):
        return value.value
    if not isinstance(value, RankingData) or value.X.flags.aligned:
        return value
    if value not in _aligned_data:
        _aligned_data[value] = replace(value, X=value.X.copy())
    return _aligned_data[value]


@cache
def _own_software() -> SoftwareVersions:
    return SoftwareVersions.of_this_process()


def _check_software(software: SoftwareVersions) -> None:
    """Raise if this worker, which may have joined later, differs from the process that asks."""
    if texts := software.differences(_own_software()):
        raise ClusterError(
            f"expected workers with the same software as this process, but the worker on "
            f"{socket.gethostname()} has {', '.join(texts)}; finished results are kept"
        )

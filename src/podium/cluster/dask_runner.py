"""The task runner on Dask: calls go to free workers, large arguments once to each."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from podium.cluster.worker_calls import (
    CallResult,
    SharedPlace,
    SharedValue,
    add_in_order,
    free_ports,
    is_calling,
    pack,
    process_name,
    rebuild,
    run_call,
    run_quiet_call,
    unpack,
)
from podium.cluster.worker_checks import SoftwareVersions
from podium.data import RankingData
from podium.errors import ClusterError
from podium.task_runner import DelayedCall, LostMachineError, Machine

SHARED_BYTES = 1 << 16
"""Features of at least so many bytes are sent once, not with every call (64 KiB)."""
WAITING_PER_WORKER = 4
"""The most results per worker that wait for those before them, so that they do not fill the memory."""
FAN_IN = 8
"""The most results that are added up at a time: sums form a tree whose shape the number of calls decides."""
PORTS = 2
"""The ports per machine of calls that run together."""
POLL_SECONDS = 2.0
"""How often lost workers are looked for while calls run."""
NO_WORKERS_SECONDS = 120.0
"""A job ends with an error if the cluster has no worker for so long."""
ATTEMPTS = 3
"""How often calls that run together begin before a lost worker is an error."""

_LOST = (asyncio.CancelledError, concurrent.futures.CancelledError, OSError)
"""What Dask raises if its scheduler is lost."""


@dataclass(frozen=True, eq=False)
class KeptResult:
    """A result that stays on a worker, as an argument of later calls."""

    future: Any


class DaskRunner:
    """Runs calls on the workers of a Dask cluster.

    Parameters
    ----------
    client
        A client of Dask's scheduler.
    name
        The cluster's name in messages.
    """

    def __init__(self, client: Any, name: str) -> None:
        self.client, self.name = client, name
        self._software = SoftwareVersions.of_this_process()
        self._shared: WeakKeyDictionary[RankingData, Any] = WeakKeyDictionary()
        self._last_workers = time.monotonic()

    def __repr__(self) -> str:
        return f"DaskRunner({self.name}, {self.n_workers()} workers)"

    # --- calls ---

    def n_workers(self) -> int:
        """Return the number of workers now."""
        return max(1, len(self._workers()))

    def run(
        self,
        calls: Iterable[DelayedCall],
        *,
        in_order: bool = True,
        on_killed: Callable[[int], Any] | None = None,
    ) -> Iterator[Any]:
        """Yield the results of calls, as `TaskRunner.run` says."""
        numbered = enumerate(calls)
        running: dict[Any, int] = {}
        finished: dict[int, Any] = {}
        n_yielded = 0
        try:
            while self._start(numbered, running, len(finished)):
                for future in self._wait_for_some(running):
                    number = running.pop(future)
                    finished[number] = future
                    if not in_order:
                        yield self._result(finished.pop(number), number, on_killed)
                while n_yielded in finished:  # of several errors, the first call's is raised
                    yield self._result(finished.pop(n_yielded), n_yielded, on_killed)
                    n_yielded += 1
        finally:
            if running:
                self._cancel(running)

    def _start(
        self, numbered: Iterator[tuple[int, DelayedCall]], running: dict[Any, int], n_waiting: int
    ) -> bool:
        """Start calls while a worker is free and few results wait; return whether any call is running."""
        n_workers = self.n_workers()
        n_most = min(n_workers, max(1, WAITING_PER_WORKER * n_workers - n_waiting))
        while len(running) < n_most:
            following = next(numbered, None)
            if following is None:
                break
            number, call = following
            running[self._submit(run_call, call)] = number
        return bool(running)

    def _result(self, future: Any, number: int, on_killed: Callable[[int], Any] | None) -> Any:
        """Return the result of a finished call; give its warnings again."""
        from distributed import KilledWorker

        try:
            with self._connection():
                result: CallResult = future.result()
        except KilledWorker as error:
            if on_killed is not None:
                return on_killed(number)
            raise self._killed(error) from None
        for category, message in result.warnings:
            warnings.warn(message, category, stacklevel=4)
        return unpack(result.packed)

    # --- values on workers ---

    def keep(self, call: DelayedCall) -> KeptResult:
        """Return a handle of a call's result, which stays on a worker."""
        return KeptResult(self._submit(run_quiet_call, call))

    def share(self, value: Any) -> KeptResult:
        """Return a handle of a value that many calls have as an argument; it goes to each worker once."""
        with _no_size_warning():
            return self.keep((SharedValue, (pack(value),), {}))

    def add_up(self, calls: Sequence[DelayedCall]) -> tuple[Any, ...]:
        """Return the sums of the results, added in a tree whose shape the number of calls decides."""
        futures = [self._submit(run_quiet_call, call) for call in calls]
        with self._connection():
            while len(futures) > FAN_IN:
                futures = [
                    self.client.submit(add_in_order, *futures[first : first + FAN_IN], pure=False)
                    for first in range(0, len(futures), FAN_IN)
                ]
        return add_in_order(*self._gather(futures))

    def _gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of futures in order."""
        from distributed import KilledWorker

        waiting = dict.fromkeys(futures, 0)
        while waiting:
            for future in self._wait_for_some(waiting):
                del waiting[future]
        try:
            with self._connection():
                return list(self.client.gather(list(futures)))
        except KilledWorker as error:
            raise self._killed(error) from None

    # --- calls that run at the same time ---

    def run_together(
        self, make_calls: Callable[[Sequence[Machine]], Sequence[DelayedCall]], n_most: int
    ) -> list[Any]:
        """Return the results of one call per worker, as `TaskRunner.run_together` says."""
        for attempt in range(1, ATTEMPTS + 1):
            self._wait_for_workers()
            addresses = self._processes()[:n_most]
            with self._connection():
                ports = self.client.run(free_ports, PORTS, workers=addresses)
            machines = [Machine(urlsplit(a).hostname or "", tuple(ports[a])) for a in addresses]
            calls = make_calls(machines)
            placed = {
                self._submit(
                    run_quiet_call, call, workers=[address], allow_other_workers=False
                ): address
                for call, address in zip(calls, addresses[: len(calls)], strict=True)
            }
            try:
                self._watch(placed)
                return self._gather(list(placed))
            except (_LostWorkerError, LostMachineError) as error:
                self._abandon(placed)
                if attempt == ATTEMPTS:
                    raise ClusterError(_last_attempt(error)) from None
            except BaseException:  # of a call, or ctrl-C
                with suppress(ClusterError):  # the first error counts
                    self._abandon(placed)
                raise
        raise AssertionError("the last attempt returns or raises")

    def _processes(self) -> list[str]:
        """Return the address of one worker per process: LightGBM has one network per process."""
        with self._connection():
            names = self.client.run(process_name, workers=self._workers())
        first = {
            (urlsplit(address).hostname, names[address]): address
            for address in sorted(names, reverse=True)
        }
        return sorted(first.values())

    def _watch(self, placed: dict[Any, str]) -> None:
        """Wait until every call has ended; raise if one failed or its worker was lost."""
        waiting = set(placed)
        while waiting:
            waiting -= self._wait(waiting)
            if any(future.status == "error" for future in placed):
                time.sleep(POLL_SECONDS)  # if a worker is lost, the others may fail first
            lost = set(placed.values()) - set(self._workers())
            if lost and any(future.status != "finished" for future in placed):
                raise _LostWorkerError(f"the worker {min(lost)} was lost")
            errors = [f.exception() for f in placed if f.status == "error"]
            if errors:  # that of a setting is the cause of lost connections
                raise min(errors, key=lambda error: isinstance(error, LostMachineError))

    def _abandon(self, placed: dict[Any, str]) -> None:
        """End calls that wait for others, by ending their processes."""
        pending = {address for future, address in placed.items() if future.status == "pending"}
        self._cancel(placed)
        end = time.monotonic() + POLL_SECONDS
        while busy := self._busy(pending):
            if time.monotonic() > end:
                # A worker without a nanny cannot be restarted: its call ends when it misses the others.
                with self._connection(), suppress(ValueError, TimeoutError):
                    self.client.restart_workers(busy, raise_for_error=False)
                return
            time.sleep(POLL_SECONDS / 10)

    def _busy(self, addresses: Iterable[str]) -> list[str]:
        """Return those of the workers that are there and run a call."""
        alive = sorted(set(addresses) & set(self._workers()))
        if not alive:
            return []
        with self._connection():
            answers = self.client.run(is_calling, workers=alive, on_error="return")
        return [address for address in alive if answers.get(address) is True]

    # --- Dask ---

    def _submit(self, run: Callable[..., Any], call: DelayedCall, **placement: Any) -> Any:
        """Send a call; its large arguments and kept results become futures."""
        futures: list[Any] = []
        function, args, kwargs = call
        stripped = function, self._take_out(args, futures), self._take_out(kwargs, futures)
        name = getattr(function, "__name__", type(function).__name__).strip("_")
        with self._connection():
            return self.client.submit(
                run, pack(stripped), self._software, *futures, key=f"{name}-{uuid.uuid4().hex}", pure=False,
                **placement,
            )  # fmt: skip

    def _take_out(self, value: Any, futures: list[Any]) -> Any:
        """Return arguments without large data and kept results, which go to `futures`."""
        if isinstance(value, KeptResult):
            futures.append(value.future)
            return SharedPlace(len(futures) - 1)
        if isinstance(value, RankingData):
            if value.n_features * len(value) * 8 < SHARED_BYTES:
                return value
            futures.append(self._share(value))
            return SharedPlace(len(futures) - 1)
        if isinstance(value, tuple | list | dict):
            return rebuild(value, lambda item: self._take_out(item, futures))
        return value

    def _share(self, data: RankingData) -> Any:
        """Return the future of data; the scheduler keeps it too, for workers that join or restart."""
        future = self._shared.get(data)
        if future is None or future.status in ("cancelled", "lost"):
            # The data is part of the task on purpose: a lost worker takes no data with it.
            with self._connection(), _no_size_warning():
                future = self.client.submit(
                    unpack, pack(data), key=f"data-{uuid.uuid4().hex}", pure=False
                )
            self._shared[data] = future
        return future

    def _wait_for_some(self, futures: dict[Any, int]) -> list[Any]:
        """Return the futures that have finished, in the order of their numbers; wait for one."""
        while not (done := self._wait(futures)):
            self._check_has_workers()
        return sorted(done, key=futures.__getitem__)

    def _wait(self, futures: Iterable[Any]) -> set[Any]:
        """Return the futures that have finished; wait for one for a short time."""
        from distributed import wait

        with self._connection(), suppress(TimeoutError):
            return set(wait(list(futures), POLL_SECONDS, "FIRST_COMPLETED").done)  # type: ignore[no-untyped-call]
        return set()

    def _workers(self) -> list[str]:
        """Return the addresses of the workers."""
        with self._connection():
            addresses = sorted(self.client.nthreads())
        if addresses:
            self._last_workers = time.monotonic()
        return addresses

    def _check_has_workers(self) -> None:
        if not self._workers() and time.monotonic() - self._last_workers > NO_WORKERS_SECONDS:
            raise ClusterError(
                f"the cluster {self.name} has no worker since {NO_WORKERS_SECONDS:.0f} seconds; start "
                "workers and run the same command again: finished results are kept"
            )

    def _wait_for_workers(self) -> None:
        self._last_workers = time.monotonic()
        while not self._workers():
            time.sleep(POLL_SECONDS / 10)
            self._check_has_workers()

    @contextmanager
    def _connection(self) -> Iterator[None]:
        """Turn errors of the connection to the scheduler into one clear error."""
        try:
            with self.client.as_current():
                yield
        except TimeoutError:
            raise
        except _LOST as error:
            if self._is_error_of_call(error):
                raise
            raise ClusterError(
                f"the scheduler of the cluster {self.name} was lost; start it and run the same command "
                "again: finished results are kept"
            ) from None

    def _is_error_of_call(self, error: BaseException) -> bool:
        """Whether a call raised the error, such as that of a missing file, and the scheduler is there."""
        from distributed.comm.core import CommClosedError

        is_connected = self.client.status == "running"
        return (
            is_connected and isinstance(error, OSError) and not isinstance(error, CommClosedError)
        )

    def _cancel(self, futures: Iterable[Any]) -> None:
        try:
            self.client.cancel(list(futures), force=True)
        except _LOST:  # the calls are lost anyway
            return

    def _killed(self, error: Any) -> ClusterError:
        return ClusterError(
            f"{str(error.task).rsplit('-', 1)[0]} has no result: {error.allowed_failures + 1} workers were "
            "killed while they ran it, perhaps out of memory; finished results are kept"
        )


@contextmanager
def _no_size_warning() -> Iterator[None]:
    """Let a task have large data without a warning of Dask."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        yield


def _last_attempt(error: Exception) -> str:
    """Return the message of the last of `ATTEMPTS` attempts."""
    advice = "perhaps out of memory; use fewer rows per worker, or more workers"
    if isinstance(error, LostMachineError):
        advice = "open the ports between the workers' hosts, or use workers of one host"
    return f"{error} in each of {ATTEMPTS} attempts; {advice}"


class _LostWorkerError(Exception):
    """A worker was lost while calls ran together."""

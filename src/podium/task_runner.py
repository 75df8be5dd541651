"""The task runner in use: the cluster that independent calls go to, or none.

Rooms that have independent work ask for `current_runner()`. Without a runner they work in their own process,
or by joblib. `podium.use` sets a runner; the room `cluster` implements it by Dask.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from podium.errors import ClusterError

Item = TypeVar("Item")
Result = TypeVar("Result")

DelayedCall = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function, its arguments and its keyword arguments: what joblib's `delayed` makes."""


@dataclass(frozen=True)
class Machine:
    """The host of a worker, and some free ports there."""

    host: str
    ports: tuple[int, ...]


class LostMachineError(ClusterError):
    """Calls that run together cannot reach each other; they may start again on other ports."""


class TaskRunner(Protocol):
    """Runs calls on the workers of a cluster."""

    def n_workers(self) -> int:
        """Return the number of workers; it may change."""

    def run(
        self,
        calls: Iterable[DelayedCall],
        *,
        in_order: bool = True,
        on_killed: Callable[[int], Any] | None = None,
    ) -> Iterator[Any]:
        """Yield the results of calls; a call is taken from the iterable when a worker is free.

        Parameters
        ----------
        in_order
            Whether results come in the order of the calls, or as they finish.
        on_killed
            Gives the result of a call, by its number, whose workers were killed again and again; without it
            that is an error.
        """

    def keep(self, call: DelayedCall) -> Any:
        """Return a handle of a call's result, which stays on a worker; calls may have it as an argument.

        If that worker is lost, another one makes the result again.
        """

    def share(self, value: Any) -> Any:
        """Return a handle of a value that many calls have as an argument; it goes to each worker once."""

    def add_up(self, calls: Sequence[DelayedCall]) -> tuple[Any, ...]:
        """Return the sums of the results, tuples of numbers and arrays, added in an order of their own.

        The order depends on the number of calls alone, not on the workers.
        """

    def run_together(
        self, make_calls: Callable[[Sequence[Machine]], Sequence[DelayedCall]], n_most: int
    ) -> list[Any]:
        """Run calls at the same time, each on a worker of its own; return their results in order.

        Parameters
        ----------
        make_calls
            Makes at most one call per machine. If a worker is lost, or a call raises `LostMachineError`,
            all calls start again, with other ports.
        n_most
            The most workers to take; at most one per process.
        """


_runner: ContextVar[TaskRunner | None] = ContextVar("podium_runner", default=None)


def current_runner() -> TaskRunner | None:
    """Return the runner in use, or None.

    Examples
    --------
    >>> current_runner() is None
    True
    """
    return _runner.get()


@contextmanager
def runner_in_use(runner: TaskRunner | None) -> Iterator[None]:
    """Send the independent calls of this context to a runner; None: work in this process again."""
    token = _runner.set(runner)
    try:
        yield
    finally:
        _runner.reset(token)


def map_items(
    work: Callable[..., Result], shared: Sequence[Any], items: Iterable[Item]
) -> Iterator[Result]:
    """Yield work(*shared, item) of each item, in order: on the workers of the cluster in use, or here.

    The shared values go to each worker once, and calls must not change them. Items are taken when a worker
    is free.

    Examples
    --------
    >>> list(map_items(pow, [2], [3, 4]))
    [8, 16]
    """
    runner = current_runner()
    if runner is None:
        return (work(*shared, item) for item in items)
    sent = runner.share(tuple(shared))
    return runner.run((_work_on_item, (work, sent, item), {}) for item in items)


def in_bunches(items: Iterable[Item], n: int) -> Iterator[list[Item]]:
    """Yield items in lists of n, the last of which may be shorter; a list is taken when it is needed.

    Examples
    --------
    >>> list(in_bunches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    iterator = iter(items)
    while bunch := list(itertools.islice(iterator, n)):
        yield bunch


def _work_on_item(work: Callable[..., Result], shared: Sequence[Any], item: Any) -> Result:
    return work(*shared, item)

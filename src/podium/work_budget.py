"""The work budget of a call: its maximum number of steps of work and its deadline. Long loops check it.

The ranking service sets the bounds. Without bounds, as in a user's program, every check passes. A step
of work takes some tenths of a microsecond; the steps of a search for an order are counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic

from podium.errors import DeadlineError, WorkLimitError

SEARCH_SHARE = 0.5
"""The share of the time after which a search for an order ends undecided, or rules give way."""


@dataclass
class WorkBudget:
    """The remaining steps of work, and the moments at which searches and everything else end."""

    steps_left: float = math.inf
    max_steps: float = math.inf
    search_end: float = math.inf
    end: float = math.inf
    seconds: float = math.inf


_budget: ContextVar[WorkBudget] = ContextVar("podium_work", default=WorkBudget())  # noqa: B039


@contextmanager
def bounded_time(seconds: float, start: float | None = None) -> Iterator[None]:
    """Raise a `DeadlineError` in this context after this many seconds.

    The start is a moment of `time.monotonic`; the default is now.
    """
    now = monotonic()
    end = (now if start is None else start) + seconds
    search_end = now + SEARCH_SHARE * max(end - now, 0.0)
    last = _budget.get()
    token = _budget.set(WorkBudget(last.steps_left, last.max_steps, search_end, end, seconds))
    try:
        yield
    finally:
        _budget.reset(token)


@contextmanager
def bounded_share(share: float) -> Iterator[None]:
    """Raise a `DeadlineError` in this context after a share of the remaining time.

    Searches for an order end when they would have ended, or earlier.
    """
    budget = _budget.get()
    if budget.end == math.inf:
        yield
        return
    now = monotonic()
    end = now + share * max(budget.end - now, 0.0)
    search_end = min(budget.search_end, end)
    token = _budget.set(
        WorkBudget(budget.steps_left, budget.max_steps, search_end, end, budget.seconds)
    )
    try:
        yield
    finally:
        _budget.reset(token)


@contextmanager
def bounded_steps(steps: int) -> Iterator[None]:
    """Raise a `WorkLimitError` in this context after this many steps of work.

    Examples
    --------
    >>> with bounded_steps(10):
    ...     spend(11)
    Traceback (most recent call last):
        ...
    podium.errors.WorkLimitError: the rules need more than the allowed 10 steps on this list
    """
    last = _budget.get()
    token = _budget.set(WorkBudget(steps, steps, last.search_end, last.end, last.seconds))
    try:
        yield
    finally:
        _budget.reset(token)


def spend(steps: int) -> None:
    """Count steps before they are done; raise if a bound is reached."""
    budget = _budget.get()
    budget.steps_left -= steps
    if budget.steps_left < 0:
        raise WorkLimitError(
            f"the rules need more than the allowed {budget.max_steps:,} steps on this list"
        )
    check_time(budget)


def check_time(budget: WorkBudget | None = None) -> None:
    """Raise `DeadlineError` if the time is over."""
    budget = budget or _budget.get()
    if monotonic() > budget.end:
        raise too_slow(budget.seconds)


def too_slow(seconds: float) -> DeadlineError:
    """Return the error of a request that needs more than these seconds.

    Examples
    --------
    >>> too_slow(10)
    DeadlineError('the request exceeded the limit of 10 seconds')
    """
    return DeadlineError(f"the request exceeded the limit of {seconds:g} seconds")


def seconds_left() -> float:
    """Return the remaining time."""
    return max(_budget.get().end - monotonic(), 0.0)


def search_seconds() -> float:
    """Return the remaining time for searches for an order."""
    return max(_budget.get().search_end - monotonic(), 0.0)

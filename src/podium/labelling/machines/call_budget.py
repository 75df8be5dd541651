"""CallBudget: caps on calls, tokens, money and time, checked before each call."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from podium.errors import PodiumError, UsageError


class BudgetSpentError(PodiumError, RuntimeError):
    """The next call would exceed a cap."""


@dataclass(frozen=True)
class TokenPrices:
    """The prices of a million tokens, in any currency: of prompts, and of answers.

    Examples
    --------
    >>> TokenPrices(2.0, 8.0).cost(Spending(calls=1, tokens_in=1_000_000, tokens_out=500_000))
    6.0
    """

    tokens_in: float
    tokens_out: float

    def __post_init__(self) -> None:
        if not 0 <= min(self.tokens_in, self.tokens_out) < float("inf"):
            raise UsageError(
                f"expected prices of 0 or more, got {self.tokens_in}, {self.tokens_out}"
            )

    def cost(self, spending: Spending) -> float:
        """Return the price of what was spent."""
        total = spending.tokens_in * self.tokens_in + spending.tokens_out * self.tokens_out
        return total / 1e6


@dataclass(frozen=True)
class Spending:
    """Calls, and the tokens of their prompts and answers."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
        )

    def __sub__(self, other: Spending) -> Spending:
        return self + Spending(-other.calls, -other.tokens_in, -other.tokens_out)

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True)
class CallCaps:
    """The most that a campaign may take; None is no cap.

    Parameters
    ----------
    calls, tokens, cost
        Of the whole campaign, with all its earlier runs.
    seconds
        Of one run.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class CallBudget:
    """What may still be spent. Calls reserve their estimate before they are made.

    Parameters
    ----------
    caps, prices
        The caps, and the prices that a cap on money needs.
    spent
        What earlier runs spent.
    clock
        Returns seconds.

    Examples
    --------
    >>> budget = CallBudget(CallCaps(calls=1))
    >>> call = Spending(1, 500, 20)
    >>> budget.reserve(call)
    >>> budget.reserve(call)
    Traceback (most recent call last):
    podium.labelling.machines.call_budget.BudgetSpentError: the cap of 1 calls is reached
    """

    def __init__(
        self,
        caps: CallCaps,
        prices: TokenPrices | None = None,
        spent: Spending | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if caps.cost is not None and prices is None:
            raise UsageError("a cap on money needs the prices of tokens").advise(
                python="pass prices=TokenPrices(...)",
                command_line="add --price-in and --price-out, per million tokens",
            )
        self.caps, self.prices = caps, prices
        self.spent = Spending() if spent is None else spent
        """What was spent, and what calls on their way have reserved."""
        self._clock, self._start, self._lock = clock, clock(), threading.Lock()

    def reserve(self, estimate: Spending) -> None:
        """Reserve a call; raises BudgetSpentError if it would exceed a cap."""
        with self._lock:
            after = self.spent + estimate
            self._check(after)
            self.spent = after

    def check_time(self) -> None:
        """Raise BudgetSpentError if the cap on time is reached."""
        seconds = self.caps.seconds
        if seconds is not None and self._clock() - self._start >= seconds:
            raise BudgetSpentError(f"the cap of {seconds:g} seconds is reached")

    def replace_estimate(self, estimate: Spending, actual: Spending) -> None:
        """Count what a call really took in place of its estimate."""
        with self._lock:
            self.spent = self.spent - estimate + actual

    def _check(self, after: Spending) -> None:
        caps = self.caps
        if caps.calls is not None and after.calls > caps.calls:
            raise BudgetSpentError(f"the cap of {caps.calls:,} calls is reached")
        if caps.tokens is not None and after.tokens > caps.tokens:
            raise BudgetSpentError(f"the next call could exceed the cap of {caps.tokens:,} tokens")
        cost = 0.0 if self.prices is None else self.prices.cost(after)
        if caps.cost is not None and cost > caps.cost:
            raise BudgetSpentError(f"the next call could exceed the cap of {caps.cost:g} in money")
        self.check_time()


def estimate_tokens(text: str) -> int:
    """Return a high estimate of the tokens of a text: one for every three bytes, and a few more.

    Examples
    --------
    >>> estimate_tokens("three words here")
    14
    """
    return -(-len(text.encode()) // 3) + 8

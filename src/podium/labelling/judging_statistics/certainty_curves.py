"""Certainty curves: how many judgments bought how much certainty, for strategies with a belief."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from podium.labelling.session import Session
from podium.labelling.strategies.strategy_run import StrategyRun
from podium.labelling.tasks import PreferenceTask

LEVELS = (0.8, 0.9, 0.95)
"""The expected recalls whose price is told."""
MAX_POINTS = 20
"""A curve has the certainty after at most so many numbers of judgments, evenly spread."""


@dataclass(frozen=True)
class CertaintyCurve:
    """The expected recall of a session by its number of judgments.

    Parameters
    ----------
    query, assessor
        Of the session.
    judged
        Numbers of judgments, the last that of the session.
    certainty
        The expected recall after each.
    """

    query: str
    assessor: str
    judged: tuple[int, ...]
    certainty: tuple[float, ...]

    def judgments_to(self, level: float) -> int | None:
        """Return after how many judgments the expected recall first was at least this; None for never.

        Examples
        --------
        >>> curve = CertaintyCurve("q", "ann", (0, 10, 20), (0.1, 0.8, 0.93))
        >>> curve.judgments_to(0.9), curve.judgments_to(0.95)
        (20, None)
        """
        points = zip(self.judged, self.certainty, strict=True)
        return next((judged for judged, certainty in points if certainty >= level), None)


@dataclass(frozen=True)
class CertaintyRow:
    """The certainty about a query, or about all of them.

    Parameters
    ----------
    query
        Its id, "" for all.
    tasks, judged, certainty
        The number of sessions with a belief, their mean number of judgments, and their mean expected recall.
    price
        By level the mean number of judgments after which sessions reached it, and how many did; None if
        none did.
    """

    query: str
    tasks: int
    judged: float
    certainty: float
    price: dict[float, tuple[float, int] | None]

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON."""
        prices = [
            {"certainty": level, "judgments": price and price[0], "tasks": price[1] if price else 0}
            for level, price in self.price.items()
        ]
        return asdict(self) | {"price": prices}


def certainty_curve(session: Session) -> CertaintyCurve | None:
    """Return the curve of a session; None if its strategy has no belief."""
    task = session.task
    if not isinstance(task, PreferenceTask) or session.certainty is None or session.run is None:
        return None
    judgments = session.run.judgments
    step = max(1, -(-len(judgments) // MAX_POINTS))
    run = StrategyRun(task.strategy, task.documents, task.k, task.prior, task.skip_implied)
    judged, certainty = [0], [run.certainty]
    for n, judgment in enumerate(judgments, start=1):
        run.add(judgment)
        if n % step == 0 or n == len(judgments):
            judged.append(n)
            certainty.append(run.certainty)
    return CertaintyCurve(
        task.query, task.assessor, tuple(judged), tuple(float(c or 0.0) for c in certainty)
    )


def certainty_rows(
    curves: Iterable[CertaintyCurve], levels: Sequence[float] = LEVELS
) -> tuple[CertaintyRow, ...]:
    """Return a row for all sessions, then one for each query; () without sessions.

    Examples
    --------
    >>> curve = CertaintyCurve("q", "ann", (0, 10, 20), (0.1, 0.8, 0.93))
    >>> certainty_rows([curve])[0].price
    {0.8: (10.0, 1), 0.9: (20.0, 1), 0.95: None}
    """
    groups: dict[str, list[CertaintyCurve]] = {}
    for curve in curves:
        groups.setdefault("", []).append(curve)
        groups.setdefault(curve.query, []).append(curve)
    return tuple(_row(query, group, levels) for query, group in groups.items())


def _row(query: str, curves: Sequence[CertaintyCurve], levels: Sequence[float]) -> CertaintyRow:
    price: dict[float, tuple[float, int] | None] = {}
    for level in levels:
        counts = [n for curve in curves if (n := curve.judgments_to(level)) is not None]
        price[level] = (sum(counts) / len(counts), len(counts)) if counts else None
    n = len(curves)
    judged = sum(curve.judged[-1] for curve in curves) / n
    return CertaintyRow(query, n, judged, sum(curve.certainty[-1] for curve in curves) / n, price)

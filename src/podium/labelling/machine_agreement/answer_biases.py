"""Biases of an assessor's preferences: for one side of the screen, and for longer documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from podium.labelling.grading import Graded
from podium.labelling.judgments import Judgment
from podium.labelling.machine_agreement.agreement_intervals import Estimate, estimate_share

if TYPE_CHECKING:
    from podium.labelling.session import Session
    from podium.labelling.store import Store

LENGTH_RATIOS = (1.0, 1.25, 1.6, 2.5)
"""Bounds of the ratio of two lengths, from which a picture counts."""


class StatedPreference(NamedTuple):
    """One document that an assessor preferred to another one; `left` is the document on the left, if any."""

    query: str
    better: str
    worse: str
    left: str | None = None

    @property
    def pair(self) -> tuple[str, frozenset[str]]:
        """The query and both documents."""
        return self.query, frozenset((self.better, self.worse))


@dataclass(frozen=True)
class SideBias:
    """How often the document on the left is preferred; without a bias .5.

    Parameters
    ----------
    preferences
        Preferences whose sides are known.
    left
        The share that prefers the left document.
    """

    preferences: int
    left: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {"preferences": self.preferences, "left": self.left.to_dict()}


@dataclass(frozen=True)
class LengthBias:
    """How often the longer document is preferred.

    Longer documents may be better, so what counts is the difference from people on the same pairs.

    Parameters
    ----------
    preferences
        Preferences between documents of different lengths.
    longer
        The share that prefers the longer one.
    shared
        Pairs of which people also prefer one.
    difference
        On these pairs: the machine's share less that of people.
    by_ratio
        For ratios of the lengths from `LENGTH_RATIOS` on: preferences, and the share for the longer one.
    """

    preferences: int
    longer: Estimate
    shared: int
    difference: Estimate
    by_ratio: tuple[tuple[int, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON, with None for what is not defined."""
        return {
            "preferences": self.preferences,
            "longer": self.longer.to_dict(),
            "shared": self.shared,
            "difference": self.difference.to_dict(),
            "by_ratio": [
                {"from": ratio, "preferences": n, "longer": None if n == 0 else share}
                for ratio, (n, share) in zip(LENGTH_RATIOS, self.by_ratio, strict=True)
            ],
        }


def read_preferences(store: Store, assessors: Iterable[str]) -> list[StatedPreference]:
    """Return all preferences of assessors, repeats included; grades give one for each two documents."""
    chosen = set(assessors)
    tasks = [s.task for s in store.session_states() if s.task.assessor in chosen and s.events]
    rows: list[StatedPreference] = []
    for task in tasks:
        rows += session_preferences(store.session(task.id))
    return rows


def session_preferences(session: Session) -> list[StatedPreference]:
    """Return the preferences of a session."""
    query, rows = session.task.query, []
    judgments = [*session.judgments, *(timed.judgment for timed in session.repeats)]
    for judgment in judgments:
        if isinstance(judgment, Judgment) and judgment.answer in ("<", ">"):
            best_first = judgment if judgment.answer == ">" else judgment.flipped()
            rows.append(StatedPreference(query, best_first.a, best_first.b, judgment.left))
    graded = [judgment for judgment in session.judgments if isinstance(judgment, Graded)]
    for one, other in combinations(graded, 2):
        if one.grade != other.grade:
            better, worse = (one, other) if one.grade > other.grade else (other, one)
            rows.append(StatedPreference(query, better.document, worse.document))
    return rows


def side_bias(
    preferences: Sequence[StatedPreference], *, resamples: int = 1_000, seed: int = 0
) -> SideBias:
    """Return how often the left document is preferred."""
    rows = [row for row in preferences if row.left is not None]
    hits = np.array([row.left == row.better for row in rows], dtype=np.float64)
    query = _number([row.query for row in rows])
    share = estimate_share(query, hits, np.ones(len(rows)), resamples=resamples, seed=seed)
    return SideBias(len(rows), share)


def length_bias(
    preferences: Sequence[StatedPreference],
    people: Sequence[StatedPreference],
    lengths: Mapping[tuple[str, str], int],
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> LengthBias:
    """Return how often the longer document is preferred, and how much more often than people do.

    Parameters
    ----------
    preferences, people
        Those of the assessor, and those of people.
    lengths
        Characters by query and document.
    """
    rows = [row for row in preferences if _log_ratio(row, lengths)]
    ratio = np.array([_log_ratio(row, lengths) for row in rows], dtype=np.float64)
    hits = (ratio > 0).astype(np.float64)
    query = _number([row.query for row in rows])
    longer = estimate_share(query, hits, np.ones(len(rows)), resamples=resamples, seed=seed)
    bounds = np.log([*LENGTH_RATIOS, np.inf])
    bins = np.searchsorted(bounds, np.abs(ratio), side="right") - 1
    counts = np.bincount(bins, minlength=len(LENGTH_RATIOS))[: len(LENGTH_RATIOS)]
    sums = np.bincount(bins, hits, len(LENGTH_RATIOS))
    by_ratio = tuple(
        (int(n), float(s) / n if n else float("nan"))
        for n, s in zip(counts.tolist(), sums.tolist(), strict=False)
    )
    theirs = _mean_longer(people, lengths)
    mine = _mean_longer(rows, lengths)
    shared = sorted((pair for pair in mine if pair in theirs), key=lambda p: (p[0], sorted(p[1])))
    gaps = np.array([mine[pair] - theirs[pair] for pair in shared], dtype=np.float64)
    difference = estimate_share(
        _number([pair[0] for pair in shared]), gaps, np.ones(len(shared)),
        resamples=resamples, seed=seed,
    )  # fmt: skip
    return LengthBias(len(rows), longer, len(shared), difference, by_ratio)


def document_lengths(store: Store) -> dict[tuple[str, str], int]:
    """Return the characters of every document that is text, by query and document."""
    from podium.labelling.machines.question_prompts import document_text

    return {
        (query.id, document.id): len(document_text(document, 1 << 30))
        for query in store.pool()
        for document in query.documents
        if document.kind != "image"
    }


def _mean_longer(
    rows: Iterable[StatedPreference], lengths: Mapping[tuple[str, str], int]
) -> dict[tuple[str, frozenset[str]], float]:
    """Return, for each pair, the share of preferences for the longer document."""
    by_pair: dict[tuple[str, frozenset[str]], list[float]] = {}
    for row in rows:
        if ratio := _log_ratio(row, lengths):
            by_pair.setdefault(row.pair, []).append(float(ratio > 0))
    return {pair: sum(hits) / len(hits) for pair, hits in by_pair.items()}


def _log_ratio(row: StatedPreference, lengths: Mapping[tuple[str, str], int]) -> float:
    """Return the logarithm of the ratio of the lengths, better over worse; 0 if a length is not known."""
    better, worse = (lengths.get((row.query, d), 0) for d in (row.better, row.worse))
    return float(np.log(better / worse)) if better and worse else 0.0


def _number(names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.unique(np.array(names, dtype=str), return_inverse=True)[1].astype(np.int64)

"""What EM reads: sessions by query, and counts of impressions and clicks by pair and context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import DocumentPairs, PairValues
from podium.data.argument_checks import to_array
from podium.errors import DataError
from podium.typing import Bools, Floats, Ints

CLIP = 1e-9
"""Estimated probabilities are kept in [1e-9, 1 - 1e-9]: EM never leaves 0 and 1."""


@dataclass(frozen=True, eq=False)
class SessionTable:
    """Sessions query by query, with a weight each, and the pair of each row."""

    pairs: DocumentPairs
    pair: Ints
    clicked: Bools
    weight: Floats
    offsets: Ints
    query_offsets: Ints
    places: Ints

    @classmethod
    def of(cls, sessions: ClickSessions, weight: Floats | None) -> SessionTable:
        """Return the table of sessions; raises if there are none, or none with a weight above 0."""
        sessions.require_sessions()
        values = (
            np.ones(len(sessions)) if weight is None else to_array(weight, "weights", np.float64)
        )
        if values.shape != (len(sessions),) or not (values >= 0).all() or not values.any():
            raise DataError(
                f"expected {len(sessions)} weights of 0 or more, not all 0, got shape {values.shape}"
            )
        order = np.argsort(sessions.query.codes, kind="stable")
        by_query, queries = sessions.by_query()
        pairs, pair = by_query.pairs
        return cls(
            pairs, pair, by_query.clicked, values[order], by_query.groups.offsets,
            queries.offsets, by_query.groups.places,
        )  # fmt: skip

    @property
    def row_weight(self) -> Floats:
        """The weight of the session of each row."""
        return np.repeat(self.weight, np.diff(self.offsets))

    @property
    def n_ranks(self) -> int:
        """The length of the longest list."""
        return int(self.places.max()) + 1

    @property
    def click_rate(self) -> float:
        """Clicks per impression."""
        return float(self.row_weight[self.clicked].sum() / max(self.row_weight.sum(), 1e-300))

    def sum_by_pair(self, values: Floats) -> Floats:
        """Return sums of values of rows by pair."""
        return sums_by_code(self.pair, values, len(self.pairs))

    def pair_values(self, values: Floats, mean: float) -> PairValues:
        """Return values of all pairs, with the mean as the default of others."""
        return PairValues(self.pairs, values, mean)

    def mean_attraction(self, examinations: float) -> float:
        """Return clicks per expected examination, the mean of the prior of attraction."""
        clicks = float(self.row_weight[self.clicked].sum())
        return min(max(clicks / max(examinations, 1e-300), CLIP), 1 - CLIP)


@dataclass(frozen=True, eq=False)
class CellTable:
    """Impressions and clicks by pair and context (such as the rank), pair by pair."""

    pair_offsets: Ints
    context: Ints
    impressions: Floats
    clicks: Floats

    @classmethod
    def of(cls, table: SessionTable, context: Ints, n_contexts: int) -> CellTable:
        """Count rows by pair and context."""
        keys = table.pair * n_contexts + context
        n_keys, weight = len(table.pairs) * n_contexts, table.row_weight
        if n_keys > 8 * len(keys) + 1_000_000:
            cells, keys = np.unique(keys, return_inverse=True)
            keys = keys.reshape(-1)
        else:
            cells = np.arange(n_keys)
        impressions = sums_by_code(keys, weight, len(cells))
        clicks = sums_by_code(keys, weight * table.clicked, len(cells))
        used = impressions > 0
        sizes = np.bincount(cells[used] // n_contexts, minlength=len(table.pairs))
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(offsets, cells[used] % n_contexts, impressions[used], clicks[used])

    def by_pair(self, values: Floats) -> Floats:
        """Return sums by pair."""
        total = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(total[self.pair_offsets[1:]] - total[self.pair_offsets[:-1]])

    def by_context(self, values: Floats, n_contexts: int) -> Floats:
        """Return sums by context."""
        return sums_by_code(self.context, values, n_contexts)


def sums_by_code(codes: Ints, values: Floats, n_codes: int) -> Floats:
    """Return sums of values by code, 0..n_codes - 1."""
    return np.asarray(np.bincount(codes, weights=values, minlength=n_codes), dtype=np.float64)


def smooth_ratio(numerator: Floats, denominator: Floats, mean: float, strength: float) -> Floats:
    """Return (numerator + strength * mean) / (denominator + strength) in (0, 1); the mean for 0 / 0."""
    total = denominator + strength
    ratio = np.divide(
        numerator + strength * mean, total, out=np.full(len(total), mean), where=total > 0
    )
    return np.asarray(np.clip(ratio, CLIP, 1 - CLIP))


def log_prior(values: Floats, mean: float, strength: float) -> float:
    """Return the log of the prior whose maximum `smooth_ratio` finds: Beta(1 + m s, 1 + (1 - m) s)."""
    terms = mean * np.log(values) + (1 - mean) * np.log1p(-values)
    return float(strength * terms.sum())

"""Training and validation queries: which queries have an order to learn, and which are held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData, shuffled_queries
from podium.data.row_selection import select_queries
from podium.errors import DataError


def contrasting_queries(data: RankingData) -> NDArray[np.bool_]:
    """Return which queries have documents of different labels; other queries have no order to learn."""
    lowest = data.groups.reduce(np.minimum, data.y)
    return np.asarray(lowest < data.groups.reduce(np.maximum, data.y))


def drop_weightless_queries(data: RankingData) -> RankingData:
    """Return the queries with a weight above 0; others must not change even a threshold or a scale."""
    if data.query_weight is None or data.query_weight.all():
        return data
    return select_queries(data, np.flatnonzero(data.query_weight > 0))


def hold_out(data: RankingData, share: float, seed: int) -> tuple[RankingData, RankingData | None]:
    """Return queries to train on and queries to validate on.

    Only queries with different labels are held out, because others cannot validate. Each side has
    at least one of them; if there is only one, there is no validation.
    """
    order = shuffled_queries(data, seed)
    order = order[contrasting_queries(data)[order]]
    n = min(max(round(share * len(order)), 1), len(order) - 1)
    if n < 1:
        return data, None
    is_held_out = np.isin(np.arange(data.n_queries), order[:n])
    train, valid = (
        select_queries(data, np.flatnonzero(part)) for part in (~is_held_out, is_held_out)
    )
    return train, valid


def check_labels_differ(data: RankingData, name: str) -> None:
    """Raise if all documents have the same label, because pointwise rankers learn nothing from them."""
    if data.y.min() == data.y.max():
        raise DataError(
            f"all documents have the label {data.y[0]:g}; {name} needs documents with "
            "different labels"
        )

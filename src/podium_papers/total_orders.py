"""Total orders of documents that have grades: ties broken by the consensus of other rankings.

Everywhere the document at rank r of n has relevance (n - r) / (n - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.aggregation import Borda, Rankings
from podium.data import Fold, RankingData, draw_order
from podium.errors import DataError


def relevance(data: RankingData, seed: int = 0, tie_break: ArrayLike | None = None) -> RankingData:
    """Replace labels of any kind by relevance: (n - r) / (n - 1) for the document at rank r of n.

    Equal labels are ordered by `tie_break`, the larger first, and then at random.

    Examples
    --------
    >>> data = RankingData.from_arrays([[0.0]] * 3, [1500, 2, 900], qid=[1] * 3)
    >>> relevance(data).y.tolist()
    [1.0, 0.0, 0.5]
    """
    n = data.groups.spread(data.groups.sizes)
    return data.with_labels((n - draw_order(data, seed, tie_break)) / np.maximum(n - 1, 1))


def consensus_orders(
    parts: Sequence[RankingData], rankings: RankingData, seed: int = 0
) -> list[RankingData]:
    """Turn graded parts into total orders: within a grade by the Borda consensus of other rankings.

    Parameters
    ----------
    parts
        Data with grades, as MQ2008.
    rankings
        Rankings of the same queries and documents, as MQ2008-agg: each feature is a ranker, its value
        the rank.
    seed
        Seed of the random order of documents whose consensus is equal.
    """
    scores = Borda()(Rankings.from_data(rankings)).scores
    score_of_row = dict(zip(row_ids(rankings), scores.tolist(), strict=True))
    out = []
    for part in parts:
        missing = next((pair for pair in row_ids(part) if pair not in score_of_row), None)
        if missing is not None:
            raise DataError(
                f"expected rankings of all documents, got none of {missing[1]!r} of query {missing[0]!r}"
            )
        out.append(relevance(part, seed, [score_of_row[pair] for pair in row_ids(part)]))
    return out


def row_ids(data: RankingData) -> list[tuple[Any, Any]]:
    """Return the query and the document of each row."""
    if data.docids is None:
        raise DataError(
            "expected ids of documents, which grades and rankings are joined on, got none"
        )
    return list(zip(data.groups.spread(data.qids).tolist(), data.docids, strict=True))


def consensus_folds(folds: Sequence[Fold], rankings: RankingData) -> list[Fold]:
    """Turn graded folds into total orders: within a grade by the Borda consensus of other rankings.

    Parameters
    ----------
    rankings
        Of the same queries and documents; each feature is a ranker, its value the rank, as MQ2008-agg.
    """
    parts = iter(consensus_orders([part for fold in folds for part in fold], rankings))
    return [Fold(*triple) for triple in zip(parts, parts, parts, strict=True)]

"""Where the top-k paper's truth comes from: other people's orders of the documents that are graded.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
section 4.2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from podium.data import Fold, RankingData
from podium.errors import DataError
from podium_papers.rpc_mtl.data import consensus_orders, named_rows


def consensus_folds(folds: Sequence[Fold], rankings: RankingData) -> list[Fold]:
    """Graded folds as total orders: within a grade by the Borda consensus of other rankings.

    Parameters
    ----------
    rankings
        Of the same queries and documents; each feature is a ranker, its value the rank, as MQ2008-agg.
    """
    parts = iter(consensus_orders([part for fold in folds for part in fold], rankings))
    return [Fold(*triple) for triple in zip(parts, parts, parts, strict=True)]


class ListedFolds(NamedTuple):
    """The documents that have a grade and a place: folds of grades, and the same of orders."""

    graded: list[Fold]
    orders: list[Fold]


def listed_folds(folds: Sequence[Fold], lists: Sequence[Fold]) -> ListedFolds:
    """Graded folds and total orders, as MQ2007 and MQ2007-list, on the documents they share.

    Joined on query and document; queries stay in the parts that `folds` has them in, whatever
    those of `lists` are.

    Parameters
    ----------
    lists
        Labelled so that the larger is the better, as LETOR's ``-list`` sets.

    Examples
    --------
    >>> def part(labels):
    ...     return RankingData.from_arrays(np.eye(3), labels, qid=["q"] * 3, docid=list("abc"))
    >>> graded = part([2, 1, 1]).subset([0])
    >>> found = listed_folds([Fold(graded, graded, graded)], [Fold(*[part([700, 2, 90])] * 3)])
    >>> found.orders[0].test.y.tolist()
    [700.0, 2.0, 90.0]
    """
    places: dict[tuple[object, object], float] = {}
    for fold in lists:
        for part in fold:
            places |= zip(named_rows(part), part.y.tolist(), strict=True)
    joined = [[_joined(part, places) for part in fold] for fold in folds]
    return ListedFolds(*([Fold(*(pair[i] for pair in fold)) for fold in joined] for i in range(2)))


def _joined(
    part: RankingData, places: dict[tuple[object, object], float]
) -> tuple[RankingData, RankingData]:
    pairs = named_rows(part)
    rows = np.array([i for i, pair in enumerate(pairs) if pair in places], dtype=np.int64)
    if len(rows) == 0:
        raise DataError(
            f"expected documents with a grade and a place in a list, got none in {part}; are the "
            "lists of the same queries?"
        )
    return _taken(part, rows, part.y[rows]), _taken(part, rows, [places[pairs[i]] for i in rows])


def _taken(part: RankingData, rows: np.ndarray, y: ArrayLike) -> RankingData:
    """Some rows, with these labels."""
    assert part.docid_column is not None
    return RankingData.from_arrays(
        part.X[rows], y, qid=np.asarray(part.groups.spread(part.qids))[rows],
        docid=part.docid_column.take(rows), feature_names=part.feature_names, scaled=part.scaled,
        missing=part.missing,
    )  # fmt: skip

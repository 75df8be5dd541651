"""Whole queries from a stream: a query that goes on in the next data set is put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from podium.data.concatenation import merge_queries
from podium.data.ranking_data import RankingData
from podium.errors import DataError


class ScatteredQueryError(DataError):
    """A query comes back in a stream after other queries."""


def whole_queries(stream: Iterable[RankingData]) -> Iterator[RankingData]:
    """Yield the same documents in data sets of whole queries.

    The last query of a data set waits for the next one, where it may go on. Raises
    ScatteredQueryError if a query comes back later.

    Examples
    --------
    >>> first = RankingData.from_arrays([[1.0], [2.0]], [0, 1], qid=["a", "b"])
    >>> second = RankingData.from_arrays([[3.0], [4.0]], [2, 0], qid=["b", "c"])
    >>> [(data.qids.tolist(), data.y.tolist()) for data in whole_queries([first, second])]
    [(['a'], [0.0]), (['b'], [1.0, 2.0]), (['c'], [0.0])]
    """
    earlier_qids: set[str] = set()
    waiting: RankingData | None = None
    for data in stream:
        _note_queries(data, waiting, earlier_qids)
        joined = data if waiting is None else merge_queries(_equally_wide(waiting, data))
        last = joined.n_queries - 1
        if last:
            yield joined.subset(np.arange(last))
        waiting = joined.subset([last])
    if waiting is not None:
        yield waiting


def _note_queries(data: RankingData, waiting: RankingData | None, earlier_qids: set[str]) -> None:
    """Add the queries of a data set to the earlier ones; only the query that waits may go on."""
    qids = data.qids.tolist()
    if waiting is not None and qids[0] == waiting.qids[0]:
        qids = qids[1:]
    # Rows that had to move within the data set were scattered in the input, too.
    if data.source_rows is not None or not earlier_qids.isdisjoint(qids):
        raise ScatteredQueryError("expected the rows of each query together in the stream")
    earlier_qids.update(qids)


def _equally_wide(*pieces: RankingData) -> list[RankingData]:
    """Return the pieces with as many features as the widest; further features are 0."""
    width = max(piece.n_features for piece in pieces)
    return [
        piece
        if piece.n_features == width
        else piece.with_features(np.pad(piece.X, ((0, 0), (0, width - piece.n_features))))
        for piece in pieces
    ]

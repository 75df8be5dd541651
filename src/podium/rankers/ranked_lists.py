"""Ranked lists: the top k documents of each query by score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.data import Collection, RankingData
from podium.errors import UsageError
from podium.html_tables import html_table
from podium.rankers.collection_work import map_collection
from podium.typing import Floats

REPR_DOCUMENTS = 5


@dataclass(frozen=True, eq=False)
class RankedList:
    """The top of one query's list: rows of the data, document ids if there are any, and scores."""

    qid: str
    rows: NDArray[np.int64]
    docids: tuple[str, ...] | None
    scores: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        documents = self.docids or tuple(map(str, self.rows.tolist()))
        more = ", ..." if len(documents) > REPR_DOCUMENTS else ""
        return f"RankedList({self.qid}: {', '.join(documents[:REPR_DOCUMENTS])}{more})"

    def _repr_html_(self) -> str:
        """Return the documents as a table for notebooks."""
        documents = self.docids or tuple(f"row {row}" for row in self.rows.tolist())

        def cells(i: int) -> tuple[object, ...]:
            return i + 1, documents[i], float(self.scores[i])

        title = f"Query {self.qid}: {len(self)} document{'s' * (len(self) != 1)}"
        return html_table(title, ("place", "document", "score"), len(self), cells)


def check_k(k: int | None) -> None:
    """Raise unless k is None or a whole number of 1 or more."""
    if k is not None and (not isinstance(k, int | np.integer) or k < 1):
        raise UsageError(f"expected k to be a whole number of 1 or more, got {k!r}")


def ranked_lists(
    data: RankingData, scores: Floats, rows: NDArray[np.int64], k: int | None
) -> list[RankedList]:
    """Return the top k of each query; `rows` are the caller's numbers of the rows."""
    order, docids = data.groups.order(scores), data.docids
    lists = []
    for query, places in data.queries():
        top = order[places][:k]
        ids = None if docids is None else tuple(docids[top].tolist())
        lists.append(RankedList(query, rows[top], ids, scores[top]))
    return lists


AnyList = TypeVar("AnyList", bound=RankedList)
Ranker_ = TypeVar("Ranker_")


def stream_lists(
    collection: Collection,
    ranker: Ranker_,
    rank: Callable[[Ranker_, RankingData], Sequence[AnyList]],
) -> Iterator[AnyList]:
    """Yield the lists that rank(ranker, block) makes of each block, with the rows of the whole collection.

    On a cluster, the workers rank the parts.
    """
    first = 0
    for lists, n_rows in map_collection(partial(_rank_block, rank), ranker, collection):
        for ranked in lists:
            yield replace(ranked, rows=ranked.rows + first)
        first += n_rows


def _rank_block(
    rank: Callable[[Ranker_, RankingData], Sequence[AnyList]], ranker: Ranker_, block: RankingData
) -> tuple[Sequence[AnyList], int]:
    return rank(ranker, block), len(block)

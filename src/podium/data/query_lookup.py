"""Query lookup: a query of ranking data by its id, or by its text."""

from __future__ import annotations

from collections.abc import Sequence

from podium.data.collections.collection import Collection
from podium.data.ranking_data import RankingData
from podium.errors import UnknownNameError, UsageError

MAX_LISTED_QUERIES = 20


def query_number(data: RankingData, query: str | int | None) -> int:
    """Return the number of the query that has this id, or else this text.

    Texts are compared without case and without additional spaces. Raises UnknownNameError if there is
    no such query, and UsageError if several queries have the text, or if `query` is None.

    Examples
    --------
    >>> data = RankingData.from_arrays(
    ...     [[1.0], [2.0]], [0, 1], qid=["q1", "q2"], query_text=["red shoes", "blue hat"]
    ... )
    >>> query_number(data, "q2"), query_number(data, "Red  Shoes")
    (1, 0)
    """
    if query is None:
        raise _missing_query(str(data.qids[0]))
    numbers = {qid: number for number, qid in enumerate(data.qids.tolist())}
    if str(query) in numbers:
        return numbers[str(query)]
    matches = _numbers_of_text(data, str(query))
    if not matches:
        texts = list(data.query_text or ())
        raise UnknownNameError("query", str(query), [*numbers, *dict.fromkeys(filter(None, texts))])
    if len(matches) > 1:
        raise _several(query, [str(data.qids[number]) for number in matches])
    return matches[0]


def find_block(collection: Collection, query: str | int | None) -> tuple[int, RankingData]:
    """Return the block of a collection that has a query, by id or else by text, and its first row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from podium.data import make_synthetic, partition
    >>> home = Path(tempfile.mkdtemp())
    >>> make_synthetic(n_queries=9, n_docs=10, seed=0).to_parquet(home / "a.parquet")
    >>> first, block = find_block(partition([home / "a.parquet"], home / "parts", rows=20), "q4")
    >>> first, block.qids.tolist()
    (20, ['q3', 'q4'])
    """
    qids = collection.query_ids()
    if query is None:
        raise _missing_query(next(iter(qids)))
    is_id = str(query) in set(qids)
    first, matches = 0, []
    result: tuple[int, RankingData] | None = None
    for block in collection.blocks():
        if is_id and str(query) in block.qids.tolist():
            return first, block
        numbers = [] if is_id else _numbers_of_text(block, str(query))
        matches += [str(block.qids[number]) for number in numbers]
        if numbers and result is None:
            result = first, block
        first += len(block)
    if len(matches) > 1:
        raise _several(query, matches)
    if result is None:
        raise UnknownNameError("query", str(query), qids)
    return result


def _numbers_of_text(data: RankingData, text: str) -> list[int]:
    """Return the numbers of the queries that have a text."""
    return [i for i, own in enumerate(data.query_text or ()) if _plain(own) == _plain(text)]


def _several(query: str | int, qids: Sequence[str]) -> UsageError:
    listed = ", ".join(qids[:MAX_LISTED_QUERIES])
    return UsageError(
        f"expected the text of one query, got {str(query)!r:.80}, which is the text of "
        f"{len(qids)} queries; name one by its id: {listed}"
    )


def _missing_query(example: str) -> UsageError:
    return UsageError(
        f"expected the id or the text of a query, got none; as in explain(data, {example!r:.80})"
    )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())

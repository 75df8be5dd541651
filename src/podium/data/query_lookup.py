"""Query lookup: a query of ranking data by its id, or by its text."""

from __future__ import annotations

from podium.data.ranking_data import RankingData
from podium.errors import UnknownNameError, UsageError

MAX_LISTED_QUERIES = 20


def query_number(data: RankingData, query: str | int) -> int:
    """Return the number of the query that has this id, or else this text.

    Texts are compared without case and without additional spaces. Raises UnknownNameError if there is
    no such query, and UsageError if several queries have the text.

    Examples
    --------
    >>> data = RankingData.from_arrays(
    ...     [[1.0], [2.0]], [0, 1], qid=["q1", "q2"], query_text=["red shoes", "blue hat"]
    ... )
    >>> query_number(data, "q2"), query_number(data, "Red  Shoes")
    (1, 0)
    """
    numbers = {qid: number for number, qid in enumerate(data.qids.tolist())}
    if str(query) in numbers:
        return numbers[str(query)]
    texts = list(data.query_text or ())
    matches = [i for i, text in enumerate(texts) if _plain(text) == _plain(str(query))]
    if not matches:
        raise UnknownNameError("query", str(query), [*numbers, *dict.fromkeys(filter(None, texts))])
    if len(matches) > 1:
        listed = ", ".join(str(data.qids[number]) for number in matches[:MAX_LISTED_QUERIES])
        raise UsageError(
            f"expected the text of one query, got {str(query)!r:.80}, which is the text of "
            f"{len(matches)} queries; name one by its id: {listed}"
        )
    return matches[0]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())

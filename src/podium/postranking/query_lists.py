"""The lists of all queries, from a run, from ranking data with scores, or from a mapping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from podium.data.ranking_data import RankingData
from podium.data.trec import Run
from podium.errors import ConflictError, DataError, NonFiniteError, UndecidedError, UsageError
from podium.postranking.list_input import Catalogue, look_up, read_list
from podium.postranking.listing import Listing
from podium.postranking.rules.field_conditions import Fields
from podium.typing import Floats

Lists = Mapping[str, Sequence[Any]]
"""Documents best first, ids or records, by query id."""


class QueryList(NamedTuple):
    """A query, its text, and its list, best first."""

    qid: str
    text: str
    listing: Listing
    scores: Floats | None


def lists_of(
    run: Run | RankingData | Lists,
    scores: ArrayLike | None,
    queries: Mapping[str, str] | None,
    fields: Catalogue | None,
) -> Iterator[QueryList]:
    """Yield every list of a run, best first."""
    if isinstance(run, Mapping):
        yield from _lists_of_mapping(run, scores, queries, fields)
        return
    values, docids = _columns(run, scores)
    order = run.groups.order(values)
    own = run.query_text if isinstance(run, RankingData) else None
    texts = _query_texts(run.qids.tolist(), queries, own)
    rows_fields = _row_fields(run) if fields is None else None
    for qid, text, places in zip(run.qids.tolist(), texts, run.groups.slices(), strict=True):
        rows = order[places].tolist()
        docs = [docids[row] for row in rows]
        records: Sequence[Fields] | None = None
        if fields is not None:
            records = look_up(fields, docs)
        elif rows_fields is not None:
            records = [rows_fields[row] for row in rows]
        with errors_naming(qid):
            listing = Listing.of(docs, records)
        yield QueryList(qid, text, listing, values[rows])


def _columns(run: Run | RankingData, scores: ArrayLike | None) -> tuple[Floats, list[str]]:
    """Return scores and document ids, one per row."""
    if isinstance(run, RankingData):
        if scores is None:
            raise UsageError("ranking data needs scores, one per row; use scores=...")
        return run.check_scores(scores), list(run.require_docids("post-ranking"))
    if not isinstance(run, Run):
        raise UsageError(
            "expected a Run, RankingData with scores, or lists by query id, got "
            f"{type(run).__name__}; for one list use postrank"
        )
    if scores is not None:
        raise UsageError("a run already has scores; leave out scores=...")
    if not np.isfinite(run.values).all():
        raise NonFiniteError("a score of the run is infinite or NaN; expected finite scores")
    return run.values, list(run.docids)


def _lists_of_mapping(
    run: Lists,
    scores: ArrayLike | None,
    queries: Mapping[str, str] | None,
    fields: Catalogue | None,
) -> Iterator[QueryList]:
    """Yield every list of a mapping, with scores if it is the list of a ranker."""
    if scores is not None:
        raise UsageError("lists by query id are best first already; leave out scores=...")
    for qid in run:
        if not isinstance(qid, str):
            raise UsageError(f"expected text as ids of queries, got {qid!r}")
    for qid, text in zip(run, _query_texts(list(run), queries), strict=True):
        with errors_naming(qid):
            listing, values = read_list(run[qid], None, fields)
        yield QueryList(qid, text, listing, values)


def _query_texts(
    qids: list[str], queries: Mapping[str, str] | None, own: Iterable[str] | None = None
) -> list[str]:
    if queries is None:
        return qids if own is None else list(own)
    if not isinstance(queries, Mapping):
        raise UsageError(
            f"expected queries as a mapping of ids to texts, got {type(queries).__name__}"
        )
    texts = [queries.get(qid, qid) for qid in qids]
    for qid, text in zip(qids, texts, strict=True):
        if not isinstance(text, str):
            raise UsageError(f"expected text for query {qid!r}, got {text!r}")
    return texts


def _row_fields(run: Run | RankingData) -> list[Fields] | None:
    """Return the texts of ranking data as fields, one record per row."""
    texts = run.doc_text if isinstance(run, RankingData) else {}
    if not texts:
        return None
    columns = [list(column) for column in texts.values()]
    return [dict(zip(texts, row, strict=True)) for row in zip(*columns, strict=True)]


def own_fields(run: Run | RankingData | Lists) -> Catalogue | None:
    """Return the names of all fields of ranking data, as the record of one document."""
    texts = run.doc_text if isinstance(run, RankingData) else {}
    return {None: dict(texts)} if texts else None


@contextmanager
def errors_naming(qid: str) -> Iterator[None]:
    """Add the query to the message of every error raised inside."""
    try:
        yield
    except ConflictError as error:
        located = ConflictError(f"query {qid!r}: {error.args[0]}", error.rules)
        raise located.keep_advice(error) from error
    except (UndecidedError, DataError) as error:
        kind = UndecidedError if isinstance(error, UndecidedError) else DataError
        raise kind(f"query {qid!r}: {error.args[0]}").keep_advice(error) from error

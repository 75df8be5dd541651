"""The input of one list: ids or records, best first, with the model's scores."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UsageError,
)
from podium.postranking.listing import Listing
from podium.postranking.number_input import to_floats
from podium.postranking.rules.field_conditions import Fields, short_repr
from podium.rankers.ranked_lists import RankedList
from podium.typing import Document, Floats

Catalogue = Mapping[Any, Fields]
"""The fields of documents by their ids."""


def read_list(
    docs: Sequence[Any] | RankedList,
    scores: ArrayLike | None = None,
    fields: Catalogue | None = None,
) -> tuple[Listing, Floats | None]:
    """Return the documents in their original order, with their scores.

    A list that a ranker returns brings its scores, unless `scores` are others.
    """
    if isinstance(docs, RankedList):
        scores = docs.scores if scores is None else scores
        docs = _ranked_ids(docs)
    ids, records = _read_documents(docs)
    if fields is not None and records is not None:
        raise UsageError(
            "the fields of documents are given twice: in the records and as "
            "fields=...; expected one of the two"
        )
    try:
        listing = Listing.of(ids, records)
    except TypeError:
        wrong = next(doc for doc in ids if not _is_hashable(doc))
        raise UsageError(
            f"expected documents as ids, or as records with an 'id', got {short_repr(wrong)}"
        ) from None
    if fields is not None:
        listing = replace(listing, fields=look_up(fields, ids))
    if None in listing.row:
        raise DataError(f"expected an id for each document, got None at {listing.row[None] + 1}")
    if scores is None:
        return listing, None
    list_scores = _read_scores(scores, ids)
    if (list_scores[1:] <= list_scores[:-1]).all():  # most lists come in the order of their scores
        return listing, list_scores
    order = np.argsort(-list_scores, kind="stable")
    return listing.take(order.tolist()), list_scores[order]


def read_insertable(docs: Sequence[Any] | None, fields: Catalogue | None) -> Catalogue | None:
    """Return the documents that rules may insert, with their fields: own ones, then the catalogue's."""
    if docs is None:
        return fields
    ids, records = _read_documents(docs)
    own = dict(zip(ids, records or [{}] * len(ids), strict=True))
    if len(own) < len(ids):
        raise DataError("expected each document to insert once, got one twice")
    return own if fields is None else ChainMap(own, cast("dict[Any, Fields]", fields))


def _ranked_ids(ranked: RankedList) -> tuple[str, ...]:
    if ranked.docids is None:
        raise DataError(
            f"the ranked list of query {ranked.qid!r} has no document ids; rules need them"
        ).advise(
            python="make the data with docid=..., then rank it again",
            command_line="name the column of documents with --doc",
        )
    return ranked.docids


def look_up(fields: Catalogue, ids: Sequence[Document]) -> list[Fields]:
    """Return the fields of documents; a document without an entry has none."""
    if not isinstance(fields, Mapping):
        raise UsageError(
            f"expected fields as a mapping of ids to fields, got {type(fields).__name__}"
        )
    records = [fields.get(doc, {}) for doc in ids]
    if not all(isinstance(values, Mapping) for values in records):
        at = next(i for i, values in enumerate(records) if not isinstance(values, Mapping))
        raise UsageError(
            f"expected the fields of {ids[at]!r} as a mapping, got {short_repr(records[at])}"
        )
    return records


def _read_documents(docs: Any) -> tuple[list[Document], list[Fields] | None]:
    """Return the ids of documents, and their records if they are records."""
    expected = "expected a list of documents, best first"
    if isinstance(docs, str | bytes):
        raise UsageError(
            f"{expected}, got the text {docs[:40]!r}; put ids into a list, as in ['a', 'b']"
        )
    if isinstance(docs, Mapping | Set):
        raise UsageError(f"{expected}, got a {type(docs).__name__}, which has no order")
    if hasattr(docs, "columns"):
        raise UsageError(
            f"{expected}, got a {type(docs).__name__}; use its column of ids, or its rows as "
            "records (pandas: to_dict('records'), polars: to_dicts(), pyarrow: to_pylist())"
        )
    try:
        listed = docs.tolist() if isinstance(docs, np.ndarray) else list(docs)
    except TypeError:
        raise UsageError(f"{expected}, got {short_repr(docs)}") from None
    if not listed:
        return [], None
    if isinstance(listed[0], tuple):
        raise UsageError(f"{expected} as ids or records, got the tuple {short_repr(listed[0])}")
    if not isinstance(listed[0], Mapping):
        return listed, None
    for at, record in enumerate(listed, start=1):
        if not isinstance(record, Mapping) or "id" not in record:
            raise DataError(
                f"expected a record with an 'id' for each document, got {short_repr(record)} at {at}"
            )
    return [record["id"] for record in listed], listed


def _read_scores(scores: ArrayLike, ids: Sequence[Document]) -> Floats:
    list_scores = to_floats(scores, "scores")
    if list_scores.shape != (len(ids),):
        raise LengthMismatchError(
            f"expected a score for each of {len(ids)} documents, got {list_scores.shape}"
        )
    if not np.isfinite(list_scores).all():
        at = int(np.argmin(np.isfinite(list_scores)))
        raise NonFiniteError(f"expected finite scores, got {list_scores[at]} for {ids[at]!r}")
    return list_scores


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True

"""One list as people give it: ids or records, with the model's scores, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.errors import (
    DataError,
    LengthMismatchError,
    NonFiniteError,
    UsageError,
)
from podium.postranking.binding import Listing
from podium.postranking.methods.problem import Floats, floats
from podium.postranking.rules.conditions import Fields, short
from podium.postranking.rules.selectors import Document

Catalogue = Mapping[Any, Fields]
"""The fields of documents by their ids."""


def read_list(
    docs: Sequence[Any], scores: ArrayLike | None = None, fields: Catalogue | None = None
) -> tuple[Listing, Floats | None]:
    """The documents in their original order, with their scores."""
    ids, records = _documents(docs)
    if fields is not None and records is not None:
        raise UsageError("expected fields in the documents or beside them, got both")
    try:
        listing = Listing.of(ids, records)
    except TypeError:
        odd = next(doc for doc in ids if not _is_hashable(doc))
        raise UsageError(
            f"expected documents as ids, or as records with an 'id', got {short(odd)}"
        ) from None
    if fields is not None:
        listing = replace(listing, fields=look_up(fields, ids))
    if None in listing.row:
        raise DataError(f"expected an id for each document, got None at {listing.row[None] + 1}")
    if scores is None:
        return listing, None
    model = _model(scores, ids)
    order = np.argsort(-model, kind="stable")
    return listing.take(order.tolist()), model[order]


def look_up(fields: Catalogue, ids: Sequence[Document]) -> list[Fields]:
    """The fields of documents; a document that is not in the catalogue has none."""
    if not isinstance(fields, Mapping):
        raise UsageError(
            f"expected fields as a mapping of ids to fields, got {type(fields).__name__}"
        )
    records = [fields.get(doc, {}) for doc in ids]
    if not all(isinstance(values, Mapping) for values in records):
        at = next(i for i, values in enumerate(records) if not isinstance(values, Mapping))
        raise UsageError(f"expected a mapping of fields for {ids[at]!r}, got {short(records[at])}")
    return records


def _documents(docs: Any) -> tuple[list[Document], list[Fields] | None]:
    """Ids, and the records they came in."""
    what = "expected a list of documents, best first"
    if isinstance(docs, str | bytes):
        raise UsageError(f"{what}, got the text {docs[:40]!r}; list(text) are its letters")
    if isinstance(docs, Mapping | Set):
        raise UsageError(f"{what}, got a {type(docs).__name__}, which has no order")
    if hasattr(docs, "columns"):
        raise UsageError(
            f"{what}, got a {type(docs).__name__}; give its column of ids, or its rows as records "
            "(pandas: to_dict('records'), polars: to_dicts(), pyarrow: to_pylist())"
        )
    try:
        listed = docs.tolist() if isinstance(docs, np.ndarray) else list(docs)
    except TypeError:
        raise UsageError(f"{what}, got {short(docs)}") from None
    if not listed:
        return [], None
    if isinstance(listed[0], tuple):
        raise UsageError(f"{what} as ids or records, got the tuple {short(listed[0])}")
    if not isinstance(listed[0], Mapping):
        return listed, None
    for at, record in enumerate(listed, start=1):
        if not isinstance(record, Mapping) or "id" not in record:
            raise DataError(
                f"expected a record with an 'id' for each document, got {short(record)} at {at}"
            )
    return [record["id"] for record in listed], listed


def _model(scores: ArrayLike, ids: Sequence[Document]) -> Floats:
    model = floats(scores, "scores")
    if model.shape != (len(ids),):
        raise LengthMismatchError(
            f"expected a score for each of {len(ids)} documents, got {model.shape}"
        )
    if not np.isfinite(model).all():
        at = int(np.argmin(np.isfinite(model)))
        raise NonFiniteError(f"expected finite scores, got {model[at]} for {ids[at]!r}")
    return model


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True

"""Judgments and runs from columns of query ids, document ids and values, as other packages give them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from podium.data import Groups, Qrels, Run
from podium.data.packed_strings import Strings
from podium.data.trec import DocumentValues
from podium.errors import DataError, EmptyDataError

Kind = TypeVar("Kind", bound=DocumentValues)


def qrels_of(rows: Iterable[tuple[object, object, float]], source: str) -> Qrels:
    """Return the qrels of rows (query id, document id, label); `source` names them in errors.

    Examples
    --------
    >>> qrels = qrels_of([("q1", "a", 2), ("q2", "a", 0), ("q1", "b", 1)], "the table")
    >>> qrels, list(qrels.docids), qrels.values.tolist()
    (Qrels(2 queries, 3 documents), ['a', 'b', 'a'], [2.0, 1.0, 0.0])
    """
    return _group(Qrels, rows, source)


def run_of(rows: Iterable[tuple[object, object, float]], source: str) -> Run:
    """Return the run of rows (query id, document id, score)."""
    return _group(Run, rows, source)


def _group(kind: type[Kind], rows: Iterable[tuple[object, object, float]], source: str) -> Kind:
    values: dict[str, dict[str, float]] = {}
    for qid, docid, value in rows:
        own = values.setdefault(str(qid), {})
        if str(docid) in own:
            raise DataError(
                f"{source}: query {str(qid)!r:.80} has document {str(docid)!r:.80} twice; expected each "
                "document once"
            )
        own[str(docid)] = float(value)
    if not values:
        raise EmptyDataError(f"{source}: expected at least one document, got none")
    return kind(
        np.array([*values], dtype=object),
        Groups.from_sizes([len(own) for own in values.values()]),
        Strings.of(docid for own in values.values() for docid in own),
        np.array([value for own in values.values() for value in own.values()]),
    )

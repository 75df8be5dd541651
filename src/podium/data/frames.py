"""Data frames of any make (pandas, polars, pyarrow) in and out, through narwhals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np

from podium.data.arrays import is_missing
from podium.data.ranking_data import Missing, RankingData
from podium.errors import DataError, UsageError, require

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS = get_args(Backend)


def from_frame(
    frame: Any,
    label: str | None = "label",
    query: str = "qid",
    features: Sequence[str] | None = None,
    doc: str | None = None,
    *,
    weight: str | None = None,
    query_text: str | None = None,
    doc_text: Sequence[str] = (),
    topk: int | None = None,
    scaled: str | None = None,
    missing: Missing = "error",
) -> RankingData:
    """A table with one row a document -> RankingData.

    Parameters
    ----------
    label, query, doc, weight, query_text
        Column names; label=None: documents to be scored, all with label 0.
    features
        Columns to use; by default every other column, which must then be a number.
    doc_text
        Columns that people read (title, body).
    topk, scaled, missing
        As in RankingData.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"qid": [1, 1], "label": [1, 0], "bm25": [2.5, 0.5], "id": ["a", "b"]})
    >>> data = from_frame(df, doc="id")
    >>> data.feature_names, data.docids.tolist()
    (('bm25',), ['a', 'b'])
    """
    table = nw.from_native(frame, eager_only=True)
    if isinstance(features, str):
        raise UsageError(f"expected a list of feature columns, got the text {features!r}")
    if doc is None and features is None and "docid" in table.columns:
        doc = "docid"  # what to_frame writes
    named = [c for c in (label, query, doc, weight, query_text) if c] + list(doc_text)
    missing_columns = [c for c in (*named, *(features or ())) if c not in table.columns]
    if missing_columns:
        raise DataError(
            f"expected columns {', '.join(missing_columns)}; the table has {', '.join(table.columns)}"
        )
    chosen = (
        list(features) if features is not None else [c for c in table.columns if c not in named]
    )
    if not chosen:
        raise DataError(f"expected feature columns beside {', '.join(named)}, got none")
    odd = [c for c in chosen if not (table[c].dtype.is_numeric() or table[c].dtype == nw.Boolean)]
    if odd:
        raise DataError(
            f"expected features that are numbers, got text or dates in {', '.join(odd)}; "
            "name the feature columns with features=[...]"
        )
    single = all(table[c].dtype == nw.Float32 for c in chosen)
    X = np.empty((len(table), len(chosen)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(chosen):
        values = table[column]
        X[:, j] = (values.cast(nw.Float64) if values.dtype == nw.Boolean else values).to_numpy()

    def texts(column: str | None) -> list[str] | None:
        return None if column is None else [_text(v) for v in table[column].to_list()]

    return RankingData.from_arrays(
        X,
        np.zeros(len(table)) if label is None else table[label].to_numpy(),
        qid=table[query].to_numpy()
        if table[query].dtype.is_float()
        else np.array(table[query].to_list(), dtype=object),
        docid=texts(doc),
        query_weight=None if weight is None else table[weight].to_numpy(),
        query_text=texts(query_text),
        doc_text={c: texts(c) or [] for c in doc_text},
        feature_names=chosen,
        topk=topk,
        scaled=scaled,
        missing=missing,
    )


def to_frame(data: RankingData, backend: Backend = "pandas") -> Any:
    """RankingData -> a table: qid, label, docid (where known), then the features.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> to_frame(make_synthetic(n_queries=2, seed=0), "polars").columns[:3]
    ['qid', 'label', 'docid']
    """
    if backend not in BACKENDS:
        raise UsageError(f"expected backend {', '.join(BACKENDS)}, got {backend!r}")
    require(backend, "arrow" if backend == "pyarrow" else None, f"a {backend} table")
    columns: dict[str, Any] = {"qid": data.groups.spread(data.qids).tolist(), "label": data.y}
    if data.docid_column is not None:
        columns["docid"] = list(data.docid_column)
    clash = set(columns) & set(data.names())
    if clash:
        raise DataError(
            f"expected features not called {', '.join(sorted(clash))}; rename them first"
        )
    if len(set(data.names())) < data.n_features:
        raise DataError("expected feature names that are unique, got a name twice")
    columns |= {name: data.X[:, j] for j, name in enumerate(data.names())}
    return nw.from_dict(columns, backend=backend).to_native()


def _text(value: object) -> str:
    return "" if is_missing(value) else str(value)

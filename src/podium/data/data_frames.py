"""Data frames (pandas, polars, pyarrow) as columns of ranking data and back, through narwhals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np

from podium.data.categories import (
    ONE_HOT,
    Category,
    CategoryForm,
    category_word,
    check_forms,
    read_category,
)
from podium.data.query_ids import is_missing
from podium.data.ranking_columns import Missing, RankingColumns
from podium.errors import DataError, UsageError, require
from podium.typing import Floats, Matrix

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS = get_args(Backend)
TRUTH_NUMBERS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Words that count as numbers if a column has no others."""


def read_frame(
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
    needs_features: bool = True,
    categories: Mapping[str, CategoryForm] | None = None,
    path: str | None = None,
) -> dict[str, Any]:
    """Return the arguments of ``RankingData.from_arrays`` for a table; see ``from_frame`` there."""
    others = (label, query, doc, query_text, *doc_text, *(categories or {}))
    table, _ = _with_truth_numbers(nw.from_native(frame, eager_only=True), others)
    if isinstance(features, str):
        raise UsageError(f"expected a list of feature columns, got the text {features!r}")
    if doc is None and features is None and "docid" in table.columns:
        doc = "docid"  # what make_frame writes
    other_columns = [c for c in (label, query, doc, weight, query_text) if c] + list(doc_text)
    forms = _declared_forms(table, features, other_columns, categories or {})
    feature_columns = _choose_features(table, features, other_columns, needs_features, forms)
    words = {
        name: read_category(
            table[name].to_list(), form, name, keep_missing=missing == "nan", path=path
        )
        for name, form in forms.items()
    }

    def texts(column: str | None) -> list[str] | None:
        return None if column is None else [_to_text(v) for v in table[column].to_list()]

    return {
        "X": _feature_matrix(table, feature_columns, {n: codes for n, (_, codes) in words.items()}),
        "y": np.zeros(len(table)) if label is None else table[label].to_numpy(),
        "qid": table[query].to_numpy()
        if table[query].dtype.is_float()
        else np.array(table[query].to_list(), dtype=object),
        "docid": texts(doc),
        "query_weight": None if weight is None else table[weight].to_numpy(),
        "query_text": texts(query_text),
        "doc_text": {c: texts(c) or [] for c in doc_text},
        "feature_names": feature_columns,
        "topk": topk,
        "scaled": scaled,
        "missing": missing,
        "categories": {name: category for name, (category, _) in words.items()},
    }


def _declared_forms(
    table: Any, features: Sequence[str] | None, other_columns: Sequence[str],
    categories: Mapping[str, CategoryForm],
) -> dict[str, CategoryForm]:  # fmt: skip
    """Return the categories: features of a categorical type, and what `categories` says."""
    types = dict(table.schema)
    chosen = [c for c in types if c not in other_columns] if features is None else features
    typed = {c: form for c in chosen if c in types and (form := type_form(types[c]))}
    return typed | check_forms(categories)


def _choose_features(
    table: Any, features: Sequence[str] | None, other_columns: Sequence[str], needs_features: bool,
    categories: Iterable[str] = (),
) -> list[str]:  # fmt: skip
    """The feature columns: those given, or all but the others; raises unless they hold numbers."""
    absent = [c for c in (*other_columns, *(features or ())) if c not in table.columns]
    if absent:
        raise DataError(
            f"expected columns {', '.join(absent)}; the table has {', '.join(table.columns)}"
        )
    if features is None:
        features = [c for c in table.columns if c not in other_columns]
    if not features and needs_features:
        raise DataError(f"expected feature columns beside {', '.join(other_columns)}, got none")
    dtypes = {c: table[c].dtype for c in features if c not in categories}
    no_numbers = [c for c, t in dtypes.items() if not (t.is_numeric() or t == nw.Boolean)]
    if no_numbers:
        raise DataError(
            f"expected features that are numbers, got text or dates in {', '.join(no_numbers)}"
        ).advise(
            python="name the feature columns with features=[...], or those of words with "
            "categories=[...]",
            command_line=f"name them with --features, or add --ignore {','.join(no_numbers)} or "
            f"--categories {','.join(no_numbers)}",
        )
    return list(features)


def encode_frame(
    frame: Any, missing: Missing, declared: Mapping[str, CategoryForm] | None = None
) -> tuple[Matrix, dict[str, Category]] | None:
    """Return the features of a frame that has columns of words, and their categories.

    Columns of a categorical type are categories; an ordered one (an Enum) has its words in order. With
    `declared`, these columns are categories, whatever their type. Returns None for anything but a frame
    with such columns. Raises DataError if words are in other columns.
    """
    table = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return None
    table, has_truths = _with_truth_numbers(table, declared or {})
    types = dict(table.schema)
    words = [c for c, t in types.items() if not (t.is_numeric() or t == nw.Boolean)]
    forms = dict(declared or {}) or {c: form for c in words if (form := type_form(types[c]))}
    undeclared = [c for c in words if c not in forms and not _spells_numbers(table[c])]
    if not undeclared and not forms and not has_truths:
        return None
    if undeclared:
        raise DataError(
            f"expected features that are numbers or categories, got other columns: {', '.join(undeclared)}"
        ).advise(
            python="declare words by their type, as in "
            f"X.astype({dict.fromkeys(undeclared, 'category')!r}), or with RankingData.from_frame(..., "
            f"categories={undeclared!r}); or leave them out",
            command_line=f"declare words with --categories {','.join(undeclared)}",
        )
    encoded = {
        name: read_category(table[name].to_list(), form, name, keep_missing=missing == "nan")
        for name, form in forms.items()
        if name in types
    }
    codes = {name: own for name, (_, own) in encoded.items()}
    return (
        _feature_matrix(table, table.columns, codes),
        {name: category for name, (category, _) in encoded.items()},
    )


def _with_truth_numbers(table: Any, others: Iterable[str | None]) -> tuple[Any, bool]:
    """Return a table in which columns of yes and no, or true and false, are 1 and 0, and whether it has any.

    Files of tables are read so, too. `others` are columns that stay as they are.
    """
    columns = []
    for name, kind in table.schema.items():
        if name in others or not (kind == nw.String or kind == nw.Object):
            continue
        values = table[name].to_list()
        texts = {value.strip().lower() for value in values if isinstance(value, str)}
        if texts and texts <= {*TRUTH_NUMBERS} and all(map(_is_text_or_missing, values)):
            numbers = [
                TRUTH_NUMBERS[value.strip().lower()] if isinstance(value, str) else np.nan
                for value in values
            ]
            columns.append(nw.new_series(name, numbers, nw.Float64, backend=table.implementation))
    return table.with_columns(*columns) if columns else table, bool(columns)


def with_truth_numbers(X: Any) -> Any:
    """Return a frame whose columns of yes and no, or true and false, are 1 and 0; other inputs unchanged."""
    table = nw.from_native(X, eager_only=True, pass_through=True)
    return _with_truth_numbers(table, ())[0].to_native() if isinstance(table, nw.DataFrame) else X


def _is_text_or_missing(value: object) -> bool:
    return isinstance(value, str) or is_missing(value)


def holds_words(frame: Any, categories: Mapping[str, Category]) -> bool:
    """Whether a frame has words of these categories, and no codes: numbers that are no word of them."""
    table = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return False
    numeric = [c for c in categories if c in table.columns and table[c].dtype.is_numeric()]
    return all(
        {category_word(value) for value in table[name].to_list()} & {None, *categories[name].words}
        for name in numeric
    )


def _spells_numbers(column: Any) -> bool:
    """Whether a column of another type holds numbers, as Python's objects or as text."""
    try:
        column.to_numpy().astype(np.float64)
    except (TypeError, ValueError):
        return False
    return not column.dtype.is_temporal()


def type_form(dtype: Any) -> CategoryForm | None:
    """Return what the type of a column says about a category; None if it is another type."""
    if isinstance(dtype, nw.Enum):
        return tuple(map(str, dtype.categories))
    return ONE_HOT if dtype == nw.Categorical else None


def _feature_matrix(table: Any, columns: Sequence[str], codes: Mapping[str, Floats]) -> Matrix:
    """The columns as a matrix, of float32 if all of them are; categories as codes."""
    single = all(table[c].dtype == nw.Float32 for c in columns)
    X = np.empty((len(table), len(columns)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        if column in codes:
            X[:, j] = codes[column]
            continue
        values = table[column]
        X[:, j] = (values.cast(nw.Float64) if values.dtype == nw.Boolean else values).to_numpy()
    return X


def make_frame(data: RankingColumns, backend: Backend = "pandas") -> Any:
    """Return a table: qid, label, docid (if there are ids), then the features."""
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
    for j, category in data.category_columns():
        columns[data.names()[j]] = [category.decode(code) or None for code in data.X[:, j]]
    return nw.from_dict(columns, backend=backend).to_native()


def _to_text(value: object) -> str:
    return "" if is_missing(value) else str(value)

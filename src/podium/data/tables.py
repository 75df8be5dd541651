"""Tables of one row per document (CSV, TSV, JSON lines, Parquet, Arrow, data frames) as ranking data."""

from __future__ import annotations

import os
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium.data.arrow_files import ARROW_ENDINGS, read_arrow_file
from podium.data.categories import Category, check_forms, read_category
from podium.data.columns import TEXT_NAMES, Columns, read_columns, text_field
from podium.data.csv_text import CsvTable, read_csv, read_head, resolve_columns, stream_csv
from podium.data.data_frames import read_frame, type_form
from podium.data.duplicate_documents import (
    KEEP_FIRST_IN_PYTHON,
    settle_repeats,
    warn_of_duplicates,
)
from podium.data.feature_matrix import MAX_DENSE_BYTES, check_memory
from podium.data.json_lines import read_json_lines
from podium.data.query_ids import ids_of_texts
from podium.data.ranking_columns import Missing
from podium.data.ranking_data import RankingData
from podium.data.table_checks import (
    TableValues,
    unknown_grade,
    wrong_labels,
    wrong_query_ids,
    wrong_weights,
)
from podium.data.text_files import Progress, stem
from podium.data.word_grades import find_word_grades, word_grades_error
from podium.errors import (
    DataError,
    DuplicateDocumentWarning,
    EmptyDataError,
    LeftOutColumnsWarning,
    MalformedLineError,
    MissingValueError,
    UsageError,
    require,
)
from podium.typing import Floats, Path_

TABLE_ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json",
    **{ending: kind.lower() for ending, kind in ARROW_ENDINGS.items()},
}  # fmt: skip


def is_table(path: Path_) -> bool:
    """Whether a file is a table, by its ending."""
    return Path(stem(path)).suffix.lower() in TABLE_ENDINGS


def is_csv(path: Path_) -> bool:
    """Whether a file is CSV or TSV, by its ending."""
    return TABLE_ENDINGS.get(Path(stem(path)).suffix.lower()) == "csv"


def read_table(
    source: Path_ | Any,
    *,
    query: str | None = None,
    doc: str | None = None,
    label: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    text: Sequence[str] = (),
    weight: str | None = None,
    query_text: str | None = None,
    categories: Mapping[str, str | Sequence[str]] | Sequence[str] = (),
    grades: Mapping[str, float] | None = None,
    separator: str | None = None,
    decimal: str = ".",
    thousands: str = "",
    columns: Columns | Path_ | None = None,
    labelled: bool = True,
    missing: Missing = "error",
    dtype: DTypeLike | None = None,
    max_bytes: int = MAX_DENSE_BYTES,
    progress: Progress | None = None,
) -> RankingData:
    """Read a table with one row per document, with columns by any names.

    Columns that are not named are found by usual names: ``query_id`` or ``search_id`` for the query,
    ``grade`` or ``rating`` for the label, ``product_id`` or ``url`` for the document, and so on. All
    other columns of numbers are the features. Columns of words are left out with a
    `LeftOutColumnsWarning`, unless `categories`, `text` or `ignore` names them. Columns of a data frame
    that have a categorical type are categories.

    Parameters
    ----------
    source
        A path (``.csv .tsv .jsonl .parquet .arrow``, text also compressed), or a data frame of
        pandas, polars or pyarrow.
    query, doc, label, weight, query_text, features, ignore, text, categories
        As in ``podium.data.Columns``.
    grades, separator, decimal, thousands
        As in ``podium.data.Columns``.
    columns
        All of these in one object instead, or the path of a ``columns.yaml``.
    labelled
        False: the table may lack labels (documents to be scored).
    missing
        What an empty field means: "error", or "nan" to keep it as NaN.
    dtype
        float32 or float64; None: float64, or float32 where all features of a frame are.
    max_bytes
        Bytes that the feature matrix may take.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "shop.csv"
    >>> _ = path.write_text("search_id,sku,grade,price\\n7,a1,2,9.5\\n7,b2,0,12\\n")
    >>> data = read_table(path)
    >>> data.feature_names, data.docids.tolist(), data.y.tolist()
    (('price',), ['a1', 'b2'], [2.0, 0.0])
    """
    if columns is None:
        columns = Columns(
            query=query, doc=doc, label=label, weight=weight, query_text=query_text,
            features=None if features is None else _names(features), ignore=_names(ignore),
            text=_names(text), categories=check_forms(categories), grades=dict(grades or {}),
            separator=separator, decimal=decimal, thousands=thousands,
        )  # fmt: skip
    elif not isinstance(columns, Columns):
        columns = read_columns(columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DuplicateDocumentWarning)
        data, resolved = read_table_as(
            source, columns, labelled=labelled, missing=missing, dtype=dtype, max_bytes=max_bytes,
            progress=progress,
        )  # fmt: skip
    for warning in caught:  # named at the line of the caller
        if warning.category is not DuplicateDocumentWarning:
            warnings.warn(warning.message, stacklevel=2)
        elif columns.repeated == "keep":
            message = f"{warning.message}; {KEEP_FIRST_IN_PYTHON}"
            warnings.warn(message, DuplicateDocumentWarning, stacklevel=2)
    _warn_of_words(source, [name for role, name in resolved.guesses if role == "ignore"])
    return settle_repeats(data, columns.repeated)


def _warn_of_words(source: Path_ | Any, names: Sequence[str]) -> None:
    """Warn of columns of words that are left out, and say how to use them."""
    if not names:
        return
    place = f"{os.fspath(source)}: " if isinstance(source, str | os.PathLike) else ""
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    shortened = repr(list(names[:3]))[:-1] + (", ...]" if len(names) > 3 else "]")
    warnings.warn(
        f"{place}columns of words are left out: {listed}; use them as features with categories={shortened}, "
        f"as text with text={shortened}, or leave them out with ignore={shortened}",
        LeftOutColumnsWarning,
        stacklevel=3,
    )


def read_table_as(
    source: Path_ | Any,
    columns: Columns,
    *,
    labelled: bool = True,
    missing: Missing = "error",
    dtype: DTypeLike | None = None,
    max_bytes: int = MAX_DENSE_BYTES,
    progress: Progress | None = None,
) -> tuple[RankingData, Columns]:
    """Read a table as `read_table` does; return also what each column was taken as."""
    if not isinstance(source, str | os.PathLike):
        return _from_frame(source, columns, labelled, missing, dtype, max_bytes)
    path = os.fspath(source)
    kind = TABLE_ENDINGS.get(Path(stem(path)).suffix.lower())
    if kind == "csv":
        try:
            table = read_csv(
                path, columns, labelled=labelled, missing=missing, dtype=dtype or np.float64,
                max_bytes=max_bytes, progress=progress,
            )  # fmt: skip
            return _from_csv(table, missing), table.columns
        except MalformedLineError:
            _check_word_grades(path, columns, labelled)
            raise
        except MissingValueError as error:
            label = columns.label or error.column
            is_label = resolve_columns(read_head(path, columns), columns, labelled, path).label
            if labelled or label is None or error.column != is_label:
                raise
        # Documents to be scored need no labels: a column with empty labels is left out.
        unlabelled = replace(columns, label=None, ignore=(*columns.ignore, label))
        return read_table_as(
            path, unlabelled, labelled=False, missing=missing, dtype=dtype, max_bytes=max_bytes,
            progress=progress,
        )  # fmt: skip
    if kind is None:
        raise UsageError(
            f"expected a file that ends in {', '.join(TABLE_ENDINGS)}, got {os.path.basename(path)}"
        )
    frame = _json_frame(path) if kind == "json" else read_arrow_file(path)
    return _from_frame(frame, columns, labelled, missing, dtype, max_bytes, path)


def _check_word_grades(path: str, columns: Columns, labelled: bool) -> None:
    """Raise with all words of the labels, if they are words."""
    head = read_head(path, columns)
    columns = resolve_columns(head, columns, labelled, path)
    error = find_word_grades(path, head, columns)
    if error is not None:
        raise error from None


def stream_csv_table(
    path: str,
    columns: Columns,
    rows: int,
    *,
    missing: Missing = "error",
    dtype: DTypeLike = np.float64,
    tell_columns: Callable[[str, Columns], None] | None = None,
    progress: Progress | None = None,
) -> Iterator[RankingData]:
    """Yield the documents of a CSV file, about `rows` at a time; a query may go on in the next data set."""
    tables = stream_csv(path, columns, rows, missing=missing, dtype=dtype, progress=progress)
    for number, table in enumerate(tables):
        if number == 0 and tell_columns is not None:
            tell_columns(path, table.columns)
        yield _from_csv(table, missing)


def _names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise UsageError(f"expected a list of column names, got the text {names!r}")
    return tuple(names)


def _from_csv(table: CsvTable, missing: Missing) -> RankingData:
    columns, texts = table.columns, table.texts
    assert columns.query is not None
    values = TableValues(columns, table.numbers, texts, table.path, keeps_missing=missing == "nan")
    for error in wrong_query_ids(values, len(table.X), table.line_of):
        raise error
    for error in wrong_weights(values, len(table.X), table.line_of):
        raise error
    categories = _fill_categories(table, missing)
    data = RankingData.from_arrays(
        table.X,
        _csv_labels(values, table),
        qid=texts[columns.query],
        docid=None if columns.doc is None else texts[columns.doc],
        query_weight=None if columns.weight is None else table.numbers[columns.weight],
        query_text=None if columns.query_text is None else texts[columns.query_text],
        doc_text={text_field(name): texts[name] for name in columns.text},
        feature_names=columns.features,
        missing=missing,
        categories=categories,
        dtype=table.X.dtype,
    )
    data = _with_ids_of_texts(data, columns, table.path)
    warn_of_duplicates(data, table.path)
    return data


def _with_ids_of_texts(data: RankingData, columns: Columns, path: str | None) -> RankingData:
    """Return data whose query ids have no spaces, if one column has both the ids and the texts."""
    if columns.query_text != columns.query:
        return data
    ids = ids_of_texts(data.qids.tolist(), path)
    return data if (ids == data.qids).all() else replace(data, qids=ids)


def _fill_categories(table: CsvTable, missing: Missing) -> dict[str, Category]:
    """Write the places of words into the feature columns; return the words of each category."""
    columns, categories = table.columns, dict[str, Category]()
    for name, form in columns.categories.items():
        category, codes = read_category(
            table.texts[name], form, name, keep_missing=missing == "nan", path=table.path,
            line_of=table.line_of,
        )  # fmt: skip
        table.X[:, (columns.features or ()).index(name)] = codes
        categories[name] = category
    return categories


def _csv_labels(values: TableValues, table: CsvTable) -> Floats:
    """The labels of a table, words by their numbers; 0 where there are none."""
    name, grades = table.columns.label, table.columns.grades
    if name is None:
        return np.zeros(len(table.X))
    for error in wrong_labels(values, len(table.X), table.line_of):
        raise error
    return np.array([grades[word] for word in table.texts[name]]) if grades else table.numbers[name]


def _from_frame(
    frame: Any, columns: Columns, labelled: bool, missing: Missing, dtype: DTypeLike | None,
    max_bytes: int, path: str | None = None,
) -> tuple[RankingData, Columns]:  # fmt: skip
    table = nw.from_native(frame, eager_only=True)
    if len(table) == 0:
        raise EmptyDataError("expected at least one row, got none", path=path)

    def is_number(name: str) -> bool:
        dtype = table[name].dtype
        return bool(dtype.is_numeric() or dtype == nw.Boolean)

    if path is None:  # a data frame of the caller declares categories by its types
        columns = _with_typed_categories(columns, table, labelled)
    columns = columns.resolve(table.columns, is_number, labelled=labelled, path=path)
    for name in columns.features or ():
        if not is_number(name) and name not in columns.categories:
            raise _no_number_column(name, str(table[name].dtype), path)
    itemsize = np.dtype(dtype or np.float64).itemsize
    check_memory(len(table), len(columns.features or ()), itemsize, max_bytes, path)
    arguments = read_frame(
        frame, label=None, query=columns.query or "", features=columns.features, doc=columns.doc,
        weight=columns.weight, query_text=columns.query_text, doc_text=columns.text, missing=missing,
        needs_features=False, categories=columns.categories, path=path,
    )  # fmt: skip
    arguments["y"] = _frame_labels(table, columns, path)
    arguments["doc_text"] = {text_field(n): text for n, text in arguments["doc_text"].items()}
    data = RankingData.from_arrays(**arguments, dtype=dtype, max_bytes=max_bytes)
    data = _with_ids_of_texts(data, columns, path)
    warn_of_duplicates(data, path)
    return data, columns


def _with_typed_categories(columns: Columns, table: Any, labelled: bool) -> Columns:
    """Return the columns with those of a categorical type as categories, unless they are something else."""
    forms = {c: type_form(t) for c, t in table.schema.items() if c.lower() not in TEXT_NAMES}
    typed = {c: form for c, form in forms.items() if form and c not in columns.categories}
    if not typed:
        return columns
    # Without words, every column that is nothing else is a feature.
    features = columns.resolve(table.columns, labelled=labelled).features or ()
    chosen = {c: form for c, form in typed.items() if c in features}
    return replace(columns, categories={**columns.categories, **chosen})


def _no_number_column(name: str, dtype: str, path: str | None) -> DataError:
    option = shlex.quote(name)
    return DataError(
        f"expected a feature that is a number, got {dtype}", path=path, column=name
    ).advise(
        python=f"categories=[{name!r}] makes numbers of words; or ignore=[{name!r}]",
        command_line=f"--categories {option} makes numbers of words; or --ignore {option}",
    )


def _frame_labels(table: Any, columns: Columns, path: str | None) -> NDArray[Any]:
    if columns.label is None:
        return np.zeros(len(table))
    labels = table[columns.label]
    if columns.grades:
        words = [str(word) for word in labels.to_list()]
        unknown = next((word for word in words if word not in columns.grades), None)
        if unknown is not None:
            raise unknown_grade(unknown, columns, path, None)
        return np.array([columns.grades[word] for word in words])
    if not (labels.dtype.is_numeric() or labels.dtype == nw.Boolean):
        words = [str(word) for word in labels.to_list() if word is not None]
        raise word_grades_error(Counter(words), columns.label, path)
    return np.asarray(labels.to_numpy(), dtype=np.float64)


def _json_frame(path: str) -> Any:
    """The objects of JSON lines as a table: a key that an object lacks is missing there."""
    lines = list(read_json_lines(path))
    names = dict.fromkeys(name for _, record in lines for name in record)
    pa = require("pyarrow", "arrow", "reading a table of JSON lines")
    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([record.get(name) for _, record in lines])
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise _mixed_values(lines, name, path) from None
    return pa.table(columns)


def _mixed_values(lines: Sequence[tuple[int, Any]], name: str, path: str) -> DataError:
    """The error for a key whose values are of several types: where the first other one is."""
    values = [(line, record[name]) for line, record in lines if record.get(name) is not None]
    is_number = isinstance(values[0][1], int | float)
    other = (item for item in values if isinstance(item[1], int | float) != is_number)
    line, value = next(other, values[0])
    expected = "a number" if is_number else "text"
    return DataError(
        f"expected {expected}, as in the lines before, got {value!r:.80}",
        path=path, line=line, column=name,
    )  # fmt: skip

"""CSV writing: ranking data as a table that people and spreadsheets open."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence

from podium.data.atomic_files import atomic_writer
from podium.data.columns import TEXT_PREFIX, Columns, text_field
from podium.data.ranking_columns import RankingColumns
from podium.data.text_files import stem
from podium.errors import DataError
from podium.typing import Path_

ROWS_PER_BLOCK = 4096
MAX_EXACT_INTEGER = 2**53


def write_csv(data: RankingColumns, path: Path_, columns: Columns | None = None) -> None:
    """Write a table with one row per document; `read_table` reads the same values again.

    The columns are qid, docid (if there are ids), label, query_weight and query_text (if there are
    any), the texts of documents as ``text:title``, then the features by name, categories as
    their words. Numbers are the shortest text that reads back the same; a missing value is an empty
    field. ``.tsv`` has tabs; the ending may add a compression. A CSV file has no place for
    top-k truth, scaling and comments.

    With `columns`, as `read_table` resolved them, the columns have these names, grades their words
    and numbers their decimal mark, so that the same file of columns fits.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.5], [2]], [1, 0], qid=["a", "a"], docid=["x", "y"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.csv"
    >>> write_csv(data, path)
    >>> print(path.read_text(), end="")
    qid,docid,label,f1
    a,x,1,0.5
    a,y,0,2
    """
    header, lines = csv_text(data, path, columns)
    with atomic_writer(path) as write:
        write(header)
        for text in lines:
            write(text)


def csv_text(
    data: RankingColumns, path: Path_, columns: Columns | None = None
) -> tuple[bytes, Iterator[bytes]]:
    """Return the line with the names of the columns, and the lines of the documents in pieces."""
    own = _OWN_COLUMNS if columns is None else columns
    texts = _text_columns(data, own)
    label, weight = own.label or "label", own.weight or "query_weight"
    weights = [] if data.query_weight is None else [weight]
    header = [own.query or "qid", *texts, label, *weights, *data.names()]
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise DataError(
            f"expected names of features that no other column has, got {', '.join(repeated)} twice; "
            "rename them first"
        )
    separator = "\t" if stem(path).lower().endswith(".tsv") else own.separator or ","
    return _csv_lines([header], separator), _pieces(_rows(data, texts, own), separator)


def _pieces(rows: Iterator[list[str]], separator: str) -> Iterator[bytes]:
    while block := [row for _, row in zip(range(ROWS_PER_BLOCK), rows, strict=False)]:
        yield _csv_lines(block, separator)


_OWN_COLUMNS = Columns()


def _text_columns(data: RankingColumns, own: Columns) -> dict[str, Sequence[str]]:
    """The columns of text beside the query id."""
    columns: dict[str, Sequence[str]] = {}
    if data.docid_column is not None:
        columns[own.doc or "docid"] = data.docid_column
    if data.query_text is not None and own.query_text != (own.query or "qid"):
        columns[own.query_text or "query_text"] = data.query_text.take(data.groups.codes)
    names = {text_field(name): name for name in own.text}
    return columns | {
        names.get(name, TEXT_PREFIX + name): text for name, text in data.doc_text.items()
    }


def _rows(
    data: RankingColumns, texts: dict[str, Sequence[str]], own: Columns
) -> Iterator[list[str]]:
    is_text = own.query is not None and own.query_text == own.query and data.query_text is not None
    queries = list(data.query_text or ()) if is_text else data.qids.tolist()
    codes = data.groups.codes.tolist()
    categories = data.category_columns()
    words = {number: word for word, number in own.grades.items()}

    def number_text(value: float) -> str:
        return _number_text(value).replace(".", own.decimal)

    for i, code in enumerate(codes):
        row = [
            queries[code],
            *(column[i] for column in texts.values()),
            words.get(data.y[i]) or number_text(data.y[i]),
        ]
        if data.query_weight is not None:
            row.append(number_text(data.query_weight[code]))
        features = [number_text(value) for value in data.X[i].tolist()]
        for j, category in categories:
            features[j] = category.decode(data.X[i, j])
        yield row + features


def _number_text(value: float) -> str:
    """The shortest text that reads back the same; whole numbers without a point, NaN as nothing."""
    if value != value:
        return ""
    is_whole = value.is_integer() and abs(value) < MAX_EXACT_INTEGER
    text = str(int(value)) if is_whole else repr(float(value))
    return "-0" if value == 0 and math.copysign(1, value) < 0 else text


def _csv_lines(rows: Sequence[Sequence[str]], separator: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")

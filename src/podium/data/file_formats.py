"""File formats: the kind of a file, by its ending or its first line, and data of any kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from podium.data.columns import Columns
from podium.data.concatenation import concatenate
from podium.data.foreign_files import foreign_file, json_array
from podium.data.letor import read_letor
from podium.data.parquet_reader import is_podium_parquet, read_parquet
from podium.data.ranking_columns import Missing
from podium.data.ranking_data import RankingData
from podium.data.tables import TABLE_ENDINGS, read_table_as
from podium.data.text_files import Progress, check_regular, read_blocks, stem
from podium.data.trec import Qrels, read_qrels
from podium.errors import CorruptFileError, EmptyDataError, UsageError
from podium.typing import Path_

FileFormat = Literal["letor", "table", "parquet", "qrels", "run", "npy", "scores"]
TellColumns = Callable[[str, Columns], None]
"""Called with the name of a table and what each of its columns was taken as."""

_ENDINGS: dict[str, FileFormat] = {
    **dict.fromkeys(TABLE_ENDINGS, "table"),
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".qrels": "qrels",
    ".run": "run",
}

_SPREADSHEETS = (".xlsx", ".xls", ".ods")

_FORMAT_NAMES = {
    "qrels": "TREC qrels",
    "run": "a TREC run",
    "npy": "a NumPy array",
    "scores": "scores",
}


def detect_format(path: Path_) -> FileFormat:
    """Return the kind of a file: by its ending, or for plain text by its first line.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "judgments.txt"
    >>> _ = path.write_text("q1 0 doc7 2\\n")
    >>> detect_format(path)
    'qrels'
    """
    ending = Path(stem(path)).suffix.lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if ending in _SPREADSHEETS:
        raise CorruptFileError(
            "expected LETOR text or a table, got a spreadsheet; save it as CSV (.csv) first",
            path=os.fspath(path),
        )
    if ending in (".yaml", ".yml"):
        check_regular(path)
        raise CorruptFileError(
            "expected LETOR text or a table, got YAML", path=os.fspath(path)
        ).advise(
            python="rules are read by podium.postranking.read_rules, columns by read_table(columns=...)",
            command_line="rules follow --rules, and names of columns --columns",
        )
    words = _first_words(os.fspath(path))
    foreign = foreign_file(b" ".join(words), os.fspath(path))
    if foreign is not None:
        raise foreign
    if len(words) > 1 and words[1].startswith(b"qid:"):
        return "letor"
    _check_no_table(words, os.fspath(path))
    if len(words) == 1 and not spells_number(words[0]):
        raise CorruptFileError(
            f"expected LETOR text, scores, qrels or a run, got a first line with {quote_word(words[0])}",
            path=os.fspath(path),
        )
    return {1: "scores", 4: "qrels", 6: "run"}.get(len(words), "letor")  # type: ignore[return-value]


def _check_no_table(words: Sequence[bytes], path: str) -> None:
    """Raise if a first line is that of JSON lines or of CSV: names with separators between them."""
    line = b" ".join(words)
    if line.startswith(b"["):
        raise json_array(path)
    if line.startswith(b'{"'):
        raise CorruptFileError(
            "expected LETOR text, got what looks like JSON lines; "
            "rename the file so that it ends in .jsonl",
            path=path,
        )
    separator = max(b",;|", key=line.count)
    if line.count(separator) and line[:1].isalpha():
        raise CorruptFileError(
            f"expected LETOR text, got a first line like that of a CSV file, {quote_word(line)}; "
            "rename the file so that it ends in .csv",
            path=path,
        )


def _first_words(path: str) -> list[bytes]:
    for text in read_blocks(path):
        for line in text.tobytes().split(b"\n"):
            words = line.split()
            if words and not words[0].startswith(b"#"):
                return words
    raise EmptyDataError("expected at least one line, got an empty file", path=path)


def spells_number(word: bytes) -> bool:
    """Whether a word of a file is a number, nan and inf included."""
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word


def quote_word(word: bytes) -> str:
    """Return a word of a file as an error message quotes it."""
    return repr(word[:40].decode("utf-8", "replace"))


def read_data(
    paths: Sequence[Path_],
    *,
    missing: Missing = "error",
    labelled: bool = True,
    columns: Columns | None = None,
    tell_columns: TellColumns | None = None,
    progress: Progress | None = None,
) -> RankingData:
    """Read ranking data from LETOR text, Parquet or other tables; several files make one data set.

    Parameters
    ----------
    missing
        What NULL in LETOR text, or an empty field of a table means: "error", or "nan" to keep it.
    labelled
        False: a table may lack labels (documents to be scored).
    columns
        What the columns of tables are; by default they are found by usual names.
    tell_columns
        Called for each table with its name and what each column was taken as.
    progress
        Called with the number of bytes of text read since the last call.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "shop.csv"
    >>> _ = path.write_text("search_id,sku,stars,price\\n7,a1,2,9.5\\n7,b2,0,12\\n")
    >>> read_data([path], columns=Columns(label="stars"))
    RankingData(1 query, 2 documents, 1 feature, labels 0..2)
    """
    formats = [data_format(os.fspath(path), columns) for path in paths]
    if set(formats) == {"letor"}:
        return read_letor(list(paths), missing=missing, progress=progress)
    parts: list[RankingData] = []
    for path, kind in zip(paths, formats, strict=True):
        if kind == "table":
            part, resolved = read_table_as(
                path, columns or Columns(), labelled=labelled, missing=missing, progress=progress
            )
            if tell_columns is not None:
                tell_columns(os.fspath(path), resolved)
            # Further tables have the features of the first one, in any order.
            columns = replace(columns or Columns(), features=resolved.features)
        elif kind == "parquet":
            part = read_parquet(path, missing=missing, labelled=labelled)
        else:
            part = read_letor(path, missing=missing, progress=progress)
        parts.append(part)
    return parts[0] if len(parts) == 1 else concatenate(parts)


def data_format(path: str, columns: Columns | None) -> FileFormat:
    """Return the kind of a file of ranking data; raises if it is something else.

    Parquet is a table like others, unless podium wrote it and no column is named.
    """
    kind = detect_format(path)
    if kind == "parquet":
        return "parquet" if columns is None and is_podium_parquet(path) else "table"
    if kind not in ("letor", "table"):
        raise CorruptFileError(
            f"expected LETOR text or a table (CSV, Parquet), "
            f"got what looks like {_FORMAT_NAMES[kind]}",
            path=path,
        ).advise(
            python="read_run, read_qrels and read_scores of podium.data read these",
            command_line="data comes before scores and runs, as in: podium evaluate DATA SCORES",
        )
    if kind == "letor" and columns is not None:
        raise UsageError(
            f"expected a table ({' '.join(TABLE_ENDINGS)}), whose columns can be named, "
            f"got LETOR text in {path}"
        ).advise(python="leave columns= out", command_line="leave out the options about columns")
    return kind


def read_judgments(
    path: Path_,
    *,
    missing: Missing = "error",
    columns: Columns | None = None,
    tell_columns: TellColumns | None = None,
    progress: Progress | None = None,
) -> RankingData | Qrels:
    """Read labels to evaluate scores with: LETOR text, Parquet or another table, or TREC qrels."""
    kind = detect_format(path)
    if kind == "qrels" and columns is None:
        return read_qrels(path, progress)
    if kind == "table" or (kind == "parquet" and not is_podium_parquet(path)):
        columns = replace(
            columns or Columns(), features=(), categories={}
        )  # labels are all that is needed
    return read_data(
        [path], missing=missing, columns=columns, tell_columns=tell_columns, progress=progress
    )

"""Files of scores: text, .npy, Parquet, TREC runs; and of queries to score (JSON lines)."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from podium.apps.cli.options.predict import PredictionFormat
from podium.apps.cli.outputs.spooled_output import spooled_stdout
from podium.data import RankingData, Run
from podium.data.atomic_files import atomic_writer
from podium.data.categories import Category
from podium.data.duplicate_documents import KEEP_FIRST_IN_PYTHON, KEEP_FIRST_ON_COMMAND_LINE
from podium.data.parquet_writer import columns_writer
from podium.data.score_files import score_lines
from podium.data.text_files import COMPRESSIONS, stem
from podium.data.trec import run_lines
from podium.errors import DataError, UsageError
from podium.typing import Floats

FORMAT_BY_ENDING: dict[str, PredictionFormat] = {
    ".npy": "npy",
    ".run": "run",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "scores",
    ".scores": "scores",
    "": "scores",
}


def choose_format(
    out: Path | None, file_format: PredictionFormat, k: int | None
) -> PredictionFormat:
    """Return the format of OUT: the named one, or the one of its ending."""
    if file_format == "auto":
        ending = "" if out is None else Path(stem(out)).suffix.lower()
        if ending not in FORMAT_BY_ENDING:
            endings = " ".join(name for name in FORMAT_BY_ENDING if name)
            raise UsageError(
                f"expected -o OUT with a name for scores that ends in {endings}, got {out}; or name the "
                "format with --format"
            )
        file_format = FORMAT_BY_ENDING[ending]
    if out is None and file_format != "scores":
        raise UsageError(f"expected -o OUT to write the format {file_format}, got none")
    if out is not None and file_format in ("npy", "parquet") and out.suffix in COMPRESSIONS:
        raise UsageError(
            f"expected a name without {out.suffix} for the format {file_format}, got {out}"
        )
    if k is not None and file_format != "run":
        raise UsageError(
            f"expected -k with a TREC run (--format run), got the format {file_format}"
        )
    return file_format


PredictionWriter = Callable[[RankingData, Mapping[str, Floats]], object]
"""Writes the values of the next documents: one value per row and column."""


def write_predictions(
    data: RankingData,
    columns: Mapping[str, Floats],
    path: Path,
    file_format: PredictionFormat,
    k: int | None,
) -> None:
    """Write one value per row and column of the data; a run has scores only."""
    with prediction_writer(path, file_format, k, len(data)) as write:
        write(data, columns)


@contextmanager
def prediction_writer(
    path: Path, file_format: PredictionFormat, k: int | None, n_rows: int
) -> Iterator[PredictionWriter]:
    """Give a function that writes documents block by block; the file appears all or nothing."""
    if file_format == "parquet":
        with columns_writer(path) as write_columns:
            yield write_columns
        return
    with atomic_writer(path) as write:
        if file_format == "run":
            yield lambda data, columns: _write_lines(
                write, run_lines(Run.from_scores(data, columns["score"], k))
            )
        elif file_format == "jsonl":
            yield lambda data, columns: _write_requests(data, write)
        elif file_format == "npy":
            yield _npy_writer(write, n_rows)
        else:
            yield lambda data, columns: write(
                score_lines(data.restore(prediction_table(columns))).encode()
            )


@contextmanager
def spooled_scores() -> Iterator[PredictionWriter]:
    """Give a function that writes documents block by block as text, to stdout at the end."""
    with spooled_stdout() as write:
        yield lambda data, columns: write(
            score_lines(data.restore(prediction_table(columns))).encode()
        )


def _write_lines(write: Callable[[bytes], object], lines: Iterable[str]) -> None:
    for line in lines:
        write(line.encode("utf-8", "surrogateescape"))


def _npy_writer(write: Callable[[bytes], object], n_rows: int) -> PredictionWriter:
    """Return a function that writes rows of one array, with its header before the first."""
    has_header = False

    def write_rows(data: RankingData, columns: Mapping[str, Floats]) -> None:
        nonlocal has_header
        table = np.ascontiguousarray(data.restore(prediction_table(columns)), dtype=np.float64)
        if not has_header:
            write(_npy_header((n_rows, *table.shape[1:])))
            has_header = True
        write(table.tobytes())

    return write_rows


def _npy_header(shape: tuple[int, ...]) -> bytes:
    header = io.BytesIO()
    description = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, description)
    return header.getvalue()


def _write_requests(data: RankingData, write: Callable[[bytes], object]) -> None:
    """Write each query as a request to rank: documents with ids, features and text."""
    docids = data.require_docids("a file of queries (.jsonl)")
    names, words = data.names(), dict(data.category_columns())
    for number, (qid, rows) in enumerate(data.queries()):
        text = str(qid) if data.query_text is None else data.query_text[number]
        documents = [
            _request_document(data, row, docids[row], names, words)
            for row in range(rows.start, rows.stop)
        ]
        _check_each_once(documents, str(qid))
        line = {"id": str(qid), "query": text, "documents": documents}
        write(json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _request_document(
    data: RankingData, row: int, docid: str, names: Sequence[str], words: Mapping[int, Category]
) -> dict[str, Any]:
    """Return a document of a request: null for a missing feature, the word of a category."""
    values: list[Any] = [None if math.isnan(value) else value for value in data.X[row].tolist()]
    for column, category in words.items():
        values[column] = category.decode(float(data.X[row, column])) or None
    document: dict[str, Any] = {"id": docid, "features": dict(zip(names, values, strict=True))}
    if data.doc_text:
        document["fields"] = {name: texts[row] for name, texts in data.doc_text.items()}
    return document


def _check_each_once(documents: Sequence[Mapping[str, Any]], qid: str) -> None:
    ids = Counter(document["id"] for document in documents)
    repeated = next((id_ for id_, count in ids.items() if count > 1), None)
    if repeated is not None:
        raise DataError(
            f"expected each document once per query, got {repeated!r} twice in query {qid!r}"
        ).advise(python=KEEP_FIRST_IN_PYTHON, command_line=KEEP_FIRST_ON_COMMAND_LINE)


def prediction_table(columns: Mapping[str, Floats]) -> Floats:
    """Return one column as a vector, several as a matrix."""
    values = list(columns.values())
    return values[0] if list(columns) in (["score"], ["degree"]) else np.stack(values, axis=1)

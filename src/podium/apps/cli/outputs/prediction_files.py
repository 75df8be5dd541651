"""Files of scores: text, .npy, Parquet, TREC runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from podium.apps.cli.options.predict import PredictionFormat
from podium.data import RankingData, Run, write_columns_parquet, write_run, write_scores
from podium.data.text_files import COMPRESSIONS, stem
from podium.errors import UsageError
from podium.typing import Floats

FORMAT_BY_ENDING: dict[str, PredictionFormat] = {
    ".npy": "npy",
    ".run": "run",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def choose_format(
    out: Path | None, file_format: PredictionFormat, k: int | None
) -> PredictionFormat:
    """Return the format of OUT: the named one, or the one of its ending."""
    if file_format == "auto":
        ending = "" if out is None else Path(stem(out)).suffix.lower()
        file_format = FORMAT_BY_ENDING.get(ending, "scores")
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


def write_predictions(
    data: RankingData,
    columns: Mapping[str, Floats],
    path: Path,
    file_format: PredictionFormat,
    k: int | None,
) -> None:
    """Write one value per row and column of the data; a run has scores only."""
    if file_format == "run":
        write_run(Run.from_scores(data, columns["score"], k), path)
    elif file_format == "parquet":
        write_columns_parquet(data, columns, path)
    else:
        kind: Literal["npy", "scores"] = "npy" if file_format == "npy" else "scores"
        write_scores(data.restore(prediction_table(columns)), path, kind)


def prediction_table(columns: Mapping[str, Floats]) -> Floats:
    """Return one column as a vector, several as a matrix."""
    values = list(columns.values())
    return values[0] if list(columns) in (["score"], ["degree"]) else np.stack(values, axis=1)

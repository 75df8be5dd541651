"""Streams of ranking data: files of any kind, some thousand documents at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium.data.columns import Columns
from podium.data.file_formats import TellColumns, data_format, read_data
from podium.data.letor import stream_letor
from podium.data.parquet_reader import read_row_group, row_group_count
from podium.data.ranking_columns import Missing
from podium.data.ranking_data import RankingData
from podium.data.tables import is_csv, stream_csv_table
from podium.data.text_files import Progress


@dataclass(frozen=True)
class InputStream:
    """Files that can be read as one stream, as often as it takes.

    LETOR text, CSV and podium's own Parquet take little memory. Other tables (JSON lines, Arrow, Parquet
    of other programs) are read whole, one file at a time.

    Parameters
    ----------
    paths
        The files, in order.
    missing
        What an empty field, or NULL in LETOR text, means.
    columns
        What the columns of tables are.
    dtype
        "float32" or "float64"; None keeps that of the files.
    tell_columns
        Called for each table with its name and what each column was taken as.
    progress
        Called with the number of bytes of text read since the last call.
    """

    paths: Sequence[str]
    missing: Missing = "error"
    columns: Columns | None = None
    dtype: str | None = None
    tell_columns: TellColumns | None = None
    progress: Progress | None = None

    def read(self, rows: int) -> Iterator[RankingData]:
        """Yield about `rows` documents at a time; a query may go on in the next data set."""
        columns = self.columns
        for path in self.paths:
            features: tuple[str, ...] | None = None
            for data in self._read_file(path, rows, columns):
                features = data.names()
                yield self._with_dtype(data)
            if features is not None and (columns is not None or is_csv(path)):
                # Further tables have the features of the first one, in any order.
                columns = replace(columns or Columns(), features=features)

    def _read_file(self, path: str, rows: int, columns: Columns | None) -> Iterator[RankingData]:
        kind = data_format(path, columns)
        if kind == "letor":
            return stream_letor(
                path, rows, missing=self.missing, dtype=self.dtype, progress=self.progress
            )
        if kind == "table" and is_csv(path):
            return stream_csv_table(
                path, columns or Columns(), rows, missing=self.missing,
                dtype=self.dtype or np.float64, tell_columns=self.tell_columns, progress=self.progress,
            )  # fmt: skip
        if kind == "parquet":
            return self._read_own_parquet(path)
        return iter([self._read_whole(path, columns)])

    def _read_own_parquet(self, path: str) -> Iterator[RankingData]:
        n_bytes, n_groups = os.path.getsize(path), row_group_count(path)
        for number in range(n_groups):
            yield read_row_group(path, number)
            if self.progress is not None:
                self.progress(n_bytes // n_groups)

    def _read_whole(self, path: str, columns: Columns | None) -> RankingData:
        return read_data(
            [path], missing=self.missing, columns=columns, tell_columns=self.tell_columns,
            progress=self.progress,
        )  # fmt: skip

    def _with_dtype(self, data: RankingData) -> RankingData:
        if self.dtype is None or data.X.dtype == self.dtype:
            return data
        return replace(data, X=data.X.astype(self.dtype))

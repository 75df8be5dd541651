"""Writers of ranking data a block of whole queries at a time: LETOR text, CSV and qrels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from podium.data.atomic_files import atomic_writer
from podium.data.columns import Columns
from podium.data.csv_writer import csv_text
from podium.data.letor import letor_text
from podium.data.letor_header import has_per_row_entries
from podium.data.ranking_data import RankingData
from podium.data.trec import qrels_lines
from podium.errors import DataError
from podium.typing import Path_

BlockWriter = Callable[[RankingData], None]
"""Writes the next block of a file."""


@contextmanager
def letor_writer(path: Path_) -> Iterator[BlockWriter]:
    """Give a function that writes blocks as `write_letor` does; the file appears all or nothing.

    Weights, texts and ids that are no single word stand in the first line of LETOR text, before all
    documents, so they cannot be written in blocks.
    """
    with atomic_writer(path) as write:
        first_header: bytes | None = None

        def write_block(data: RankingData) -> None:
            nonlocal first_header
            header, lines = letor_text(data)
            if has_per_row_entries(header):
                raise DataError(
                    "expected documents without weights, texts and comments, and ids of one word, to write "
                    "LETOR text in blocks"
                ).advise(
                    python="write Parquet or CSV, which keep them",
                    command_line="name a .parquet or .csv file, which keeps them",
                )
            if first_header is None:
                write(header)
                first_header = header
            for text in lines:
                write(text)

        yield write_block


@contextmanager
def csv_writer(path: Path_, columns: Columns | None = None) -> Iterator[BlockWriter]:
    """Give a function that writes blocks as `write_csv` does; the file appears all or nothing."""
    with atomic_writer(path) as write:
        is_first = True

        def write_block(data: RankingData) -> None:
            nonlocal is_first
            header, lines = csv_text(data, path, columns)
            if is_first:
                write(header)
                is_first = False
            for text in lines:
                write(text)

        yield write_block


@contextmanager
def qrels_writer(path: Path_) -> Iterator[BlockWriter]:
    """Give a function that writes blocks as `write_qrels` does; the file appears all or nothing."""
    with atomic_writer(path) as write:

        def write_block(data: RankingData) -> None:
            for line in qrels_lines(data):
                write(line.encode("utf-8", "surrogateescape"))

        yield write_block

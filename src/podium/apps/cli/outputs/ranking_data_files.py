"""Files of ranking data that commands write: LETOR text, CSV, Parquet, qrels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from podium.apps.cli.outputs.progress import spinner
from podium.data import Columns, RankingData, write_csv, write_letor, write_qrels
from podium.data.block_writers import BlockWriter, csv_writer, letor_writer, qrels_writer
from podium.data.parquet_writer import parquet_writer
from podium.data.text_files import stem
from podium.errors import UsageError

FORMAT_BY_ENDING = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".qrels": "qrels",
    **dict.fromkeys((".txt", ".letor", ".svm", ".svmlight", ".dat", ""), "letor"),
}


def writable_format(path: Path) -> str:
    """Return the format of a file by its ending; raise if there is none."""
    ending = Path(stem(path)).suffix
    if ending not in FORMAT_BY_ENDING:
        endings = " ".join(e for e in FORMAT_BY_ENDING if e)
        raise UsageError(
            f"expected a file name that ends in {endings} (text also .gz .xz .bz2 .zst), got {path}"
        )
    return FORMAT_BY_ENDING[ending]


def write_ranking_data(data: RankingData, path: Path, columns: Columns | None = None) -> None:
    """Write data in the format of the ending; CSV has the names of `columns`."""
    with spinner(f"writing {path}"):
        if writable_format(path) == "parquet":
            data.to_parquet(path)
        elif writable_format(path) == "qrels":
            write_qrels(data, path)
        elif writable_format(path) == "csv":
            write_csv(data, path, columns)
        else:
            write_letor(data, path)


def ranking_data_writer(path: Path) -> AbstractContextManager[BlockWriter]:
    """Return a writer of blocks in the format of the ending; the file appears all or nothing."""
    writers: dict[str, Callable[[Path], AbstractContextManager[BlockWriter]]] = {
        "parquet": parquet_writer,
        "qrels": qrels_writer,
        "csv": csv_writer,
        "letor": letor_writer,
    }
    return writers[writable_format(path)](path)


def check_ranking_data_targets(paths: Sequence[Path], force: bool) -> None:
    """Raise if an ending has no format, or a file would be replaced without --force."""
    for path in paths:
        writable_format(path)
    check_not_replaced(paths, force)


def model_name_note(path: Path) -> list[str]:
    """Return a note if the name of a model does not end as models do."""
    usual = f"{path} is a podium model, whatever its name says; models usually end in .podium"
    return [] if path.suffix == ".podium" else [usual]


def check_not_replaced(paths: Sequence[Path], force: bool) -> None:
    """Raise if a file would be replaced without --force."""
    for path in paths:
        if path.exists() and not force:
            raise UsageError(f"expected a new file, but {path} already exists; --force replaces it")

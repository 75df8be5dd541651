"""Folders in place of data files: what is in them, and which files to name instead."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".feather")
TEXT_SUFFIXES = (".txt", ".letor", ".dat", ".svmlight")
COMPRESSED_SUFFIXES = (".gz", ".xz", ".bz2", ".zst")
MAX_LISTED_FILES = 5


def data_files_of(folder: Path) -> list[Path]:
    """Return the files of a folder by name, then those of its folders, that look like data."""
    try:
        files = [path for pattern in ("*", "*/*") for path in folder.glob(pattern)]
        return sorted(
            (path for path in files if _is_data(path) and path.is_file() and not _is_report(path)),
            key=lambda path: (len(path.parts), path),
        )
    except OSError:
        return []


def folder_advice(folder: Path) -> str:
    """Return what is in a folder, and which files a command may take instead.

    Examples
    --------
    >>> import tempfile
    >>> folder_advice(Path(tempfile.mkdtemp())).partition(" has ")[2]
    'no files of ranking data (.csv, .parquet, .txt, ...)'
    """
    files = data_files_of(folder)
    if not files:
        return f"{folder} has no files of ranking data (.csv, .parquet, .txt, ...)"
    names = [str(path.relative_to(folder)) for path in files]
    listed = ", ".join(names[:MAX_LISTED_FILES])
    more = f" and {len(names) - MAX_LISTED_FILES} more" if len(names) > MAX_LISTED_FILES else ""
    advice = _fold_advice(files) or f"name those that belong together, as in {_quoted(files[:2])}"
    return f"{folder} has {listed}{more}; {advice}"


def _fold_advice(files: Sequence[Path]) -> str:
    """Return how to use a fold of LETOR, if there is one."""
    train = next((path for path in files if path.name.lower().startswith("train")), None)
    if train is None:
        return ""
    advice = f"name one of them, as in {_quoted([train])}"
    if train.parent.name.lower() == "fold1":
        advice += f"; podium compare {_quoted([train.parent.parent])} and podium data info take the folder"
    return advice


def _quoted(paths: Sequence[Path]) -> str:
    return shlex.join(map(str, paths))


def _is_report(path: Path) -> bool:
    """Whether `podium compare` wrote the file: its report is there as JSON, too."""
    return path.stem == "report" and path.with_suffix(".json").exists()


def _is_data(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED_SUFFIXES:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in (*TABLE_SUFFIXES, *TEXT_SUFFIXES)

"""Folds of a comparison: queries cut into rotated parts, LETOR folders, or the user's folds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from podium.data import (
    Columns,
    Fold,
    RankingData,
    concatenate,
    detect_format,
    kfold,
    read_data,
    read_letor,
    rotate,
)
from podium.data.file_formats import TellColumns
from podium.data.parquet_reader import is_podium_parquet
from podium.data.ranking_columns import Missing
from podium.data.tables import TABLE_ENDINGS, is_table
from podium.data.text_files import Progress, stem
from podium.errors import DataError, UsageError
from podium.typing import Path_

LETOR_FILE_NAMES = {
    "train": ("train", "trainingset"),
    "validation": ("vali", "valid", "validationset"),
    "test": ("test", "testset"),
}
"""The names of the files of a fold in LETOR 4.0 and 3.0, by their purpose."""

PART_ENDINGS = (".txt", *TABLE_ENDINGS)
"""Endings of the files of a fold."""

FoldReader = Callable[[Path, int | None], RankingData]


def make_folds(data: Any, k: int = 5, seed: int = 0) -> list[Fold]:
    """Return folds from ranking data, a file, a LETOR folder, or the user's own folds.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> [fold.test.n_queries for fold in make_folds(make_synthetic(n_queries=10, seed=0), 5)]
    [2, 2, 2, 2, 2]
    """
    if isinstance(data, str | os.PathLike):
        if not Path(data).is_file():
            return _check_tested_once(read_folds(data))
        data = read_data([data])
    if isinstance(data, RankingData):
        return kfold(data, k, seed=seed)
    if not isinstance(data, Iterable):
        raise UsageError(
            f"expected RankingData, a folder or folds as data, got {type(data).__name__}"
        )
    return _check_tested_once(
        [_check_fold(fold, n) for n, fold in enumerate(_convert_folds(data), start=1)]
    )


def read_folds(
    folder: Path_,
    *,
    missing: Missing = "error",
    columns: Columns | None = None,
    tell_columns: TellColumns | None = None,
    progress: Progress | None = None,
) -> list[Fold]:
    """Read the folds of a folder.

    The folder has S1.txt, S2.txt, ..., which are rotated, or Fold1, Fold2, ..., each with
    train.txt, vali.txt and test.txt. Files may be compressed. Tables (S1.csv, train.parquet) are
    read, too.

    Parameters
    ----------
    missing
        How NULL or an empty field of a table is read: "error" raises, "nan" keeps it as NaN.
    columns
        The roles of the columns of tables; by default they are guessed from usual names.
    tell_columns
        Called for each table with its name and the role of each column.
    progress
        Called with the number of bytes of text read since the last call.

    Examples
    --------
    >>> import tempfile
    >>> from podium.data import make_synthetic, split, write_letor
    >>> folder = Path(tempfile.mkdtemp())
    >>> for i, part in enumerate(split(make_synthetic(n_queries=9, seed=0), [1 / 3] * 3), start=1):
    ...     write_letor(part, folder / f"S{i}.txt.gz")
    >>> [part.n_queries for part in read_folds(folder)[0]]
    [3, 3, 3]
    """

    read = _reader(missing, columns, tell_columns, progress)
    files = fold_files(folder)
    if isinstance(files[0], Path):
        return rotate(read([path for path in files if isinstance(path, Path)]))
    paths = [path for triple in files if isinstance(triple, tuple) for path in triple]
    parts = iter(read(paths))
    folds = [
        Fold(train, valid, test) for train, valid, test in zip(parts, parts, parts, strict=True)
    ]
    return [_check_fold(fold, number) for number, fold in enumerate(folds, start=1)]


def read_folder(
    folder: Path_,
    *,
    missing: Missing = "error",
    columns: Columns | None = None,
    tell_columns: TellColumns | None = None,
    progress: Progress | None = None,
) -> RankingData:
    """Read all queries of a folder as one data set, which can be cut into other folds.

    The parameters are those of `read_folds`. The folders Fold1, Fold2, ... have the same queries, so
    the first one has all of them.
    """
    files = fold_files(folder)
    paths = [path for path in files if isinstance(path, Path)]
    if isinstance(files[0], tuple):
        paths = list(files[0])
    return concatenate(_reader(missing, columns, tell_columns, progress)(paths))


def _reader(
    missing: Missing,
    columns: Columns | None,
    tell_columns: TellColumns | None,
    progress: Progress | None,
) -> Callable[[Sequence[Path]], list[RankingData]]:
    """Return a function that reads files one by one, all with the same features."""

    def read_text(path: Path, n_features: int | None) -> RankingData:
        return read_letor(path, missing=missing, n_features=n_features, progress=progress)

    def read(paths: Sequence[Path]) -> list[RankingData]:
        if not any(map(is_table, paths)) and columns is None:
            return _read_equally_wide(paths, read_text)
        parts: list[RankingData] = []
        own = columns
        for path in paths:
            part = read_data(
                [path], missing=missing, columns=own, tell_columns=tell_columns, progress=progress
            )
            if not parts and part.feature_names is not None and not _knows_its_features(path):
                own = replace(own or Columns(), features=part.feature_names)
            parts.append(part)
        return parts

    return read


def _knows_its_features(path: Path) -> bool:
    """Whether a file states its features: LETOR text, or Parquet that podium wrote."""
    kind = detect_format(path)
    return kind == "letor" or (kind == "parquet" and is_podium_parquet(path))


def shorten_fold(fold: Fold, n_queries: int) -> Fold:
    """Return the first queries of each part, for a quick trial run.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> fold = kfold(make_synthetic(n_queries=20, seed=0), 4)[0]
    >>> [part.n_queries for part in shorten_fold(fold, 6)]
    [6, 5, 5]
    """
    return Fold(*(part.subset(range(min(n_queries, part.n_queries))) for part in fold))


def data_fingerprint(folds: Mapping[str, Iterable[Fold]]) -> dict[str, list[list[str]]]:
    """Return the fingerprints of the parts of each fold by name, as plain values."""
    return {
        name: [[part.fingerprint for part in fold] for fold in own] for name, own in folds.items()
    }


def fold_files(folder: Path_) -> list[Path] | list[tuple[Path, Path, Path]]:
    """Return the files of a LETOR folder: S1, S2, ..., or train, validation and test of each fold.

    The parts of data for rank aggregation are A1, A2, ...
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(
            f"there is no folder {folder}; expected a folder with S1.txt ... or Fold1 ..."
        )
    folds = _sort_by_number([path for path in folder.iterdir() if path.is_dir()], r"Fold(\d+)")
    if folds:
        return [_fold_paths(path) for path in folds]
    files = [path for path in folder.iterdir() if path.is_file()]
    endings = "|".join(ending.removeprefix(".") for ending in PART_ENDINGS)
    parts = _sort_by_number(files, rf"S(\d+)\.({endings})")
    parts = parts or _sort_by_number(files, r"A(\d+)\.txt")
    if not parts:
        raise DataError(
            f"{folder} has neither S1.txt, S2.txt, ... nor folders Fold1, Fold2, ...; "
            "expected one of the two"
        ).advise(
            python="or read its files with read_table or read_letor",
            command_line=f"or name its files, as in {folder}/*.csv",
        )
    return parts


def _sort_by_number(paths: Sequence[Path], name: str) -> list[Path]:
    """Return the paths with this name in the order of their numbers; raise if a number is missing.

    An uncompressed file comes before a compressed one of the same number.
    """
    by_number: dict[int, Path] = {}
    for path in sorted(paths):
        match = re.fullmatch(name, stem(path), re.IGNORECASE)
        if match:
            by_number.setdefault(int(match[1]), path)
    absent = set(range(1, len(by_number) + 1)) - set(by_number)
    if absent:
        names = ", ".join(path.name for _, path in sorted(by_number.items()))
        raise DataError(
            f"the files in {paths[0].parent} must be numbered from 1 without a gap, got {names}"
        )
    return [by_number[number] for number in sorted(by_number)]


def _fold_paths(folder: Path) -> tuple[Path, Path, Path]:
    files = {stem(path).lower(): path for path in sorted(folder.iterdir(), reverse=True)}
    paths = []
    for purpose, names in LETOR_FILE_NAMES.items():
        file_names = [name + ending for name in names for ending in PART_ENDINGS]
        path = next((files[name] for name in file_names if name in files), None)
        if path is None:
            raise DataError(f"{folder} has no {purpose} file; expected {names[0]}.txt")
        paths.append(path)
    train, valid, test = paths
    return train, valid, test


def _read_equally_wide(paths: Sequence[Path], read: FoldReader) -> list[RankingData]:
    """Read files with the same number of features: LETOR text omits the last features if all are 0."""
    parts = [read(path, None) for path in paths]
    width = max(part.n_features for part in parts)
    return [
        part if part.n_features == width else read(path, width)
        for path, part in zip(paths, parts, strict=True)
    ]


def _convert_folds(folds: Iterable[Any]) -> list[Fold]:
    all_folds = list(folds)
    if not all_folds:
        raise UsageError("there are no folds to compare on; expected at least one")
    for number, fold in enumerate(all_folds, start=1):
        parts = tuple(fold) if isinstance(fold, Sequence) else ()
        if len(parts) != 3 or not all(isinstance(part, RankingData) for part in parts):
            raise UsageError(
                f"expected fold {number} to be Fold(train, valid, test) of RankingData, "
                f"got {type(fold).__name__}"
            )
    return [Fold(*fold) for fold in all_folds]


def _check_fold(fold: Fold, number: int) -> Fold:
    """Return the fold; raise if a test query is also in training or validation."""
    tested = set(fold.test.qids.tolist())
    for purpose, part in (("train", fold.train), ("validate", fold.valid)):
        shared = tested & set(part.qids.tolist())
        if shared:
            raise DataError(
                f"fold {number} uses query {min(shared)!r} both to test and to {purpose}; "
                "expected different queries. If they are different queries, give them different ids"
            )
    if not fold.train.n_features == fold.valid.n_features == fold.test.n_features:
        sizes = "/".join(str(part.n_features) for part in fold)
        raise DataError(
            f"the parts of fold {number} have different numbers of features: "
            f"{sizes}; expected the same features"
        )
    return fold


def _check_tested_once(folds: list[Fold]) -> list[Fold]:
    """Return the folds; raise if a query is tested twice, because statistics need independent queries."""
    tested: dict[str, int] = {}
    for number, fold in enumerate(folds, start=1):
        for qid in fold.test.qids.tolist():
            if qid in tested:
                raise DataError(
                    f"folds {tested[qid]} and {number} both test query {qid!r}; expected each "
                    "query in one test fold. Give different queries different ids; if folds "
                    "test the same queries, compare on one fold at a time"
                )
            tested[qid] = number
    return folds

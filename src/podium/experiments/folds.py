"""Folds to compare on: queries in rotated parts, LETOR's folders, or one's own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from podium.data import Fold, RankingData, kfold, read_data, read_letor, rotate
from podium.data.files import Path_, Progress, stem
from podium.data.ranking_data import Missing
from podium.errors import DataError, UsageError

PARTS = {
    "train": ("train", "trainingset"),
    "validation": ("vali", "valid", "validationset"),
    "test": ("test", "testset"),
}
"""The files of a fold's folder in LETOR's releases 4.0 and 3.0, by what they are for."""

Read = Callable[[Path, int | None], RankingData]


def as_folds(data: Any, k: int = 5, seed: int = 0) -> list[Fold]:
    """Folds from ranking data or a file of it, a LETOR folder, or folds that are there already.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> [fold.test.n_queries for fold in as_folds(make_synthetic(n_queries=10, seed=0), 5)]
    [2, 2, 2, 2, 2]
    """
    if isinstance(data, str | os.PathLike):
        if not Path(data).is_file():
            return _tested_once(read_folds(data))
        data = read_data([data])
    if isinstance(data, RankingData):
        return kfold(data, k, seed=seed)
    if not isinstance(data, Iterable):
        raise UsageError(
            f"expected RankingData, a folder or folds to compare on, got {type(data).__name__}"
        )
    return _tested_once([_checked(fold, n) for n, fold in enumerate(_some(data), start=1)])


def read_folds(
    folder: Path_, *, missing: Missing = "error", progress: Progress | None = None
) -> list[Fold]:
    """The folds of a LETOR folder.

    Either S1.txt, S2.txt, ..., which are rotated, or Fold1, Fold2, ... with train.txt, vali.txt and
    test.txt each. Files may be compressed.

    Parameters
    ----------
    missing
        What NULL means: "error", or "nan" to keep it as NaN.
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

    def read(path: Path, n_features: int | None) -> RankingData:
        return read_letor(path, missing=missing, n_features=n_features, progress=progress)

    files = fold_files(folder)
    if isinstance(files[0], Path):
        return rotate(_equally_wide([path for path in files if isinstance(path, Path)], read))
    paths = [path for triple in files if isinstance(triple, tuple) for path in triple]
    parts = iter(_equally_wide(paths, read))
    folds = [
        Fold(train, valid, test) for train, valid, test in zip(parts, parts, parts, strict=True)
    ]
    return [_checked(fold, number) for number, fold in enumerate(folds, start=1)]


def shortened(fold: Fold, n_queries: int) -> Fold:
    """The first queries of each part: to see that a run works, not what comes out.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> fold = kfold(make_synthetic(n_queries=20, seed=0), 4)[0]
    >>> [part.n_queries for part in shortened(fold, 6)]
    [6, 5, 5]
    """
    return Fold(*(part.subset(range(min(n_queries, part.n_queries))) for part in fold))


def data_fingerprint(folds: Mapping[str, Iterable[Fold]]) -> dict[str, list[list[str]]]:
    """Name -> the fingerprints of the parts of each fold, as plain values."""
    return {
        name: [[part.fingerprint for part in fold] for fold in own] for name, own in folds.items()
    }


def fold_files(folder: Path_) -> list[Path] | list[tuple[Path, Path, Path]]:
    """The files of a LETOR folder: S1, S2, ..., or train, validation and test of each fold.

    The parts of data for rank aggregation are A1, A2, ...
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"expected a folder with S1.txt ... or Fold1 ..., got no folder {folder}")
    folds = _numbered([path for path in folder.iterdir() if path.is_dir()], r"Fold(\d+)")
    if folds:
        return [_triple(path) for path in folds]
    files = [path for path in folder.iterdir() if path.is_file()]
    parts = _numbered(files, r"S(\d+)\.txt") or _numbered(files, r"A(\d+)\.txt")
    if not parts:
        raise DataError(
            f"expected S1.txt, S2.txt, ... or folders Fold1, Fold2, ... in {folder}, got neither"
        )
    return parts


def _numbered(paths: Sequence[Path], name: str) -> list[Path]:
    """Those whose name is this one, by number; plain before compressed, and none may be missing."""
    by_number: dict[int, Path] = {}
    for path in sorted(paths):
        match = re.fullmatch(name, stem(path), re.IGNORECASE)
        if match:
            by_number.setdefault(int(match[1]), path)
    absent = set(range(1, len(by_number) + 1)) - set(by_number)
    if absent:
        shown = ", ".join(path.name for _, path in sorted(by_number.items()))
        raise DataError(f"expected numbers from 1 without a gap in {paths[0].parent}, got {shown}")
    return [by_number[number] for number in sorted(by_number)]


def _triple(folder: Path) -> tuple[Path, Path, Path]:
    files = {stem(path).lower(): path for path in sorted(folder.iterdir(), reverse=True)}
    paths = []
    for purpose, names in PARTS.items():
        path = next((files[f"{name}.txt"] for name in names if f"{name}.txt" in files), None)
        if path is None:
            raise DataError(f"expected the {purpose} file {names[0]}.txt in {folder}, got none")
        paths.append(path)
    train, valid, test = paths
    return train, valid, test


def _equally_wide(paths: Sequence[Path], read: Read) -> list[RankingData]:
    """The files with the same features: where the last ones are all 0 in a file, text leaves them out."""
    parts = [read(path, None) for path in paths]
    width = max(part.n_features for part in parts)
    return [
        part if part.n_features == width else read(path, width)
        for path, part in zip(paths, parts, strict=True)
    ]


def _some(folds: Iterable[Any]) -> list[Fold]:
    all_folds = list(folds)
    if not all_folds:
        raise UsageError("expected at least one fold to compare on, got none")
    for number, fold in enumerate(all_folds, start=1):
        parts = tuple(fold) if isinstance(fold, Sequence) else ()
        if len(parts) != 3 or not all(isinstance(part, RankingData) for part in parts):
            raise UsageError(
                f"expected fold {number} to be Fold(train, valid, test) of RankingData, "
                f"got {type(fold).__name__}"
            )
    return [Fold(*fold) for fold in all_folds]


def _checked(fold: Fold, number: int) -> Fold:
    """The fold, in which no query is tested on that was learned or chosen from."""
    tested = set(fold.test.qids.tolist())
    for purpose, part in (("train", fold.train), ("validate", fold.valid)):
        shared = tested & set(part.qids.tolist())
        if shared:
            raise DataError(
                f"expected other queries to test on than to {purpose} on in fold {number}, got "
                f"query {min(shared)!r} in both; give different queries different ids"
            )
    if not fold.train.n_features == fold.valid.n_features == fold.test.n_features:
        sizes = "/".join(str(part.n_features) for part in fold)
        raise DataError(f"expected the same features in all of fold {number}, got {sizes}")
    return fold


def _tested_once(folds: list[Fold]) -> list[Fold]:
    """The folds, in which no query is tested twice: intervals and tests take queries as independent."""
    tested: dict[str, int] = {}
    for number, fold in enumerate(folds, start=1):
        for qid in fold.test.qids.tolist():
            if qid in tested:
                raise DataError(
                    f"expected each query to be tested in one fold, got query {qid!r} in folds "
                    f"{tested[qid]} and {number}; give different queries different ids, and compare "
                    "folds that test the same queries one by one"
                )
            tested[qid] = number
    return folds

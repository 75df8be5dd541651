"""Data sets of the papers: which of them a folder holds, and which are missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.data import Fold, Path_, RankingData
from podium.errors import DataError
from podium.experiments import MissingData, read_folds

MAX_FOLDER_DEPTH = 3
"""Levels of folders that are searched for data sets."""
NORMALISED_FOLDER = "querylevelnorm"
"""Folder of LETOR 3.0's releases with normalised features, which the papers use."""

FOLDS_LAYOUT = (
    "with Fold1 ... Fold5, each with train.txt, vali.txt and test.txt, or with S1.txt ... S5.txt; "
    "compressed or not"
)
ONLY_FOLDS_LAYOUT = (
    "with Fold1 ... Fold5, each with train.txt, vali.txt and test.txt; compressed or not"
)
PLACES_LAYOUT = FOLDS_LAYOUT.replace("S1.txt ... S5.txt", "A1.txt ... A5.txt")


@dataclass(frozen=True)
class DataSet:
    """A data set: the name of its folder or file, its release, and the files it must hold."""

    name: str
    release: str
    layout: str = FOLDS_LAYOUT
    aliases: tuple[str, ...] = ()
    """Other names of its folder in the releases."""

    @property
    def needs(self) -> str:
        """Sentence that says which data is needed."""
        kind = "file" if self.name == SCORED_TABLE else "folder"
        return f"{self.release}: {kind} {self.name} {self.layout}"


_LETOR_4, _LETOR_3 = "LETOR 4.0", "LETOR 3.0, QueryLevelNorm"
SCORED_TABLE = "scored-items.csv"

DATA_SETS: dict[str, DataSet] = {
    data_set.name: data_set
    for data_set in (
        DataSet("MQ2007", f"{_LETOR_4}, supervised ranking"),
        DataSet("MQ2008", f"{_LETOR_4}, supervised ranking"),
        DataSet("MQ2007-agg", f"{_LETOR_4}, rank aggregation", PLACES_LAYOUT),
        DataSet("MQ2008-agg", f"{_LETOR_4}, rank aggregation", PLACES_LAYOUT),
        DataSet("MQ2007-list", f"{_LETOR_4}, listwise ranking", ONLY_FOLDS_LAYOUT),
        DataSet("MQ2008-list", f"{_LETOR_4}, listwise ranking", ONLY_FOLDS_LAYOUT),
        DataSet("OHSUMED", _LETOR_3),
        DataSet("TD2003", _LETOR_3, aliases=("2003_td_dataset",)),
        DataSet("TD2004", _LETOR_3, aliases=("2004_td_dataset",)),
        DataSet(
            SCORED_TABLE, "items with a score each", "with a header, the score in its last column"
        ),
    )
}
"""Every data set that a paper can use, by name."""
_BY_NAME = {
    name.lower(): data_set.name
    for data_set in DATA_SETS.values()
    for name in (data_set.name, *data_set.aliases)
}


def find_data_sets(folder: Path_) -> dict[str, Path]:
    """Return the name and the path of each data set in a folder, or of the folder itself if it is one.

    A folder of folds that is no data set of the papers goes by its own name.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "OHSUMED" / "QueryLevelNorm" / "Fold1").mkdir(parents=True)
    >>> {name: path.name for name, path in find_data_sets(root).items()}
    {'OHSUMED': 'QueryLevelNorm'}
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise DataError(f"expected a folder with data sets such as MQ2008, got no folder {folder}")
    paths: dict[str, Path] = {}
    for path in _folders_with_folds(root, MAX_FOLDER_DEPTH):
        name = _name(path, root)
        if name and (name not in paths or path.name.lower() == NORMALISED_FOLDER):
            paths[name] = path
    if (root / SCORED_TABLE).is_file():
        paths[SCORED_TABLE] = root / SCORED_TABLE
    return paths


def _folders_with_folds(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the folders that hold parts or folds: this one, or folders inside it."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:  # a folder that may not be read holds no data for us
        return
    if any(re.fullmatch(r"(Fold1|[SA]1\.txt(\.\w+)?)", p.name, re.IGNORECASE) for p in entries):
        yield folder
    elif depth > 0:
        for path in entries:
            if path.is_dir() and not path.name.startswith("."):
                yield from _folders_with_folds(path, depth - 1)


def _name(path: Path, root: Path) -> str | None:
    """Return the data set that a folder belongs to, by its own name or that of the nearest parent."""
    for folder in (path, *path.parents):
        usual_name = _BY_NAME.get(folder.name.lower())
        if usual_name is not None:
            return usual_name
        if folder == root:
            break
    return re.sub(r"[^\w .,-]", "-", root.name) or "data" if path == root else None


@dataclass(frozen=True)
class PaperSource:
    """Data for a paper's experiments, read from one data set or several.

    `is_papers_own` says that the paper itself uses it, so that printed values can be compared.
    `optional_data` names data sets that improve it. `read` takes the paths of `needs` and then of
    `optional_data`; the path of a missing optional data set is None.
    """

    name: str
    needs: tuple[str, ...]
    read: Callable[..., Any]
    is_papers_own: bool = False
    optional_data: tuple[str, ...] = ()


def graded_source(name: str, *, is_papers_own: bool = False) -> PaperSource:
    """Return the source of a data set whose folds are used unchanged.

    Examples
    --------
    >>> graded_source("OHSUMED").needs
    ('OHSUMED',)
    """
    return PaperSource(name, (name,), read_folds, is_papers_own)


def missing_data(sources: Sequence[PaperSource], paths: Mapping[str, Path]) -> list[MissingData]:
    """Return the data sets that sources lack, required or optional, with what each needs."""
    out = []
    for source in sources:
        missing = [name for name in source.needs if name not in paths]
        if missing:
            out.append(MissingData(source.name, "; ".join(DATA_SETS[n].needs for n in missing)))
        out += [MissingData(n, DATA_SETS[n].needs) for n in source.optional_data if n not in paths]
    return out


def read_rankings(folder: Path_) -> list[RankingData]:
    """Read data for rank aggregation, every query once: the parts, or the test queries of all folds."""
    folds: list[Fold] = read_folds(folder, missing="nan")
    return [fold.test for fold in folds]

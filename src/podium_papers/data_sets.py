"""The data sets that the papers use: which of them are in a folder, and what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.data import Fold, Path_, RankingData
from podium.errors import DataError
from podium.experiments import MissingData, read_folds

DEPTH = 3
"""How far below the given folder a data set may lie."""
NORMALISED = "querylevelnorm"
"""The folder of LETOR 3.0's releases with normalised features, which is the one that papers use."""

FOLDS = (
    "with Fold1 ... Fold5, each with train.txt, vali.txt and test.txt, or with S1.txt ... S5.txt; "
    "compressed or not"
)
ONLY_FOLDS = "with Fold1 ... Fold5, each with train.txt, vali.txt and test.txt; compressed or not"
PLACES = FOLDS.replace("S1.txt ... S5.txt", "A1.txt ... A5.txt")


@dataclass(frozen=True)
class DataSet:
    """A data set by the name of its folder or file; what it is, and what has to be in it."""

    name: str
    release: str
    layout: str = FOLDS
    aliases: tuple[str, ...] = ()
    """Its folder in the releases, where that is another."""

    @property
    def needs(self) -> str:
        """In words."""
        return f"{self.release}: {'file' if self.name == TABLE else 'folder'} {self.name} {self.layout}"


_LETOR_4, _LETOR_3 = "LETOR 4.0", "LETOR 3.0, QueryLevelNorm"
TABLE = "scored-items.csv"

DATA_SETS: dict[str, DataSet] = {
    one.name: one
    for one in (
        DataSet("MQ2007", f"{_LETOR_4}, supervised ranking"),
        DataSet("MQ2008", f"{_LETOR_4}, supervised ranking"),
        DataSet("MQ2007-agg", f"{_LETOR_4}, rank aggregation", PLACES),
        DataSet("MQ2008-agg", f"{_LETOR_4}, rank aggregation", PLACES),
        DataSet("MQ2007-list", f"{_LETOR_4}, listwise ranking", ONLY_FOLDS),
        DataSet("MQ2008-list", f"{_LETOR_4}, listwise ranking", ONLY_FOLDS),
        DataSet("OHSUMED", _LETOR_3),
        DataSet("TD2003", _LETOR_3, aliases=("2003_td_dataset",)),
        DataSet("TD2004", _LETOR_3, aliases=("2004_td_dataset",)),
        DataSet(TABLE, "items with a score each", "with a header, the score in its last column"),
    )
}
"""Every data set that a paper can use, by name."""
_BY_NAME = {n.lower(): one.name for one in DATA_SETS.values() for n in (one.name, *one.aliases)}


def find(folder: Path_) -> dict[str, Path]:
    """Name -> folder (or file) of each data set in a folder, or of the one that the folder itself is.

    A folder of folds that has another name is given by that name.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "OHSUMED" / "QueryLevelNorm" / "Fold1").mkdir(parents=True)
    >>> {name: path.name for name, path in find(root).items()}
    {'OHSUMED': 'QueryLevelNorm'}
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise DataError(f"expected a folder with data sets such as MQ2008, got no folder {folder}")
    paths: dict[str, Path] = {}
    for path in _with_folds(root, DEPTH):
        name = _name(path, root)
        if name and (name not in paths or path.name.lower() == NORMALISED):
            paths[name] = path
    if (root / TABLE).is_file():
        paths[TABLE] = root / TABLE
    return paths


def _with_folds(folder: Path, depth: int) -> Iterator[Path]:
    """Folders that hold parts or folds, this one or those below."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:  # not ours to read
        return
    if any(re.fullmatch(r"(Fold1|[SA]1\.txt(\.\w+)?)", p.name, re.IGNORECASE) for p in inside):
        yield folder
    elif depth > 0:
        for path in inside:
            if path.is_dir() and not path.name.startswith("."):
                yield from _with_folds(path, depth - 1)


def _name(path: Path, root: Path) -> str | None:
    """The data set that a folder belongs to: its own name or the nearest one above that is known."""
    for one in (path, *path.parents):
        usual_name = _BY_NAME.get(one.name.lower())
        if usual_name is not None:
            return usual_name
        if one == root:
            break
    return re.sub(r"[^\w .,-]", "-", root.name) or "data" if path == root else None


@dataclass(frozen=True)
class PaperSource:
    """Something that a paper's experiments can run on, made of one data set or several.

    `own`: the paper itself has it, so its printed values may be compared with. `also`: data sets that
    make more of it. `read` takes the paths of both, None for those of `also` that are not there.
    """

    name: str
    needs: tuple[str, ...]
    read: Callable[..., Any]
    own: bool = False
    also: tuple[str, ...] = ()


def graded(name: str, *, own: bool = False) -> PaperSource:
    """The folds of a data set as they are.

    Examples
    --------
    >>> graded("OHSUMED").needs
    ('OHSUMED',)
    """
    return PaperSource(name, (name,), read_folds, own)


def absent(sources: Sequence[PaperSource], paths: Mapping[str, Path]) -> list[MissingData]:
    """Those that are missing, or what would make more of them, with what they would need."""
    out = []
    for source in sources:
        missing = [name for name in source.needs if name not in paths]
        if missing:
            out.append(MissingData(source.name, "; ".join(DATA_SETS[n].needs for n in missing)))
        out += [MissingData(n, DATA_SETS[n].needs) for n in source.also if n not in paths]
    return out


def read_rankings(folder: Path_) -> list[RankingData]:
    """Data for rank aggregation, every query once: the parts, or the test queries of all folds."""
    folds: list[Fold] = read_folds(folder, missing="nan")
    return [fold.test for fold in folds]

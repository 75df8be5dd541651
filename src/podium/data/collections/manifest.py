"""The manifest of a collection: what all parts share, and the size and fingerprint of each part."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, cast

from podium.data.atomic_files import atomic_path
from podium.data.categories import Category
from podium.data.judged_by import JudgedBy, check_judged_by
from podium.data.ranking_columns import Missing
from podium.data.strict_json import read_json
from podium.errors import CorruptFileError, DataError

MANIFEST_NAME = "collection.json"
MANIFEST_VERSION = 1
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class PartRecord:
    """One part: a Parquet file of whole queries."""

    file: str
    rows: int
    queries: int
    labels: tuple[float, float]
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class DataLayout:
    """What the rows of all parts have in common: the fields of RankingData that are not columns."""

    features: tuple[str, ...]
    has_names: bool
    dtype: str
    docids: bool = False
    comments: bool = False
    weights: bool = False
    query_text: bool = False
    doc_text: tuple[str, ...] = ()
    topk: int | None = None
    scaled: str | None = None
    missing: Missing = "error"
    categories: Mapping[str, Category] = field(default_factory=dict)
    judged_by: JudgedBy | None = None


@dataclass(frozen=True)
class Manifest:
    """The layout of a collection and its parts, in order."""

    layout: DataLayout
    parts: tuple[PartRecord, ...]

    @property
    def rows(self) -> int:
        """The number of documents."""
        return sum(part.rows for part in self.parts)

    @property
    def queries(self) -> int:
        """The number of queries."""
        return sum(part.queries for part in self.parts)

    @property
    def labels(self) -> tuple[float, float]:
        """The lowest and the highest label."""
        return min(p.labels[0] for p in self.parts), max(p.labels[1] for p in self.parts)

    def write(self, folder: Path) -> None:
        """Write the manifest into a folder, all or nothing."""
        layout = asdict(self.layout) | {
            "categories": {name: c.to_record() for name, c in self.layout.categories.items()}
        }
        if self.layout.judged_by is None:
            del layout["judged_by"]
        record = {
            "format": "podium collection",
            "version": MANIFEST_VERSION,
            "layout": layout,
            "parts": [asdict(part) for part in self.parts],
        }
        with atomic_path(folder / MANIFEST_NAME) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest of a folder; raise if it is damaged, or of another version."""
        path = folder / MANIFEST_NAME
        try:
            record = read_json(path.read_bytes())
            if record["format"] != "podium collection":
                raise ValueError(f"format {record['format']!r:.60}")
            version = record["version"]
        except (ValueError, LookupError, TypeError) as error:
            raise _damaged(path, error) from error
        if version != MANIFEST_VERSION:
            raise DataError(
                f"expected a collection of version {MANIFEST_VERSION}, got version {version!r:.20}; "
                "partition the data again, or use the podium that wrote it",
                path=str(path),
            )
        try:
            return cls(_read_layout(record["layout"]), tuple(map(_read_part, record["parts"])))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise _damaged(path, error) from error


def is_collection(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a collection."""
    return os.path.isfile(os.path.join(path, MANIFEST_NAME))


def draft_of(folder: Path) -> Path:
    """Return the folder that a collection is written into until it is complete."""
    return folder.with_name(f"{folder.name}.partial")


def file_fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file, read a piece at a time."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _damaged(path: Path, error: Exception) -> CorruptFileError:
    return CorruptFileError(
        f"expected the manifest of a collection, got something else ({error!r:.200}); partition the "
        "data again",
        path=str(path),
    )


def _read_layout(record: Mapping[str, Any]) -> DataLayout:
    names = tuple(map(_text, record["features"]))
    if record["dtype"] not in ("float32", "float64"):
        raise ValueError(f"dtype {record['dtype']!r:.40}")
    if record["missing"] not in ("error", "nan"):
        raise ValueError(f"missing {record['missing']!r:.40}")
    categories = {n: Category.from_record(c) for n, c in record["categories"].items()}
    flags = {name: bool(record[name]) for name in ("has_names", "docids", "comments", "weights")}
    return DataLayout(
        features=names, dtype=record["dtype"], missing=record["missing"], categories=categories,
        query_text=bool(record["query_text"]), doc_text=tuple(map(_text, record["doc_text"])),
        topk=None if record["topk"] is None else _count(record["topk"]),
        scaled=None if record["scaled"] is None else _text(record["scaled"]), **flags,
        judged_by=_judges(record.get("judged_by")),
    )  # fmt: skip


def _judges(judged_by: Any) -> JudgedBy | None:
    check_judged_by(judged_by)
    return cast("JudgedBy | None", judged_by)


def _read_part(record: Mapping[str, Any]) -> PartRecord:
    name = _text(record["file"])
    if name != os.path.basename(name) or name in ("", ".", ".."):
        raise ValueError(f"the file name {name!r:.60}")  # a part lies in the folder itself
    low, high = (float(label) for label in record["labels"])
    return PartRecord(
        name, _count(record["rows"]), _count(record["queries"]), (low, high),
        _count(record["n_bytes"]), _text(record["sha256"]),
    )  # fmt: skip


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {value!r:.40}")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"expected a count of 1 or more, got {value!r:.40}")
    return value

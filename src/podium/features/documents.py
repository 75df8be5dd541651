"""Documents of text: an id and named fields, from JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from podium.data.json_lines import read_json_lines
from podium.data.text_files import Progress
from podium.errors import DataError, EmptyDataError
from podium.typing import Path_


@dataclass(frozen=True)
class Document:
    """A document: its id and the values of its fields.

    Examples
    --------
    >>> Document.of({"id": 7, "title": "Wings", "body": "Lift and drag."})
    Document(id='7', fields={'title': 'Wings', 'body': 'Lift and drag.'})
    """

    id: str
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, record: Document | Mapping[str, Any], id_field: str = "id") -> Document:
        """Return a document from a record with an id (text or a whole number) and fields."""
        if isinstance(record, Document):
            return record
        if not isinstance(record, Mapping):
            raise DataError(
                f"expected documents as records such as {{'{id_field}': ..., 'title': ...}}, "
                f"got {type(record).__name__}"
            )
        ident = record.get(id_field)
        if isinstance(ident, bool) or not isinstance(ident, str | int) or ident == "":
            raise DataError(
                f"expected {id_field!r} of each document to be text or a whole "
                f"number, got {ident!r}"
            )
        return cls(str(ident), {k: v for k, v in record.items() if k != id_field})


def read_documents(
    paths: Path_ | Iterable[Path_], id_field: str = "id", progress: Progress | None = None
) -> Iterator[Document]:
    """Yield documents from JSON lines, one object per line, plain or compressed.

    Parameters
    ----------
    paths
        One file or several, with lines ``{"id": "d1", "title": "...", "body": "..."}``.
    id_field
        The name of the field with the id.
    progress
        Called with the number of bytes of text read since the last call.
    """
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    for path in names:
        line = 0
        for line, record in read_json_lines(path, progress):
            try:
                yield Document.of(record, id_field)
            except DataError as error:
                raise DataError(str(error), path=os.fspath(path), line=line) from None
        if line == 0:
            raise EmptyDataError(
                "the file has no documents; expected at least one", path=os.fspath(path)
            )

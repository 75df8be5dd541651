"""User classes: read the class of a list from its query record or its events."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

from podium.data.text_files import read_blocks
from podium.errors import EmptyDataError, MalformedLineError, UsageError
from podium.typing import Path_

ClassOf = Callable[[Mapping[str, Any]], object]
"""A query record or an event -> its user class, or None."""

UserClassSource = str | Mapping[str, str] | ClassOf


def class_reader(user_class: UserClassSource | None) -> ClassOf | None:
    """Return a function that reads the class: by a path into the record, by a table, or the given function.

    Examples
    --------
    >>> read = class_reader("query_attributes.user_class")
    >>> read({"query_attributes": {"user_class": "novice"}}), read({"query_attributes": None})
    ('novice', None)
    >>> class_reader({"ann": "expert"})({"client_id": "c7", "user_id": "ann"})
    'expert'
    """
    if user_class is None:
        return None
    if isinstance(user_class, str):
        return _by_path(user_class)
    if isinstance(user_class, Mapping):
        classes = {user: name for user, name in user_class.items() if name is not None}
        # Data frames have NaN for a missing class; NaN is not equal to itself.
        return _by_user({str(user): str(name) for user, name in classes.items() if name == name})
    if callable(user_class):
        return user_class
    raise UsageError(
        "expected user_class as a path such as 'query_attributes.user_class', a table of users or a "
        f"function, got {user_class!r}"
    )


def _by_path(path: str) -> ClassOf:
    steps = path.split(".")
    if not all(steps):
        raise UsageError(f"expected a path such as 'query_attributes.user_class', got {path!r}")

    def read(record: Mapping[str, Any]) -> object:
        value: object = record
        for step in steps:
            if not isinstance(value, dict):
                return None
            value = value.get(step)
        return value

    return read


def _by_user(table: Mapping[str, str]) -> ClassOf:
    def read(record: Mapping[str, Any]) -> object:
        for key in ("user_id", "client_id"):
            user = record.get(key)
            if isinstance(user, str | int) and (name := table.get(str(user))) is not None:
                return name
        return None

    return read


def read_classes(path: Path_) -> dict[str, str]:
    """Read a table of users from a CSV file with lines ``user,class``; a user is a user_id or a client_id.

    A first line ``user_id,...``, ``client_id,...`` or ``user,...`` is a header.
    """
    name, table = str(path), {}
    text = b"".join(block.tobytes() for block in read_blocks(name))
    try:
        rows = enumerate(csv.reader(io.StringIO(text.decode(), newline=""), strict=True), start=1)
        for line, row in rows:
            if not row or (line == 1 and row[0].strip() in ("user", "user_id", "client_id")):
                continue
            if len(row) != 2 or not row[0].strip() or not row[1].strip():
                raise MalformedLineError(f"expected user,class, got {row}", path=name, line=line)
            table[row[0].strip()] = row[1].strip()
    except (csv.Error, UnicodeDecodeError) as error:
        raise MalformedLineError(f"this is not CSV text ({error})", path=name) from None
    if not table:
        raise EmptyDataError(
            "the file has no lines; expected lines of the form user,class", path=name
        )
    return table

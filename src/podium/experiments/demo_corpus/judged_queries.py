"""Judged queries of the demo: everyday questions about the standard library, graded and ordered."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from podium.errors import MalformedLineError

HIGHEST_GRADE = 4
_FIELDS = {"id": str, "text": str, "description": str, "grades": dict, "order": list}
_FILE = Path(__file__).with_name("queries.jsonl")


@dataclass(frozen=True)
class LibraryQuery:
    """A question with the answers of an experienced Python programmer.

    Attributes
    ----------
    id:
        A short name.
    text:
        The text of the query.
    description:
        What the user wants.
    grades:
        Document id -> 4 exactly what to use, 3 good, 2 helps, 1 related, 0 looks right but is
        wrong.
    order:
        The best documents, best first, in levels; documents on the same level are equally good.
    """

    id: str
    text: str
    description: str
    grades: Mapping[str, int]
    order: tuple[tuple[str, ...], ...]


def queries(path: str | os.PathLike[str] | None = None) -> list[LibraryQuery]:
    """Return the judged queries of podium's own file.

    Parameters
    ----------
    path:
        Another file of the same form: one JSON object per line, with the fields of ``LibraryQuery``.

    Examples
    --------
    >>> query = queries()[0]
    >>> query.text, query.order[0], query.grades["list.sort"]
    ('sort a dictionary by value', ('sorted',), 2)
    """
    file = _FILE if path is None else Path(path)
    by_id: dict[str, LibraryQuery] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            query = _read_query(line)
            if query.id in by_id:
                raise ValueError(f"the id {query.id!r} occurs twice; expected each id once")
        except ValueError as error:
            raise MalformedLineError(str(error), path=str(file), line=number) from None
        by_id[query.id] = query
    return list(by_id.values())


def without_unknown(query: LibraryQuery, ids: Iterable[str]) -> LibraryQuery:
    """Return the query without judgments of documents other than these.

    Examples
    --------
    >>> query = LibraryQuery("a", "a", "", {"x": 4, "y": 4, "z": 2}, (("x", "y"), ("z",)))
    >>> without_unknown(query, ["x"]).order
    (('x',),)
    """
    names = set(ids)
    grades = {name: grade for name, grade in query.grades.items() if name in names}
    levels = (tuple(name for name in level if name in names) for level in query.order)
    order = tuple(level for level in levels if level)
    return LibraryQuery(query.id, query.text, query.description, MappingProxyType(grades), order)


def _read_query(line: str) -> LibraryQuery:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"expected a JSON object, got {line[:40]!r} ({error})") from None
    if not isinstance(record, dict) or record.keys() != _FIELDS.keys():
        got = ", ".join(record) if isinstance(record, dict) else line[:40]
        raise ValueError(f"expected an object with {', '.join(_FIELDS)}, got {got}")
    for name, kind in _FIELDS.items():
        if not isinstance(record[name], kind) or not record[name]:
            raise ValueError(f"expected {name} to be a {kind.__name__} that is not empty, got "
                             f"{record[name]!r}")  # fmt: skip
    grades = {name: _grade(name, grade) for name, grade in record["grades"].items()}
    order = tuple(_level(level, grades) for level in record["order"])
    _check_order(order, grades)
    return LibraryQuery(
        record["id"], record["text"], record["description"], MappingProxyType(grades), order
    )  # fmt: skip


def _grade(name: str, grade: Any) -> int:
    if type(grade) is not int or not 0 <= grade <= HIGHEST_GRADE:
        raise ValueError(
            f"expected the grade of {name} to be a whole number in 0..{HIGHEST_GRADE}, got {grade!r}"
        )
    return grade


def _level(level: Any, grades: Mapping[str, int]) -> tuple[str, ...]:
    if not isinstance(level, list) or not level:
        raise ValueError(f"expected each level of the order to be a list of names, got {level!r}")
    for name in level:
        if not isinstance(name, str) or name not in grades:
            raise ValueError(
                f"the order has {name!r}, which has no grade; expected graded names only"
            )
    return tuple(level)


def _check_order(order: tuple[tuple[str, ...], ...], grades: Mapping[str, int]) -> None:
    """Raise if a grade rises down the order, or if a document outside the order has a higher grade."""
    names = [name for level in order for name in level]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the order has {twice!r} twice; expected each name once")
    rest = tuple(name for name in grades if name not in set(names))
    levels = [level for level in (*order, rest) if level]
    for better, worse in pairwise(levels):
        low = min(better, key=grades.__getitem__)
        high = max(worse, key=grades.__getitem__)
        if grades[low] < grades[high]:
            raise ValueError(
                f"grades must not rise down the order, but {high!r} ({grades[high]}) is below "
                f"{low!r} ({grades[low]})"
            )

"""EventRows: impressions, clicks and hits of lists as growing columns, from any kind of log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

IMPRESSION, CLICK, HIT = 0, 1, 2
"""Kinds of rows. A hit is a document that the record of a query lists."""


class Numbers(dict[Any, int]):
    """Names -> 0, 1, 2, ... in the order in which they are first looked up."""

    def __missing__(self, key: Any) -> int:
        """Give the next number to a new name."""
        number = self[key] = len(self)
        return number


@dataclass
class ListFacts:
    """What a log says of whole lists, by the number of the list."""

    text: dict[int, str] = field(default_factory=dict)
    user: dict[int, Any] = field(default_factory=dict)
    variant: dict[int, str] = field(default_factory=dict)
    user_class: dict[int, str] = field(default_factory=dict)
    time: dict[int, float] = field(default_factory=dict)
    n_hits: dict[int, int] = field(default_factory=dict)
    malformed: set[int] = field(default_factory=set)


_COLUMNS: Mapping[str, type] = {
    "list_number": np.int64, "doc": np.int64, "kind": np.int8, "position": np.float64,
    "time": np.float64, "base": np.float64, "record_key": np.int64, "source": np.int32,
}  # fmt: skip


class EventRows:
    """Rows of a log, in parts; memory is about 50 bytes per row.

    A position counts from 0 or from 1, as in the log; hits count from 1. `record_key` is the hash of the id
    of the record, 0 without an id. `source` is the number of the file, set by ``next_source``.
    """

    def __init__(self) -> None:
        self.lists, self.docs, self.facts = Numbers(), Numbers(), ListFacts()
        self.counts: Counter[str] = Counter()
        self._source = 0
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in _COLUMNS}

    def add(self, n: int, **columns: Iterable[Any] | float) -> None:
        """Add n rows; a column may be one value for all, and times, positions and bases may be left out."""
        if n == 0:
            return
        for name, kind in _COLUMNS.items():
            missing = self._source if name == "source" else nan if kind is np.float64 else 0
            values = columns.get(name, missing)
            part: NDArray[Any] = (
                np.full(n, values, dtype=kind)
                if isinstance(values, int | float)
                else np.asarray(values, dtype=kind)
            )
            self._parts[name].append(part)

    def next_source(self) -> None:
        """Say that the rows from now on are those of another file."""
        self._source += 1

    def column(self, name: str) -> NDArray[Any]:
        """Return all values of a column."""
        parts = self._parts[name]
        if len(parts) > 1:
            parts[:] = [np.concatenate(parts)]
        return parts[0] if parts else np.zeros(0, dtype=_COLUMNS[name])

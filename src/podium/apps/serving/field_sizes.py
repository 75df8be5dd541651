"""How large the fields of a request's documents are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from podium.apps.serving.postranking import CONTAINERS

MAX_QUICK_FIELD_VALUES = 20_000
"""The largest number of list values and text characters that rules read quickly."""


def has_small_fields(documents: Sequence[Any]) -> bool:
    """Return whether rules read a request's fields quickly: short texts, and lists of plain values."""
    size = 0.0
    for document in documents:
        fields = None if isinstance(document, str) else document.fields
        if fields:
            for value in fields.values():
                if isinstance(value, str):
                    size += len(value)
                elif isinstance(value, CONTAINERS):
                    size += _container_size(value)
    return size <= MAX_QUICK_FIELD_VALUES


def _container_size(value: Any) -> float:
    """Count the values and characters of a list or mapping; infinity if it is nested."""
    parts = value.values() if isinstance(value, dict) else value
    if any(isinstance(part, CONTAINERS) for part in parts):
        return math.inf
    return len(value) + sum(len(part) for part in parts if isinstance(part, str))

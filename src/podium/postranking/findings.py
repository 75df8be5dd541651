"""Findings of a check of rules: errors and warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """Something about rules, given by their numbers: an error, or only a warning.

    Without rules it is about the check itself.
    """

    level: Literal["error", "warning"]
    rules: tuple[int, ...]
    message: str

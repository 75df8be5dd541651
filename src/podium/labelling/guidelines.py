"""Guidelines for assessors, with a definition of each grade."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from podium.errors import DataError, UsageError
from podium.typing import Path_

MAX_GUIDELINES_CHARACTERS = 100_000
"""The maximum number of characters of Markdown."""

MAX_DEFINITION_CHARACTERS = 500
"""The maximum number of characters of a grade's definition, which is shown next to its button."""

MAX_DEFINED_GRADES = 100
"""The maximum number of grades with a definition; a task has no more grades."""

_FENCE = "---"


@dataclass(frozen=True)
class Guidelines:
    """One version of the guidelines of a store.

    Parameters
    ----------
    text
        Markdown.
    grades
        The definition of each grade, by its name.
    version
        1, 2, ... in the store; 0 if the store has none.
    author, created
        Who wrote this version, and when: milliseconds since 1970.

    Examples
    --------
    >>> Guidelines("Prefer recent pages.", {"Bad": "Off topic."}).is_empty
    False
    """

    text: str = ""
    grades: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    author: str = ""
    created: int = 0

    def __post_init__(self) -> None:
        if len(self.text) > MAX_GUIDELINES_CHARACTERS:
            raise UsageError(
                f"expected guidelines of at most {MAX_GUIDELINES_CHARACTERS:,} characters, "
                f"got {len(self.text):,}"
            )
        if "\0" in self.text:
            raise UsageError("expected guidelines as text, got a NUL character")
        if len(self.grades) > MAX_DEFINED_GRADES:
            raise UsageError(
                f"expected definitions of at most {MAX_DEFINED_GRADES} grades, got {len(self.grades)}"
            )
        for name, definition in self.grades.items():
            _check_definition(name, definition)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.text.strip() and not self.grades

    def has_content_of(self, other: Guidelines) -> bool:
        """Return whether the text and the grades are those of another version."""
        return (self.text, dict(self.grades)) == (other.text, dict(other.grades))


def read_guidelines(path: Path_) -> Guidelines:
    """Read guidelines from a Markdown file; grades are in a YAML header between lines of ``---``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "guidelines.md"
    >>> _ = path.write_text("---\\ngrades:\\n  Bad: Off topic.\\n---\\nPrefer recent pages.")
    >>> read_guidelines(path)
    Guidelines(text='Prefer recent pages.', grades={'Bad': 'Off topic.'}, version=0, author='', created=0)
    """
    name = os.fspath(path)
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(
            "the guidelines are not UTF-8 text; save them as UTF-8", path=name
        ) from None
    header, body = _split_header(text)
    try:
        return Guidelines(body, _read_grades(header))
    except (UsageError, yaml.YAMLError) as error:
        raise DataError(" ".join(str(error).split()), path=name) from None


def _split_header(text: str) -> tuple[str, str]:
    """Return the YAML header, which may be missing, and the Markdown after it."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return "", text.strip()
    for i, line in enumerate(lines[1:], start=1):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1:i]), "\n".join(lines[i + 1 :]).strip()
    return "", text.strip()  # a horizontal rule at the top


def _read_grades(header: str) -> dict[str, str]:
    fields = yaml.safe_load(header)
    if fields is None:
        return {}
    if not isinstance(fields, dict) or set(fields) != {"grades"}:
        raise UsageError("expected a header with one field, grades, before the guidelines")
    grades = fields["grades"]
    if not isinstance(grades, dict):
        raise UsageError("expected grades as lines 'name: definition' in the header")
    return {str(name): definition for name, definition in grades.items()}


def _check_definition(name: object, definition: object) -> None:
    is_name = isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()
    if not is_name:
        raise UsageError(f"expected the name of a grade, got {name!r:.60}")
    if not isinstance(definition, str) or not definition.replace("\n", " ").isprintable():
        raise UsageError(f"expected the definition of grade {name!r:.60} as text")
    if len(definition) > MAX_DEFINITION_CHARACTERS:
        raise UsageError(
            f"expected a definition of at most {MAX_DEFINITION_CHARACTERS} characters for grade "
            f"{name!r:.60}, got {len(definition):,}"
        )

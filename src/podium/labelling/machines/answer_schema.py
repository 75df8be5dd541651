"""AnswerSchema: the answers that a machine may give, and the strict reading of what it gave."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from podium.errors import DataError

MAX_ANSWER_CHARACTERS = 2_000
"""A longer answer is not read."""


class UnreadableAnswerError(DataError):
    """A machine's answer that is not exactly one of the allowed ones."""


@dataclass(frozen=True)
class AnswerSchema:
    """A JSON object with one field, whose value is one of a few texts.

    Parameters
    ----------
    name
        The field.
    values
        The allowed values.

    Examples
    --------
    >>> schema = AnswerSchema("better", ("A", "B", "tie", "bad"))
    >>> schema.read('{"better": "B"}')
    'B'
    >>> schema.read("B is better")
    Traceback (most recent call last):
    podium.labelling.machines.answer_schema.UnreadableAnswerError: expected a JSON object, got 'B is better'
    """

    name: str
    values: tuple[str, ...]

    @property
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        return {
            "type": "object",
            "properties": {self.name: {"type": "string", "enum": list(self.values)}},
            "required": [self.name],
            "additionalProperties": False,
        }

    @property
    def instruction(self) -> str:
        """What a prompt says about the form of the answer."""
        values = ", ".join(json.dumps(value, ensure_ascii=False) for value in self.values)
        return (
            f'Answer with one JSON object and nothing else: {{"{self.name}": VALUE}}. '
            f"VALUE is one of {values}."
        )

    def read(self, text: str) -> str:
        """Return the value; anything but one object with this field and an allowed value raises."""
        if len(text) > MAX_ANSWER_CHARACTERS:
            raise UnreadableAnswerError(
                f"expected at most {MAX_ANSWER_CHARACTERS:,} characters, got {len(text):,}"
            )
        try:
            fields = json.loads(text, object_pairs_hook=list)
        except (ValueError, RecursionError):
            raise UnreadableAnswerError(f"expected a JSON object, got {text!r:.60}") from None
        is_object = text.lstrip()[:1] == "{" and isinstance(fields, list)
        if not is_object or [name for name, _ in fields] != [self.name]:
            raise UnreadableAnswerError(
                f"expected an object with the field {self.name!r} and no other, got {text!r:.60}"
            )
        value = fields[0][1]
        if not isinstance(value, str) or value not in self.values:
            raise UnreadableAnswerError(
                f"expected one of {', '.join(self.values)}, got {value!r:.60}"
            )
        return value


def pair_schema() -> AnswerSchema:
    """Return the answers to a question about two documents."""
    return AnswerSchema("better", ("A", "B", "tie", "bad"))


def set_schema(size: int) -> AnswerSchema:
    """Return the answers to a question about the best of several documents."""
    return AnswerSchema("best", tuple(str(i + 1) for i in range(size)))


def grade_schema(grades: tuple[str, ...]) -> AnswerSchema:
    """Return the answers to a question about the grade of one document."""
    return AnswerSchema("grade", grades)

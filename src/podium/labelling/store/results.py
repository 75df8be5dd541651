"""Results of finished sessions as JSON can hold them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.labelling.grading import Graded, Grades
from podium.labelling.judgments import JudgedTopK


def result_record(step: object) -> dict[str, Any] | None:
    """A finished truth as JSON can hold it; None for a question.

    Examples
    --------
    >>> result_record(Grades((Graded("x", 1),), ("Bad", "Good")))
    {'graded': [['x', 1]], 'names': ['Bad', 'Good']}
    """
    if isinstance(step, JudgedTopK):
        return {
            "levels": [list(level) for level in step.levels],
            "k": step.k,
            "judged": step.judged,
        }
    if isinstance(step, Grades):
        return {"graded": [[g.document, g.grade] for g in step.graded], "names": list(step.names)}
    return None


def read_result(record: Mapping[str, Any]) -> JudgedTopK | Grades:
    """The inverse of result_record."""
    if "levels" in record:
        levels = tuple(tuple(level) for level in record["levels"])
        return JudgedTopK(levels, record["k"], record["judged"])
    return Grades(tuple(Graded(*graded) for graded in record["graded"]), tuple(record["names"]))

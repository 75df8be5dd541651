"""Who judged: labels of people, of machines, or of both; files and reports keep it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from podium.errors import UnknownNameError

JudgedBy = Literal["people", "machines", "both"]
"""Who made labels."""


def check_judged_by(judged_by: object) -> None:
    """Raise unless `judged_by` is one of `JudgedBy`, or None."""
    if judged_by is not None and judged_by not in get_args(JudgedBy):
        raise UnknownNameError("origin of labels", str(judged_by), get_args(JudgedBy))


def has_machine_labels(judged_by: JudgedBy | None) -> bool:
    """Whether machines made some of the labels, as far as it is known."""
    return judged_by in ("machines", "both")


def judges_text(judged_by: JudgedBy | None) -> str:
    """Return who judged, for a sentence.

    Examples
    --------
    >>> judges_text("both"), judges_text(None)
    ('people and machines', 'nobody knows whom')
    """
    return {"people": "people", "machines": "machines", "both": "people and machines"}.get(
        judged_by or "", "nobody knows whom"
    )


def join_judges(parts: Iterable[JudgedBy | None]) -> JudgedBy | None:
    """Return who judged several data sets together; machines are never forgotten.

    Examples
    --------
    >>> join_judges(["machines", None]), join_judges(["machines"] * 2), join_judges(["people", None])
    ('both', 'machines', None)
    """
    origins = set(parts)
    if len(origins) == 1:
        return origins.pop()
    return "both" if origins & {"machines", "both"} else None

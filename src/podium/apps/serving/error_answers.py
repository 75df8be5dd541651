"""Error answers of the ranking service: JSON with a code, never a traceback."""

from __future__ import annotations

import msgspec

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import ErrorAnswer, ErrorInfo
from podium.errors import (
    ConflictError,
    DeadlineError,
    NonFiniteError,
    PodiumError,
    UndecidedError,
    UnknownNameError,
    WorkLimitError,
)


def error_body(refusal: Refusal) -> bytes:
    """Return the JSON of a refusal; its details are fields of `ErrorInfo`."""
    info = ErrorInfo(refusal.code, refusal.message, **refusal.details)
    return msgspec.json.encode(ErrorAnswer(info))


def refuse_part(refusal: Refusal, place: str) -> Refusal:
    """Return the refusal of a whole request because of one part of it, such as ``queries[3]``.

    Examples
    --------
    >>> refuse_part(Refusal(422, "wrong_ids", "expected ids", at="ids"), "queries[3]").details
    {'at': 'queries[3].ids'}
    """
    at = refusal.details.get("at", "")
    details = {**refusal.details, "at": f"{place}.{at}" if at else place}
    return Refusal(refusal.status, refusal.code, f"{place}: {refusal.message}", **details)


def refusal_of(error: PodiumError) -> Refusal:
    """Return the refusal that an error of the library becomes."""
    if isinstance(error, ConflictError):
        rules = [getattr(rule, "label", str(rule)) for rule in error.rules]  # as in `yielded`
        return Refusal(409, "conflict", str(error), rules=rules)
    if isinstance(error, DeadlineError):
        return Refusal(503, "too_slow", str(error))
    if isinstance(error, WorkLimitError):
        return Refusal(413, "too_much_work", str(error))
    if isinstance(error, NonFiniteError):
        return Refusal(422, "not_finite", str(error))
    if isinstance(error, UndecidedError):
        return Refusal(422, "undecided", str(error))
    if isinstance(error, UnknownNameError):
        return Refusal(422, "unknown_name", str(error))
    return Refusal(422, "bad_request", str(error))

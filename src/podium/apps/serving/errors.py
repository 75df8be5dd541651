"""What the service says when it does not do what it is asked: JSON with a code, never a traceback."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from podium.apps.http.json_keys import RepeatedKeyError
from podium.apps.serving.bodies import ErrorAnswer, ErrorTold
from podium.errors import (
    ConflictError,
    DeadlineError,
    NonFiniteError,
    PodiumError,
    UndecidedError,
    UnknownNameError,
    WorkLimitError,
)

RETRY_SECONDS = 1

_type_info = cache(msgspec.inspect.type_info)


class Refusal(Exception):  # noqa: N818 - an answer, not a mistake
    """An answer other than 200: a status, a code for programs, a sentence for people.

    Parameters
    ----------
    status, code, message
        Of the answer.
    allow
        The method of a path, for 405.
    retry_seconds
        For the header Retry-After, with 429 and 503.
    told
        What else stands in the JSON, fields of `ErrorTold`.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        allow: str = "",
        retry_seconds: int = RETRY_SECONDS,
        **told: Any,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.told = status, code, message, told
        self._allow, self._retry_seconds = allow, retry_seconds

    def within(self, place: str) -> Refusal:
        """The same, of a part of a request."""
        at = self.told.get("at", "")
        told = {**self.told, "at": f"{place}.{at}" if at else place}
        return Refusal(self.status, self.code, f"{place}: {self.message}", **told)

    def body(self) -> bytes:
        """The JSON of the answer."""
        return msgspec.json.encode(ErrorAnswer(ErrorTold(self.code, self.message, **self.told)))

    @property
    def leaves_a_body(self) -> bool:
        """Whether a part of the request was not read, which would be taken for the next one."""
        return self.code == "too_large" or self.status == 408

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Headers that belong to the status."""
        if self.status == 401:
            return ((b"www-authenticate", b"Bearer"),)
        if self.status == 405:
            return ((b"allow", self._allow.encode()),)
        if self.status in (429, 503):
            return ((b"retry-after", str(self._retry_seconds).encode()),)
        return ((b"connection", b"close"),) if self.leaves_a_body else ()


def refusal_of(error: PodiumError) -> Refusal:
    """An error of the library as an answer."""
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


def repeated_key(error: RepeatedKeyError) -> Refusal:
    """Return 400 for an object with a key twice."""
    return Refusal(400, "repeated_key", str(error))


def not_decoded(error: Exception, body: bytes, kind: Any) -> Refusal:
    """400 for what is no JSON, 422 for JSON of another shape than this kind of body, with its place."""
    if isinstance(error, msgspec.ValidationError):
        place, message = told_of_shape(error, kind)
        at: dict[str, Any] = {"at": place} if place else {}
        return Refusal(422, "wrong_type", message, **at)
    hint = ""
    if b"NaN" in body or b"Infinity" in body:
        hint = (
            "; JSON has no NaN and no Infinity: a missing value is null, where the model takes any"
        )
    got = "something else" if isinstance(error, RecursionError) else str(error)
    return Refusal(400, "not_json", f"expected a body of JSON in UTF-8, got {got}{hint}")


def told_of_shape(error: msgspec.ValidationError, kind: Any) -> tuple[str, str]:
    """Where JSON is of another shape than this kind of body, and a sentence that says it."""
    message, _, place = str(error).partition(" - at `$")
    place = place.rstrip("`").lstrip(".")[:200]  # a field's name may look like a place
    where = f"{place}: " if place else ""
    return place, where + _with_known_fields(message, kind, place)


def _with_known_fields(message: str, kind: Any, place: str) -> str:
    """What msgspec says; of an unknown field or value also which ones there are."""
    values = _values_at(kind, place) if message.startswith("Invalid enum value ") else ()
    if values:
        got = message.removeprefix("Invalid enum value ").strip("'")[:100]
        return f"expected {' or '.join(values)}, got {got!r}"
    _, is_unknown, name = message.partition("Object contains unknown field `")
    struct = _struct_at(kind, place) if is_unknown else None
    if struct is None:
        return message.replace("`", "")
    known = [field.encode_name for field in struct.fields]
    own = name.removesuffix("`")[:100]
    text = str(UnknownNameError("field", own, known))
    if "fields" in known and "did you mean" not in text:
        text += f'; put it into fields: {{"fields": {{"{own}": ...}}}}'
    return text


def _struct_at(kind: Any, place: str) -> msgspec.inspect.StructType | None:
    """The object at a place such as ``queries[0].documents[2]``."""
    found = _struct_of(_type_info(kind))
    for name in re.sub(r"\[[^\[\]]*\]", "", place).split(".") if place else ():
        fields = found.fields if found is not None else ()
        found = next((_struct_of(f.type) for f in fields if f.encode_name == name), None)
    return found


def _values_at(kind: Any, place: str) -> list[str]:
    """Return the values that a field at a place such as ``queries[0].conflicts`` may have."""
    parent, _, name = place.rpartition(".")
    struct = _struct_at(kind, parent)
    types = [field.type for field in struct.fields if field.encode_name == name] if struct else []
    return [
        str(value)
        for one in types
        if isinstance(one, msgspec.inspect.LiteralType)
        for value in one.values
    ]


def _struct_of(kind: msgspec.inspect.Type) -> msgspec.inspect.StructType | None:
    """The objects of a list, or the one kind of object among several kinds of values."""
    if isinstance(kind, msgspec.inspect.ListType):
        return _struct_of(kind.item_type)
    if isinstance(kind, msgspec.inspect.UnionType):
        return next(filter(None, map(_struct_of, kind.types)), None)
    return kind if isinstance(kind, msgspec.inspect.StructType) else None

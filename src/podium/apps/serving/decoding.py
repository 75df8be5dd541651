"""Decode JSON bodies into the types of `body_types`; a refusal (422) names the place of an error."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from podium.apps.http.json_bodies import check_depth, repeated_key
from podium.apps.http.json_keys import JsonDecoder, RepeatedKeyError
from podium.apps.http.refusals import Refusal
from podium.errors import UnknownNameError

_type_info = cache(msgspec.inspect.type_info)


class BodyDecoder:
    """Decodes bodies of one type.

    Parameters
    ----------
    kind
        The type, as msgspec takes it.

    Examples
    --------
    >>> BodyDecoder(list[int]).decode(b"[1, 2]")
    [1, 2]
    """

    def __init__(self, kind: Any) -> None:
        self._kind, self._decode = kind, JsonDecoder(kind).decode

    def decode(self, body: bytes) -> Any:
        """Return the value of a body; 400 if it is not JSON, 422 if it is JSON of another shape."""
        check_depth(body)
        try:
            return self._decode(body)
        except RepeatedKeyError as error:
            raise repeated_key(error) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _undecodable(error, body, self._kind) from None


def _undecodable(error: Exception, body: bytes, kind: Any) -> Refusal:
    if isinstance(error, msgspec.ValidationError):
        place, message = explain_shape(error, kind)
        at: dict[str, Any] = {"at": place} if place else {}
        return Refusal(422, "wrong_type", message, **at)
    hint = ""
    if b"NaN" in body or b"Infinity" in body:
        hint = (
            "; JSON has no NaN and no Infinity: a missing value is null, where the model takes any"
        )
    if isinstance(error, RecursionError):
        got = "something else"
    elif isinstance(error, msgspec.DecodeError):
        got = f"text that is not JSON: {str(error).removeprefix('JSON is malformed: ')}"
    else:
        got = str(error)
    return Refusal(400, "not_json", f"expected a body of JSON in UTF-8, got {got}{hint}")


def explain_shape(error: msgspec.ValidationError, kind: Any) -> tuple[str, str]:
    """Return where JSON has another shape than this type, and a sentence that says it."""
    message, _, place = str(error).partition(" - at `$")
    place = place.rstrip("`").lstrip(".")[:200]  # a field's name may look like a place
    where = f"{place}: " if place else ""
    return place, where + _name_choices(message, kind, place)


def _name_choices(message: str, kind: Any, place: str) -> str:
    """Return the message of msgspec; for an unknown field or value it names those that there are."""
    values = _values_at(kind, place) if message.startswith("Invalid enum value ") else ()
    if values:
        got = message.removeprefix("Invalid enum value ").strip("'")[:100]
        return f"expected {' or '.join(values)}, got {got!r}"
    _, is_unknown, name = message.partition("Object contains unknown field `")
    struct = _struct_at(kind, place) if is_unknown else None
    if struct is None:
        return _in_words(message)
    field_names = [field.encode_name for field in struct.fields]
    unknown = name.removesuffix("`")[:100]
    text = str(UnknownNameError("field", unknown, field_names))
    if "fields" in field_names and "did you mean" not in text:
        fields = f'fields: {{"fields": {{"{unknown}": ...}}}}'
        if "features" in field_names:
            features = f'{{"features": {{"{unknown}": ...}}}}'
            text += f"; if the model ranks by it, put it into features: {features}; if rules use it, into "
            text += fields
        else:
            text += f"; put it into {fields}"
    return text


_JSON_WORDS = {
    "object": "an object", "array": "a list", "str": "text", "int": "a whole number",
    "float": "a number", "bool": "true or false", "null": "null", "date": "a date",
}  # fmt: skip


def _in_words(message: str) -> str:
    """Return a message of msgspec with the words that people use for JSON.

    Examples
    --------
    >>> _in_words("Expected `float | null`, got `str`")
    'expected a number or null, got text'
    """
    types = re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", message)
    if types is None:
        return message.replace("`", "")
    expected, got = (
        " or ".join(_JSON_WORDS.get(name, name) for name in part.split(" | "))
        for part in types.groups()
    )
    return f"expected {expected}, got {got}"


def _struct_at(kind: Any, place: str) -> msgspec.inspect.StructType | None:
    """Return the type of the object at a place such as ``queries[0].documents[2]``."""
    struct = _struct_of(_type_info(kind))
    for name in re.sub(r"\[[^\[\]]*\]", "", place).split(".") if place else ():
        fields = struct.fields if struct is not None else ()
        struct = next((_struct_of(f.type) for f in fields if f.encode_name == name), None)
    return struct


def _values_at(kind: Any, place: str) -> list[str]:
    """Return the values that a field at a place such as ``queries[0].conflicts`` may have."""
    parent, _, name = place.rpartition(".")
    struct = _struct_at(kind, parent)
    types = [field.type for field in struct.fields if field.encode_name == name] if struct else []
    return [
        str(value)
        for field_type in types
        if isinstance(field_type, msgspec.inspect.LiteralType)
        for value in field_type.values
    ]


def _struct_of(kind: msgspec.inspect.Type) -> msgspec.inspect.StructType | None:
    """Return the type of a list's objects, or the one type of object in a union."""
    if isinstance(kind, msgspec.inspect.ListType):
        return _struct_of(kind.item_type)
    if isinstance(kind, msgspec.inspect.UnionType):
        return next(filter(None, map(_struct_of, kind.types)), None)
    return kind if isinstance(kind, msgspec.inspect.StructType) else None

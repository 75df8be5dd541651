"""``--set NAME=VALUE`` and ``--grid NAME=V1,V2``: texts to values, and values to texts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from podium.errors import UsageError

VALUE_BY_WORD = {"true": True, "false": False, "none": None}
# Commas and semicolons inside NDCG(gain='linear', empty='skip')@10 belong to the metric.
_COMMA, _SEMICOLON = (re.compile(rf"{mark}(?![^()]*\))") for mark in ",;")


def parse_settings(texts: Sequence[str] | None, option: str = "--set") -> dict[str, Any]:
    """Return values by name: numbers, true, false, none, text and comma lists.

    Examples
    --------
    >>> parse_settings(["C=1e-2", "scorer=mlp", "scorer.hidden=64,32", "metric=NDCG(gain='linear')@5"])
    {'C': 0.01, 'scorer': 'mlp', 'scorer.hidden': (64, 32), 'metric': "NDCG(gain='linear')@5"}
    """
    return {name: _parse_value(text) for name, text in _split_pairs(texts, option).items()}


def parse_grid(texts: Sequence[str] | None) -> dict[str, tuple[Any, ...]]:
    """Return the values to try by name.

    Examples
    --------
    >>> parse_grid(["C=0.1,1", "scorer.hidden=64,32;128"])
    {'C': (0.1, 1), 'scorer.hidden': ((64, 32), 128)}
    """
    grid = {}
    for name, text in _split_pairs(texts, "--grid").items():
        marks = _SEMICOLON if _SEMICOLON.search(text) else _COMMA
        grid[name] = tuple(_parse_value(value) for value in marks.split(text))
    return grid


def _split_pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise UsageError(f"expected {option} NAME=VALUE, got {text!r}")
        if name in pairs:
            raise UsageError(f"expected {option} {name} once, got it twice")
        pairs[name] = value
    return pairs


def _parse_value(text: str) -> Any:
    if _COMMA.search(text):
        return tuple(_parse_value(part) for part in _COMMA.split(text) if part.strip())
    text = text.strip()
    if text.lower() in VALUE_BY_WORD:
        return VALUE_BY_WORD[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as --set has them: the settings of a scorer or a loss have dotted names.

    Examples
    --------
    >>> from podium.rankers import MLP
    >>> flatten({"l2": 0.1, "scorer": MLP(hidden=(8,), epochs=5)})
    {'l2': 0.1, 'scorer': 'mlp', 'scorer.hidden': [8], 'scorer.epochs': 5}
    """
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            flat[name] = getattr(value, "name", type(value).__name__.lower())
            default = type(value)()
            changed = {
                f"{name}.{f.name}": inner
                for f in dataclasses.fields(value)
                if (inner := getattr(value, f.name)) != getattr(default, f.name)
            }
            flat |= flatten(changed)
        elif isinstance(value, list | tuple) and any(map(dataclasses.is_dataclass, value)):
            flat |= _flatten_list(name, value)
        elif isinstance(value, Mapping):
            flat |= flatten({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            flat[name] = list(value) if isinstance(value, tuple) else value
    return flat


def _flatten_list(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """Return a list of rankers as --set has it: their names, and the settings of each by its place."""
    parts = [flatten({f"{name}.{place}": value}) for place, value in enumerate(values, start=1)]
    names = [part.pop(f"{name}.{place}") for place, part in enumerate(parts, start=1)]
    flat: dict[str, Any] = {name: names}
    for part in parts:
        flat |= part
    return flat


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as the command line has them.

    Examples
    --------
    >>> settings_text({"C": 0.1, "hidden": (64, 32), "metric": "MAP"})
    'C=0.1 hidden=64,32 metric=MAP'
    """
    flat = flatten(settings)
    return " ".join(f"{name}={value_text(value)}" for name, value in flat.items()) or "defaults"


def value_text(value: Any) -> str:
    """Return a value as the command line has it.

    Examples
    --------
    >>> value_text(1.0), value_text(1 / 3), value_text(None), value_text((64, 32)), value_text("MAP")
    ('1', '0.3333333333333333', 'none', '64,32', 'MAP')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(value_text, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)

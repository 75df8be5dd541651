"""Advice on arguments: an example where one is missing, and how to write several values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

MISSING_FILE = re.compile(r"'(.*)' does not exist")
_EXAMPLE = re.compile(r"\bExample: (podium .*)")
_TIME_UNITS = ("s", "sec", "second", "m", "min", "minute", "h", "hour", "fit")
_LISTS_WITH_COMMAS = (
    "--rankers",
    "--features",
    "--ignore",
    "--text-columns",
    "--categories",
    "--grades",
)


def example_advice(error: typer.BadParameter, epilog: str | None) -> str:
    """Return the example of a command, if an argument or option is missing."""
    match = _EXAMPLE.match(epilog or "")
    return f"As in: {match[1].partition(chr(10))[0]}" if match and not error.message else ""


def name_last_argument(
    error: typer.BadParameter, words: Sequence[str], arguments: list[Any]
) -> None:
    """Correct an error that reports the first of several arguments as missing, though it is given.

    The parser leaves what is there to the last argument: of IN... OUT, the input is taken for OUT.
    """
    names = [argument.name for argument in arguments]
    place = names.index(error.param.name) if error.param and error.param.name in names else -1
    is_given = any(Path(word).exists() for word in words)
    if (
        error.message
        or not is_given
        or place != 0
        or len(arguments) < 2
        or arguments[0].nargs != -1
    ):
        return
    error.param = arguments[-1]


def budget_advice(error: typer.BadParameter, words: Sequence[str]) -> str:
    """Return the budget in one word, if its unit stands apart and is taken for a file."""
    match = MISSING_FILE.search(error.message or "")
    if match is None or "--budget" not in words[:-1]:
        return ""
    amount = words[words.index("--budget") + 1]
    unit = match[1].lower().removesuffix("s") or "s"
    if not amount.isdigit() or unit not in _TIME_UNITS:
        return ""
    return f"Write a budget in one word: --budget {amount}{'fits' if unit == 'fit' else unit[0]}."


def list_advice(error: typer.BadParameter, words: Sequence[str], options: Sequence[Any]) -> str:
    """Return how to give an option several values, if the second is taken for a file."""
    match = MISSING_FILE.search(error.message or "")
    if match is None or match[1] not in words or Path(match[1]).suffix or "/" in match[1]:
        return ""
    place = words.index(match[1])
    starts = [i for i, word in enumerate(words[:place]) if word.startswith("-")]
    if not starts or starts[-1] > place - 2:
        return ""
    name, values = words[starts[-1]], _values_from(words, starts[-1] + 1)
    if name in _LISTS_WITH_COMMAS:
        return f"Values of {name} have commas between them: {name} {','.join(values)}"
    if any(name in option.opts and option.multiple for option in options):
        return f"Repeat {name} for each value: {' '.join(f'{name} {value}' for value in values)}"
    return ""


def _values_from(words: Sequence[str], start: int) -> list[str]:
    """Return the words from a place on, up to an option or a file."""
    values = []
    for word in words[start:]:
        if word.startswith("-") or Path(word).exists():
            break
        values.append(word)
    return values


def ranker_advice(name: str) -> str:
    """Return how to train a ranker whose name stands in the place of a command."""
    if name.lower() not in import_module("podium.registry").RANKERS:
        return ""
    return f"{name.lower()} is a ranker: podium train {name.lower()} DATA -o MODEL"

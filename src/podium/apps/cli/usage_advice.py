"""Usage advice: did you mean, the right order of arguments, and help shown as it is written."""

from __future__ import annotations

import copy
import difflib
import re
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.emoji import Emoji
from typer.core import TyperCommand, TyperGroup

from podium.apps.cli.argument_advice import (
    MISSING_FILE,
    budget_advice,
    example_advice,
    list_advice,
    name_last_argument,
)

DATA_PARAMETERS = ("inputs", "train", "data", "data_files", "valid")
"""Parameters of commands that name files of ranking data."""

# Older versions of typer parse with click, whose words are the second.
_LIBRARY_PROBLEM = re.compile(
    r"Input should be a valid (integer|number)\b|'.*' is not a valid (integer|float)( range)?\."
)
_BOUND = re.compile(r"Input should be (greater|less) than (?:or equal to )?(-?[\d.]+)")
_RANGE = re.compile(
    r"(-?[\d.]+) is not in the range (?:(-?[\d.]+)<=|x>=(-?[\d.]+))?x?(?:<=(-?[\d.]+))?\."
)

AnyCommand = TypeVar("AnyCommand", TyperCommand, TyperGroup)

_FOLDER = re.compile(r"'(.*)' is a directory")


def literal(text: str | None) -> str | None:
    """Return markup that shows text as it is, with no emoji for codes such as ``:m:``.

    Examples
    --------
    >>> literal("as in S: small"), literal("size=S:m:L")
    ('as in S: small', 'size=S:[none][/none]m:[none][/none]L')
    """
    if text is None or Emoji.replace(text) == text:
        return text
    return text.replace(":", ":[none][/none]")  # rich replaces codes between two tags only


def show_literally(command: AnyCommand) -> AnyCommand:
    """Return a copy of a command whose help has no emoji."""
    literal_copy = copy.copy(command)
    literal_copy.help, literal_copy.epilog = literal(command.help), literal(command.epilog)
    literal_copy.params = [_literal_parameter(parameter) for parameter in command.params]
    return literal_copy


def _literal_parameter(parameter: Any) -> Any:
    literal_copy = copy.copy(parameter)
    literal_copy.help = literal(getattr(parameter, "help", None))
    return literal_copy


def plain_problem(message: str) -> str:
    """Return what is wrong with a value of an option, without the words of the library that parses it.

    Examples
    --------
    >>> plain_problem("Value error, 'x' is not one of 'a', 'b'.")
    "'x' is not one of 'a', 'b'."
    >>> plain_problem("Input should be a valid integer, unable to parse string as an integer")
    'expected a whole number'
    >>> plain_problem("'ten' is not a valid float.")
    'expected a number'
    >>> plain_problem("Input should be greater than or equal to 2")
    'expected 2 or more'
    >>> plain_problem("99 is not in the range 0<=x<=65."), plain_problem("1 is not in the range x>=2.")
    ('expected 65 or less', 'expected 2 or more')
    """
    if match := _LIBRARY_PROBLEM.match(message):
        return "expected a whole number" if "integer" in match.groups() else "expected a number"
    if match := _BOUND.match(message):
        return f"expected {match[2]} or {'more' if match[1] == 'greater' else 'less'}"
    if match := _RANGE.match(message):
        least, most = match[2] or match[3], match[4]
        is_too_small = least is not None and float(match[1]) < float(least)
        return f"expected {least} or more" if is_too_small else f"expected {most} or less"
    return message.removeprefix("Value error, ")


class AdvisingCommand(TyperCommand):
    """A command whose errors about files suggest another name, or another order."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an error says what to do, where that can be guessed."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            arguments = [p for p in self.params if p.param_type_name == "argument"]
            name_last_argument(error, words, arguments)
            advice = (
                self._order_advice(error, words, ctx.command_path)
                or _name_advice(error)
                or _folder_advice(error)
                or budget_advice(error, words)
                or list_advice(error, words, self.params)
                or example_advice(error, self.epilog)
            )
            error.message = " ".join(filter(None, [plain_problem(error.message or ""), advice]))
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help as it is written."""
        TyperCommand.format_help(show_literally(self), ctx, formatter)

    def _order_advice(self, error: typer.BadParameter, words: list[str], command: str) -> str:
        """Return the right order if a file stands in the place of the ranker."""
        has_ranker = any(parameter.name == "ranker" for parameter in self.params)
        files = [word for word in words if Path(word).is_file()]
        if not has_ranker or not files or getattr(error.param, "param_type_name", "") != "argument":
            return ""
        name, is_ranker = "RANKER", not error.message  # without a message, an argument is missing
        if match := MISSING_FILE.search(error.message or ""):
            name = match[1]
            is_ranker = name in import_module("podium.registry").RANKERS
        return f"The ranker comes first, then the data: {command} {name} {files[0]}" * is_ranker


def _folder_advice(error: typer.BadParameter) -> str:
    """Return what is in a folder that stands in the place of a file of data."""
    match = _FOLDER.search(error.message or "")
    is_data = getattr(error.param, "name", "") in DATA_PARAMETERS
    if match is None or not is_data:
        return ""
    folders = import_module("podium.apps.cli.inputs.data_folders")
    return str(folders.folder_advice(Path(match[1])))


def _name_advice(error: typer.BadParameter) -> str:
    """Return the nearest name of a file that is there, for one that is not."""
    match = MISSING_FILE.search(error.message or "")
    return "" if match is None else near_file_advice(match[1])


def near_file_advice(name: str) -> str:
    """Return the nearest name of a file in the folder of one that is not there."""
    folder = Path(name).parent
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return f"There is no folder {folder}."
    near = difflib.get_close_matches(Path(name).name, names, 1)
    return f"Did you mean {folder / near[0]}?" if near else ""

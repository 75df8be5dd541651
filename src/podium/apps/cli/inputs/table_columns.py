"""Columns of tables on the command line: options as `Columns`, and notes about guesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from podium.apps.cli.options.tables import TableOptions
from podium.data import Columns, read_columns
from podium.data.categories import ONE_HOT, CategoryForm
from podium.data.number_parsing import decimal_of
from podium.errors import UsageError

SEPARATOR_WORDS = {"tab": "\t", "\\t": "\t"}
ROLES = {
    "query": ("query", "--query"),
    "label": ("label", "--label"),
    "doc": ("document", "--doc"),
    "weight": ("weight", "--weight"),
    "query_text": ("text of the query", "--query-text"),
    "text": ("text", "--text-columns"),
    "ignore": ("left out", "--categories --text-columns --query-text"),
}
"""What a column may be taken as: in words, and the option that names another one."""


def columns_of(options: TableOptions) -> Columns | None:
    """Return what the options say about columns; None if they say nothing."""
    changes: dict[str, Any] = {
        "query": options.query_column,
        "doc": options.doc_column,
        "label": options.label_column,
        "weight": options.weight_column,
        "query_text": options.query_text_column,
        "ignore": _names("--ignore", options.ignored_columns),
        "text": _names("--text-columns", options.text_columns),
        "categories": _categories(options.categories),
        "grades": _grades(options.grades),
        "separator": SEPARATOR_WORDS.get(options.separator or "", options.separator),
        "decimal": options.decimal,
        "thousands": options.thousands,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    if options.feature_columns is not None:
        is_all = options.feature_columns == "all"
        changes["features"] = None if is_all else _names("--features", options.feature_columns)
    if options.columns_file is not None:
        columns = _with_changes(options.columns_file, changes)
        return columns if options.categories else _with_own_categories(columns, options)
    return Columns(**changes) if changes else None


def _with_changes(path: Path, changes: dict[str, Any]) -> Columns:
    """Return the columns of a file, with the options in place of its fields."""
    columns = _without_named(read_columns(path), changes)
    own_names = {changes.get("query_text"), *changes.get("ignore", ()), *changes.get("text", ())}
    optional = tuple(name for name in columns.optional if name not in own_names)
    try:
        return replace(columns, **changes, optional=optional)
    except UsageError as error:
        # The advice is about options, but one of the two roles is that of the file.
        raise UsageError(
            f"{error.args[0]}; {path} names columns, too: correct that file, or leave the option out"
        ) from None


def _without_named(columns: Columns, changes: dict[str, Any]) -> Columns:
    """Return the columns of a file, without those left out that an option names."""
    single = {name for name in changes.values() if isinstance(name, str)}
    own_columns = single.union(
        *(changes.get(role) or () for role in ("features", "text", "categories"))
    )
    return replace(
        columns, ignore=tuple(name for name in columns.ignore if name not in own_columns)
    )


def _names(option: str, text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise UsageError(f"expected {option} with names and commas between them, got {text!r}")
    return names


def _with_own_categories(columns: Columns, options: TableOptions) -> Columns:
    """Leave out the categories of a columns file that --features does not list."""
    if options.feature_columns in (None, "all"):
        return columns
    own = {n: form for n, form in columns.categories.items() if n in (columns.features or ())}
    return replace(columns, categories=own)


def _categories(text: str | None) -> dict[str, CategoryForm] | None:
    if text is None:
        return None
    categories: dict[str, CategoryForm] = {}
    for part in _names("--categories", text) or ():
        name, equals, words = part.partition("=")
        form = tuple(word.strip() for word in words.split(":")) if equals else ONE_HOT
        if not name.strip() or not all(form):
            raise UsageError(
                f"expected --categories such as brand,size=S:M:L, with the words in order, got {part!r}"
            )
        if name.strip() in categories:
            raise UsageError(f"expected each category once, got {name.strip()!r} twice")
        categories[name.strip()] = form
    return categories


def _grades(text: str | None) -> dict[str, float] | None:
    if text is None:
        return None
    grades: dict[str, float] = {}
    for part in text.split(","):
        word, equals, number = part.rpartition("=")
        value = decimal_of(number.strip())
        if not equals or not word.strip() or value is None:
            raise UsageError(f"expected --grades such as good=2,fair=1,bad=0, got {part.strip()!r}")
        if word.strip() in grades:
            raise UsageError(f"expected each grade once in --grades, got {word.strip()!r} twice")
        grades[word.strip()] = value
    return grades


@contextmanager
def without_column_options(*, takes_file: bool = False) -> Iterator[None]:
    """Correct the advice on a missing column in a command that has no option to name it.

    `takes_file` says that the command has --columns.
    """
    try:
        yield
    except UsageError as error:
        advice = error.command_line_advice
        if not advice.startswith("name it with --"):
            raise
        _, semicolon, rest = advice.partition("; ")
        file_advice = "name it in a file for --columns, or " if takes_file else ""
        raise error.advise(
            python=error.python_advice,
            command_line=f"{file_advice}rename the column to one of these names{semicolon}{rest}",
        ) from None


def guesses_text(path: str, columns: Columns, query_option: str) -> str | None:
    """Return which columns were taken as what, and how to name others; None without a guess."""
    if not columns.guesses:
        return None
    options: list[str] = []
    parts: list[str] = []
    for role, column in columns.guesses:
        words, option = ROLES[role]
        if role == "ignore":
            parts.append(f"{column} left out (no numbers)")
        else:
            is_doubtful = role == "label" and is_doubtful_label(columns)
            doubt = " (or is it a feature?)" if is_doubtful else ""
            if role == "query" and columns.query_text == column:
                doubt = " (its texts are the ids, with _ for spaces)"
            verb = "as" if parts else "taken as"
            parts.append(f"{words} {verb} {column}{doubt}")
        options += [query_option] if role == "query" else option.split()
    if columns.doc is None:
        parts.append("no document ids, which runs, samples and rules need (--doc)")
    if columns.features:
        parts.append(f"features: {_listed(columns.features)}")
    return f"{path}: {', '.join(parts)}; name others with {' '.join(dict.fromkeys(options))}"


def is_doubtful_label(columns: Columns) -> bool:
    """Whether the label was guessed by a name that features have, too: the stars of a product."""
    return any((role, name.lower()) == ("label", "rating") for role, name in columns.guesses)


def _listed(names: Sequence[str]) -> str:
    is_short = len(names) <= 6  # "and 1 more" would hide one name with more letters
    return ", ".join(names) if is_short else f"{', '.join(names[:5])} and {len(names) - 5} more"

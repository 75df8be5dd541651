"""Columns of a table: which one is the query, the document, the label, a feature or text."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import yaml

from podium.data.atomic_files import atomic_writer
from podium.data.categories import CategoryForm, check_forms
from podium.data.column_roles import check_roles, missing_column, option_of
from podium.data.text_files import open_regular
from podium.errors import DataError, MalformedLineError, UnknownNameError, UsageError
from podium.typing import Path_

QUERY_NAMES = ("qid", "query_id", "queryid", "search_id", "searchid", "query")
LABEL_NAMES = ("label", "grade", "relevance", "rating", "judgment", "judgement")
DOC_NAMES = (
    "docid",
    "doc_id",
    "document_id",
    "product_id",
    "item_id",
    "sku",
    "url",
    "doc",
    "document",
)
WEIGHT_NAMES = ("query_weight",)
QUERY_TEXT_NAMES = (
    "query_text",
    "query",
    "querytext",
    "user_query",
    "search_term",
    "searchterm",
    "search_query",
    "search_text",
    "keywords",
)
TEXT_NAMES = ("title", "name", "description", "body", "text", "snippet")
TEXT_PREFIX = "text:"
"""How podium's own files mark a column of text."""

SEPARATORS = (",", "\t", ";", "|", ":", "~", "^")
DECIMAL_MARKS = (".", ",")
THOUSANDS_MARKS = (",", ".", "'", " ", "_")

MAX_COLUMNS_FILE_BYTES = 1 << 20
_USUAL_NAMES = {
    "query": QUERY_NAMES,
    "label": LABEL_NAMES,
    "doc": DOC_NAMES,
    "query_text": QUERY_TEXT_NAMES,
    "weight": WEIGHT_NAMES,
}
_COLUMN_LISTS = ("features", "ignore", "text")
_NOT_IN_FILES = ("guesses", "optional")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What each column of a table is.

    Parameters
    ----------
    query, doc, label, weight, query_text
        Names of single columns; None: found by name, where a usual name is there. One column may be
        both `query` and `query_text`: the ids are the texts, with _ for spaces.
    features
        Names of the features; None: every column of numbers that is nothing else.
    ignore
        Columns to leave out.
    text
        Columns that people read (title, description): kept as text of the document.
    categories
        Features that are words: their names; or name -> "onehot", or name -> words in order, for a
        category whose order has a meaning (S, M, L). An empty field is a missing value.
    grades
        Labels that are words: the number of each word.
    separator
        What stands between the fields of CSV text; None: tab for .tsv, else what the first line has.
    decimal, thousands
        How numbers are written: "," as decimal for 12,99; "." as thousands for 1.299.
    repeated
        What to do with rows that repeat a document of a query: "keep" them with a warning, keep only
        the "first" row, or "error".
    guesses
        What `resolve` chose by name, as ("query", "search_id").
    optional
        Columns of `ignore`, `text` and `query_text` that a table may lack; `read_columns` names those
        of its file.

    Examples
    --------
    >>> columns = Columns(label="stars").resolve(["search_id", "sku", "stars", "price"])
    >>> columns.query, columns.doc, columns.features
    ('search_id', 'sku', ('price',))
    >>> columns.guesses
    (('query', 'search_id'), ('doc', 'sku'))
    """

    query: str | None = None
    doc: str | None = None
    label: str | None = None
    weight: str | None = None
    query_text: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    categories: Mapping[str, CategoryForm] = field(default_factory=dict)
    grades: Mapping[str, float] = field(default_factory=dict)
    separator: str | None = None
    decimal: str = "."
    thousands: str = ""
    repeated: str = "keep"
    guesses: tuple[tuple[str, str], ...] = ()
    optional: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in _COLUMN_LISTS:
            value = getattr(self, name)
            if isinstance(value, str):
                raise UsageError(f"expected a list of columns in {name}, got the text {value!r}")
            if value is not None:
                object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "categories", check_forms(self.categories))
        check_roles(_roles(self))
        _check_character("decimal", self.decimal, DECIMAL_MARKS)
        _check_character("thousands", self.thousands, ("", *THOUSANDS_MARKS))
        _check_character("repeated", self.repeated, ("keep", "first", "error"))
        if self.separator is not None:
            _check_character("separator", self.separator, SEPARATORS)
        if self.decimal == self.thousands:
            raise UsageError(
                f"expected decimal and thousands to differ, got {self.decimal!r} twice"
            )

    def resolve(
        self,
        names: Sequence[str],
        is_number: Callable[[str], bool] = lambda name: True,
        *,
        labelled: bool = True,
        path: str | None = None,
    ) -> Columns:
        """Return the columns of a table with these names, all chosen.

        With ``labelled=False`` labels are read where a usual name has numbers, else left out.
        Columns of words that nothing is said about are left out, which is a guess, too. Raises
        UsageError if a named column is not there, or if no query or label can be guessed; `path` is
        the file that it names.
        """
        present = _without_absent(self, names)
        is_absent = not labelled and self.label is not None and self.label not in names
        chosen = _guess_columns(replace(present, label=None) if is_absent else present, names)
        _check_names(chosen, names, path)
        if chosen.query is None:
            usual_names = (*QUERY_NAMES, *QUERY_TEXT_NAMES[2:])
            raise _without_column("query", usual_names, chosen, names, path)
        if chosen.query_text is None and usual_form(chosen.query) in QUERY_TEXT_NAMES:
            # What users typed may be all that names a query.
            chosen = chosen if is_number(chosen.query) else replace(chosen, query_text=chosen.query)
        if chosen.label is None and labelled:
            raise _without_column("label", LABEL_NAMES, chosen, names, path)
        if not labelled and not self.label:
            chosen = _without_word_labels(chosen, is_number)
        rest = [name for name in names if name not in _used_names(chosen)]
        if chosen.features is not None:
            more = [name for name in chosen.categories if name not in chosen.features]
            features = (*chosen.features, *more)
            return replace(chosen, features=features, ignore=(*chosen.ignore, *rest))
        numbers = {n for n in rest if is_number(n)}
        guessed_text = [n for n in rest if _is_text_name(n) and n not in numbers]
        words = [n for n in rest if n not in guessed_text and n not in numbers]
        features = tuple(n for n in names if n in numbers or n in chosen.categories)
        if not features:
            raise DataError(
                f"expected feature columns, got none beside {', '.join(names)}", path=path
            ).advise(
                python="name them with features=[...], or columns of words with categories=[...]",
                command_line="name them with --features, or columns of words with --categories",
            )
        guesses = (
            *chosen.guesses,
            *(("text", name) for name in guessed_text),
            *(("ignore", name) for name in words),
        )
        text, ignore = (*chosen.text, *guessed_text), (*chosen.ignore, *words)
        return replace(chosen, features=features, text=text, ignore=ignore, guesses=guesses)


def _without_absent(columns: Columns, names: Sequence[str]) -> Columns:
    """Leave out the optional columns that a table lacks."""
    absent = set(columns.optional).difference(names)
    return replace(
        columns,
        ignore=tuple(name for name in columns.ignore if name not in absent),
        text=tuple(name for name in columns.text if name not in absent),
        query_text=None if columns.query_text in absent else columns.query_text,
    )


def text_field(column: str) -> str:
    """Return the name of the text of a document that a column holds."""
    return column.removeprefix(TEXT_PREFIX)


def _is_text_name(name: str) -> bool:
    return name.lower() in TEXT_NAMES or name.startswith(TEXT_PREFIX)


def _without_word_labels(columns: Columns, is_number: Callable[[str], bool]) -> Columns:
    """Leave guessed labels out that are words: documents to be scored need none."""
    if columns.label is None or columns.grades or is_number(columns.label):
        return columns
    guesses = tuple(guess for guess in columns.guesses if guess[0] != "label")
    return replace(columns, label=None, ignore=(*columns.ignore, columns.label), guesses=guesses)


def _guess_columns(columns: Columns, names: Sequence[str]) -> Columns:
    """Choose the columns that were not named, by their usual names."""
    guesses: dict[str, Any] = {}
    used = _used_names(columns)
    for role, usual_names in _USUAL_NAMES.items():
        if getattr(columns, role) is None:
            by_name = {usual_form(name): name for name in reversed(names) if name not in used}
            name = next((by_name[n] for n in usual_names if n in by_name), None)
            if name is not None:
                guesses[role] = name
                used = used | {name}
    if columns.query is None and "query" not in guesses and "query_text" in guesses:
        guesses = {"query": guesses.pop("query_text"), **guesses}
    return replace(columns, **guesses, guesses=tuple(guesses.items()))


def usual_form(name: str) -> str:
    """Return a name in the form of the usual names: capitals, spaces and hyphens do not matter.

    Examples
    --------
    >>> usual_form("Query Text"), usual_form("doc-id")
    ('query_text', 'doc_id')
    """
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _roles(columns: Columns) -> dict[str, tuple[str, ...]]:
    """The columns that have a role already, by role."""
    single = {role: getattr(columns, role) for role in _USUAL_NAMES}
    roles = {role: (name,) for role, name in single.items() if name is not None}
    return {
        **roles,
        "features": columns.features or (),
        "categories": tuple(columns.categories),
        "text": columns.text,
        "ignore": columns.ignore,
    }


def _used_names(columns: Columns) -> set[str]:
    """The columns that have a role already."""
    return {name for names in _roles(columns).values() for name in names}


def _check_names(columns: Columns, names: Sequence[str], path: str | None) -> None:
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise DataError(
            f"expected each column name once, got {', '.join(repeated)} twice; rename one of them",
            path=path,
        )
    absent = [name for name in columns.features or () if name not in names]
    if len(absent) > 1:
        raise UnknownNameError("columns", ", ".join(absent), names, path=path, holder="the table")
    for name in sorted(_used_names(columns)):
        if name not in names:
            error = UnknownNameError("column", name, names, path=path, holder="the table")
            role = next(role for role, own in _roles(columns).items() if name in own)
            if role in ("ignore", "text"):  # a file of columns does not require these
                option = option_of(role)
                error.advise(python=f"{role}= names it", command_line=f"{option} names it")
            raise error


def _check_character(option: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices if choice)
        raise UsageError(f"expected one of {listed} as {option}, got {value!r:.80}")


def _without_column(
    role: str, usual_names: Sequence[str], chosen: Columns, names: Sequence[str], path: str | None
) -> UsageError:
    """Return the error for a table without a column that can be guessed for a role."""
    occupied = {
        other: [name for name in columns if name in names and usual_form(name) in usual_names]
        for other, columns in _roles(chosen).items()
    }
    return missing_column(role, usual_names, names, occupied, path)


def write_columns(columns: Columns, path: Path_) -> None:
    """Write columns as YAML, for people to edit; `read_columns` reads them again."""
    defaults = asdict(Columns())
    record = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(columns).items()
        if name not in _NOT_IN_FILES and value != defaults[name]
    }
    if columns.categories:
        record["categories"] = {
            name: form if isinstance(form, str) else list(form)
            for name, form in columns.categories.items()
        }
    with atomic_writer(path) as write:
        write(yaml.safe_dump(record, sort_keys=False, allow_unicode=True).encode())


def read_columns(path: Path_) -> Columns:
    """Read what `write_columns` wrote; raise an error that names the file and the field.

    A table may lack columns of text and columns that are left out: tomorrow's export has the same
    features, but not always the same notes beside them.
    """
    name = os.fspath(path)
    with open_regular(path) as file:
        text = file.read(MAX_COLUMNS_FILE_BYTES + 1)
    if len(text) > MAX_COLUMNS_FILE_BYTES:
        raise DataError("expected a small YAML file of columns, got more than 1 MB", path=name)
    try:
        record = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise MalformedLineError(
            "expected YAML, got something else", path=name, line=line
        ) from None
    if not isinstance(record, dict):
        raise DataError("expected fields such as 'query: search_id', got none", path=name).advise(
            python="podium.data.write_columns writes such a file",
            command_line="podium data info DATA --write-columns columns.yaml writes such a file",
        )
    values = {str(key): _field_value(str(key), value, name) for key, value in record.items()}
    try:
        columns = Columns(**values)
        query_text = () if columns.query_text in (None, columns.query) else (columns.query_text,)
        return replace(columns, optional=(*columns.ignore, *columns.text, *query_text))
    except UsageError as error:
        raise DataError(error.args[0], path=name).keep_advice(error) from None


def _read_forms(value: Any, path: str) -> dict[str, CategoryForm]:
    try:
        return check_forms(value)
    except UsageError as error:
        message = error.args[0]
        raise DataError(f"categories: {message}", path=path).keep_advice(error) from None


def _field_value(key: str, value: Any, path: str) -> Any:
    """Check the value of one field of a columns file."""
    known_keys = [f.name for f in fields(Columns) if f.name not in _NOT_IN_FILES]
    if key not in known_keys:
        raise UnknownNameError("field", key, known_keys, path=path)
    if key in _COLUMN_LISTS:
        is_right = isinstance(value, list) and all(isinstance(name, str) for name in value)
        form = "a list of column names"
    elif key == "categories":
        return _read_forms(value, path)
    elif key == "grades":
        is_right = isinstance(value, dict) and all(
            isinstance(number, int | float) and not isinstance(number, bool)
            for number in value.values()
        )
        form = "words with their numbers, as in {good: 2, fair: 1}"
        value = {str(word): float(number) for word, number in value.items()} if is_right else value
    else:
        is_right, form = isinstance(value, str), "text"
    if not is_right:
        raise DataError(f"expected {form} in {key}, got {value!r:.80}", path=path)
    return value

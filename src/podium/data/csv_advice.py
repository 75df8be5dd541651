"""Advice about fields of a CSV file that are no numbers: what to do, in Python and on the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from podium.data.columns import Columns
from podium.data.number_parsing import decimal_of

_LABEL_ADVICE = "every row needs a label: fill it in, or leave the row out"
_QUOTE_ADVICE = "close the quote; a quote inside of a field is written twice"
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[-+]?\d+\.\d+")
_MIXED_MARKS = (
    "this number has a decimal point, but {} says that all numbers have commas; write one mark in all "
    "columns of the file"
)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}([,.' ])\d{3}(\1\d{3})*([.,]\d+)?")
_CURRENCY = re.compile(r"[-+]?\s*[$€£¥₹]\s*[-+]?[\d.,]+|[-+]?[\d.,]+\s*([$€£¥₹]|[A-Z]{3})")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")

_KEEP_ADVICE = "missing='nan' keeps it as NaN; podium.Prepared(ranker, impute='median') fills it in"
_GAP = "if it stands for a missing value, leave such fields empty or write NA, and give"
_GAP_IN_PYTHON = f"{_GAP} missing='nan'"
_GAP_ON_COMMAND_LINE = f"{_GAP} --missing nan or --impute median"
_NOT_FINITE = "write a number, or leave the field empty and give {}"
EMPTY_FIELD_ADVICE = (
    "--missing nan keeps it as a missing value; podium train --impute median fills it in"
)
"""What to do about an empty field, on the command line."""


def plain_spelling(text: str) -> str:
    """Return a number without thousands marks and with a decimal point; empty if text is none.

    Examples
    --------
    >>> plain_spelling("1,788.30"), plain_spelling("12,99"), plain_spelling("sold out")
    ('1788.30', '12.99', '')
    """
    if marked := _THOUSANDS.fullmatch(text):
        return text.replace(marked[1], "").replace(",", ".")
    return text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else ""


def is_date(text: str) -> bool:
    """Whether text looks like a date, such as 2026-03-15, 3/15/26 or 15.03.2026."""
    return _DATE.fullmatch(text) is not None


def label_advice(name: str, columns: Columns) -> tuple[str, str]:
    """Return what to do about an empty label, for Python and for the command line."""
    if ("label", name) not in columns.guesses:
        return _LABEL_ADVICE, _LABEL_ADVICE
    guess = f"{_LABEL_ADVICE}; {name} is only guessed to be the label"
    return f"{guess}, label= names another column", f"{guess}, --label names another column"


def mark_advice(got: str, columns: Columns) -> tuple[str, str]:
    """Return how to read a number with marks: 12,99 has a decimal comma, 1,299.50 thousands marks.

    4,406 may be either, unless it begins with 0.

    Examples
    --------
    >>> mark_advice("0,248", Columns())[1]
    'numbers with a decimal comma: --decimal ","'
    >>> mark_advice("4,406", Columns())[1]
    'if it means 4406: --thousands ","; if it means 4.406: --decimal ","'
    """
    marked = _THOUSANDS.fullmatch(got)
    mark = "," if marked is None else marked[1]
    may_be_decimal = _DECIMAL_COMMA.fullmatch(got) is not None
    if may_be_decimal and (marked is None or got.lstrip("+-").startswith("0")):
        instead = columns.thousands == ","
        return (
            "numbers with a decimal comma: decimal=','" + " instead of thousands=','" * instead,
            'numbers with a decimal comma: --decimal ","' + ' instead of --thousands ","' * instead,
        )
    if may_be_decimal:
        point, plain = got.replace(",", "."), got.replace(",", "")
        return (
            f"if it means {plain}: thousands=','; if it means {point}: decimal=','",
            f'if it means {plain}: --thousands ","; if it means {point}: --decimal ","',
        )
    return (
        f"numbers with thousands marks: thousands={mark!r}",
        f'numbers with thousands marks: --thousands "{mark}"',
    )


def _is_gap(got: str, values: Sequence[str]) -> bool:
    """Whether a field is a gap rather than a word: it is a mark, or most others are numbers."""
    numbers = sum(decimal_of(value.strip()) is not None for value in values)
    return not any(map(str.isalnum, got)) or 2 * numbers > sum(map(bool, values))


def advice(
    kind: str, got: str, name: str, columns: Columns, values: Sequence[str] = ()
) -> tuple[str, str]:
    """Return what to do about a field that is not a number, for Python and for the command line.

    `values` is a sample of the column.

    Examples
    --------
    >>> advice("malformed", "-", "views 30d", Columns())[1].split(", ")[0]
    'if it stands for a missing value'
    >>> advice("malformed", "blue", "main colour", Columns(), ["blue", "red"])[1]
    "a column of words: --categories 'main colour' makes numbers of them; or --ignore 'main colour'"
    """
    option = shlex.quote(name)
    is_label = name == columns.label
    if kind == "missing" and is_label:
        return label_advice(name, columns)
    if kind == "missing":
        return _KEEP_ADVICE, EMPTY_FIELD_ADVICE
    if kind == "nonfinite":
        return _NOT_FINITE.format("missing='nan'"), _NOT_FINITE.format(
            "--missing nan or --impute median"
        )
    if kind == "malformed" and got.startswith('"'):
        return _QUOTE_ADVICE, _QUOTE_ADVICE
    if columns.decimal == "," and _DECIMAL_POINT.fullmatch(got):
        return _MIXED_MARKS.format("decimal=','"), _MIXED_MARKS.format("--decimal ,")
    if _DECIMAL_COMMA.fullmatch(got) or _THOUSANDS.fullmatch(got):
        return mark_advice(got, columns)
    if is_label:
        return (
            f"grades as words: grades={{{got!r}: 1, ...}} gives each its number",
            f"grades as words: --grades '{got}=1,...' gives each its number",
        )
    if _CURRENCY.fullmatch(got):
        return (
            f"a number with a currency sign: remove the sign first, or ignore=[{name!r}]",
            f"a number with a currency sign: remove the sign first, or --ignore {option}",
        )
    if is_date(got):
        return (
            f"turn dates into numbers first (days, for example), or ignore=[{name!r}]",
            f"turn dates into numbers first (days, for example), or --ignore {option}",
        )
    if _is_gap(got, values):
        return (
            f"{_GAP_IN_PYTHON}; or ignore=[{name!r}]",
            f"{_GAP_ON_COMMAND_LINE}; or --ignore {option}",
        )
    return (
        f"a column of words: categories=[{name!r}] makes numbers of them; or ignore=[{name!r}]",
        f"a column of words: --categories {option} makes numbers of them; or --ignore {option}",
    )

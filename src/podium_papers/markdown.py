"""Markdown of the papers' pages: tables, code, p-values, verdicts and lists of names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from podium_papers.comparisons import PairedComparison


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; all columns but the first align right.

    Examples
    --------
    >>> table(["ranker", "MAP"], [["ranksvm", "0.4721"]])
    ['| ranker | MAP |', '| --- | ---: |', '| ranksvm | 0.4721 |']
    """
    rule = ["---", *("---:" for _ in headers[1:])]
    return ["| " + " | ".join(row) + " |" for row in [headers, rule, *rows]]


def code(text: str) -> str:
    """Return text as code on one line, whatever characters it holds.

    Examples
    --------
    >>> code("podium reproduce topk"), code("a `b`")
    ('`podium reproduce topk`', '`` a `b` ``')
    """
    line = " ".join(text.split())
    runs = [len(run) for run in re.findall("`+", line)]
    if not runs:
        return f"`{line}`"
    fence = "`" * (max(runs) + 1)
    return f"{fence} {line} {fence}"


def p_text(value: float) -> str:
    """Return a p-value for a table.

    Examples
    --------
    >>> p_text(0.00012), p_text(0.0421)
    ('< 0.001', '0.042')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def difference(test: PairedComparison) -> str:
    """Return a difference and its corrected p-value, bold if it is significant."""
    text = f"{test.difference:+.4f} ({p_text(test.adjusted)})"
    return f"**{text}**" if test.significant else text


def verdict(holds: bool) -> str:
    """Return the verdict on a claim."""
    return "**holds**" if holds else "does not hold"


def capitalise(text: str) -> str:
    """Return the text with a capital first letter and all others unchanged."""
    return text[:1].upper() + text[1:]


def join_names(names: Sequence[str]) -> str:
    """Return names as part of a sentence.

    Examples
    --------
    >>> join_names(["MQ2007", "MQ2008", "OHSUMED"])
    'MQ2007, MQ2008 and OHSUMED'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def join_numbers(values: Any) -> str:
    """Return numbers separated by commas, without superfluous digits."""
    return ", ".join(f"{v:g}" for v in values)

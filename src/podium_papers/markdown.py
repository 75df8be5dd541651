"""Pieces of a paper's page in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from podium_papers.outcomes import PairedComparison


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table; all but the first column to the right.

    Examples
    --------
    >>> table(["ranker", "MAP"], [["ranksvm", "0.4721"]])
    ['| ranker | MAP |', '| --- | ---: |', '| ranksvm | 0.4721 |']
    """
    rule = ["---", *("---:" for _ in headers[1:])]
    return ["| " + " | ".join(row) + " |" for row in [headers, rule, *rows]]


def code(text: str) -> str:
    """Text as it is, in a line, whatever is in it.

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
    """A p-value in a table.

    Examples
    --------
    >>> p_text(0.00012), p_text(0.0421)
    ('< 0.001', '0.042')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def difference(test: PairedComparison) -> str:
    """A difference and its corrected p-value, bold where it is significant."""
    text = f"{test.difference:+.4f} ({p_text(test.adjusted)})"
    return f"**{text}**" if test.significant else text


def verdict(holds: bool) -> str:
    """Of a claim."""
    return "**holds**" if holds else "does not hold"


def capital(text: str) -> str:
    """With a capital first letter, the others as they are."""
    return text[:1].upper() + text[1:]


def joined(names: Sequence[str]) -> str:
    """In a sentence.

    Examples
    --------
    >>> joined(["MQ2007", "MQ2008", "OHSUMED"])
    'MQ2007, MQ2008 and OHSUMED'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def numbers(values: Any) -> str:
    """With commas, no more digits than needed."""
    return ", ".join(f"{v:g}" for v in values)

"""What post-ranking reads: rules with their lines, queries, documents, a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

from podium.apps.cli.inputs.argument_order import advice_on_order
from podium.apps.cli.inputs.input_files import reading_bar
from podium.apps.cli.outputs.printing import printable
from podium.data import IndexedRun, Run, read_queries, read_run
from podium.data.number_parsing import decimal_of
from podium.errors import ConflictError, UnknownNameError, UsageError
from podium.postranking import Rule, RuleCost, read_fields
from podium.postranking.binding import FieldTypes, type_notes
from podium.postranking.list_input import Catalogue
from podium.postranking.rule_check import uncovered_documents
from podium.postranking.rule_index import UNKNOWN_TEXTS, RuleUsage, field_names, selects_by_field
from podium.postranking.rules.files import read_rule_file
from podium.postranking.settings import check_classes

RUN_ORDER = (
    "a run has lines such as: q1 Q0 doc7 1 0.5 name; podium predict MODEL DATA -o name.run writes one, "
    "and rules go to --rules"
)
RULES_ORDER = (
    "a file of rules begins with the lines version: 1 and rules:, as in docs/postranking.md; the run comes "
    "first, as in: podium postrank RUN --rules RULES"
)
TEXTS_ADVICE = (
    "--queries FILE gives the text of each query; the data of the searches is such a file"
)
"""What to do if a rule for a query was compared with ids."""


@dataclass(frozen=True)
class LocatedRules:
    """The rules of a file, and the line that each starts on."""

    path: Path
    rules: tuple[Rule, ...]
    lines: tuple[int, ...]

    def location(self, rule: object) -> dict[str, int]:
        """Return the number of a rule in the file, from 0, and its line."""
        number = self._numbers.get(id(rule))
        if number is None:  # a copy from a worker of a cluster
            number = self.rules.index(rule)
        return {"index": number, "line": self.lines[number]}

    @cached_property
    def _numbers(self) -> dict[int, int]:
        # By identity: two rules may be equal.
        return {id(rule): number for number, rule in enumerate(self.rules)}

    def conflict_text(self, error: ConflictError) -> str:
        """Return a conflict with the lines of its rules."""
        lines = sorted(self.location(rule)["line"] for rule in error.rules)
        every_line = f" (lines {', '.join(map(str, lines[:20]))})" if len(lines) > 1 else ""
        return f"{self.path}:{lines[0]}: {error.on_command_line()}{every_line}"

    def unknown_field_text(self, error: UnknownNameError) -> str:
        """Return an unknown field with the line of the rule that names it."""
        rules = zip(self.rules, self.lines, strict=True)
        line = next((f":{line}" for rule, line in rules if error.name in field_names(rule)), "")
        return f"{self.path}{line}: {error.on_command_line()}"

    def warn_of_types(self, fields: Catalogue | None) -> None:
        """Warn of fields that a rule compares with another type than documents have."""
        types = FieldTypes(() if fields is None else fields.values())
        for rule, line in zip(self.rules, self.lines, strict=True):
            for note in type_notes(rule, types):
                place = f"{self.path}:{line}: {rule.label}"
                typer.echo(f"podium: warning: {printable(f'{place}: {note}')}", err=True)

    def warn_of_unused(self, usage: Sequence[RuleUsage | RuleCost], has_texts: bool) -> None:
        """Warn of rules for a query that never acted, because the texts of queries are not known."""
        for rule, line in zip(usage, self.lines, strict=True):
            if not has_texts and UNKNOWN_TEXTS in rule.note:
                text = f"{self.path}:{line}: {rule.rule.label}: never acts: {rule.note}; {TEXTS_ADVICE}"
                typer.echo(f"podium: warning: {printable(text)}", err=True)


def uncovered_text(
    rules: Sequence[Rule],
    runs: Iterable[Run],
    path: Path,
    fields: Catalogue | None,
    docs: Path | None,
) -> str:
    """Return how many documents of runs the file of fields lacks; empty if no rule selects by fields."""
    if fields is None or docs is None or not any(map(selects_by_field, rules)):
        return ""
    distinct = {doc for run in runs for doc in run.docids}
    return uncovered_documents(distinct, fields, str(path), str(docs))


def read_rules_with_lines(path: Path) -> LocatedRules:
    """Read the rules of a file; raise the first error in it."""
    with advice_on_order(RULES_ORDER):
        file = read_rule_file(path)
    if file.errors:
        raise file.errors[0]
    return LocatedRules(path, file.rules, file.lines)


def read_lookups(
    queries: Path | None, docs: Path | None, decimal: str = ".", thousands: str = ""
) -> tuple[dict[str, str] | None, Catalogue | None]:
    """Read the texts of queries and the fields of documents; None where there is no file."""
    return (
        None if queries is None else read_queries(queries),
        None if docs is None else read_fields(docs, decimal=decimal, thousands=thousands),
    )


def read_run_file(path: Path) -> Run:
    """Read a run with a progress bar."""
    with reading_bar([path]) as progress, advice_on_order(RUN_ORDER):
        return read_run(path, progress)


def open_run_file(path: Path) -> IndexedRun:
    """Index a run with a progress bar; its lists are read when they are needed."""
    with reading_bar([path]) as progress, advice_on_order(RUN_ORDER):
        return IndexedRun(path, progress)


def read_classes(text: str) -> tuple[str, ...]:
    """Return the classes of rules in a list with commas.

    Examples
    --------
    >>> read_classes("legal, stock")
    ('legal', 'stock')
    """
    return check_classes([name.strip() for name in text.split(",") if name.strip()])


def read_context_pairs(pairs: Sequence[str] | None) -> dict[str, Any] | None:
    """Return ``NAME=VALUE`` pairs as a context; a value that spells a number is one.

    Examples
    --------
    >>> read_context_pairs(["device=mobile", "basket=20"])
    {'device': ['mobile'], 'basket': [20.0]}
    """
    context: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise UsageError(f"expected --context NAME=VALUE, got {pair!r:.100}")
        number = decimal_of(text)
        context.setdefault(name, []).append(text if number is None else float(number))
    if "time" in context:
        return {**context, "time": context["time"][-1]}
    return context or None

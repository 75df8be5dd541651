"""``podium rules``: list the kinds of rules, print their schema, check a file of rules."""

from __future__ import annotations

from typing import Any

import typer

from podium.apps.cli.inputs.postrank_inputs import (
    TEXTS_ADVICE,
    read_classes,
    read_lookups,
    read_run_file,
    uncovered_text,
)
from podium.apps.cli.options.rules import (
    RulesCheckOptions,
    RulesEditorOptions,
    RulesListOptions,
    RulesSchemaOptions,
)
from podium.apps.cli.outputs.printing import first_line, print_json, print_table, printable
from podium.apps.cli.outputs.progress import counting_bar
from podium.apps.serving.editing.editors_file import add_editor
from podium.errors import DataError
from podium.postranking import RULES, Finding, examine_rules, schema
from podium.postranking.rule_check import locate_finding
from podium.postranking.rule_index import UNKNOWN_TEXTS
from podium.postranking.rules.entries import COMMON, keys_of
from podium.postranking.rules.files import RuleFile, read_rule_file
from podium.rule_history.live_rules import rules_path

POSTRANK_ADVICE = (
    "podium serve and podium rank let rules give way; podium postrank does so with --conflicts yield, "
    "and else stops at such rules"
)
AFTER_EVERY_LINE = 1 << 31
"""The sort key of findings that are about no particular rule."""


def run_rules_list(options: RulesListOptions) -> None:
    """List the kinds of rules and the keys of each."""
    common = list(COMMON)
    kinds = {
        name: {
            "summary": first_line(kind),
            "keys": [k for k in keys_of(kind) if k not in ("rule", *common)],
        }
        for name, kind in RULES.items()
    }
    if options.json:
        print_json({"rules": kinds, "common": common})
        return
    rows = [[name, str(kind["summary"]), ", ".join(kind["keys"])] for name, kind in kinds.items()]
    print_table("Rules", ["rule", "what it says", "keys"], rows, text_columns=3)
    typer.echo(f"Every rule: {', '.join(common)}")


def run_rules_schema(options: RulesSchemaOptions) -> None:
    """Print the JSON Schema of rule files, for editors; it is JSON either way."""
    print_json(schema())


def run_rules_check(options: RulesCheckOptions) -> None:
    """Find what is wrong with a rule file before it is served."""
    path = rules_path(options.rules)
    try:
        file = read_rule_file(path)
    except DataError as error:  # no list of rules at all
        file = RuleFile((), (), (error,), entries=0)
    n_rules = file.entries
    texts, fields = read_lookups(options.queries, options.docs, options.decimal, options.thousands)
    lists = None if options.run is None else read_run_file(options.run)
    with counting_bar("checking") as progress:
        findings = examine_rules(
            file.rules, lists, queries=texts, fields=fields, today=options.today,
            classes=read_classes(options.classes), progress=progress,
        )  # fmt: skip
    advice = "" if texts is not None else TEXTS_ADVICE
    entries = [
        *_form_errors(file),
        *(_finding_entry(finding, file, advice) for finding in findings),
    ]
    if lists is not None and options.run is not None:
        message = uncovered_text(file.rules, [lists], options.run, fields, options.docs)
        entries += [{"level": "warning", "line": None, "message": message}] if message else []
    entries.sort(key=lambda entry: (entry["line"] or AFTER_EVERY_LINE, entry["level"]))
    n_errors = sum(entry["level"] == "error" for entry in entries)
    if options.json:
        print_json({"file": str(path), "rules": n_rules, "findings": entries})
    else:
        for entry in entries:
            place = f"{path}:{entry['line']}" if entry["line"] else f"{path}"
            typer.echo(printable(f"{place}: {entry['level']}: {entry['message']}"))
        if any(finding.gives_way for finding in findings):
            typer.echo(POSTRANK_ADVICE)
        n_notes = sum(entry["level"] == "note" for entry in entries)
        notes = f", notes: {n_notes}" * (n_notes > 0)
        n_warnings = len(entries) - n_errors - n_notes
        typer.echo(f"rules: {n_rules}, errors: {n_errors}, warnings: {n_warnings}{notes}")
    if n_errors:
        raise typer.Exit(1)


def run_rules_editor(options: RulesEditorOptions) -> None:
    """Add a person who may save rules from the page."""
    token = add_editor(options.file, options.name, options.email, options.user)
    if options.json:
        print_json({"file": str(options.file), "name": options.name, "token": token or None})
        return
    typer.echo(printable(f"{options.file}: {options.name} may save rules"))
    if token:
        typer.echo(f"token, shown only now: {token}")


def _form_errors(file: RuleFile) -> list[dict[str, Any]]:
    """Return the entries of the file that are not rules."""
    return [
        {
            "level": "error",
            "line": error.line,
            "message": str(error)
            .removeprefix(f"{error.path}:{error.line}: ")
            .removeprefix(f"{error.path}: "),
        }
        for error in file.errors
    ]


def _finding_entry(finding: Finding, file: RuleFile, advice: str) -> dict[str, Any]:
    """Return a finding as an entry; `advice` follows a rule for a query whose text is not known."""
    line, message = locate_finding(finding, file)
    message += f"; {advice}" if advice and UNKNOWN_TEXTS in message else ""
    return {"level": finding.level, "line": line, "message": message}

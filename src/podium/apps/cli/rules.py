"""``podium rules``: what rules there are, how they are written, and what is wrong with some."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.aggregators import line
from podium.apps.cli.console import (
    Json,
    advancing,
    print_json,
    print_table,
    printable,
    reports_errors,
)
from podium.apps.cli.postrank import Docs, Queries, Today, read_lookups, read_one_run

if TYPE_CHECKING:
    from podium.postranking import Finding
    from podium.postranking.rules.files import RuleFile

app = typer.Typer(help="Rules for post-ranking: list, check, schema.", no_args_is_help=True)

LAST = 1 << 31
"""Below every line: what is about no rule in particular."""
CHECK = """Example: podium rules check rules.yaml --run bm25.run --queries queries.tsv --docs docs.jsonl

Errors (exit code 1): the file's form, documents and fields that --docs does not have, and hard rules
with which `podium serve` does not start: they name documents by id, and cannot hold together on any
list that has them. Warnings (exit code 0): hard rules of which one gives way when a list is served,
because its priority is the lowest or because they clash only on a list of --run; rules that never act;
rules that contradict each other; the same rule twice."""


@app.command("list", epilog="Example: podium rules list")
@reports_errors
def list_rules(json: Json = False) -> None:
    """List the kinds of rules and what can be said in each."""
    from podium.postranking import RULES
    from podium.postranking.rules.entries import COMMON, keys_of

    common = list(COMMON)
    kinds = {
        name: {
            "summary": line(kind),
            "keys": [k for k in keys_of(kind) if k not in ("rule", *common)],
        }
        for name, kind in RULES.items()
    }
    if json:
        print_json({"rules": kinds, "common": common})
        return
    rows = [[name, str(kind["summary"]), ", ".join(kind["keys"])] for name, kind in kinds.items()]
    print_table("Rules", ["rule", "what it says", "keys"], rows, text_columns=3)
    typer.echo(f"Every rule: {', '.join(common)}")


@app.command("schema", epilog="Example: podium rules schema > rules.schema.json")
@reports_errors
def print_schema(json: Json = False) -> None:
    """Print the JSON Schema of rule files, for editors; it is JSON either way."""
    from podium.postranking import schema

    print_json(schema())


@app.command("check", epilog=CHECK)
@reports_errors
def check(
    rules: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="RULES", help="Such as rules.yaml."),
    ],
    run: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A TREC run: the lists the rules are for."),
    ] = None,
    queries: Queries = None,
    docs: Docs = None,
    today: Today = None,
    json: Json = False,
) -> None:
    """Find what is wrong with a rule file before it is served."""
    from podium.errors import DataError
    from podium.postranking import examine_rules
    from podium.postranking.rules.files import RuleFile, read_rule_file

    try:
        file = read_rule_file(rules)
    except DataError as error:  # no list of rules at all
        file = RuleFile((), (), (error,), entries=0)
    n_rules = file.entries
    texts, fields = read_lookups(queries, docs)
    lists = None if run is None else read_one_run(run)
    with advancing("checking") as progress:
        findings = examine_rules(
            file.rules, lists, queries=texts, fields=fields, today=today, progress=progress
        )
    entries = [*_of_form(file), *(_finding_entry(finding, file) for finding in findings)]
    entries.sort(key=lambda entry: (entry["line"] or LAST, entry["level"]))
    n_errors = sum(entry["level"] == "error" for entry in entries)
    if json:
        print_json({"file": str(rules), "rules": n_rules, "findings": entries})
    else:
        for entry in entries:
            at = f"{rules}:{entry['line']}" if entry["line"] else f"{rules}"
            typer.echo(printable(f"{at}: {entry['level']}: {entry['message']}"))
        n_warnings = len(entries) - n_errors
        typer.echo(f"rules: {n_rules}, errors: {n_errors}, warnings: {n_warnings}")
    if n_errors:
        raise typer.Exit(1)


def _of_form(file: RuleFile) -> list[dict[str, Any]]:
    """What is no rule at all."""
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


def _finding_entry(finding: Finding, file: RuleFile) -> dict[str, Any]:
    from podium.postranking.checking import locate_finding

    line, message = locate_finding(finding, file)
    return {"level": finding.level, "line": line, "message": message}

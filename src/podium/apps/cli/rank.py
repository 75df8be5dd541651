"""``podium rank``: a filter, requests in and answers out, a line each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.console import fail, reports_errors

EXAMPLE = """Example: podium rank shop.podium < requests.jsonl > answers.jsonl

Lines are the bodies of POST /v1/rank of podium serve, and its answers. A line that cannot be answered is told
with its number, its answer is an error, and the exit code is 1 in the end."""


@reports_errors
def rank(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...", help="Model files: PATH, NAME=PATH or NAME@VERSION=PATH."
        ),
    ],
    rules: Annotated[
        Path | None, typer.Option(dir_okay=False, help='Rules for requests with "rules": true.')
    ] = None,
    docs: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="The fields of documents (.jsonl, .csv, .tsv)."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first line that cannot be answered.")
    ] = False,
) -> None:
    """Rank JSON lines from stdin to stdout."""
    import sys

    from podium.apps.serving.filtering import filter_lines
    from podium.apps.serving.settings import ServingSettings
    from podium.apps.serving.shelf import Shelf

    settings = ServingSettings(
        tuple(models),
        rules=None if rules is None else str(rules),
        docs=None if docs is None else str(docs),
    )
    state = Shelf(settings).state
    if state.warning:
        typer.echo(f"podium: {state.warning}", err=True)
    wrong, out = 0, sys.stdout.buffer
    for number, (answer, refusal) in enumerate(filter_lines(sys.stdin.buffer, state), start=1):
        if refusal is not None:
            wrong += 1
            if strict:
                fail(f"line {number}: {refusal.message}", 1)
            typer.echo(f"podium: line {number}: {' '.join(refusal.message.split())}", err=True)
        out.write(answer + b"\n")
        out.flush()
    if wrong:
        fail(f"{wrong:,} {'line' if wrong == 1 else 'lines'} could not be answered", 1)

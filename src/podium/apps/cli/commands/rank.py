"""``podium rank``: a filter that reads one request per line and writes one answer per line."""

from __future__ import annotations

import sys

import typer

from podium.apps.cli.error_reports import fail
from podium.apps.cli.inputs.postrank_inputs import read_classes
from podium.apps.cli.options.rank import RankOptions
from podium.apps.http.refusals import Refusal
from podium.apps.serving.jsonl_filter import filter_lines
from podium.apps.serving.reloaded_files import ServedFiles
from podium.apps.serving.settings import ServingSettings

EXAMPLE_REQUEST = '{"documents": [{"id": "a", "features": {"price": 9.5}}]}'
"""A request of one line."""


def run_rank(options: RankOptions) -> None:
    """Rank JSON lines from stdin to stdout."""
    settings = ServingSettings(
        tuple(options.models),
        rules=None if options.rules is None else str(options.rules),
        docs=None if options.docs is None else str(options.docs),
        decimal=options.decimal,
        thousands=options.thousands,
        classes=read_classes(options.classes),
    )
    state = ServedFiles(settings).state
    for warning in state.warnings:
        typer.echo(f"podium: warning: {warning}", err=True)
    wrong, out = 0, sys.stdout.buffer
    for number, (answer, refusal) in enumerate(filter_lines(sys.stdin.buffer, state), start=1):
        if refusal is not None:
            wrong += 1
            if options.strict:
                fail(f"line {number}: {_message(refusal)}", 1)
            typer.echo(f"podium: line {number}: {' '.join(_message(refusal).split())}", err=True)
        out.write(answer + b"\n")
        out.flush()
    if wrong:
        fail(f"{wrong:,} {'line' if wrong == 1 else 'lines'} could not be answered", 1)


def _message(refusal: Refusal) -> str:
    """Return the message of a refusal; for a line that is not JSON, with an example of a request."""
    if refusal.code != "not_json":
        return refusal.message
    message = refusal.message.replace("a body of JSON", "a request as JSON")
    return f"{message}; as in {EXAMPLE_REQUEST}"

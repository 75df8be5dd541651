"""Options of ``podium rank``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import ClusterOption
from podium.apps.cli.options.postrank import (
    USUAL_CLASSES,
    DocsDecimal,
    DocsThousands,
    RuleClasses,
)


@dataclass(frozen=True)
class RankOptions:
    """Rank JSON lines from stdin to stdout.

    Example: podium rank shop.podium < requests.jsonl > answers.jsonl

    Each line of the input is a body of POST /v1/rank of podium serve; each line of the output is
    its answer. A line that cannot be answered is reported with its number, its answer is an error,
    and the exit code is 1.
    """

    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...", help="Model files: PATH, NAME=PATH or NAME@VERSION=PATH."
        ),
    ]
    rules: Annotated[
        Path | None, typer.Option(dir_okay=False, help='Rules for requests with "rules": true.')
    ] = None
    classes: RuleClasses = USUAL_CLASSES
    docs: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False, help="The fields of documents (.jsonl, .csv, .tsv, .parquet)."
        ),
    ] = None
    decimal: DocsDecimal = "."
    thousands: DocsThousands = ""
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first line that cannot be answered.")
    ] = False
    cluster: ClusterOption = None

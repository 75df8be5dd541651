"""Options of ``podium tour``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Json


@dataclass(frozen=True)
class TourOptions:
    """Show podium in five minutes: data, a ranker, a test, an explanation and rules.

    Example: podium tour first-steps

    Each step explains a command, runs it and waits for Enter. The data is the demo's: everyday
    questions to Python's standard library, with judged answers.
    """

    folder: Annotated[
        Path | None,
        typer.Argument(
            file_okay=False,
            metavar="[DIR]",
            help="The folder to write; a temporary one by default.",
        ),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not wait for Enter.")] = False
    queries: Annotated[
        int, typer.Option(help="How many queries of the demo to use.", min=40, max=220)
    ] = 120
    json: Json = False

"""Options of ``podium clicks interleaving``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Json

EventLogs = Annotated[
    list[Path],
    typer.Argument(
        metavar="EVENTS...",
        exists=True,
        help="The logs of podium serve --events: files of events and of lists, or their folder.",
    ),
]


@dataclass(frozen=True)
class ClicksInterleavingOptions:
    """Say which of two models users prefer, by interleaving or an A/B test of podium serve.

    Example: podium clicks interleaving events.ndjson events-lists.ndjson

    The result may be looked at every day: the interval and the p-value hold at all times together. While
    nothing is decided, the command says how many more sessions are needed if users go on as before.

    A session or user counts once, with the mean outcome of its lists.
    """

    logs: EventLogs
    experiment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The experiment, if the logs have several."),
    ] = None
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="The level of the interval and the test.")
    ] = 0.95
    json: Json = False

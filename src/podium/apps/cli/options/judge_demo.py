"""Options of ``podium judge demo``."""

from dataclasses import dataclass
from typing import Annotated

import typer

from podium.apps.cli.options import Json
from podium.apps.cli.options.judge import Host, Port


@dataclass(frozen=True)
class JudgeDemoOptions:
    """Try the judging app in the browser, with everyday questions about Python's standard library.

    Example: podium judge demo

    There are four queries of podium demo's corpus: three to judge by pairs and one by grades, with
    guidelines and definitions of grades. The store is temporary unless --store names a file.
    """

    store: Annotated[
        str | None,
        typer.Option(metavar="STORE", help="A file for the judgments; a temporary one by default."),
    ] = None
    host: Host = "127.0.0.1"
    port: Port = 8400
    open_: Annotated[
        bool, typer.Option("--open", help="Open the assessor's link in the browser.")
    ] = False
    json: Json = False

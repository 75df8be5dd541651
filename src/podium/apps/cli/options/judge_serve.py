"""Options of ``podium judge serve``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Json
from podium.apps.cli.options.judge import Days, Host, PlanOptions, Port, Secret
from podium.apps.cli.options.web_access import (
    AllowedHost,
    ClientConnections,
    ClientRequests,
    TrustedProxy,
    WrongTries,
)


@dataclass(frozen=True)
class JudgeServeOptions(PlanOptions):
    """Serve the judging web app, and print a personal link for everybody.

    Example: podium judge serve --store judgments.db --pool pool.jsonl --assessors ann,bob --top 10

    Prints a personal link for every assessor and one for the admin, then serves until it is
    stopped. A link opens a page with a button that signs in. Anyone who has a link can sign in, so
    send each to its owner only.

    --pool, --assessors, --design, --assign and the settings are those of podium judge import. A
    store that has tasks needs none of them: podium judge serve --store judgments.db.

    For other machines give --host 0.0.0.0 and, behind a proxy with https, --base-url
    https://judge.example.org. The secret that signs links is made once and kept beside the store; a
    new secret makes old links void.
    """

    images: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="The folder of documents that are images."),
    ] = None
    repeats: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of questions asked again, sides swapped.")
    ] = 0.05
    host: Host = "127.0.0.1"
    port: Port = 8400
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where browsers find the server, if elsewhere."),
    ] = None
    secret: Secret = None
    days: Days = 60.0
    allowed_host: AllowedHost = None
    trusted_proxy: TrustedProxy = None
    client_connections: ClientConnections = 2_000
    client_requests: ClientRequests = 500.0
    wrong_tries: WrongTries = 30
    json: Json = False

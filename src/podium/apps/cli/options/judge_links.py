"""Options of ``podium judge links``."""

from dataclasses import dataclass
from typing import Annotated

import typer

from podium.apps.cli.options import Json
from podium.apps.cli.options.judge import Days, Secret, StoreName, StoreOption


@dataclass(frozen=True)
class JudgeLinksOptions:
    """Print a new personal link for everybody in a store.

    Example: podium judge links --store judgments.db --base-url https://judge.example.org --days 14

    There is one link per line, for all members of the store. Older links work until they expire.
    Without --base-url, links lead to where the store is served now.
    """

    store: StoreName = None
    store_: StoreOption = None
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where browsers find the server; by default where the store is served, or "
            "http://127.0.0.1:8400.",
        ),
    ] = None
    secret: Secret = None
    days: Days = 60.0
    renew: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A member whose older links stop working."),
    ] = None
    json: Json = False

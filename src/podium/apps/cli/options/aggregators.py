"""Options of ``podium aggregators``."""

from dataclasses import dataclass
from typing import Annotated

import typer

from podium.apps.cli.options import Json


@dataclass(frozen=True)
class AggregatorsOptions:
    """List the aggregators, or describe one: its paper and its settings.

    Example: podium aggregators mc4
    """

    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An aggregator to describe.")
    ] = None
    json: Json = False

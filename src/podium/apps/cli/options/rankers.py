"""Options of ``podium rankers``."""

from dataclasses import dataclass
from typing import Annotated

import typer

from podium.apps.cli.options import Json


@dataclass(frozen=True)
class RankersOptions:
    """List the rankers, or describe one: its paper, its parameters and what they may be.

    Example: podium rankers focused-net
    """

    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A ranker to describe.")] = None
    json: Json = False

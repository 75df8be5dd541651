"""Options of every command that trains: how a ranker is bagged."""

from dataclasses import dataclass
from typing import Annotated

import typer

from podium.apps.cli.options.preparation import PreparationOptions

BagJobs = Annotated[
    int,
    typer.Option("--jobs", "-j", help="How many bags are fitted at a time; -1 uses all cores."),
]


@dataclass(frozen=True, kw_only=True)
class BaggingOptions(PreparationOptions):
    """Options that bag a ranker: one model, the mean of the ranker on several draws of queries."""

    bag: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=256,
            metavar="N",
            help="Fit the ranker to N draws of the training queries; the model is the mean of their "
            "standardised scores. Try 8.",
        ),
    ] = None
    bag_queries: Annotated[
        float | None,
        typer.Option(help="The share of the queries in each bag, 0.8 by default (--bag)."),
    ] = None
    bag_features: Annotated[
        float | None,
        typer.Option(help="The share of the features in each bag, 1 by default (--bag)."),
    ] = None

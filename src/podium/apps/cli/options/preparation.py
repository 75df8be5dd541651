"""Options of every command that trains: how features are prepared."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import MissingByRanker
from podium.apps.cli.options.tables import TableOptions

ImputeChoice = Literal["median", "mean", "zero", "none"]
ScaleChoice = Literal["zscore", "minmax", "robust", "query-zscore", "query-minmax", "none"]

IgnoreScaling = Annotated[
    bool,
    typer.Option(
        "--ignore-scaling",
        help="Use data that is scaled within queries in another way than the training data.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class PreparationOptions(TableOptions):
    """Options that prepare features; the model keeps the steps."""

    missing: MissingByRanker = None
    impute: Annotated[
        ImputeChoice | None,
        typer.Option(
            help="Fill in missing values; the model keeps the filling. Missing values are then allowed."
        ),
    ] = None
    indicators: Annotated[
        bool,
        typer.Option(
            "--indicators",
            help="Add a feature for each one with missing values: 1 if the value is missing.",
        ),
    ] = False
    scale: Annotated[
        ScaleChoice | None,
        typer.Option(
            help="Scale features by the numbers of the training data, or within each query (query-...);"
            " the model keeps it and takes raw features."
        ),
    ] = None
    log1p: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Features that become log(1 + x), with commas between."),
    ] = None
    clip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="Keep a feature within bounds, as in price=0:100 or price=0:; may be given several "
            "times.",
        ),
    ] = None
    ignore_scaling: IgnoreScaling = False

"""Options of ``podium update``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Force, Json, MissingOption, file_argument, file_option
from podium.apps.cli.options.feedback import FeedbackClasses, FeedbackLogs, PhiScale, PhiWeight
from podium.apps.cli.options.tables import TableOptions


@dataclass(frozen=True)
class UpdateOptions(TableOptions):
    """Update a model of cfbrs with new feedback.

    Example: podium update cfbrs.podium data.txt --feedback today.ndjson -o new.podium

    The weights of blocks change; no block is trained again. DATA has the queries whose lists were
    shown; without --feedback its labels count. With --until-converged every log is a batch (without
    logs, every file of DATA), and updating ends when the metric stops changing.
    """

    model: Annotated[Path, file_argument("MODEL", "A model of cfbrs.")]
    inputs: Annotated[
        list[Path],
        file_argument("DATA...", "LETOR text, or tables (CSV, TSV, JSON lines, Parquet, Arrow)."),
    ]
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="MODEL", help="The model file to write.")
    ]
    feedback: FeedbackLogs = None
    classes: FeedbackClasses = None
    phi_weight: PhiWeight = None
    phi_scale: PhiScale = None
    until_converged: Annotated[
        bool,
        typer.Option("--until-converged", help="Update batch by batch until the metric settles."),
    ] = False
    valid: Annotated[
        list[Path] | None,
        file_option(
            "Measure on this labelled data; by default on each batch before learning from it."
        ),
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(
            min=0, help="A smaller change of the metric counts as none; 0.001 by default."
        ),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            min=1, help="Stop after so many batches in a row without a change; 2 by default."
        ),
    ] = None
    missing: MissingOption = "error"
    force: Force = False
    json: Json = False

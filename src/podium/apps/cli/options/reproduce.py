"""Options of ``podium reproduce``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import ClusterOption, Json, SeedOption


@dataclass(frozen=True)
class ReproduceOptions:
    """Run a paper's experiments on your LETOR data and write its tables, figures and claims.

    Example: podium reproduce toprank --data LETOR --out toprank --quick

    Papers: toprank, topk, cfbrs, rankopt, rpc-mtl.

    The same command continues a run that was stopped. In --out: PAPER.html, .md and .json,
    figures/, tables/ and pieces/, which can be deleted when the run is over. Files of an earlier run
    of the paper are replaced.
    """

    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="toprank, topk, cfbrs, rankopt or rpc-mtl.")
    ]
    data: Annotated[
        Path,
        typer.Option(
            file_okay=False,
            metavar="DIR",
            help="A folder with the data sets, each under its name (MQ2008, OHSUMED, ...) with Fold1 ... "
            "or S1.txt ... in it; or the folder of one data set.",
        ),
    ]
    out: Annotated[
        Path,
        typer.Option("--out", "-o", file_okay=False, metavar="DIR", help="The folder to write."),
    ]
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A few queries and settings: to see that it works, in minutes."
        ),
    ] = False
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", help="How many pieces of work run at a time; -1 uses all cores."
        ),
    ] = -1
    seed: SeedOption = 0
    cluster: ClusterOption = None
    json: Json = False

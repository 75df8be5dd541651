"""Options of ``podium tune``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import ClusterOption, Force, Json, data_option
from podium.apps.cli.options.bagging import BaggingOptions, BagJobs
from podium.apps.cli.options.train import Out, RankerName, Set, TrainFiles

GridOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=V1,V2,...",
        help="Values to try, as in C=0.01,0.1,1 (values that are lists themselves: 64,32;128);"
        " may be given several times. The ranker's own grid by default.",
    ),
]


@dataclass(frozen=True)
class TuneOptions(BaggingOptions):
    """Train a ranker with every setting of a grid and keep the best on the validation data.

    Example: podium tune ranksvm train.txt --valid vali.txt -o best.podium --grid C=0.01,0.1,1

    Without --grid the command tries the ranker's own grid, which is that of its paper (podium
    rankers).
    """

    ranker: RankerName
    inputs: TrainFiles
    out: Out
    valid: Annotated[list[Path], data_option("Validation data, which chooses the setting.")]
    grid: GridOption = None
    setting: Set = None
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="The metric to maximise on the validation data.")
    ] = "NDCG@10"
    warm: Annotated[
        bool,
        typer.Option(
            help="Start each fit from the last one on its path; otherwise from scratch, as podium train does."
        ),
    ] = True
    jobs: BagJobs = 1
    force: Force = False
    cluster: ClusterOption = None
    json: Json = False

"""Options of ``podium train``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import ClusterOption, Force, Json, data_argument, data_option
from podium.apps.cli.options.bagging import BaggingOptions
from podium.apps.cli.options.click_learning import ClickLearningOptions
from podium.apps.cli.options.feedback import (
    Alpha,
    FeedbackClasses,
    FeedbackLogs,
    PhiScale,
    PhiWeight,
    Propensities,
)

RankerName = Annotated[str, typer.Argument(metavar="RANKER", help="See podium rankers.")]
TrainFiles = Annotated[
    list[Path],
    data_argument(
        "TRAIN...",
        "LETOR text, tables (CSV, TSV, JSON lines, Parquet, Arrow), or the folder of a collection.",
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="The model file to write.", metavar="MODEL")]

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the ranker, as in C=0.1, scorer=mlp, scorer.hidden=64,32; "
        "may be given several times.",
    ),
]


@dataclass(frozen=True)
class TrainOptions(ClickLearningOptions, BaggingOptions):
    """Train a ranker and write it to a model file.

    Example: podium train listnet train.txt --valid vali.txt -o listnet.podium --set l2=0.01

    --impute, --indicators, --scale, --log1p and --clip prepare the features. The steps are learned on
    the training queries and kept in the model, which then takes raw features.

    --bag 8 fits the ranker to eight draws of the queries. The model is the mean of their standardised
    scores: one linear model if the ranker is linear, one sum of trees if it has trees.

    --clicks learns from a log of clicks: podium train listnet shop.txt --clicks log.clicks --debias ips -o
    shop.podium. The ranker is compared with one of plain click rates on held-out sessions, and the better
    one is fitted to all of them.

    Ctrl-C ends training and writes the best model so far, if there is one (exit code 130). rpc-mtl
    has no model before its last stage, tasks.

    auto searches for the best ranker within a budget: podium train auto train.txt --budget 10m -o
    best.podium. Finished fits are kept in MODEL.work until the search ends: the same command continues
    an interrupted search.
    """

    ranker: RankerName
    inputs: TrainFiles
    out: Out
    valid: Annotated[
        list[Path] | None, data_option("Validation data, which chooses the number of iterations.")
    ] = None
    setting: Set = None
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="The metric on the validation data.")
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Same seed, same model.", min=0, max=2**63 - 1)
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(
            help="auto: what the search may cost, as in 10m, 1h, 200fits or '10m cpu' (default 10m)."
        ),
    ] = None
    feedback: FeedbackLogs = None
    classes: FeedbackClasses = None
    phi_weight: PhiWeight = None
    phi_scale: PhiScale = None
    propensities: Propensities = None
    alpha: Alpha = None
    plot: Annotated[
        Path | None, typer.Option(help="Draw the learning curve (.png, .svg or .pdf).")
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            help="How many fits of auto, or bags of --bag, run at a time; -1 uses all cores, which is "
            "the default of auto.",
        ),
    ] = None
    force: Force = False
    cluster: ClusterOption = None
    json: Json = False

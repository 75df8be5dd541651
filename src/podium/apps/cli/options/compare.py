"""Options of ``podium compare``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import ClusterOption, Force, Json, SeedOption, file_option
from podium.apps.cli.options.bagging import BaggingOptions

Correction = Literal["holm", "bonferroni", "bh", "none"]


@dataclass(frozen=True)
class CompareOptions(BaggingOptions):
    """Train rankers on every fold, compare them on the test queries and write a report.

    Example: podium compare MQ2008 --rankers ranksvm,listnet --baseline ranksvm --out mq2008

    The same command continues a run that was stopped. Settings are chosen on validation queries, by
    the first metric. --out gets report.html, .md, .tex, .csv, .json, times.json, and the results of
    each fold in cells. Other files in this folder stay as they are.
    """

    data: Annotated[
        list[Path],
        typer.Argument(
            exists=True,
            metavar="DATA...",
            help="A LETOR folder (S1.txt ... or Fold1 ... with train.txt, vali.txt, test.txt), or files "
            "of LETOR text or tables (CSV, Parquet, ...), whose queries are cut into folds.",
        ),
    ]
    rankers: Annotated[
        str,
        typer.Option(
            help="Rankers by name, with commas between; or all, which leaves out auto and those that need an "
            "extra. See podium rankers."
        ),
    ]
    out: Annotated[
        Path,
        typer.Option("--out", "-o", file_okay=False, metavar="DIR", help="The folder to write."),
    ]
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A metric; may be given several times. The first one chooses settings. NDCG@10, "
            "ERR@10 and MAP by default.",
        ),
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="The number of folds, 5 by default. A folder has its own; with this option its queries are "
            "split again.",
        ),
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(help="The ranker to test the others against; the first by default."),
    ] = None
    baseline_feature: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURE",
            help="Rank by this feature, the highest value first, and test the others against it: today's "
            "ranking, such as the score of your search engine.",
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="RANKER.NAME=VALUE",
            help="A parameter of one of the rankers, as in lambdamart.trees=200; it is not tuned then.",
        ),
    ] = None
    fixed: Annotated[
        list[Path] | None,
        file_option(
            "A model file of podium train or podium import that is measured without training,"
            " under the name of the file. May be given several times.",
            metavar="MODEL",
        ),
    ] = None
    tune: Annotated[bool, typer.Option(help="Choose settings on validation queries.")] = True
    correction: Annotated[
        Correction, typer.Option(help="The correction of p-values for the number of rankers.")
    ] = "holm"
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="How many cells run at a time; -1 uses all cores.")
    ] = 1
    seed: SeedOption = 0
    force: Force = False
    cluster: ClusterOption = None
    json: Json = False

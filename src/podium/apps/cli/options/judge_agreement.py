"""Options of ``podium judge agreement``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Force, Json, SeedOption, file_option
from podium.apps.cli.options.judge import StoreName, StoreOption


@dataclass(frozen=True)
class JudgeAgreementOptions:
    """Hold a machine assessor against people: agreement, biases, drift, and what people should still judge.

    Example: podium judge agreement judgments.db -o agreement.html

    The output has kappa and alpha of machine and people on the questions that both judged, with
    intervals by query, and of people among themselves beside it. Biases for one side and for longer
    documents, self-consistency, and each model and prompt follow; then the queries where machine and
    people part, and how many judgments of people are still needed.

    With --run (two or more runs), or with --features and --rankers (trained and measured with each
    truth), it also says whether the machine's truth ranks systems as people's does.
    """

    store: StoreName = None
    store_: StoreOption = None
    machine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The machine; needed if the store has several."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write a page with pictures: .html."),
    ] = None
    run: Annotated[
        list[Path] | None,
        file_option("The TREC run of a system; may be given several times.", metavar="RUN"),
    ] = None
    features: Annotated[
        list[Path] | None,
        file_option("Data with document ids, to train --rankers; may be given several times."),
    ] = None
    rankers: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Rankers to train with each truth.")
    ] = None
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="The metric that ranks systems.")
    ] = "NDCG@10"
    folds: Annotated[int, typer.Option(min=2, help="Folds for --rankers.")] = 3
    half_width: Annotated[
        float,
        typer.Option(
            min=0.001, max=0.5,
            help="How narrow the interval of the agreement should be, half of it, for the advice.",
        ),
    ] = 0.05  # fmt: skip
    resamples: Annotated[int, typer.Option(min=1, help="Resamples of the queries.")] = 1_000
    seed: SeedOption = 0
    force: Force = False
    json: Json = False

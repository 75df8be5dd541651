"""Options of ``podium predict``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import (
    ClusterOption,
    Force,
    Json,
    MissingByRanker,
    data_argument,
    file_argument,
)
from podium.apps.cli.options.preparation import IgnoreScaling
from podium.apps.cli.options.tables import TableOptions

PredictionFormat = Literal["auto", "scores", "npy", "run", "parquet", "jsonl"]


@dataclass(frozen=True)
class PredictOptions(TableOptions):
    """Score documents with a model.

    Example: podium predict listnet.podium test.txt -o test.scores

    Scores follow the order of DATA's lines. OUT's ending decides the format: .txt and .scores
    (text, one score per line), .npy, .run (TREC, needs document ids), .parquet, .jsonl. --format
    allows other endings.

    A .jsonl file has one query per line, with the documents' ids and features and no scores: the
    input of `podium rank`, and of `podium serve --samples`.

    A model that knows the names of its features picks them by name from a table, in any order.

    Models of ordinal and rpc-mtl also predict degrees. --degrees writes the degree of each
    document. --probabilities writes the probability of each degree: one line per document, the
    worst degree first.
    """

    model: Annotated[Path, file_argument("MODEL", "A .podium file.")]
    inputs: Annotated[
        list[Path],
        data_argument(
            "DATA...",
            "LETOR text, tables (CSV, Parquet, ...), which need no labels, or a collection.",
        ),
    ]
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write; stdout by default.")
    ] = None
    file_format: Annotated[
        PredictionFormat,
        typer.Option("--format", help="The format of OUT; auto takes it from the ending."),
    ] = "auto"
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Keep the top k of each query (TREC run).")
    ] = None
    user_class: Annotated[
        str | None,
        typer.Option(
            "--user-class", metavar="CLASS", help="Score for a class of users (models of cfbrs)."
        ),
    ] = None
    degrees: Annotated[
        bool,
        typer.Option("--degrees", help="The degree of each document (models of ordinal, rpc-mtl)."),
    ] = False
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="The probability of each degree (models of ordinal, rpc-mtl)."
        ),
    ] = False
    missing: MissingByRanker = None
    ignore_scaling: IgnoreScaling = False
    force: Force = False
    cluster: ClusterOption = None
    json: Json = False

"""Options of ``podium evaluate``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import (
    ClusterOption,
    Json,
    MissingOption,
    SeedOption,
    data_argument,
    file_argument,
)
from podium.apps.cli.options.tables import TableOptions


@dataclass(frozen=True)
class EvaluateOptions(TableOptions):
    """Evaluate scores on labelled data; several score files are compared with the first.

    Example: podium evaluate test.txt ranknet.scores listnet.scores -m NDCG@10 -m P@10

    Scores follow the order of DATA's lines. Several score files are each compared with the first: ▲
    and ▼ mark a difference with p < 0.05 after correction.
    """

    data: Annotated[
        Path,
        data_argument(
            "DATA", "LETOR text, a table (CSV, Parquet, ...), a collection or TREC qrels."
        ),
    ]
    scores: Annotated[
        list[Path],
        file_argument(
            "SCORES...", "One number per line, .npy, Parquet (column score), or a TREC run."
        ),
    ]
    metric: Annotated[
        list[str], typer.Option("--metric", "-m", help="A metric; may be given several times.")
    ] = ("NDCG@10", "P@10", "MAP")  # type: ignore[assignment]  # a field cannot default to a list
    missing: MissingOption = "nan"
    per_query: Annotated[bool, typer.Option("--per-query", help="Add every query's values.")] = (
        False
    )
    test: Annotated[
        Literal["permutation", "t"], typer.Option(help="The paired test against the first scores.")
    ] = "permutation"
    correction: Annotated[
        Literal["holm", "bonferroni", "bh", "none"],
        typer.Option(help="The correction of p-values for many comparisons."),
    ] = "holm"
    seed: SeedOption = 0
    cluster: ClusterOption = None
    json: Json = False

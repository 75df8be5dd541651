"""Options of ``podium explain``."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from podium.apps.cli.options import (
    Json,
    MissingByRanker,
    SeedOption,
    data_argument,
    data_option,
    file_argument,
)
from podium.apps.cli.options.preparation import IgnoreScaling
from podium.apps.cli.options.tables import TableOptions, column_option


@dataclass(frozen=True)
class ExplainOptions(TableOptions):
    """Explain a model: the features it uses, one query's list, or the features that a metric depends
    on.

    Example: podium explain listnet.podium --data test.txt --query 18219

    Without data, the command shows the features that the model uses most. They are sorted by weight
    (linear), by the sum of stumps, or by the gain of trees. With --query, it shows that query's
    list and what adds most to each score. With --importance, it shows how much a metric falls if
    one feature is shuffled.

    For a toprank model, it shows the members and the weights of their votes; with --query, each
    member's order of the head, and the final one.
    """

    query_option: ClassVar[str] = "--query-column"  # --query names a query here
    model: Annotated[Path, file_argument("MODEL", "A .podium file.")]
    data_files: Annotated[list[Path] | None, data_argument("[DATA...]", "The same as --data.")] = (
        None
    )
    data: Annotated[
        list[Path] | None,
        data_option("LETOR text, tables (CSV, Parquet, ...) or a collection to explain."),
    ] = None
    query: Annotated[
        str | None,
        typer.Option(
            help="The query whose list to explain: its id, or its text. (Here --query-column is the column "
            "of query ids.)"
        ),
    ] = None
    importance: Annotated[
        bool, typer.Option("--importance", help="Permutation importance on the data.")
    ] = False
    metric: Annotated[str, typer.Option("--metric", "-m", help="The metric for --importance.")] = (
        "NDCG@10"
    )
    repeats: Annotated[
        int, typer.Option(min=1, help="How often a feature is shuffled for --importance.")
    ] = 5
    n: Annotated[
        int | None,
        typer.Option("-n", min=1, help="Features to show: 10, or 3 for each document of a query."),
    ] = None
    missing: MissingByRanker = None
    ignore_scaling: IgnoreScaling = False
    seed: SeedOption = 0
    query_column: Annotated[
        str | None,
        column_option(
            "--query-column",
            metavar="COLUMN",
            help_text="The column of query ids; by default qid, query_id, search_id or query.",
        ),
    ] = field(default=None, kw_only=True)
    json: Json = False

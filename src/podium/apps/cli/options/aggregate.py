"""Options of ``podium aggregate``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import ClusterOption, Force, Json, file_argument, file_option
from podium.apps.cli.options.predict import PredictionFormat
from podium.apps.cli.options.tables import TableOptions


@dataclass(frozen=True)
class AggregateOptions(TableOptions):
    """Combine several rankings into one.

    Example: podium aggregate bm25.run dense.run listnet.run --method rrf --set k=20 -o fused.run

    Runs are joined on query and document. The result has the queries and documents of all runs.
    Equal scores are ties.

    Weights can be learned from judged queries: --weights measured (by each ranker's own metric) or
    optimised (by the aggregate's metric). Give --qrels for queries of the input, or --valid for
    other queries. To use them on runs of other queries, give the printed weights: --weights
    0.3,0.5,0.2.

    With --depth 10, only the first ten documents of each ranker count. All documents are still
    ranked; --top cuts the result.

    With --places, scores follow the order of FILE's lines, and OUT's ending decides the format, as
    in podium predict.
    """

    runs: Annotated[list[Path] | None, file_argument("RUN...", "TREC runs, two or more.")] = None
    places: Annotated[
        list[Path] | None,
        file_option(
            "Instead of runs: LETOR text or Parquet whose features are places, one feature "
            "per ranker; NULL means not ranked. May be given several times.",
            metavar="FILE",
        ),
    ] = None
    method: Annotated[str, typer.Option(help="See podium aggregators.")] = "supervised-kemeny"
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the method, as in k=20; may be given several times.",
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="W1,W2,...|measured|optimised",
            help="One weight per ranker, or how weights are learned; equal by default.",
        ),
    ] = None
    qrels: Annotated[
        Path | None,
        file_option(
            "Judgments of queries in the input, to learn weights from: TREC qrels, or LETOR "
            "text or Parquet with document ids."
        ),
    ] = None
    valid: Annotated[
        list[Path] | None,
        file_option(
            "Labelled places of other queries, to learn weights from (with --places).",
            metavar="FILE",
        ),
    ] = None
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="The metric that learned weights maximise.")
    ] = "NDCG@10"
    depth: Annotated[
        int | None, typer.Option(min=1, help="Use only the first DEPTH of each ranker.")
    ] = None
    initial: Annotated[
        Path | None,
        file_option(
            "A run to start from, which also orders ties. Its queries and documents are "
            "also ranked.",
            metavar="RUN",
        ),
    ] = None
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write; stdout by default.")
    ] = None
    file_format: Annotated[
        PredictionFormat,
        typer.Option(
            "--format", help="The format of OUT with --places; auto takes it from the ending."
        ),
    ] = "auto"
    top: Annotated[
        int | None,
        typer.Option("--top", "-k", min=1, help="Keep the top k of each query (run, --explain)."),
    ] = None
    explain: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Show the places of one query's documents instead."),
    ] = None
    force: Force = False
    cluster: ClusterOption = None
    json: Json = False

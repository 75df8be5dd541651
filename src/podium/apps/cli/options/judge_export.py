"""Options of ``podium judge export``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import Force, Json, MissingOption, file_option
from podium.apps.cli.options.judge import StoreName, StoreOption
from podium.apps.cli.options.tables import Categories, ColumnsFile

FormatName = Literal["letor", "qrels", "parquet", "csv"]


@dataclass(frozen=True)
class JudgeExportOptions:
    """Write top-k truth, labels, grades or preferences to a file.

    Example: podium judge export judgments.db --what labels -o truth.qrels

    The ending of the file decides the format (.csv, .parquet, .qrels, .letor; with --features .txt
    is LETOR), unless --format names it.

    --what is topk (ranks), labels, grades, preferences (every judgment of a pair) or judgments
    (every pair and grade, with the version of the guidelines). A label is y = k - number of
    documents strictly better, or with --ties broken y = k + 1 - position. Merged truth keeps what
    an admin settled.

    If people and machines judged, --judged-by says whose judgments become truth. What machines judged
    is marked: in headers of LETOR and Parquet, in a column of tables, in the second column of qrels.

    --merge combines several assessors: by majority, bradley-terry (with ties), or any method of
    podium aggregators. Grades merge by majority, median or mean. --merge none keeps assessors apart
    (csv, parquet).

    LETOR needs --features, which are joined by query and document id. For Parquet they are
    optional.
    """

    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write.")]
    store: StoreName = None
    store_: StoreOption = None
    what: Annotated[
        Literal["topk", "labels", "grades", "preferences", "judgments"],
        typer.Option(help="What to write."),
    ] = "labels"
    format: Annotated[
        FormatName | None, typer.Option(help="The format; by default that of the file's ending.")
    ] = None
    merge: Annotated[
        str,
        typer.Option(
            help="How several assessors become one: majority, bradley-terry, an aggregator, none."
        ),
    ] = "majority"
    judged_by: Annotated[
        Literal["people", "machines", "both"] | None,
        typer.Option(
            help="Whose judgments to take; needed for truth if people and machines judged."
        ),
    ] = None
    ties: Annotated[
        Literal["shared", "broken"],
        typer.Option(
            help="Whether tied documents share a label, or are ordered as they were placed."
        ),
    ] = "shared"
    top: Annotated[
        int | None,
        typer.Option("--top", "-k", min=1, help="How many places; by default as judged."),
    ] = None
    features: Annotated[
        list[Path] | None,
        file_option(
            "Data with document ids: LETOR text or tables, whose columns --columns names. May be given "
            "several times."
        ),
    ] = None
    categories: Categories = None
    columns_file: ColumnsFile = None
    unjudged: Annotated[
        Literal["drop", "zero"],
        typer.Option(
            help="What happens to documents with features but no judgment: drop, or label 0."
        ),
    ] = "drop"
    missing: MissingOption = "nan"
    force: Force = False
    json: Json = False

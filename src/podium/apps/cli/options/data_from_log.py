"""Options of ``podium data from-log``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import Force, Json, file_argument, file_option


@dataclass(frozen=True)
class DataFromLogOptions:
    """Turn features that a search engine logged into ranking data.

    Example: podium data from-log features.jsonl --qrels judgments.qrels -o train.txt

    A log has one answer of the engine per line, as calls.sh of podium export --features writes it:
    Elasticsearch or OpenSearch (ltr_log), Solr ([features]), Vespa (match-features).
    """

    inputs: Annotated[list[Path], file_argument("LOG...", "Answers of the engine, one per line.")]
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="OUT", help="The file to write; its ending decides the format."
        ),
    ]
    qrels: Annotated[
        Path | None, file_option("The labels, as TREC qrels; without them, all labels are 0.")
    ] = None
    features: Annotated[
        Path | None,
        file_option("The declared features, whose order the data gets.", metavar="FILE"),
    ] = None
    unjudged: Annotated[
        Literal["skip", "zero"],
        typer.Option(help="Documents without a judgment are left out, or have label 0."),
    ] = "skip"
    force: Force = False
    json: Json = False

"""Options of ``podium metrics``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Json, file_option
from podium.apps.cli.options.tables import TableOptions


@dataclass(frozen=True)
class MetricsOptions(TableOptions):
    """List the metrics, or explain one: its convention, and the tables it may be compared with.

    Example: podium metrics --explain 'NDCG@10' --value 0.502 --blank 0.28
    """

    explain: Annotated[
        str | None, typer.Option("--explain", "-e", help="A metric to explain.", metavar="METRIC")
    ] = None
    value: Annotated[
        float | None, typer.Option(help="A mean of that metric, to convert to other conventions.")
    ] = None
    blank: Annotated[
        float | None, typer.Option(help="The share of queries without a relevant document.")
    ] = None
    data: Annotated[Path | None, file_option("Take the share of such queries from this data.")] = (
        None
    )
    json: Json = False

"""Options of ``podium demo``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Force, Json, SeedOption


@dataclass(frozen=True)
class DemoOptions:
    """Search the standard library: features, every ranker compared, rules, a report.

    Example: podium demo --out demo

    Documents are the functions, classes and modules of the Python that runs, queries are everyday
    questions with judged answers. BM25 finds 50 documents per query; every ranker then learns to
    rank them.
    """

    out: Annotated[
        Path,
        typer.Option("--out", "-o", file_okay=False, metavar="DIR", help="The folder to write."),
    ] = Path("demo")
    queries: Annotated[
        int | None, typer.Option(help="How many queries to use; all by default.", min=20)
    ] = None
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="How many rankers run at a time; -1 uses all cores.")
    ] = -1
    force: Force = False
    seed: SeedOption = 0
    json: Json = False

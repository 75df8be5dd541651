"""Options that several commands of ``podium judge`` share: the store, the server, the plan of judging."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import file_option

DEFAULT_STORE = "judgments.db"

StoreName = Annotated[
    str | None,
    typer.Argument(
        metavar="STORE",
        help=f"An SQLite file, or the URL of a PostgreSQL database; {DEFAULT_STORE} by default.",
    ),
]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="STORE", help="The store, as an option.")
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")]
Days = Annotated[float, typer.Option(min=0.01, help="How long links work.")]
Secret = Annotated[
    Path | None,
    typer.Option(
        dir_okay=False,
        help="The file with the secret that signs links; beside the store by default.",
    ),
]
DesignName = Literal["all", "crossover", "paper", "overlap"]
ToolName = Literal["preference", "grade"]


@dataclass(frozen=True)
class PlanOptions:
    """What is judged, by whom and how; None where the command line does not say."""

    store: StoreName = None
    store_: StoreOption = None
    pool: Annotated[Path | None, file_option("Queries and documents: JSONL or a table.")] = None
    run: Annotated[Path | None, file_option("A TREC run instead, with --documents.")] = None
    documents: Annotated[Path | None, file_option("The run's documents: JSONL or a table.")] = None
    queries: Annotated[Path | None, file_option("The run's queries: JSONL or a table.")] = None
    show: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Fields that assessors see below a document's text, as in price,brand.",
        ),
    ] = None
    depth: Annotated[
        int | None, typer.Option(min=1, help="Documents per query of a run; all by default.")
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Judge a random sample of this many documents of each query (see --seed); all by default.",
        ),
    ] = None
    assessors: Annotated[
        list[str] | None,
        typer.Option(
            "--assessors",
            "-a",
            metavar="NAMES",
            help="Who judges: names with commas between them; may be given several times.",
        ),
    ] = None
    assign: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Who judges what: CSV with assessor, query and tool."),
    ] = None
    design: Annotated[
        DesignName | None,
        typer.Option(
            help="Who judges what, without a file; all by default. paper means crossover."
        ),
    ] = None
    tool: Annotated[ToolName, typer.Option(help="The judging tool; crossover uses both.")] = (
        "preference"
    )
    overlap: Annotated[int, typer.Option(min=1, help="Assessors per query in design overlap.")] = 2
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rounds of design crossover; 2 by default, or 1 with fewer than four assessors.",
        ),
    ] = None
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            "-k",
            "--k",
            min=1,
            help="How many places to fill; by default as in the store's tasks, or 10.",
        ),
    ] = None
    strategy: Annotated[
        str | None,
        typer.Option(
            help="tournament, heap, sort or bayesian; by default as in the store's tasks, or tournament."
        ),
    ] = None
    confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="End a task at this expected recall (bayesian); by default as in the store's tasks, or "
            "by the strategy's rule.",
        ),
    ] = None
    prior: Annotated[
        bool | None,
        typer.Option(
            "--prior/--no-prior",
            help="Start from the order of the pool's scores; by default as in the store's tasks, "
            "or not.",
        ),
    ] = None
    ask_implied: Annotated[
        bool | None,
        typer.Option(
            "--ask-implied/--skip-implied",
            help="Also ask what follows from earlier judgments; by default as in the store's "
            "tasks, or not.",
        ),
    ] = None
    grades: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Names of grades, the worst first; by default as in the store's tasks, or "
            "Bad,Fair,Good,Excellent,Perfect.",
        ),
    ] = None
    guidelines: Annotated[
        Path | None,
        file_option(
            "Guidelines for assessors: Markdown, with definitions of grades in a YAML header."
        ),
    ] = None
    mix: Annotated[
        bool,
        typer.Option("--mix", help="Allow new tasks with settings that differ from the store's."),
    ] = False
    seed: Annotated[
        int | None,
        typer.Option(
            help="The seed of the sample, the design and the tasks; 0 by default.",
            min=0,
            max=2**63 - 1,
        ),
    ] = None

"""What the commands of ``podium judge`` share: options spelled one way, and the store they name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from podium.labelling.store import Store

DEFAULT_STORE = "judgments.db"

StoreName = Annotated[
    str | None,
    typer.Argument(
        metavar="STORE",
        help=f"An SQLite file, or the URL of a PostgreSQL database; {DEFAULT_STORE} by default.",
    ),
]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="STORE", help="The same as an option.")
]
PoolFile = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="Queries and documents: JSONL, CSV or TSV."),
]
RunFile = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="A TREC run instead, with --documents."),
]
DocumentsFile = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="The run's documents: JSONL, CSV or TSV."),
]
QueriesFile = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="The run's queries: JSONL, CSV or TSV."),
]
Depth = Annotated[
    int | None, typer.Option(min=1, help="Documents of each query of a run; all by default.")
]
Sample = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Judge a random sample of this many documents of each query (see --seed); all by default.",
    ),
]
DrawSeed = Annotated[
    int | None,
    typer.Option(
        help="Of the sample, the design and the tasks: same seed, same result; 0 by default.",
        min=0,
        max=2**63 - 1,
    ),
]
Assessors = Annotated[
    list[str] | None,
    typer.Option(
        "--assessors", "-a", metavar="NAMES",
        help="Who judges: names with commas between them; may be given several times.",
    ),
]  # fmt: skip
Assign = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Who judges what: CSV with assessor, query and tool."),
]
DesignName = Literal["all", "crossover", "paper", "overlap"]
Design = Annotated[
    DesignName | None,
    typer.Option(help="Who judges what, without a file; all by default. paper is crossover."),
]
ToolName = Literal["preference", "grade"]
Tool = Annotated[ToolName, typer.Option(help="With which tool; crossover has both.")]
Overlap = Annotated[int, typer.Option(min=1, help="Assessors of a query, of design overlap.")]
Rounds = Annotated[
    int | None,
    typer.Option(
        min=1, help="Rounds of design crossover; 2 by default, with fewer than four assessors 1."
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top", "-k", "--k", min=1, help="Places to be filled; as the store's tasks, or 10."
    ),
]
StrategyName = Annotated[
    str | None,
    typer.Option(help="tournament, heap or sort; as the store's tasks, or tournament."),
]
Prior = Annotated[
    bool | None,
    typer.Option(
        "--prior/--no-prior",
        help="Start from the order of the pool's scores; as the store's tasks, or not.",
    ),
]
AskImplied = Annotated[
    bool | None,
    typer.Option(
        "--ask-implied/--skip-implied",
        help="Also ask what follows from earlier judgments; as the store's tasks, or not.",
    ),
]
Grades = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Names of grades, the worst first; as the store's tasks, or Bad,Fair,Good,Excellent,Perfect.",
    ),
]
Mix = Annotated[
    bool, typer.Option("--mix", help="Let new tasks have other settings than the store's.")
]


def the_store(argument: str | None, option: str | None) -> str:
    """The store's name, given as an argument, as --store, or not at all."""
    from podium.errors import UsageError

    if argument and option and argument != option:
        raise UsageError(f"expected one store, got {argument} and --store {option}")
    return argument or option or DEFAULT_STORE


def is_there(store: str) -> bool:
    """Whether a store is a database on a server, or a file that exists."""
    from podium.labelling.store.database import parse_url

    url = parse_url(store)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").is_file()


def open_store(store: str, *, make: bool = False, **options: Any) -> Store:
    """Open a store; unless it may be made, one that is there: reading must not make one.

    What commands write, and what assessors send to the server, is synced before it is acknowledged.
    """
    from podium.errors import DataError, StoreError
    from podium.labelling.store import Store
    from podium.labelling.store.database import parse_url

    if not is_there(store):
        if not make:
            raise DataError(
                "expected a store of judgments, got no such file; podium judge import makes one",
                path=parse_url(store).database,
            )
    else:
        _check_kind(store)
    try:
        return Store.open(store, durable=True, **options)
    except StoreError as error:
        # Opening looks after the layout first, which is not what was asked for.
        _, _, reason = str(error).partition("was not kept: ")
        raise StoreError(
            f"the store cannot be opened: {reason}" if reason else str(error)
        ) from error


def _check_kind(store: str) -> None:
    """A file that is no database is an error before SQLite says so in its own words."""
    from podium.errors import DataError
    from podium.labelling.store.database import parse_url

    url = parse_url(store)
    if url.get_backend_name() != "sqlite":
        return
    with open(url.database or "", "rb") as file:
        start = file.read(16)
    if start and start != b"SQLite format 3\0":
        raise DataError(
            f"expected a store of judgments, got a file that begins with {start!r}",
            path=url.database,
        )


def store_name(store: str) -> str:
    """The store's name without the password."""
    from podium.labelling.store.database import parse_url

    url = parse_url(store)
    return url.database or "" if url.get_backend_name() == "sqlite" else repr(url)


def print_notes(notes: list[str]) -> None:
    """What should be known, a line each on stderr."""
    for note in notes:
        typer.echo(f"podium: note: {' '.join(note.split())}", err=True)

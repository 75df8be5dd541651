"""``podium judge import|stats|export``: what goes into a store of judgments, and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from podium.apps.cli.console import (
    Json,
    Missing,
    Seed,
    busy,
    print_json,
    print_table,
    read_files,
    reports_errors,
)

if TYPE_CHECKING:
    from podium.labelling import Assignment, Pool
    from podium.labelling.store import Store

StoreName = Annotated[
    str,
    typer.Argument(metavar="STORE", help="An SQLite file, or the URL of a PostgreSQL database."),
]

IMPORT = """Example: podium judge import judgments.db --pool pool.jsonl -a ann -a bob -a cat --assign overlap

A pool is JSONL, CSV or TSV with queries and documents, or a TREC run (--run) beside documents and queries.

With assessors (-a, or the assessors of a CSV file) tasks are made: --assign crossover is the paper's design
(both tools for everybody, no query in both), overlap gives every query to --overlap assessors, all gives all
queries to all assessors, and a CSV file has the columns assessor, query and tool.

To import again adds what is new and changes nothing."""

STATS = """Example: podium judge stats judgments.db --figure stats.svg

Costs of each method and assessor (the paper's Table 1); agreement matrices (Tables 2 and 3) on all pairs of
the final results, two documents outside the top k being a tie, and on the pairs that two assessors really
judged; chi-square and a permutation test by query between the tools; kappa, alpha, overlap of the top k,
self-consistency."""

EXPORT = """Example: podium judge export judgments.db --what labels --format qrels -o truth.qrels

What: topk (ranks), labels (y = k - number of documents strictly better, or with --ties broken
y = k + 1 - position), grades, preferences (every judgment).

Several assessors merge by majority, bradley-terry (with ties), or any of podium aggregators; grades by
majority, median or mean; --merge none keeps them apart (csv, parquet).

LETOR rows, and Parquet if wanted, have the features of --features, by query and document id."""


@reports_errors
def import_(
    store: StoreName,
    pool: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Queries and documents: JSONL, CSV or TSV."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A TREC run instead, with --documents."),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="The run's documents: JSONL, CSV or TSV."),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="The run's queries: JSONL, CSV or TSV."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Documents of each query of a run; all by default.")
    ] = None,
    assessor: Annotated[
        list[str] | None,
        typer.Option("--assessor", "-a", metavar="ID", help="Who judges; may be given several times."),
    ] = None,
    assign: Annotated[
        str, typer.Option(metavar="crossover|overlap|all|CSV", help="Who judges what.")
    ] = "all",
    tool: Annotated[
        Literal["preference", "grade"], typer.Option(help="With which tool, but for crossover.")
    ] = "preference",
    overlap: Annotated[int, typer.Option(min=1, help="Assessors of a query.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the crossover design.")] = 2,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Places to be filled.")] = 10,
    strategy: Annotated[str, typer.Option(help="tournament, heap or sort.")] = "tournament",
    prior: Annotated[
        bool, typer.Option("--prior", help="Start from the order of the pool's scores.")
    ] = False,
    ask_implied: Annotated[
        bool, typer.Option("--ask-implied", help="Also ask what follows from earlier judgments.")
    ] = False,
    grades: Annotated[
        str, typer.Option(metavar="NAMES", help="Names of grades, the worst first.")
    ] = "Bad,Fair,Good,Excellent,Perfect",
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Put queries, documents, assessors and tasks into a store; it is made if it is not there."""
    from podium.labelling import make_tasks
    from podium.labelling.store import Member, Store

    found = _pool(pool, run, documents, queries, depth)
    plan = (
        [] if found is None else plan_of(found, assessor or [], assign, tool, overlap, rounds, seed)
    )
    names = list(dict.fromkeys([*(assessor or []), *(one.assessor for one in plan)]))
    tasks = [] if found is None else make_tasks(
        plan, found, k=top, strategy=strategy, prior=prior, skip_implied=not ask_implied,
        grades=[name.strip() for name in grades.split(",")], seed=seed,
    )  # fmt: skip
    with busy("importing"), Store.open(store) as opened:
        known = {member.id for member in opened.members()}
        new = {"queries": 0 if found is None else opened.add_pool(found)}
        new["assessors"] = sum(name not in known for name in names)
        opened.add_members(Member(name) for name in names if name not in known)
        new["tasks"] = opened.add_tasks(tasks)
    if json:
        print_json({"store": store_name(store), **new})
    else:
        print_table(
            store_name(store), ["new", "number"], [[what, f"{n:,}"] for what, n in new.items()]
        )


def _pool(
    pool: Path | None, run: Path | None, documents: Path | None, queries: Path | None,
    depth: int | None,
) -> Pool | None:  # fmt: skip
    from podium.errors import UsageError
    from podium.labelling import read_pool, read_trec_pool

    if (pool is None) == (run is None):
        raise UsageError("expected either --pool or --run, got both or neither")
    if pool is not None:
        if documents or queries or depth:
            raise UsageError("expected --documents, --queries and --depth with --run only")
        return read_pool(pool)
    if run is None or documents is None:
        raise UsageError("expected --documents beside --run, got none")
    return read_trec_pool(run, documents, queries, depth=depth)


def plan_of(
    pool: Pool, assessors: list[str], assign: str, tool: Literal["preference", "grade"],
    overlap: int, rounds: int, seed: int,
) -> list[Assignment]:  # fmt: skip
    """Who judges which query with which tool, by a design or a file."""
    from podium.errors import UnknownNameError, UsageError
    from podium.labelling import Assignment, crossover_design, overlap_design, read_assignments

    ids = [query.id for query in pool]
    if assign not in ("crossover", "overlap", "all"):
        if not Path(assign).is_file():
            raise UnknownNameError(
                "design", assign, ("crossover", "overlap", "all"), "or a CSV file of assignments"
            )
        return read_assignments(assign, queries=set(ids), assessors=set(assessors) or None)
    if not assessors:
        if assign != "all":
            raise UsageError(f"expected assessors (-a) to assign by {assign}, got none")
        return []
    if assign == "crossover":
        return crossover_design(ids, assessors, rounds=rounds, seed=seed)
    if assign == "overlap":
        return overlap_design(ids, assessors, overlap, tools=[tool], seed=seed)
    return [Assignment(name, query, tool) for name in assessors for query in ids]


@reports_errors
def stats(
    store: StoreName,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw agreement and times to this SVG, PNG or PDF file."),
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Draws of the permutation test.")] = 2_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Say what judging cost, and how well assessors agree."""
    from podium.labelling.statistics import statistics

    _check_figure(figure)
    with busy("reading judgments"), open_store(store) as opened:
        found = statistics(opened, resamples=resamples, seed=seed)
    if figure is not None:
        from podium.experiments.papers.figures import save_figure
        from podium.labelling.figure import plot_statistics

        with busy(f"drawing {figure}"):
            save_figure(plot_statistics(found), figure)
    if json:
        print_json(found.to_dict())
        return
    for table in found.tables():
        texts = 2 if table.headers[0] in ("method", "assessor", "what") else 1
        print_table(table.title, table.headers, table.rows, text_columns=texts)
        if table.note:
            typer.echo(table.note)
        typer.echo()


def _check_figure(figure: Path | None) -> None:
    if figure is None:
        return
    from podium.data.files import check_target
    from podium.errors import UsageError, require

    if figure.suffix not in (".svg", ".png", ".pdf"):
        raise UsageError(
            f"expected --figure with a file that ends in .svg, .png or .pdf, got {figure}"
        )
    require("matplotlib", "report", "--figure")
    check_target(figure)


@reports_errors
def export(
    store: StoreName,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write.")],
    what: Annotated[
        Literal["topk", "labels", "grades", "preferences"], typer.Option(help="What to write.")
    ] = "labels",
    format: Annotated[  # noqa: A002 - the option's name
        Literal["letor", "qrels", "parquet", "csv"], typer.Option(help="How to write it.")
    ] = "csv",
    merge: Annotated[
        str,
        typer.Option(help="How several assessors become one: majority, bradley-terry, an aggregator, none."),
    ] = "majority",
    ties: Annotated[
        Literal["shared", "broken"],
        typer.Option(help="Whether tied documents share a label, or stand as they were placed."),
    ] = "shared",
    top: Annotated[
        int | None, typer.Option("--top", "-k", min=1, help="Places; as judged by default.")
    ] = None,
    features: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True, dir_okay=False,
            help="LETOR or Parquet data with document ids; may be given several times.",
        ),
    ] = None,
    unjudged: Annotated[
        Literal["drop", "zero"],
        typer.Option(help="Documents with features that were not judged: left out, or label 0."),
    ] = "drop",
    missing: Missing = "error",
    json: Json = False,
) -> None:  # fmt: skip
    """Write top-k truth, labels, grades or preferences to a file."""
    from dataclasses import asdict

    from podium.data.files import check_target
    from podium.labelling.export import export as write

    check_target(out, *(features or ()))
    data = read_files(features, missing, labelled=False) if features else None
    with busy(f"writing {out}"), open_store(store) as opened:
        written = write(
            opened, out, what, format, merge=None if merge == "none" else merge, ties=ties, k=top,
            features=data, unjudged=unjudged,
        )  # fmt: skip
    told: dict[str, Any] = {"file": str(out), **asdict(written)}
    if json:
        print_json(told)
        return
    rows = [
        [name, f"{value:,}" if isinstance(value, int) else value] for name, value in told.items()
    ]
    print_table(store_name(store), ["what", "value"], rows, text_columns=2)


def open_store(store: str, **options: Any) -> Store:
    """A store that is there: reading must not make one."""
    from podium.errors import DataError
    from podium.labelling.store import Store
    from podium.labelling.store.database import parse_url

    url = parse_url(store)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise DataError("expected a store of judgments, got no such file", path=url.database)
    return Store.open(store, **options)


def store_name(store: str) -> str:
    """The store's name without the password."""
    from podium.labelling.store.database import parse_url

    url = parse_url(store)
    return url.database or "" if url.get_backend_name() == "sqlite" else repr(url)

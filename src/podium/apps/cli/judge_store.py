"""``podium judge import|stats|export``: what goes into a store of judgments, and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from podium.apps.cli import judge_options as options
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
from podium.apps.cli.judge_campaign import Wanted, campaign
from podium.apps.cli.judge_options import open_store, print_notes, store_name, the_store

FormatName = Literal["letor", "qrels", "parquet", "csv"]

IMPORT = """Example: podium judge import judgments.db --pool pool.jsonl --assessors ann,bob --design overlap

A pool is JSONL, CSV or TSV with queries and documents, or a TREC run (--run) beside documents and queries.

With assessors (--assessors, or those of an --assign file) tasks are made: --design all gives all queries to
all assessors, crossover (or paper) is the paper's design (both tools for everybody, no query in both),
overlap gives every query to --overlap assessors; a file has the columns assessor, query and tool.

Settings that are not given (--top, --strategy ...) are those of the tasks the store has. To import again adds
what is new and changes nothing; without --pool or --run the store's own queries go to more assessors."""

STATS = """Example: podium judge stats judgments.db --figure stats.svg

Costs of each method and assessor (the paper's Table 1); agreement matrices (Tables 2 and 3) on all pairs of
the final results, two documents outside the top k being a tie, and on the pairs that two assessors really
judged; chi-square and a permutation test by query between the tools; kappa, alpha, overlap of the top k,
self-consistency."""

EXPORT = """Example: podium judge export judgments.db --what labels -o truth.qrels

The format is what the name of the file says (.csv, .parquet, .qrels, .letor; with --features .txt is LETOR)
unless --format does.

What: topk (ranks), labels (y = k - number of documents strictly better, or with --ties broken
y = k + 1 - position), grades, preferences (every judgment).

Several assessors merge by majority, bradley-terry (with ties), or any of podium aggregators; grades by
majority, median or mean; --merge none keeps them apart (csv, parquet).

LETOR rows, and Parquet if wanted, have the features of --features, by query and document id."""


@reports_errors
def import_(
    store: options.StoreName = None,
    store_: options.StoreOption = None,
    pool: options.PoolFile = None,
    run: options.RunFile = None,
    documents: options.DocumentsFile = None,
    queries: options.QueriesFile = None,
    depth: options.Depth = None,
    sample: options.Sample = None,
    assessors: options.Assessors = None,
    assign: options.Assign = None,
    design: options.Design = None,
    tool: options.Tool = "preference",
    overlap: options.Overlap = 2,
    rounds: options.Rounds = None,
    top: options.Top = None,
    strategy: options.StrategyName = None,
    prior: options.Prior = None,
    ask_implied: options.AskImplied = None,
    grades: options.Grades = None,
    mix: options.Mix = False,
    seed: options.DrawSeed = None,
    json: Json = False,
) -> None:
    """Put queries, documents, assessors and tasks into a store; it is made if it is not there."""
    from podium.errors import UsageError

    where = the_store(store, store_)
    if pool is None and run is None and not assessors and assign is None:
        raise UsageError("expected --pool or --run with queries to judge, got neither")
    with busy("importing"):
        wanted = Wanted(
            pool=pool, run=run, documents=documents, queries=queries, depth=depth, sample=sample,
            assessors=assessors or (), assign=assign, design=design, tool=tool, overlap=overlap,
            rounds=rounds, top=top, strategy=strategy, prior=prior, ask_implied=ask_implied, grades=grades,
            mix=mix, seed=seed,
        )  # fmt: skip
        given = campaign(where, wanted)
        with open_store(where, make=True) as opened:
            new = given.add_to(opened)
    if json:
        print_json({"store": store_name(where), **new, "notes": list(given.notes)})
        return
    print_table(store_name(where), ["new", "number"], [[what, f"{n:,}"] for what, n in new.items()])
    print_notes(list(given.notes))


@reports_errors
def stats(
    store: options.StoreName = None,
    store_: options.StoreOption = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw agreement and times to this SVG, PNG or PDF file."),
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Draws of the permutation test.")] = 2_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Say what judging cost, and how well assessors agree."""
    from podium.labelling.judging_statistics.summary import statistics

    where = the_store(store, store_)
    _check_figure(figure)
    with busy("reading judgments"), open_store(where) as opened:
        found = statistics(opened, resamples=resamples, seed=seed)
    if figure is not None:
        from podium.experiments.figures import save_figure
        from podium.labelling.judging_statistics.figure import plot_statistics

        with busy(f"drawing {figure}"):
            save_figure(plot_statistics(found), figure)
    if json:
        print_json(found.to_dict())
        return
    if not found.methods:
        typer.echo(
            f"{store_name(where)} has no tasks yet: podium judge import {store_name(where)} --pool FILE "
            "--assessors NAMES makes them"
        )
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
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write.")],
    store: options.StoreName = None,
    store_: options.StoreOption = None,
    what: Annotated[
        Literal["topk", "labels", "grades", "preferences"], typer.Option(help="What to write.")
    ] = "labels",
    format: Annotated[  # noqa: A002 - the option's name
        FormatName | None, typer.Option(help="How to write it; as the file's name ends by default.")
    ] = None,
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

    where, chosen = the_store(store, store_), _format(out, format, bool(features))
    check_target(out, *(features or ()))
    data = read_files(features, missing, labelled=False) if features else None
    with busy(f"writing {out}"), open_store(where) as opened:
        written = write(
            opened, out, what, chosen, merge=None if merge == "none" else merge, ties=ties, k=top,
            features=data, unjudged=unjudged,
        )  # fmt: skip
    told: dict[str, Any] = {"file": str(out), **asdict(written)}
    if json:
        print_json(told)
        return
    rows = [
        [name, f"{value:,}" if isinstance(value, int) else value] for name, value in told.items()
    ]
    print_table(store_name(where), ["what", "value"], rows, text_columns=2)
    if written.unjudged:
        done = "left out" if unjudged == "drop" else "in with label 0"
        print_notes([f"{written.unjudged:,} documents with features were not judged: {done}"])
    if written.unfinished:
        print_notes([f"{written.unfinished:,} sessions are not finished: left out"])


_ENDINGS: dict[str, FormatName] = {
    ".csv": "csv", ".parquet": "parquet", ".qrels": "qrels", ".letor": "letor", ".svmlight": "letor",
}  # fmt: skip


def _format(out: Path, given: FormatName | None, features: bool) -> FormatName:
    """The format: as said, or as the name ends; a name that promises another one is refused."""
    from podium.data.files import stem
    from podium.errors import UsageError

    ending = Path(stem(str(out))).suffix.lower()
    promised = "letor" if ending == ".txt" and features else _ENDINGS.get(ending)
    if given is None:
        if promised is None:
            known = ", ".join(_ENDINGS)
            raise UsageError(
                f"expected --format, or a file that ends in {known} (with features also .txt), got {out}"
            )
        return promised
    if ending in _ENDINGS and promised != given:
        raise UsageError(
            f"expected a file for {given}, got {out}, whose name says {promised}; leave --format out, or "
            "name the file otherwise"
        )
    return given

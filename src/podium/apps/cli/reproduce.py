"""``podium reproduce``: a paper's experiments on one's own copy of LETOR, and the page made of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    Seed,
    advancing,
    busy,
    fail,
    print_json,
    print_table,
    reports_errors,
    warnings_in_one_line,
)

if TYPE_CHECKING:
    from podium.experiments.papers.running import Record
    from podium.experiments.pieces import Progress

EXAMPLE = """Example: podium reproduce toprank --data LETOR --out toprank --quick

Papers: toprank, topk, cfbrs, rankopt, rpc-mtl.

A run that was stopped goes on where it was when the same command is given again. In --out: PAPER.html,
.md and .json, figures/, tables/ and pieces/, which may go when the run is over."""

PIECES = "pieces"
"""The folder of finished pieces within --out."""


@reports_errors
def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="toprank, topk, cfbrs, rankopt or rpc-mtl.")
    ],
    data: Annotated[
        Path,
        typer.Option(
            file_okay=False, metavar="DIR",
            help="A folder with the data sets, each under its name (MQ2008, OHSUMED, ...) with Fold1 ... "
            "or S1.txt ... in it; or the folder of one data set.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", file_okay=False, metavar="DIR", help="Where it is written.")
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few queries and settings: to see that it works, in minutes."),
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Pieces at a time; -1: a core each.")] = -1,
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Run a paper's experiments on your LETOR data and write its tables, figures and claims."""
    from podium.errors import UnknownNameError, UsageError, require
    from podium.experiments.papers import pages, running
    from podium.experiments.papers.registry import PAPERS

    if paper not in PAPERS:
        raise UnknownNameError("paper", paper, PAPERS)
    if jobs == 0:
        raise UsageError("expected --jobs of 1 or more, or -1 for all cores, got 0")
    for library in ("markdown", "matplotlib.figure"):  # not after an hour
        require(library, "report", "writing a paper's page")
    chosen = PAPERS[paper]
    sources, missing = running.available(chosen, data)
    _check_writable(out)
    started = time.monotonic()
    with busy(f"reading {', '.join(source.name for source, _ in sources)}"):
        read = running.read(sources)
    done: list[Progress] = []
    with warnings_in_one_line(), advancing(chosen.title) as advance:

        def note(told: Progress) -> None:
            done.append(told)
            advance(told.done, told.total)

        try:
            record = running.run(
                chosen, sources, read, missing, quick=quick, seed=seed, n_jobs=jobs,
                keep=out / PIECES / paper, callback=note,
            )  # fmt: skip
        except KeyboardInterrupt:
            fail(f"interrupted; what is done is kept in {out}, and the same command goes on", 130)
    times = None
    if chosen.times is not None:
        with busy("measuring times"):
            times = chosen.times(read, quick, seed)
    seconds = round(time.monotonic() - started)
    command = _command(paper, data, out, quick, seed)
    made = running.Made(command, _today(), seconds, times, _before(done))
    written = pages.write(record, made, out)
    _tell(record, chosen.claims(record.found), written, json)


def _before(done: list[Progress]) -> str:
    """What was not run this time: the seconds are those of the rest."""
    if not done:
        return " All of it had been done before."
    kept, total = done[0].done - 1, done[0].total
    return f" {kept} of {total} pieces of work had been done before." if kept else ""


def _check_writable(out: Path) -> None:
    """Before the work, not after it."""
    import tempfile

    from podium.data.durability import make_folder

    make_folder(out)
    with tempfile.TemporaryFile(dir=out):
        pass


def _command(paper: str, data: Path, out: Path, quick: bool, seed: int) -> str:
    import shlex

    words = ["podium", "reproduce", paper, "--data", str(data), "--out", str(out)]
    words += ["--quick"] if quick else []
    return shlex.join([*words, *(["--seed", str(seed)] if seed else [])])


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).date().isoformat()


def _tell(record: Record, claims: list[bool], written: list[Path], json: bool) -> None:
    if json:
        print_json(_as_json(record, claims, written))
        return
    rows = [
        [one.name, f"{one.n_queries:,}", f"{one.n_documents:,}", str(one.n_features)]
        for one in record.data
    ]
    counted = f"{sum(claims)} of {len(claims)} claims hold, each data set and form counted"
    # A few queries say nothing of a claim.
    told = (
        "a quick run of a few of these queries; claims are not judged" if record.quick else counted
    )
    print_table(
        f"{record.paper}: {told}",
        ["data", "queries", "documents", "features"],
        rows,
    )
    for one in record.absent:
        typer.echo(f"Not at hand: {one.name} ({one.needs})")
    first, *others = written
    typer.echo(f"Written: {first} and {', '.join(path.name for path in others)}, figures, tables")


def _as_json(record: Record, claims: list[bool], written: list[Path]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "paper": record.paper,
        "quick": record.quick,
        "seed": record.seed,
        "data": [asdict(one) for one in record.data],
        "missing": [asdict(one) for one in record.absent],
        "claims": len(claims),
        "hold": None if record.quick else sum(claims),
        "written": [str(path) for path in written],
    }

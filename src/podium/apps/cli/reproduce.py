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
    from podium.experiments.checkpoints import RunProgress
    from podium.experiments.reproductions import PreparedReproduction, ReproductionResult

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
    from podium.experiments.reproductions import REPRODUCTIONS

    if paper not in REPRODUCTIONS:
        raise UnknownNameError("paper", paper, REPRODUCTIONS)
    if jobs == 0:
        raise UsageError("expected --jobs of 1 or more, or -1 for all cores, got 0")
    for library in ("markdown", "matplotlib.figure"):  # not after an hour
        require(library, "report", "writing a paper's page")
    reproduction = REPRODUCTIONS[paper](data, quick, seed)
    _check_writable(out)
    started = time.monotonic()
    with busy(f"reading {', '.join(reproduction.source_names)}"):
        reproduction.read()
    steps = _run(reproduction, out, out / PIECES / paper, jobs)
    if reproduction.measures_times:
        with busy("measuring times"):
            reproduction.measure_times()
    result = reproduction.write(
        out, command=_command(paper, data, out, quick, seed), date=_today(),
        seconds=round(time.monotonic() - started), note=_earlier_work(steps),
    )  # fmt: skip
    if json:
        print_json(_as_json(paper, quick, seed, result))
    else:
        _print_result(paper, quick, result)


def _run(
    reproduction: PreparedReproduction, out: Path, keep: Path, n_jobs: int
) -> list[RunProgress]:
    """Run the experiments; return each step that was done."""
    steps: list[RunProgress] = []
    with warnings_in_one_line(), advancing(reproduction.title) as advance:

        def note(step: RunProgress) -> None:
            steps.append(step)
            advance(step.done, step.total)

        try:
            reproduction.run(n_jobs=n_jobs, keep=keep, callback=note)
        except KeyboardInterrupt:
            fail(f"interrupted; what is done is kept in {out}, and the same command goes on", 130)
    return steps


def _earlier_work(steps: list[RunProgress]) -> str:
    """Say what an earlier run had done; the seconds are those of the rest."""
    if not steps:
        return " All of it had been done before."
    n_earlier, total = steps[0].done - 1, steps[0].total
    return f" {n_earlier} of {total} pieces of work had been done before." if n_earlier else ""


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


def _print_result(paper: str, quick: bool, result: ReproductionResult) -> None:
    rows = [
        [one.name, f"{one.n_queries:,}", f"{one.n_documents:,}", str(one.n_features)]
        for one in result.data
    ]
    n_claims = len(result.claims)
    counted = f"{sum(result.claims)} of {n_claims} claims hold, each data set and form counted"
    # A few queries say nothing of a claim.
    outcome = "a quick run of a few of these queries; claims are not judged" if quick else counted
    print_table(f"{paper}: {outcome}", ["data", "queries", "documents", "features"], rows)
    for one in result.missing:
        typer.echo(f"Not at hand: {one.name} ({one.needs})")
    first, *others = result.files
    typer.echo(f"Written: {first} and {', '.join(path.name for path in others)}, figures, tables")


def _as_json(paper: str, quick: bool, seed: int, result: ReproductionResult) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "paper": paper,
        "quick": quick,
        "seed": seed,
        "data": [asdict(one) for one in result.data],
        "missing": [asdict(one) for one in result.missing],
        "claims": len(result.claims),
        "hold": None if quick else sum(result.claims),
        "written": [str(path) for path in result.files],
    }

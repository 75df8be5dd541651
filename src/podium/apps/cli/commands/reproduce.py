"""``podium reproduce``: run a paper's experiments on LETOR data and write its page."""

from __future__ import annotations

import shlex
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from podium.apps.cli.error_reports import fail, warnings_in_one_line
from podium.apps.cli.options.reproduce import ReproduceOptions
from podium.apps.cli.outputs.printing import print_json, print_table
from podium.apps.cli.outputs.progress import counting_bar, spinner
from podium.data.atomic_files import make_folder
from podium.errors import UnknownNameError, UsageError, require
from podium.experiments.checkpoints import RunProgress
from podium.experiments.reproductions import REPRODUCTIONS, PreparedReproduction, ReproductionResult

PIECES_FOLDER = "pieces"
"""The folder of finished pieces of work within --out."""


def run_reproduce(options: ReproduceOptions) -> None:
    """Run a paper's experiments on your LETOR data and write its tables, figures and claims."""
    if options.paper not in REPRODUCTIONS:
        raise UnknownNameError("paper", options.paper, REPRODUCTIONS)
    if options.jobs == 0:
        raise UsageError("expected --jobs of 1 or more, or -1 for all cores, got 0")
    for library in (
        "markdown",
        "matplotlib.figure",
    ):  # missing ones are reported now, not after an hour
        require(library, "report", "writing a paper's page")
    reproduction = REPRODUCTIONS[options.paper](options.data, options.quick, options.seed)
    _check_writable(options.out)
    started = time.monotonic()
    with spinner(f"reading {', '.join(reproduction.source_names)}"):
        reproduction.read()
    steps = _run(
        reproduction, options.out, options.out / PIECES_FOLDER / options.paper, options.jobs
    )
    if reproduction.measures_times:
        with spinner("measuring times"):
            reproduction.measure_times()
    result = reproduction.write(
        options.out, command=_command(options), date=datetime.now(UTC).date().isoformat(),
        seconds=round(time.monotonic() - started), note=_earlier_work(steps),
    )  # fmt: skip
    if options.json:
        print_json(_as_json(options.paper, options.quick, options.seed, result))
    else:
        _print_result(options.paper, options.quick, result)


def _run(
    reproduction: PreparedReproduction, out: Path, keep: Path, n_jobs: int
) -> list[RunProgress]:
    """Run the experiments; return each step that was done."""
    steps: list[RunProgress] = []
    with warnings_in_one_line(), counting_bar(reproduction.title) as advance:

        def note(step: RunProgress) -> None:
            steps.append(step)
            advance(step.done, step.total)

        try:
            reproduction.run(n_jobs=n_jobs, keep=keep, callback=note)
        except KeyboardInterrupt:
            fail(f"interrupted; finished work is kept in {out}, and the same command resumes", 130)
    return steps


def _earlier_work(steps: list[RunProgress]) -> str:
    """Return a note on the work of an earlier run, which the seconds do not include."""
    if not steps:
        return " All of it had been done before."
    n_earlier, total = steps[0].done - 1, steps[0].total
    return f" {n_earlier} of {total} pieces of work had been done before." if n_earlier else ""


def _check_writable(out: Path) -> None:
    """Raise if the folder cannot be written, before the work and not after it."""
    make_folder(out)
    with tempfile.TemporaryFile(dir=out):
        pass


def _command(options: ReproduceOptions) -> str:
    """Return the command line that gives these results again."""
    words = ["podium", "reproduce", options.paper, "--data", str(options.data)]
    words += ["--out", str(options.out)]
    words += ["--quick"] if options.quick else []
    return shlex.join([*words, *(["--seed", str(options.seed)] if options.seed else [])])


def _print_result(paper: str, quick: bool, result: ReproductionResult) -> None:
    rows = [
        [
            dataset.name,
            f"{dataset.n_queries:,}",
            f"{dataset.n_documents:,}",
            str(dataset.n_features),
        ]
        for dataset in result.data
    ]
    n_claims = len(result.claims)
    counted = f"{sum(result.claims)} of {n_claims} claims hold, each data set and form counted"
    # A few queries prove nothing about a claim.
    outcome = "a quick run of a few of these queries; claims are not judged" if quick else counted
    print_table(f"{paper}: {outcome}", ["data", "queries", "documents", "features"], rows)
    for dataset in result.missing:
        typer.echo(f"Not available: {dataset.name} ({dataset.needs})")
    first, *others = result.files
    typer.echo(f"Written: {first} and {', '.join(path.name for path in others)}, figures, tables")


def _as_json(paper: str, quick: bool, seed: int, result: ReproductionResult) -> dict[str, Any]:
    return {
        "paper": paper,
        "quick": quick,
        "seed": seed,
        "data": [asdict(dataset) for dataset in result.data],
        "missing": [asdict(dataset) for dataset in result.missing],
        "claims": len(result.claims),
        "hold": None if quick else sum(result.claims),
        "written": [str(path) for path in result.files],
    }

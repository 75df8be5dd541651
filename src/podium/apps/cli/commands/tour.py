"""``podium tour``: the first five minutes, one explained command after another."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from podium.apps.cli.error_reports import fail
from podium.apps.cli.options.tour import TourOptions
from podium.apps.cli.outputs.printing import print_json
from podium.data import Run, write_letor, write_run
from podium.data.atomic_files import atomic_writer, make_folder
from podium.errors import UsageError
from podium.experiments.demo import FIRST_STAGE_FEATURE, RULES, Demo
from podium.postranking import write_rules

LINE_CHARACTERS = 80
PLACES = 20
"""Documents per list in the runs that rules are applied to."""


@dataclass(frozen=True)
class TourStep:
    """A step of the tour: what it is about, and the arguments of the command that it runs."""

    title: str
    text: str
    arguments: Callable[[Path], list[str]]


def _words(line: str) -> Callable[[Path], list[str]]:
    return lambda folder: shlex.split(line)


def _explain_first_query(folder: Path) -> list[str]:
    """Return the arguments that show what rules do to the first list of the run."""
    query = (folder / "listnet.run").read_text().split(maxsplit=1)[0]
    files = ["--rules", "rules.yaml", "--docs", "documents.jsonl"]
    return ["postrank", "listnet.run", *files, "--explain", query]


STEPS = (
    TourStep(
        "Look at the data",
        "library.txt has one line per document and query: a grade, the query, and features. BM25 found "
        "50 documents per query; a person graded the answers from 0 to 4.",
        _words("data info library.txt"),
    ),
    TourStep(
        "Split it by query",
        "A ranker learns from training queries. Validation queries choose its settings. Test queries "
        "are used once, at the end.",
        _words("data split library.txt parts --fractions 0.6,0.2,0.2"),
    ),
    TourStep(
        "Train a ranker",
        "ListNet is a good first choice. The result is one file, listnet.podium.",
        _words("train listnet parts/train.txt --valid parts/vali.txt -o listnet.podium"),
    ),
    TourStep(
        "Rank the test queries",
        "The order that the model gives to each test query is written as a TREC run.",
        _words(f"predict listnet.podium parts/test.txt -o listnet.run -k {PLACES}"),
    ),
    TourStep(
        "Is it better than BM25?",
        "Both runs are measured on the test queries. The test below the means says whether the "
        "difference may be chance.",
        _words("evaluate parts/test.txt bm25.run listnet.run -m NDCG@5"),
    ),
    TourStep(
        "Why does it rank this way?",
        "The features with the largest weights. If one of them looks odd, ask why.",
        _words("explain listnet.podium -n 5"),
    ),
    TourStep(
        "Add rules",
        "rules.yaml hides modules that Python has removed, and allows at most two documents of a module "
        "in the first five. Every move has a reason.",
        _explain_first_query,
    ),
)


def run_tour(options: TourOptions) -> None:
    """Walk through the steps: explain a command, run it, show its output."""
    folder = _new_folder(options.folder)
    if options.json:
        write_files(Demo.prepare(n_queries=options.queries), folder)
        print_json({"folder": str(folder), "steps": [_as_json(step, folder) for step in STEPS]})
        return
    typer.secho("Podium in five minutes", bold=True)
    typer.echo(f"Files go to {folder}\nReading Python's standard library: about 10 seconds ...")
    write_files(Demo.prepare(n_queries=options.queries), folder)
    for number, step in enumerate(STEPS, start=1):
        typer.secho(f"\n{number} of {len(STEPS)}: {step.title}", bold=True)
        _show(step, folder, waits=not options.yes and is_terminal())
    _print_next(folder)


def _show(step: TourStep, folder: Path, waits: bool) -> None:
    typer.echo(textwrap.fill(step.text, LINE_CHARACTERS))
    arguments = step.arguments(folder)
    typer.secho(f"\n$ podium {shlex.join(arguments)}", fg=typer.colors.CYAN)
    if waits:
        _wait_for_enter()
    output = run_podium(arguments, folder)
    typer.echo(output or "(no output: the file is written)\n", nl=False)


def _as_json(step: TourStep, folder: Path) -> dict[str, str]:
    arguments = step.arguments(folder)
    return {
        "title": step.title,
        "text": step.text,
        "command": f"podium {shlex.join(arguments)}",
        "output": run_podium(arguments, folder),
    }


def is_terminal() -> bool:
    """Return whether a person can press Enter."""
    return sys.stdin.isatty()


def write_files(demo: Demo, folder: Path) -> None:
    """Write the demo's data, BM25's run, the documents' fields and two rules."""
    data = demo.data
    first = data.X[:, list(data.names()).index(FIRST_STAGE_FEATURE)]
    write_letor(data, folder / "library.txt")
    write_run(Run.from_scores(data, first, k=PLACES), folder / "bm25.run")
    write_rules(RULES, folder / "rules.yaml")
    fields = {
        document["id"]: {"id": document["id"], **document["fields"]}
        for sample in demo.samples(data)
        for document in sample["documents"]
    }
    with atomic_writer(folder / "documents.jsonl") as write:
        for document in fields.values():
            write(json.dumps(document).encode() + b"\n")


def run_podium(arguments: list[str], folder: Path) -> str:
    """Run a command of podium in a folder and return what it prints; the tour ends if it fails."""
    columns = str(shutil.get_terminal_size().columns)
    done = subprocess.run(
        [sys.executable, "-m", "podium", *arguments], cwd=folder, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "COLUMNS": columns},
    )  # fmt: skip
    if done.returncode:
        fail(f"the command of this step failed:\n{done.stdout}", 1)
    return done.stdout


def _new_folder(folder: Path | None) -> Path:
    """Return an empty folder: a temporary one, or the named one, which is made."""
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="podium-tour-"))
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(
            f"expected an empty or new folder for the tour, got {folder}; name another one: podium tour DIR"
        )
    make_folder(folder)
    return folder


def _wait_for_enter() -> None:
    typer.prompt(
        "Press Enter to run it, Ctrl-C to stop", default="", show_default=False, prompt_suffix=" "
    )


def _print_next(folder: Path) -> None:
    typer.secho("\nWhat next", bold=True)
    typer.echo(f"  cd {shlex.quote(str(folder))}          your files")
    typer.echo(
        "  podium compare library.txt --rankers ranksvm,listnet --out compared   a report with tests"
    )
    typer.echo("  podium serve            rules in a browser")
    typer.echo("  podium judge demo       judgments in a browser")
    typer.echo("  podium data info FILE   your own data")

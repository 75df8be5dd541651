"""``podium demo``: the main job on the standard library that is installed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    Seed,
    print_json,
    print_table,
    reports_errors,
    warnings_in_one_line,
)

if TYPE_CHECKING:
    from podium.experiments.demo import Demo, Shown
    from podium.experiments.report import Report

EXAMPLE = """Example: podium demo --out demo

Documents are the functions, classes and modules of the Python that runs, queries are everyday questions
with judged answers. BM25 finds 50 documents a query; every ranker then learns to rank them."""

KEPT = ("model.podium", "rules.yaml", "samples.jsonl")
"""What `podium serve` needs."""


@reports_errors
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", file_okay=False, metavar="DIR", help="Where all of it goes.")
    ] = Path("demo"),
    queries: Annotated[
        int | None, typer.Option(help="So many of the queries; all without it.", min=20)
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Rankers at a time; -1: a core each.")] = -1,
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Search the standard library: features, every ranker compared, rules, a report."""
    from podium.data.durability import make_folder
    from podium.experiments.demo import Demo

    make_folder(out)  # what cannot be written is told before the work
    with warnings_in_one_line(), _stages() as stage:
        run = Demo.prepare(n_queries=queries, seed=seed, stage=stage)
        report = run.compare(stage.cells, n_jobs=jobs)
        stage("three queries before and after")
        shown = run.show(report)
        stage("drawing the report")
        written = _written(report, out)
        stage("a model to play with")
        run.keep(report, out)
    if json:
        print_json(_as_json(report, shown, written, out))
        return
    _print(run, report, shown)
    if written is None:
        typer.echo("\nNo report.html: it needs the extra report, pip install 'podium-ltr[report]'")
    else:
        typer.echo(f"\nWritten: {written}, with curves, weights and the hardest queries")
    typer.echo("Play with its rules in a browser, at http://127.0.0.1:8000 (extra web):")
    model, rules, samples = (shlex.quote(str(out / name)) for name in KEPT)
    typer.echo(f"  podium serve {model} --rules {rules} --samples {samples}")
    typer.echo("Next: podium compare --help, podium judge demo, podium rankers")


def _written(report: Report, out: Path) -> Path | None:
    """report.html and its tables, where what draws them is there."""
    from podium.errors import MissingExtraError

    try:
        report.save(out)
    except MissingExtraError:
        return None
    return out / "report.html"


def _print(run: Demo, report: Report, shown: list[Shown]) -> None:
    from podium.experiments import tables

    documents = f"{len(run.problem.documents):,} documents of this Python's standard library"
    typer.echo(
        f"{documents}; BM25's best 50 for each of {run.data.n_queries} queries, which hold "
        f"{run.found:.0%} of the good answers: what it does not find, no ranker can rank.\n"
    )
    print_table(tables.headline(report), *tables.means(report))
    for note in tables.notes(report):
        typer.echo(note)
    best = report.ranking()[0]
    for one in shown:
        # Rules may leave fewer documents than there are places.
        places = zip_longest(one.first_stage, one.learned, one.ruled, fillvalue=("", 0))
        rows = [[str(i), *map(_place, row)] for i, row in enumerate(places, start=1)]
        title = f'\n"{one.query}" {one.why}: NDCG@10 {one.gain:+.2f} (stars are judged grades)'
        print_table(title, ["", "bm25", best, "after rules"], rows, text_columns=4)
    labels = "; ".join(outcome.rule.label for outcome in shown[0].outcome.rules) if shown else ""
    typer.echo(f"Rules: {labels}")


def _place(place: tuple[str, int]) -> str:
    name, grade = place
    return f"{name} {'*' * grade}".strip()


def _as_json(report: Report, shown: list[Shown], written: Path | None, out: Path) -> dict[str, Any]:
    return {
        "report": None if written is None else str(written),
        "serve": [str(out / name) for name in KEPT],
        "baseline": report.baseline,
        "rankers": {
            name: {metric: report.standing(name, metric).mean for metric in report.metrics}
            for name in report.rankers
        },
        "queries": [
            {
                "query": one.query, "why": one.why, "gain": one.gain, "bm25": one.first_stage,
                "learned": one.learned, "after_rules": one.ruled,
            }
            for one in shown
        ],
    }  # fmt: skip


class _Stages:
    """A bar for the stage at work, and for cells as they are done."""

    def __init__(self, bar: Any) -> None:
        self.bar, self.task = bar, None

    def __call__(self, name: str, total: int | None = None) -> None:
        if self.task is not None:
            self.bar.update(self.task, total=1, completed=1)
        self.task = self.bar.add_task(name, total=total)

    def cells(self, told: Any) -> None:
        """Progress of the comparison."""
        name = "training every ranker in five folds"
        if self.task is None or self.bar.tasks[self.task].description != name:
            self(name, told.total)
        if told.state != "running":
            self.bar.update(self.task, completed=told.done)


@contextmanager
def _stages() -> Iterator[_Stages]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    stages = _Stages(bar)
    if not console.is_terminal:
        yield stages
        return
    with bar:
        yield stages
        if stages.task is not None:
            bar.update(stages.task, total=1, completed=1)

"""``podium demo``: train, compare, and post-rank on the installed standard library."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from podium.apps.cli.error_reports import warnings_in_one_line
from podium.apps.cli.options.demo import DemoOptions
from podium.apps.cli.outputs.printing import print_json, print_table, stderr_console
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data.atomic_files import make_folder
from podium.errors import MissingExtraError
from podium.experiments import report_tables
from podium.experiments.demo import Demo, QueryExample
from podium.experiments.report import FILES as REPORT_FILES
from podium.experiments.report import Report

SERVED_FILES = ("model.podium", "rules.yaml", "samples.jsonl")
"""The files that `podium serve` needs."""


def run_demo(options: DemoOptions) -> None:
    """Search the standard library: features, every ranker compared, rules, a report."""
    check_not_replaced(
        [options.out / name for name in (*REPORT_FILES, *SERVED_FILES)], options.force
    )
    make_folder(options.out)  # a folder that cannot be written is an error before the work
    with warnings_in_one_line(), _stage_bar() as stage:
        run = Demo.prepare(n_queries=options.queries, seed=options.seed, stage=stage)
        report = run.compare(stage.show_cells, n_jobs=options.jobs)
        stage("three queries before and after")
        examples = run.examples(report)
        stage("drawing the report")
        written = _save_report(report, options.out)
        stage("a model to play with")
        run.save(report, options.out)
    if options.json:
        print_json(_as_json(report, examples, written, options.out))
        return
    _print_demo(run, report, examples)
    if written is None:
        typer.echo("\nNo report.html: it needs the extra report, pip install 'podium-ltr[report]'")
    else:
        typer.echo(f"\nWritten: {written}, with curves, weights and the hardest queries")
    typer.echo("Play with its rules in a browser, at http://127.0.0.1:8000 (extra web):")
    model, rules, samples = (shlex.quote(str(options.out / name)) for name in SERVED_FILES)
    typer.echo(f"  podium serve {model} --rules {rules} --samples {samples}")
    typer.echo("Next: podium compare --help, podium judge demo, podium rankers")


def _save_report(report: Report, out: Path) -> Path | None:
    """Write report.html and its tables; return None if the extra that draws them is missing."""
    try:
        report.save(out)
    except MissingExtraError:
        return None
    return out / "report.html"


def _print_demo(run: Demo, report: Report, examples: list[QueryExample]) -> None:
    documents = f"{len(run.problem.documents):,} documents of this Python's standard library"
    typer.echo(
        f"{documents}; BM25's best 50 for each of {run.data.n_queries} queries, which hold "
        f"{run.first_stage_recall:.0%} of the good answers: what it does not find, no ranker can rank.\n"
    )
    print_table(report_tables.headline(report), *report_tables.means(report))
    for note in report_tables.notes(report):
        typer.echo(note)
    best = report.ranking()[0]
    for example in examples:
        # Rules may leave fewer documents than there are places.
        places = zip_longest(example.first_stage, example.learned, example.ruled, fillvalue=("", 0))
        rows = [[str(i), *map(_document_text, row)] for i, row in enumerate(places, start=1)]
        title = f'\n"{example.query}" {example.why}: NDCG@10 {example.gain:+.2f} (stars are judged grades)'
        print_table(title, ["", "bm25", best, "after rules"], rows, text_columns=4)
    labels = (
        "; ".join(outcome.rule.label for outcome in examples[0].outcome.rules) if examples else ""
    )
    typer.echo(f"Rules: {labels}")


def _document_text(place: tuple[str, int]) -> str:
    name, grade = place
    return f"{name} {'*' * grade}".strip()


def _as_json(
    report: Report, examples: list[QueryExample], written: Path | None, out: Path
) -> dict[str, Any]:
    return {
        "report": None if written is None else str(written),
        "serve": [str(out / name) for name in SERVED_FILES],
        "baseline": report.baseline,
        "rankers": {
            name: {metric: report.standing(name, metric).mean for metric in report.metrics}
            for name in report.rankers
        },
        "queries": [
            {
                "query": example.query, "why": example.why, "gain": example.gain,
                "bm25": example.first_stage, "learned": example.learned, "after_rules": example.ruled,
            }
            for example in examples
        ],
    }  # fmt: skip


class StageBar:
    """A progress bar that names the stage at work; for the comparison it counts the cells."""

    def __init__(self, bar: Any) -> None:
        self.bar, self.task = bar, None

    def __call__(self, name: str, total: int | None = None) -> None:
        """Begin a stage: the one before is done."""
        if self.task is not None:
            self.bar.update(self.task, total=1, completed=1)
        self.task = self.bar.add_task(name, total=total)

    def show_cells(self, progress: Any) -> None:
        """Show how many cells of the comparison are done."""
        name = "training every ranker in five folds"
        if self.task is None or self.bar.tasks[self.task].description != name:
            self(name, progress.total)
        if progress.state != "running":
            self.bar.update(self.task, completed=progress.done)


@contextmanager
def _stage_bar() -> Iterator[StageBar]:
    console = stderr_console()
    bar = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    stages = StageBar(bar)
    if not console.is_terminal:
        yield stages
        return
    with bar:
        yield stages
        if stages.task is not None:
            bar.update(stages.task, total=1, completed=1)

"""``podium judge stats``: what judging cost, and how well assessors agree."""

from __future__ import annotations

from pathlib import Path

import typer

from podium.apps.cli.inputs.judgment_store import choose_store, open_store, store_name
from podium.apps.cli.options.judge_stats import JudgeStatsOptions
from podium.apps.cli.outputs.printing import print_json, print_table
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data.atomic_files import check_target
from podium.errors import UsageError, require
from podium.experiments.figures import save_figure
from podium.labelling.judging_statistics.summary import plot_statistics, statistics


def run_judge_stats(options: JudgeStatsOptions) -> None:
    """Print what judging cost, and how well assessors agree."""
    store = choose_store(options.store, options.store_)
    _check_figure(options.figure, options.force)
    with spinner("reading judgments"), open_store(store) as opened:
        results = statistics(opened, resamples=options.resamples, seed=options.seed)
    if options.figure is not None:
        with spinner(f"drawing {options.figure}"):
            save_figure(plot_statistics(results), options.figure)
    if options.json:
        print_json(results.to_dict())
        return
    if not results.methods:
        typer.echo(
            f"{store_name(store)} has no tasks yet: podium judge import {store_name(store)} --pool FILE "
            "--assessors NAMES makes them"
        )
    for table in results.tables():
        text_columns = 2 if table.headers[0] in ("method", "assessor", "what") else 1
        print_table(table.title, table.headers, table.rows, text_columns=text_columns)
        if table.note:
            typer.echo(table.note)
        typer.echo()


def _check_figure(figure: Path | None, force: bool) -> None:
    if figure is None:
        return
    if figure.suffix not in (".svg", ".png", ".pdf"):
        raise UsageError(
            f"expected --figure with a file that ends in .svg, .png or .pdf, got {figure}"
        )
    require("matplotlib", "report", "--figure")
    check_target(figure)
    check_not_replaced([figure], force)

"""``podium demo``: the main job on generated data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from podium.apps.cli.console import Json, Seed, print_json, print_table, reports_errors

EXAMPLE = "Example: podium demo --queries 500"


@reports_errors
def demo(
    queries: Annotated[int, typer.Option(help="Queries to generate.", min=10)] = 300,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train, rank, evaluate and compare on a generated problem whose best answer is known."""
    from rich.console import Console
    from rich.progress import track

    from podium.experiments.demo import METRICS, Demo

    run = Demo.prepare(n_queries=queries, seed=seed)
    console = Console(stderr=True)
    stages = track(
        run.folds, "folds", console=console, transient=True, disable=not console.is_terminal
    )
    table = run.compare(stages)
    if json:
        print_json(asdict(table))
        return
    rows = [[row.ranker, *(f"{mean:.4f}" for mean in row.means), row.verdict] for row in table.rows]
    title = f"{run.data.n_queries} queries, {len(run.data):,} documents, 5 folds, test queries"
    print_table(title, ["ranker", *METRICS, f"{METRICS[0]} against {table.baseline}"], rows)
    typer.echo("\nOne set of scores (ranksvm), one measure, four conventions:")
    for metric, mean, tables in table.conventions:
        typer.echo(f"  {mean:.4f}  {metric:<26} {tables}")
    typer.echo("\nNext: podium rankers, podium train --help, podium metrics --explain NDCG@10")

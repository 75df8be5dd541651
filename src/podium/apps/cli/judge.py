"""``podium judge``: judgments of people, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli import judge_serve, judge_store
from podium.apps.cli.console import Json, Seed, busy, print_json, print_table, reports_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.labelling import Simulation

JUDGE = """Example, from a pool of documents to training data:

podium judge serve --store judgments.db --pool pool.jsonl --assessors ann,bob

podium judge stats judgments.db

podium judge export judgments.db --features features.txt -o train.txt

podium judge demo needs nothing at all; docs/judging.md has the whole way, and the formats of pools."""

app = typer.Typer(
    help="Judgments of people: the top k by preferences.", no_args_is_help=True, epilog=JUDGE
)

SIMULATE = """Example: podium judge simulate tournament heap --documents 100 --top 10 --prior-tau 0.6

Strategies are tournament (tree selection, the fewest judgments), heap (Algorithm 1 of the top-k labelling
paper) and sort (merge insertion of all documents); all of them unless some are named.

The table has the mean number of judgments for a query, the numbers that 5, 50 and 95 % of the runs do not
exceed, the largest one, the bound that none can exceed, and the share of the true top k that was found."""


@app.command("simulate", epilog=SIMULATE)
@reports_errors
def simulate(
    strategies: Annotated[
        list[str] | None,
        typer.Argument(metavar="STRATEGY...", help="tournament, heap or sort; all by default."),
    ] = None,
    documents: Annotated[
        int, typer.Option("--documents", "-n", min=1, help="Documents of a query.")
    ] = 50,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Places to be filled.")] = 10,
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Probability that the assessor errs.")
    ] = 0.0,
    ties: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Probability that a document is as good as the next in true order."
        ),
    ] = 0.0,
    prior_tau: Annotated[
        float | None,
        typer.Option(
            min=-1, max=1, help="Kendall's tau of a prior order with the true one; no prior if not set."
        ),
    ] = None,
    ask_implied: Annotated[
        bool, typer.Option("--ask-implied", help="Also ask what follows from earlier judgments.")
    ] = False,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each strategy.")] = 100,
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Say how many judgments the top k takes: runs with simulated assessors."""
    from podium import labelling

    names = list(dict.fromkeys(strategies or labelling.STRATEGIES))
    for name in names:
        labelling.strategy_named(name)
    with busy("simulating"):
        found = [
            labelling.simulate(
                name, documents, top, noise, ties, seed, not ask_implied, runs, prior_tau
            )
            for name in names
        ]
    if json:
        print_json([_told(simulation) for simulation in found])
    else:
        _print(found, f"Judgments for the top {top:,} of {documents:,} documents, {runs:,} runs")


def _told(simulation: Simulation) -> dict[str, Any]:
    settings = (
        "strategy", "n", "k", "noise", "ties", "seed", "skip_implied", "runs", "prior_tau", "mean", "bound",
        "recall",
    )  # fmt: skip
    return {
        **{name: getattr(simulation, name) for name in settings},
        "quantiles": {str(share): value for share, value in simulation.quantiles.items()},
        "most": int(simulation.judgments.max()),
        "judgments": simulation.judgments.tolist(),
    }


def _print(found: Sequence[Simulation], title: str) -> None:
    rows = [
        [
            simulation.strategy,
            f"{simulation.mean:,.1f}",
            *(f"{simulation.quantiles[share]:,.0f}" for share in (0.05, 0.5, 0.95)),
            f"{simulation.judgments.max():,}",
            f"{simulation.bound:,}",
            f"{simulation.recall:.4f}",
        ]
        for simulation in found
    ]
    headers = ["strategy", "mean", "5 %", "50 %", "95 %", "most", "bound", "recall"]
    print_table(title, headers, rows)


app.command("import", epilog=judge_store.IMPORT)(judge_store.import_)
app.command("stats", epilog=judge_store.STATS)(judge_store.stats)
app.command("export", epilog=judge_store.EXPORT)(judge_store.export)
app.command("serve", epilog=judge_serve.SERVE)(judge_serve.serve)
app.command("links", epilog=judge_serve.LINKS)(judge_serve.links)
app.command("demo", epilog=judge_serve.DEMO)(judge_serve.demo)

"""Options of ``podium judge assess``."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import Json, SeedOption
from podium.apps.cli.options.judge import StoreName, StoreOption
from podium.apps.cli.options.machines import MachineOptions


@dataclass(frozen=True)
class JudgeAssessOptions(MachineOptions):
    """Let a machine judge as an assessor, within caps, by any OpenAI-compatible endpoint.

    Example: podium judge assess judgments.db --endpoint https://HOST/v1 --model NAME --max-calls 5000
    --send-documents

    --dry-run prices the campaign and sends nothing. Run the same command again after an
    interruption or a cap: every answer is in the cache (STORE.answers), and no paid work is done
    twice. A question whose answer cannot be read is asked again, then counted, never guessed.

    The key comes from the environment. Texts leave this machine only with --send-documents, only by
    https, and no redirect is followed.

    Judgments of machines are marked in the store. podium judge agreement compares them with people's.
    """

    store: StoreName = None
    store_: StoreOption = None
    name: Annotated[
        str | None,
        typer.Option(help="The name of the assessor; by default that of the model."),
    ] = None
    ask: Annotated[
        Literal["pairs", "sets", "grades"],
        typer.Option(help="Which of two is better, the best of several, or a grade."),
    ] = "pairs"
    set_size: Annotated[int, typer.Option(min=2, max=20, help="Documents in a set.")] = 5
    both_orders: Annotated[
        bool, typer.Option("--both-orders", help="Ask every pair with each document first.")
    ] = False
    query: Annotated[
        list[str] | None,
        typer.Option("--query", metavar="ID", help="Judge this query; may be given several times."),
    ] = None
    top: Annotated[
        int | None,
        typer.Option("--top", "-k", min=1, help="How many places; by default as in other tasks."),
    ] = None
    strategy: Annotated[str, typer.Option(help="The strategy that asks for pairs or sets.")] = (
        "bayesian"
    )
    confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="End a task at this expected recall (bayesian); .94 and more by default.",
        ),
    ] = None
    prior: Annotated[
        bool, typer.Option("--prior", help="Start from the order of the pool's scores.")
    ] = False
    repeats: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of questions asked again, sides swapped.")
    ] = 0.05
    batch: Annotated[
        int, typer.Option(min=1, help="Questions of one query at the same time (bayesian).")
    ] = 1
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Price the campaign; send nothing.")
    ] = False
    seed: SeedOption = 0
    json: Json = False

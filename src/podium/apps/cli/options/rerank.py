"""Options of ``podium rerank``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import Force, Json, file_option
from podium.apps.cli.options.machines import MachineOptions
from podium.apps.cli.options.postrank import RunFile


@dataclass(frozen=True, kw_only=True)
class RerankOptions(MachineOptions):
    """Order the head of each list by a machine's comparisons, within a budget of questions.

    Example: podium rerank bm25.run --documents docs.jsonl --queries queries.tsv
    --endpoint https://HOST/v1 --model NAME --questions 100 --send-documents -o new.run

    The machine fills the first --top places from the first --depth documents; the others keep their
    order. A list ends when its top is certain, or when its budget is spent: then its probable order
    counts.

    Every answer is in the cache (RUN.answers), so the same command costs nothing again. The key
    comes from the environment. Texts leave this machine only with --send-documents, only by
    https, and no redirect is followed.

    The scores of the result are places counted from the end of each list.
    """

    run: RunFile
    documents: Annotated[
        Path, file_option("The texts of the run's documents: JSONL or a table.", "FILE")
    ]
    queries: Annotated[
        Path | None,
        file_option("The texts of the run's queries: JSONL or a table; ids by default.", "FILE"),
    ] = None
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run to write; stdout by default.")
    ] = None
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Places that are filled.")] = 10
    depth: Annotated[int, typer.Option(min=1, help="Documents of each list to choose from.")] = 50
    questions: Annotated[
        int, typer.Option(min=0, help="The most questions about one list, cached ones included.")
    ] = 100
    ask: Annotated[
        Literal["pairs", "sets"],
        typer.Option(help="Which of two is better, or the best of several."),
    ] = "pairs"
    set_size: Annotated[int, typer.Option(min=2, max=20, help="Documents in a set.")] = 5
    both_orders: Annotated[
        bool, typer.Option("--both-orders", help="Ask every pair with each document first.")
    ] = False
    strategy: Annotated[
        str, typer.Option(help="The strategy that asks; one that trusts no single answer.")
    ] = "bayesian"
    no_prior: Annotated[
        bool, typer.Option("--no-prior", help="Forget the order of the run within the head.")
    ] = False
    confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="End a list at this expected recall of its top (see podium judge simulate).",
        ),
    ] = None
    batch: Annotated[
        int, typer.Option(min=1, help="Questions about one list at the same time.")
    ] = 1
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Price the calls; send nothing.")] = (
        False
    )
    force: Force = False
    json: Json = False

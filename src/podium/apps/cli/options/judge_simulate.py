"""Options of ``podium judge simulate``."""

from dataclasses import dataclass
from typing import Annotated

import typer

from podium.apps.cli.options import Json, SeedOption


@dataclass(frozen=True)
class JudgeSimulateOptions:
    """Count the judgments that finding the top k takes, with simulated assessors.

    Example: podium judge simulate tournament heap --documents 100 --top 10 --prior-tau 0.6

    Strategies are tournament (tree selection, the fewest judgments), heap (Algorithm 1 of the top-k
    labelling paper), sort (merge insertion of all documents) and bayesian (for assessors who err).
    Without names, all of them run.

    The table has the judgments per query: the mean, the quantiles of 5, 50 and 95 %, and the
    largest number. It also has the bound that no run can exceed, the share of the true top k in the
    result (recall), the mean share of the true top j among the first j (overlap), the qualities
    as a share of the best ones (gain), and the recall that the strategy itself expected.
    The last column is its calibration: of the documents that it called 87 to 93 % sure to be in the
    top k, at any time of a run, the share that is.
    """

    strategies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STRATEGY...", help="tournament, heap, sort or bayesian; all by default."
        ),
    ] = None
    documents: Annotated[
        int, typer.Option("--documents", "-n", min=1, help="Documents per query.")
    ] = 50
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many places to fill.")] = 10
    noise: Annotated[
        list[float] | None,
        typer.Option(
            min=0,
            help="Probability that the assessor errs, 0 by default; several for assessors who take turns.",
        ),
    ] = None
    errors: Annotated[
        str,
        typer.Option(
            help="uniform; close (close documents are confused, --noise is the scale); or side "
            "(guesses for one side)."
        ),
    ] = "uniform"
    left_share: Annotated[
        float, typer.Option(min=0, max=1, help="The share of guesses for the left document.")
    ] = 0.5
    ties: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Probability that a document is as good as the next in true order."
        ),
    ] = 0.0
    prior_tau: Annotated[
        float | None,
        typer.Option(
            min=-1,
            max=1,
            help="Kendall's tau of a prior order with the true one; no prior if not set.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="The expected recall at which runs of bayesian end; its own rule by default.",
        ),
    ] = None
    ask_implied: Annotated[
        bool, typer.Option("--ask-implied", help="Also ask what follows from earlier judgments.")
    ] = False
    runs: Annotated[int, typer.Option(min=1, help="Runs of each strategy.")] = 100
    seed: SeedOption = 0
    json: Json = False

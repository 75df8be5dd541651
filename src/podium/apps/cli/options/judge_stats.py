"""Options of ``podium judge stats``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Force, Json, SeedOption
from podium.apps.cli.options.judge import StoreName, StoreOption


@dataclass(frozen=True)
class JudgeStatsOptions:
    """Show what judging cost and how well assessors agree.

    Example: podium judge stats judgments.db --figure stats.svg

    The output has the costs of each method and assessor (the paper's Table 1) and agreement
    matrices (Tables 2 and 3). Agreement is measured on all pairs of the final results, and on the
    pairs that two assessors really judged. In the results, two documents outside the top k are
    tied. Chi-square and a permutation test by query compare the tools. Kappa, alpha, overlap of the
    top k and self-consistency follow.
    """

    store: StoreName = None
    store_: StoreOption = None
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw agreement and times to this SVG, PNG or PDF file."),
    ] = None
    force: Force = False
    resamples: Annotated[int, typer.Option(min=1, help="Draws of the permutation test.")] = 2_000
    seed: SeedOption = 0
    json: Json = False

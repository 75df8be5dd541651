"""Options of ``podium train`` about clicks: what is learned from, and how positions are corrected for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

CLICK_PANEL = "Clicks instead of labels"

Examination = Literal[
    "auto", "swaps", "harvest", "regression-em", "pbm", "cascade", "dcm", "ubm", "sdbn", "dbn"
]


@dataclass(frozen=True, kw_only=True)
class ClickLearningOptions:
    """Options that learn from clicks."""

    clicks: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            metavar="LOG",
            rich_help_panel=CLICK_PANEL,
            help="Learn from the clicks of a log, not from labels: a file of podium clicks sessions, UBI "
            "logs, tables of impressions, or a folder of them. TRAIN has the documents, with ids "
            "and features. May be given several times.",
        ),
    ] = None
    debias: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ips|dr|position|none|model|dual",
            rich_help_panel=CLICK_PANEL,
            help="How clicks are corrected for positions: ips (the default) weights them by 1 / P(examined); "
            "dr adds what features predict; model takes the attraction of a click model; position is "
            "LightGBM's (lambdamart); dual needs no swaps (linear and mlp); none takes click rates. May be "
            "given several times.",
        ),
    ] = None
    examination: Annotated[
        Examination,
        typer.Option(
            rich_help_panel=CLICK_PANEL,
            help="Where P(examined) comes from: propensities as in podium clicks propensity, or a click "
            "model that is fitted to the log.",
        ),
    ] = "auto"
    propensity_clip: Annotated[
        float,
        typer.Option(
            min=1e-6,
            max=1,
            rich_help_panel=CLICK_PANEL,
            help="The least P(examined) that clicks are divided by.",
        ),
    ] = 0.1
    guard: Annotated[
        bool,
        typer.Option(
            rich_help_panel=CLICK_PANEL,
            help="Take plain click rates, unless held-out sessions show that a debiased ranker is better.",
        ),
    ] = True
    holdout: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.9,
            rich_help_panel=CLICK_PANEL,
            help="The share of sessions that the guard measures on.",
        ),
    ] = 0.2

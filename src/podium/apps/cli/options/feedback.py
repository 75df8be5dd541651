"""Options of ``podium feedback``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import (
    ClusterOption,
    Force,
    Json,
    SeedOption,
    file_argument,
    file_option,
)

FACTOR_NAMES = "clicks, bookmarks, dwell, downloads, shares, ignored, back or closed"

FeedbackLogs = Annotated[
    list[Path] | None,
    file_option(
        "UBI logs of what users did, for cfbrs: see podium feedback. May be given several times.",
        metavar="EVENTS",
    ),
]
FeedbackClasses = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|CSV",
        help="Where --feedback has user classes, as in podium feedback summarise.",
    ),
]
PhiWeight = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FACTOR=WEIGHT",
        help=f"How much a factor counts in alpha: {FACTOR_NAMES}; 1 by default, 0 leaves it out. "
        "May be given several times.",
    ),
]
PhiScale = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FACTOR=SCALE",
        help="The scale of a factor, as in dwell=30 (seconds per document). May be given "
        "several times.",
    ),
]
Propensities = Annotated[
    Path | None,
    file_option(
        "Divide reactions by the probability of a look at the rank: the JSON of podium clicks propensity "
        "--json.",
        metavar="FILE",
    ),
]
Alpha = Annotated[
    str | None,
    typer.Option(
        metavar="uniform[=VALUE]|simulated[=VARIANCE]",
        help="Feedback on compositions for cfbrs without a log, as in uniform=0.5 or "
        "simulated=0.01 (drawn by --seed).",
    ),
]


@dataclass(frozen=True)
class FeedbackSummariseOptions:
    """Show what users did: the eight factors and alpha by query and by user class.

    Example: podium feedback summarise events.ndjson.gz --classes query_attributes.user_class

    Events are User Behavior Insights (UBI) logs: query records and events as NDJSON, plain or in
    bulk form, in one file or several.

    The eight factors are means over the documents of a list, then over lists. Five are good:
    clicks, bookmarks, dwell (seconds), downloads and shares. Three are bad: ignored (shown above a
    clicked document), back, and closed (within --closed-within seconds). A factor that never occurs
    in the log is shown as - and does not count in alpha.

    Unknown names of actions are counted; --action add_to_cart=bookmark says what one means.

    --phi-weight bookmarks=3 and --phi-scale dwell=30 change how a factor counts in alpha.
    """

    events: Annotated[list[Path], file_argument("EVENTS...", "UBI logs.")]
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|CSV",
            help="Where user classes are: a path into query records or events, or a CSV file of "
            "user,class lines (users by user_id or client_id).",
        ),
    ] = None
    only: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Only lists of this user class.")
    ] = None
    action: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND",
            help="What an action means: impression, click, bookmark, view, exit, download, share, back "
            "or search; may be given several times.",
        ),
    ] = None
    closed_within: Annotated[
        float,
        typer.Option(min=0, help="Closing a document within so many seconds counts as closed."),
    ] = 5.0
    window: Annotated[
        int, typer.Option(min=2, help="How many events a list stays open for duplicates and exits.")
    ] = 500_000
    phi_weight: PhiWeight = None
    phi_scale: PhiScale = None
    propensities: Propensities = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first line that is not valid UBI.")
    ] = False
    top: Annotated[
        int,
        typer.Option("--top", "-k", min=1, help="How many queries to show: those with most lists."),
    ] = 20
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw factors and alpha to this SVG, PNG or PDF file."),
    ] = None
    force: Force = False
    cluster: ClusterOption = None
    json: Json = False


@dataclass(frozen=True)
class FeedbackAlphaOptions:
    """Show feedback without a log: alpha by the size of a block, or of a composition.

    Example: podium feedback alpha simulated=0.01 --features 46 --blocks 5,5,36

    Use this if you have no log. uniform gives every block the same feedback. simulated draws it
    from a normal distribution; its mean depends on how many subsets of the features have the
    block's size. podium train cfbrs --alpha takes the same words.
    """

    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="uniform[=VALUE] or simulated[=VARIANCE].")
    ]
    features: Annotated[int, typer.Option(min=1, max=10_000, help="The number of features.")]
    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="A composition, as in 5,5,36: its alpha, and each block's share."
        ),
    ] = None
    seed: SeedOption = 0
    json: Json = False

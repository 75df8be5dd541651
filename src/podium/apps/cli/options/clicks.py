"""Options of ``podium clicks``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import (
    Force,
    Json,
    SeedOption,
    data_option,
    file_argument,
    file_option,
)

Logs = Annotated[
    list[Path],
    file_argument(
        "LOG...", "UBI logs, tables of impressions, or one file of podium clicks sessions."
    ),
]
Action = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=KIND",
        help="What a UBI action means: impression or click; may be given several times.",
    ),
]
ColumnNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=NAME",
        help="The name of a column of a table, as in session=sid: session, query, doc, position, clicked, "
        "time, click_time, variant, user, user_class or base_position. May be given several times.",
    ),
]


@dataclass(frozen=True)
class ClicksSessionsOptions:
    """Read sessions from logs, count what is wrong with them, and save them.

    Example: podium clicks sessions events.ndjson.gz -o log.clicks

    Logs are User Behavior Insights (UBI) logs, or tables (.csv, .tsv, .parquet) with one row per
    impression and the columns session, query, doc, position and clicked.

    Impossible sessions and bots are set aside; the table has the number for each reason.
    """

    logs: Logs
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the sessions to this file.")
    ] = None
    action: Action = None
    column: ColumnNames = None
    variant: Annotated[
        str, typer.Option(metavar="NAME", help="The query attribute with the variant, in UBI logs.")
    ] = "variant"
    user_class: Annotated[
        str,
        typer.Option(metavar="NAME", help="The query attribute with the user class, in UBI logs."),
    ] = "user_class"
    max_position: Annotated[int, typer.Option(min=1, help="The greatest possible position.")] = 1000
    max_user_sessions: Annotated[
        int, typer.Option(min=1, help="The most sessions that a person has in a day.")
    ] = 200
    visible: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The number of positions that users see, for lists of UBI logs without impressions; all "
            "their hits by default.",
        ),
    ] = None
    force: Force = False
    json: Json = False


@dataclass(frozen=True)
class ClicksFitOptions:
    """Fit click models, and measure them on sessions that were held out.

    Example: podium clicks fit log.clicks --model pbm --model dbn

    Perplexity is 1 for a perfect model and 2 for a coin. With one --model, -o writes the model, fitted
    to all sessions.
    """

    logs: Logs
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="A click model: rank-rates, document-rates, pbm, cascade, dcm, ubm, sdbn or dbn. May be "
            "given several times; all by default.",
        ),
    ] = None
    holdout: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="The share of sessions that is held out.")
    ] = 0.2
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the model to this file.")
    ] = None
    seed: SeedOption = 0
    force: Force = False
    json: Json = False


@dataclass(frozen=True)
class ClicksPropensityOptions:
    """Estimate how likely users are to look at each rank, with intervals.

    Example: podium clicks propensity log.clicks

    swaps needs the positions before the logger's own swaps or shuffles (base_position). harvest needs
    documents at several ranks of the same query, from swaps, several rankers or versions.
    regression-em needs the features of the documents (--data), and has no intervals. auto takes swaps if the
    log has them, else harvest.

    If the log cannot say, the command says why and what to log.
    """

    logs: Logs
    method: Annotated[
        Literal["auto", "swaps", "harvest", "regression-em"],
        typer.Option(help="Where the propensities come from."),
    ] = "auto"
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="The level of the intervals.")
    ] = 0.95
    data: Annotated[Path | None, data_option("Features of the documents, for regression-em.")] = (
        None
    )
    json: Json = False


@dataclass(frozen=True)
class ClicksEvaluateOptions:
    """Estimate what other rankings would have earned, from the clicks of a log.

    Example: podium clicks evaluate log.clicks --data shop.txt --scores new.scores --scores old.scores

    --scores has one score per document of --data, as podium predict writes it. With two files, the paired
    difference of the first and the second is estimated, too.

    How users examine lists comes from --model (podium clicks fit), else from propensities that are
    estimated from the log.
    """

    logs: Logs
    data: Annotated[Path, data_option("The documents of each query, with ids.")]
    scores: Annotated[
        list[Path], file_option("Scores of a ranking; may be given twice.", metavar="SCORES")
    ]
    model: Annotated[
        Path | None, file_option("A click model, by podium clicks fit -o.", metavar="MODEL")
    ] = None
    metric: Annotated[
        Literal["clicks", "dcg"], typer.Option(help="Clicks per session, or relevance by rank.")
    ] = "clicks"
    estimator: Annotated[
        Literal["doubly-robust", "ips", "clipped", "snips"], typer.Option(help="The estimator.")
    ] = "doubly-robust"
    depth: Annotated[int, typer.Option(min=1, help="Documents per list.")] = 10
    clip: Annotated[
        float, typer.Option(min=1e-6, max=1, help="The least P(examined), for clipped.")
    ] = 0.1
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="The level of the intervals.")
    ] = 0.95
    seed: SeedOption = 0
    json: Json = False


@dataclass(frozen=True)
class ClicksReportOptions:
    """Write a page with pictures of a log: rates, propensities, fit of models, faults.

    Example: podium clicks report log.clicks -o log.html

    The page is one HTML file without network. With --data and --scores it also has what rankings would have
    earned, as podium clicks evaluate estimates it.
    """

    logs: Logs
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the page to this file.")]
    data: Annotated[
        Path | None, data_option("The documents of each query, with ids, for --scores.")
    ] = None
    scores: Annotated[
        list[Path] | None,
        file_option("Scores of a ranking; may be given several times.", metavar="SCORES"),
    ] = None
    title: Annotated[str, typer.Option(help="The title of the page.")] = "A click log"
    seed: SeedOption = 0
    force: Force = False
    json: Json = False

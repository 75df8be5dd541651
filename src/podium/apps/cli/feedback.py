"""``podium feedback``: what users did with the lists they were shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.apps.cli.console import (
    Json,
    Seed,
    busy,
    print_json,
    print_table,
    reading,
    reports_errors,
)
from podium.apps.cli.feedback_options import PhiScale, PhiWeight, make_phi, make_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.data import RankingData
    from podium.feedback import Feedback, FeedbackSummary, LogCounts, Phi

app = typer.Typer(help="What users did with the lists they were shown.", no_args_is_help=True)

EXAMPLE = """Example: podium feedback summarise events.ndjson.gz --classes query_attributes.user_class

Events are User Behavior Insights (UBI) logs: query records and events as NDJSON, plain or in bulk form, in
one file or several.

The eight factors are means over the documents of a list, then over lists: clicks, bookmarks, dwell (seconds),
downloads, shares; ignored (shown above a clicked document), back, closed (within --closed-within seconds).
Factors that the log never carries are shown as - and take no part in alpha.

Names of actions that are not known are counted; --action add_to_cart=bookmark says what one means.

--phi-weight bookmarks=3 and --phi-scale dwell=30 change what alpha makes of a factor."""

ALPHA_EXAMPLE = """Example: podium feedback alpha simulated=0.01 --features 46 --blocks 5,5,36

Feedback where there is no log: uniform (the same for every block) or simulated (normal, its mean by how
many subsets of the features have the block's size). podium train cfbrs --alpha takes the same words."""


@app.command("summarise", epilog=EXAMPLE)
@reports_errors
def summarise(
    events: Annotated[
        list[Path],
        typer.Argument(exists=True, dir_okay=False, metavar="EVENTS...", help="UBI logs."),
    ],
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|CSV",
            help="Where user classes stand: a path into query records or events, or a CSV file of "
            "user,class lines (users by user_id or client_id).",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Only lists of this user class.")
    ] = None,
    action: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND",
            help="What an action means: impression, click, bookmark, view, exit, download, share, back "
            "or search; may be given several times.",
        ),
    ] = None,
    closed_within: Annotated[
        float, typer.Option(min=0, help="Seconds within which a document is closed at once.")
    ] = 5.0,
    window: Annotated[
        int, typer.Option(min=2, help="Events within which duplicates and openings are followed.")
    ] = 500_000,
    phi_weight: PhiWeight = None,
    phi_scale: PhiScale = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first line that is not as UBI has it.")
    ] = False,
    top: Annotated[
        int, typer.Option("--top", "-k", min=1, help="Queries shown: those with most lists.")
    ] = 20,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw factors and alpha to this SVG, PNG or PDF file."),
    ] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Say what users did: the eight factors and alpha by query and by user class."""
    _check_plot(plot, events)
    phi = make_phi(phi_weight, phi_scale)
    read = read_feedback(events, classes, action, closed_within, window, strict, phi)
    feedback = read.of_class(only)
    if plot is not None:
        _draw(feedback, plot)
    if json:
        print_json(_told(feedback, events, top))
        return
    _print_facts(feedback, events)
    if feedback.classes:
        _print_summary("By user class", feedback.summary("class"), "(population only)")
    by_query = feedback.summary("query")
    n = len(by_query.names)
    title = "By query" if n <= top else f"By query, {top:,} with most lists of {n:,}"
    _print_summary(title, by_query, "(no text)", top)


@app.command("alpha", epilog=ALPHA_EXAMPLE)
@reports_errors
def alpha(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="uniform[=VALUE] or simulated[=VARIANCE].")
    ],
    features: Annotated[int, typer.Option(min=1, max=10_000, help="How many there are.")],
    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="A composition, as in 5,5,36: its alpha, and each block's share."
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Say what feedback without a log is: alpha by the size of a block, or of a composition."""
    from podium.feedback import split_alpha

    feedback = make_source(source, seed, "SOURCE")
    if blocks is None:
        by_size = feedback.by_size(features).tolist()
        headers, values = ["features in a block", "alpha"], list(enumerate(by_size, 1))
        facts: dict[str, Any] = {"by_size": by_size}
    else:
        sizes = _sizes(blocks, features)
        whole = feedback.alpha(sizes)
        shares = split_alpha(whole, sizes).tolist()
        headers, values = ["features in a block", "share"], list(zip(sizes, shares, strict=True))
        facts = {"blocks": sizes, "alpha": whole, "shares": shares}
    if json:
        print_json({"source": source, "features": features, **facts})
        return
    title = source if blocks is None else f"{source}, alpha {facts['alpha']:.4f}"
    print_table(title, headers, [[f"{size:,}", f"{value:.4f}"] for size, value in values])


def _sizes(text: str, features: int) -> list[int]:
    from podium.errors import UsageError

    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"expected --blocks as whole numbers, as in 5,5,36, got {text!r}"
        ) from None
    if min(sizes) < 1 or sum(sizes) != features:
        raise UsageError(
            f"expected --blocks of 1 or more that add up to {features} features, got {text}, which "
            f"is {sum(sizes)}"
        )
    return sizes


def read_feedback(
    events: Sequence[Path], classes: str | None, action: Sequence[str] | None = None,
    closed_within: float = 5.0, window: int = 500_000, strict: bool = False,
    phi: Phi | None = None,
) -> Feedback:  # fmt: skip
    """UBI logs, with user classes as a path into the records or a table of users says."""
    from podium.errors import DataError
    from podium.feedback import ACTIONS, read_classes, read_ubi

    user_class: Any = classes
    if classes is not None and Path(classes).is_file():
        user_class = read_classes(classes)
    elif classes is not None and classes.endswith((".csv", ".csv.gz")):
        raise DataError("expected a CSV file of user,class lines, got no such file", path=classes)
    with reading(events) as progress:
        feedback = read_ubi(
            events, user_class=user_class, actions={**ACTIONS, **_actions(action)},
            phi=phi, closed_within=closed_within, window=window, strict=strict, progress=progress,
        )  # fmt: skip
    if classes is not None and not feedback.classes:
        raise DataError(
            f"expected user classes at --classes {classes}, got none in {len(feedback):,} lists"
        )
    return feedback


def _actions(texts: Sequence[str] | None) -> dict[str, str]:
    from podium.errors import UsageError

    table = {}
    for text in texts or ():
        name, equals, kind = text.rpartition("=")
        if not equals or not name:
            raise UsageError(f"expected --action NAME=KIND, got {text!r}")
        table[name] = kind
    return table


def _check_plot(plot: Path | None, events: Sequence[Path]) -> None:
    if plot is None:
        return
    from podium.data.files import check_target
    from podium.errors import UsageError, require

    if plot.suffix not in (".svg", ".png", ".pdf"):
        raise UsageError(f"expected --plot with a file that ends in .svg, .png or .pdf, got {plot}")
    require("matplotlib", "report", "--plot")
    check_target(plot, *events)


def _draw(feedback: Feedback, plot: Path) -> None:
    from podium.experiments.figures import save_figure
    from podium.feedback import plot_feedback

    with busy(f"drawing {plot}"):
        save_figure(plot_feedback(feedback), plot)


def _told(feedback: Feedback, events: Sequence[Path], top: int) -> dict[str, Any]:
    from podium.feedback import FACTORS

    by_query = feedback.summary("query")
    return {
        "files": [str(path) for path in events],
        "lists": len(feedback),
        "documents": feedback.groups.n_rows,
        "carried": [f for f, c in zip(FACTORS, feedback.carried.tolist(), strict=True) if c],
        "factors": _row(feedback.factors.mean(axis=0).tolist()),
        "alpha": float(feedback.alphas.mean()),
        "queries": len(by_query.names),
        "by_query": _rows(by_query, top),
        "by_class": _rows(feedback.summary("class")) if feedback.classes else [],
        "counts": feedback.counts.to_dict(),
    }


def _order(summary: FeedbackSummary, top: int | None) -> list[int]:
    """The rows to show: all of them, or those with most lists first."""
    import numpy as np

    if top is None:
        return list(range(len(summary.names)))
    found: list[int] = np.argsort(-summary.n_lists, kind="stable")[:top].tolist()
    return found


def _rows(summary: FeedbackSummary, top: int | None = None) -> list[dict[str, Any]]:
    return [
        {
            summary.kind: summary.names[i],
            "lists": int(summary.n_lists[i]),
            "documents": int(summary.n_documents[i]),
            "factors": _row(summary.factors[i].tolist()),
            "alpha": float(summary.alpha[i]),
        }
        for i in _order(summary, top)
    ]


def _row(values: Sequence[float]) -> dict[str, float | None]:
    from podium.feedback import FACTORS

    return {f: None if v != v else v for f, v in zip(FACTORS, values, strict=True)}


def _print_facts(feedback: Feedback, events: Sequence[Path]) -> None:
    counts = feedback.counts
    rows = [
        ["lists", f"{len(feedback):,}"],
        ["documents shown", f"{feedback.groups.n_rows:,}"],
        ["query records", f"{counts.queries:,}"],
        ["events", f"{counts.events:,}"],
        ["mean alpha", f"{feedback.alphas.mean():.4f}"],
    ]
    rows += [[name, told] for name, told in problems_of(counts)]
    print_table(" ".join(map(str, events)), ["what", "value"], rows, text_columns=2)


def problems_of(counts: LogCounts) -> list[tuple[str, str]]:
    """What was not as it should be, in words, with how often."""
    found = []
    for name, n in counts.problems.items():
        told = f"{n:,}"
        if name == "unknown_actions":
            most = [f"{action} {k:,}" for action, k in list(counts.unknown_actions.items())[:5]]
            told += f" ({', '.join(most)}{', ...' if len(counts.unknown_actions) > 5 else ''})"
        found.append((name.replace("_", " "), told))
    return found


def print_joined(feedback: Feedback, data: RankingData) -> None:
    """Print a line on stderr: how much of the log there is for this data, and what was wrong with it."""
    joined = f"{_n_joined(feedback, data):,} of {data.n_queries:,} queries joined"
    wrong = [f"{name} {text}" for name, text in problems_of(feedback.counts)]
    parts = [f"{len(feedback):,} lists, {joined}", *wrong]
    typer.echo(f"podium: feedback: {'; '.join(parts)}", err=True)


def check_joined(feedback: Feedback, data: RankingData) -> None:
    """Raise if no document that the log shows is in the data."""
    import numpy as np

    from podium.errors import DataError

    if _n_joined(feedback, data):
        return
    in_data = int((~np.isnan(feedback.query_alphas(data))).sum())
    in_log = len(feedback.summary("query").names)
    documents = ", but none of the documents shown for them" if in_data else ""
    raise DataError(
        f"{in_data:,} of {in_log:,} queries of the log are in the data{documents}; expected the data of the "
        "lists that were shown, with the same query texts or ids and the same document ids"
    )


def _n_joined(feedback: Feedback, data: RankingData) -> int:
    """Return the number of queries of the data with a document that the log shows."""
    import numpy as np

    shown = ~np.isnan(feedback.labels(data))
    return int(data.groups.reduce(np.logical_or, shown).sum())


def _print_summary(
    title: str, summary: FeedbackSummary, nameless: str, top: int | None = None
) -> None:
    from podium.feedback import FACTORS

    rows = [
        [
            summary.names[i] or nameless,
            f"{summary.n_lists[i]:,}",
            *("-" if v != v else f"{v:.3g}" for v in summary.factors[i].tolist()),
            f"{summary.alpha[i]:.4f}",
        ]
        for i in _order(summary, top)
    ]
    print_table(title, [summary.kind, "lists", *FACTORS, "alpha"], rows)

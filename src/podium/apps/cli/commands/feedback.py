"""``podium feedback``: summarise what users did; show alpha without a log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium.apps.cli.inputs.feedback_sources import (
    log_problems,
    make_alpha_source,
    make_phi,
    read_feedback,
)
from podium.apps.cli.options.feedback import FeedbackAlphaOptions, FeedbackSummariseOptions
from podium.apps.cli.outputs.printing import print_json, print_table
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.data.atomic_files import check_target
from podium.errors import UsageError, require
from podium.experiments.figures import save_figure
from podium.feedback import FACTORS, Feedback, FeedbackSummary, plot_feedback, split_alpha


def run_feedback_summarise(options: FeedbackSummariseOptions) -> None:
    """Print what users did: the eight factors and alpha by query and by user class."""
    _check_plot(options.plot, options.events, options.force)
    if options.cluster is not None and len(options.events) < 2:
        raise UsageError(
            "expected several files with --cluster, one for each call of a worker, got one"
        )
    phi = make_phi(options.phi_weight, options.phi_scale)
    every_class = read_feedback(
        options.events,
        options.classes,
        options.action,
        options.closed_within,
        options.window,
        options.strict,
        phi,
        options.propensities,
    )
    feedback = every_class.of_class(options.only)
    if options.plot is not None:
        _draw(feedback, options.plot)
    if options.json:
        print_json(_facts(feedback, options.events, options.top))
        return
    _print_facts(feedback, options.events)
    if feedback.classes:
        _print_summary("By user class", feedback.summary("class"), "(population only)")
    by_query = feedback.summary("query")
    n = len(by_query.names)
    title = (
        "By query" if n <= options.top else f"By query, {options.top:,} with most lists of {n:,}"
    )
    _print_summary(title, by_query, "(no text)", options.top)


def run_feedback_alpha(options: FeedbackAlphaOptions) -> None:
    """Print feedback without a log: alpha by the size of a block, or of a composition."""
    feedback = make_alpha_source(options.source, options.seed, "SOURCE")
    if options.blocks is None:
        by_size = feedback.by_size(options.features).tolist()
        headers, values = ["features in a block", "alpha"], list(enumerate(by_size, 1))
        facts: dict[str, Any] = {"by_size": by_size}
    else:
        sizes = _sizes(options.blocks, options.features)
        alpha = feedback.alpha(sizes)
        shares = split_alpha(alpha, sizes).tolist()
        headers, values = ["features in a block", "share"], list(zip(sizes, shares, strict=True))
        facts = {"blocks": sizes, "alpha": alpha, "shares": shares}
    if options.json:
        print_json({"source": options.source, "features": options.features, **facts})
        return
    title = (
        options.source
        if options.blocks is None
        else f"{options.source}, alpha {facts['alpha']:.4f}"
    )
    print_table(title, headers, [[f"{size:,}", f"{value:.4f}"] for size, value in values])


def _sizes(text: str, features: int) -> list[int]:
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


def _check_plot(plot: Path | None, events: Sequence[Path], force: bool) -> None:
    if plot is None:
        return

    if plot.suffix not in (".svg", ".png", ".pdf"):
        raise UsageError(f"expected --plot with a file that ends in .svg, .png or .pdf, got {plot}")
    require("matplotlib", "report", "--plot")
    check_target(plot, *events)
    check_not_replaced([plot], force)


def _draw(feedback: Feedback, plot: Path) -> None:
    with spinner(f"drawing {plot}"):
        save_figure(plot_feedback(feedback), plot)


def _facts(feedback: Feedback, events: Sequence[Path], top: int) -> dict[str, Any]:
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
    """Return the rows to show: all of them, or those with most lists first."""
    if top is None:
        return list(range(len(summary.names)))
    rows: list[int] = np.argsort(-summary.n_lists, kind="stable")[:top].tolist()
    return rows


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
    rows += [[name, text] for name, text in log_problems(counts)]
    print_table(" ".join(map(str, events)), ["what", "value"], rows, text_columns=2)


def _print_summary(
    title: str, summary: FeedbackSummary, nameless: str, top: int | None = None
) -> None:
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

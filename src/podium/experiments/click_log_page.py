"""The page of a click log: rates, propensities, fit of models, what was set aside, estimates; no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from podium.clicks import (
    ClickSessions,
    PolicyEstimate,
    PropensityEstimate,
    estimate_propensities,
    fit_click_model,
)
from podium.counted_nouns import count_text
from podium.errors import DataError, DivergedError
from podium.experiments import svg_drawings
from podium.experiments.page_templates import render_template
from podium.experiments.report_pictures import Picture
from podium.experiments.svg_drawings import RankerCurve
from podium.typing import Floats

PAGE_MODELS = ("document-rates", "pbm", "ubm", "dbn")
"""The click models whose fit the page compares."""
MAX_RANKS = 20
"""The most ranks in pictures and tables."""
HELD_OUT_SHARE = 0.2


@dataclass(frozen=True)
class ClickLogSection:
    """A section of the page: a text, messages, a picture and a table."""

    anchor: str
    title: str
    text: str
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    picture: Picture | None = None
    messages: tuple[str, ...] = ()


def render_click_log(
    sessions: ClickSessions,
    title: str = "A click log",
    estimates: Mapping[str, PolicyEstimate] | None = None,
    *,
    seed: int = 0,
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    estimates
        What rankings would have earned, by name.
    seed
        Draws the sessions that click models are measured on.

    Examples
    --------
    >>> import podium
    >>> from podium.clicks import simulate
    >>> data = podium.make_synthetic(n_queries=20, n_docs=5, seed=1)
    >>> page = render_click_log(simulate(data, 0, "pbm", 500, swap=0.1), "Shop")
    >>> "<h1>Shop</h1>" in page, page.count("<svg")
    (True, 3)
    """
    parts = [
        _rate_section(sessions), _propensity_section(sessions), _fit_section(sessions, seed),
        _set_aside_section(sessions),
    ]  # fmt: skip
    if estimates:
        parts.append(_estimate_section(estimates))
    facts = [
        ("sessions", len(sessions)), ("queries", len(np.unique(sessions.query.codes))),
        ("impressions", sessions.groups.n_rows), ("clicks", int(sessions.clicked.sum())),
    ]  # fmt: skip
    return render_template(
        "click_log.html.jinja", "the page", title=title, sections=parts,
        facts=[(name, f"{n:,}") for name, n in facts], version=version("podium-ltr"),
    )  # fmt: skip


def _rate_section(sessions: ClickSessions) -> ClickLogSection:
    """Show clicks per impression by rank."""
    places = sessions.groups.places
    shows = np.bincount(places)[:MAX_RANKS]
    clicks = np.bincount(places, sessions.clicked)[:MAX_RANKS]
    rates = clicks / np.maximum(shows, 1)
    rows = [
        (f"{k}", f"{s:,}", f"{c:,.0f}", f"{r:.4f}")
        for k, (s, c, r) in enumerate(zip(shows, clicks, rates, strict=True), start=1)
    ]
    drawing = _by_rank({"clicks per impression": rates}, "clicks per impression", "rates")
    return ClickLogSection(
        "clicks", "Click rate by rank", "Clicks follow both position and relevance.",
        ("rank", "impressions", "clicks", "click rate"), tuple(rows), Picture("Click rate", drawing),
    )  # fmt: skip


def _by_rank(curves: Mapping[str, Floats], label: str, name: str) -> svg_drawings.Drawing:
    """Draw a curve over ranks for each name."""
    alt = "; ".join(
        f"{label}, {title}: {', '.join(f'{v:.3f}' for v in values)}"
        for title, values in curves.items()
    )
    drawn = [
        RankerCurve(i, range(1, len(values) + 1), values.tolist(), dots=True, title=title)
        for i, (title, values) in enumerate(curves.items())
    ]
    return svg_drawings.lines(drawn, "rank", label, alt, name, whole=True)


def _propensity_section(sessions: ClickSessions) -> ClickLogSection:
    """Show propensities with their intervals, or why the log cannot tell them."""
    text = "How likely users look at each rank, relative to rank 1, with intervals of 95%."
    try:
        estimate = estimate_propensities(sessions)
    except (DataError, DivergedError) as error:
        return ClickLogSection("propensities", "Propensities", text, messages=(str(error),))
    ranks = np.flatnonzero(np.isfinite(estimate.values))[:MAX_RANKS]
    rows = [
        (f"{k + 1}", *(f"{column[k]:.3f}" for column in (estimate.values, estimate.low, estimate.high)))
        for k in ranks.tolist()
    ]  # fmt: skip
    picture = Picture(
        f"Propensities by {estimate.method}", _propensity_drawing(estimate, ranks.tolist())
    )
    return ClickLogSection(
        "propensities", "Propensities", text, ("rank", "propensity", "low", "high"), tuple(rows),
        picture, tuple(estimate.messages),
    )  # fmt: skip


def _propensity_drawing(estimate: PropensityEstimate, ranks: Sequence[int]) -> svg_drawings.Drawing:
    values, low, high = (
        [float(column[k]) for k in ranks]
        for column in (estimate.values, estimate.low, estimate.high)
    )
    alt = "propensities: " + ", ".join(
        f"rank {k + 1} {v:.3f} ({a:.3f} to {b:.3f})"
        for k, v, a, b in zip(ranks, values, low, high, strict=True)
    )
    names = [f"rank {k + 1}" for k in ranks]
    return svg_drawings.intervals(
        names, [0] * len(ranks), values, low, high, None, "P(look) / P(look at rank 1)", alt,
        "propensities",
    )  # fmt: skip


def _fit_section(sessions: ClickSessions, seed: int) -> ClickLogSection:
    """Show the held-out fit of click models."""
    text = "Fitted to most sessions, measured on the others. A perplexity of 1 is perfect, 2 is a coin."
    if len(sessions) < 2:
        return ClickLogSection("fit", "Fit of click models", text, messages=("one session only",))
    train, held_out = sessions.split(1 - HELD_OUT_SHARE, seed=seed)
    rows, curves = [], {}
    for name in PAGE_MODELS:
        model = fit_click_model(train, name)
        perplexity = model.perplexity(held_out)
        curves[name] = perplexity[:MAX_RANKS]
        value = float(model.log_likelihood(held_out).mean())
        rows.append((name, f"{value:.4f}", f"{float(perplexity.mean()):.4f}"))
    drawing = _by_rank(curves, "perplexity", "fit")
    return ClickLogSection(
        "fit", "Fit of click models", f"{text} {count_text(len(held_out), 'session')} held out.",
        ("model", "log-likelihood per session", "perplexity"), tuple(rows),
        Picture("Perplexity by rank", drawing),
    )  # fmt: skip


def _set_aside_section(sessions: ClickSessions) -> ClickLogSection:
    """Show what was set aside, and why."""
    aside = sessions.counts.set_aside
    total = sum(aside.values()) + len(sessions)
    rows = [(r.replace("_", " "), f"{n:,}", f"{n / total:.1%}") for r, n in aside.items()]
    text = "Sessions that cannot be true, and bots." if rows else "No session was set aside."
    return ClickLogSection(
        "set-aside", "What was set aside", text, ("reason", "sessions", "share"), tuple(rows),
        messages=tuple(sessions.counts.messages),
    )  # fmt: skip


def _estimate_section(estimates: Mapping[str, PolicyEstimate]) -> ClickLogSection:
    """Show what rankings would have earned."""
    rows = [
        (name, f"{e.value:.4f}", f"{e.interval.low:.4f}", f"{e.interval.high:.4f}",
         f"{e.effective_queries:,.0f}", f"{e.covered:.0%}")
        for name, e in estimates.items()
    ]  # fmt: skip
    [first, *_] = estimates.values()
    drawing = svg_drawings.intervals(
        list(estimates), list(range(len(estimates))), [e.value for e in estimates.values()],
        [e.interval.low for e in estimates.values()], [e.interval.high for e in estimates.values()],
        None, f"{first.metric} per session",
        "; ".join(f"{row[0]} {row[1]} ({row[2]} to {row[3]})" for row in rows), "estimates",
    )  # fmt: skip
    messages = dict.fromkeys(m for e in estimates.values() for m in e.messages)
    return ClickLogSection(
        "estimates", "What rankings would have earned",
        f"{first.metric} per session by {first.estimator}. With fewer than 100 effective queries an "
        "interval is not reliable.",
        ("ranking", first.metric, "low", "high", "effective queries", "covered"), tuple(rows),
        Picture("Estimates", drawing), tuple(messages),
    )  # fmt: skip

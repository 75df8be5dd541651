"""A report as one page: tables and pictures, light and dark, no network, no script."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.errors import require
from podium.experiments import svg_drawings, tables
from podium.experiments.report import Report
from podium.experiments.report_pictures import Picture, Pictures

TEMPLATE = "report.html.jinja"
SHOWN_LISTS = 4
"""Rankers whose lists are shown of a hard query: the baseline and the best others."""
LEGEND_WIDTH = 3
"""Of the lines in the legend."""


@dataclass(frozen=True)
class Section:
    """Pictures of one question."""

    anchor: str
    title: str
    text: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Key:
    """A ranker in the legend: the number of its colour, and its dashes."""

    ranker: str
    colour: int
    dashes: str


def page(report: Report) -> str:
    """The page as HTML."""
    jinja2 = require("jinja2", "report", "writing report.html")
    markup = require("markupsafe", "report", "writing report.html")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters["safe_svg"] = lambda drawing: markup.Markup(drawing.svg)
    pictures = Pictures(report)
    anything = any(report.standing(ranker).mean is not None for ranker in report.rankers)
    text: str = environment.get_template(TEMPLATE).render(
        report=report,
        verdict=verdict(report),
        best={metric: report.ranking(metric)[0] for metric in report.metrics},
        legend_width=LEGEND_WIDTH,
        legend=[_key(report, ranker) for ranker in report.rankers],
        intervals=pictures.intervals() if anything else None,
        curves=pictures.curves() if anything else None,
        sections=[section for section in sections(pictures) if section.pictures],
        shown=_shown(report),
        curve_rows=[[r, *map(tables.number, report.curve_of(r))] for r in report.rankers],
        tables=tables,
    )
    return text


def verdict(report: Report) -> str:
    """The outcome in a sentence or two."""
    best = report.ranking()[0]
    summary = report.standing(best)
    if summary.mean is None:
        failed = len(report.failed) == len(report.cells)
        why = "every cell failed" if failed else f"no test query counts in {report.main}"
        return f"No ranker came to anything: {why}."
    first = f"{best} has the highest {report.main}: {summary.mean:.4f}"
    interval = f" (95% interval {summary.low:.4f} to {summary.high:.4f})."
    if len(report.rankers) == 1:
        rest = ""
    elif summary.difference is None:
        rest = " It is the baseline." if best == report.baseline else " Nothing was tested."
    else:
        sure = "significant" if summary.difference.significant else "not significant"
        rest = (
            f" That is {summary.difference.mean:+.4f} against {report.baseline}, {sure} "
            f"(p = {summary.difference.adjusted:.4f}, corrected)."
        )
    return first + interval + rest


def sections(pictures: Pictures) -> Iterable[Section]:
    """One for each question, in the order they are asked."""
    report = pictures.report
    yield Section(
        "queries", "Query by query",
        f"What each test query gains or loses in {report.main} against {report.baseline}, sorted.",
        tuple(pictures.differences()),
    )  # fmt: skip
    yield Section(
        "learning", "Learning curves",
        "The metric on the validation queries, a line for each fold; the dot is what was kept.",
        tuple(pictures.learning()),
    )  # fmt: skip
    yield Section(
        "tuning", "Settings tried",
        f"{report.main} on the validation queries against the setting: each fold thin, the mean bold. "
        "Of other settings tried at the same time the best counts.",
        tuple(pictures.tuning()),
    )  # fmt: skip
    yield Section(
        "features", "Features",
        "Weights of linear rankers, importances of others, in the mean over folds; the line is the "
        "range over folds.",
        tuple(pictures.features()),
    )  # fmt: skip


def _key(report: Report, ranker: str) -> Key:
    number = report.rankers.index(ranker)
    dashes = " ".join(f"{LEGEND_WIDTH * length:g}" for length in svg_drawings.dashes(number))
    return Key(ranker, number % svg_drawings.SERIES, dashes)


def _shown(report: Report) -> list[Any]:
    """The rankers whose lists are shown: the baseline and the best."""
    best = [r for r in report.ranking() if r != report.baseline][: SHOWN_LISTS - 1]
    return [report.baseline, *best]

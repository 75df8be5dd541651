"""The HTML report: one page with tables and pictures, light and dark, no network, one script."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from podium.experiments import report_tables, svg_drawings
from podium.experiments.comparison_result import ComparisonResult
from podium.experiments.page_templates import render_template
from podium.experiments.report_pictures import Picture, ReportPictures, front_rankers
from podium.experiments.summary import SIGNIFICANCE_LEVEL
from podium.metrics import correct, paired_test

TEMPLATE = "report.html.jinja"
MAX_LISTS_PER_QUERY = 4
"""The number of rankers whose lists of a hard query are shown: the baseline and the best others."""
MAX_RIVALS = 3
"""The number of rankers next to the best one with which the page compares it."""
LEGEND_WIDTH = 3
"""The width of the lines in the legend."""


@dataclass(frozen=True)
class ReportSection:
    """A section of the page: pictures that answer one question."""

    anchor: str
    title: str
    text: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class LegendEntry:
    """A ranker in the legend: the number of its colour, and its dashes."""

    ranker: str
    colour: int
    dashes: str


def render_page(report: ComparisonResult) -> str:
    """Return the page as HTML."""
    pictures = ReportPictures(report)
    has_values = any(report.standing(ranker).mean is not None for ranker in report.rankers)
    return render_template(
        TEMPLATE,
        TEMPLATE.removesuffix(".jinja"),
        report=report,
        verdict=verdict(report),
        rivals=compare_rivals(report),
        n_dim=len(set(report.rankers) - set(front_rankers(report))),
        best={metric: report.ranking(metric)[0] for metric in report.metrics},
        legend_width=LEGEND_WIDTH,
        legend=[_legend_entry(report, ranker) for ranker in report.rankers],
        intervals=pictures.intervals() if has_values else None,
        curves=pictures.curves() if has_values else None,
        sections=[section for section in sections(pictures) if section.pictures],
        listed_rankers=_listed_rankers(report),
        curve_rows=[[r, *map(report_tables.number, report.curve_of(r))] for r in report.rankers],
        tables=report_tables,
    )


def verdict(report: ComparisonResult) -> str:
    """Return the outcome in a sentence or two."""
    best = report.ranking()[0]
    summary = report.standing(best)
    if summary.mean is None:
        failed = len(report.failed) == len(report.cells)
        why = "every cell failed" if failed else f"{report.main} has no value for any test query"
        return f"No ranker has a result: {why}."
    first = f"{best} has the highest {report.main}: {summary.mean:.4f}"
    interval = f" (95% interval {summary.low:.4f} to {summary.high:.4f})."
    if len(report.rankers) == 1:
        rest = ""
    elif summary.difference is None:
        rest = " It is the baseline." if best == report.baseline else " Nothing was tested."
    else:
        verdict = "significant" if summary.difference.significant else "not significant"
        rest = (
            f" The difference from {report.baseline} is {summary.difference.mean:+.4f}, "
            f"{verdict} (p = {summary.difference.adjusted:.4f}, corrected)."
        )
    return first + interval + rest


def compare_rivals(report: ComparisonResult) -> str:
    """Return a sentence that compares the best ranker with those next to it.

    p-values come from paired permutation tests, corrected for these comparisons only.
    """
    best, *others = [r for r in report.ranking() if report.standing(r).mean is not None] or [""]
    rivals = others[:MAX_RIVALS]
    tests = []
    for rival in rivals:
        values = report.per_query(best), report.per_query(rival)
        if (~np.isnan(values[0] - values[1])).sum() < 2:
            return ""
        tests.append(paired_test(*values, weight=report.weights(), seed=report.seed))
    if not tests:
        return ""
    p_values = correct([test.p_value for test in tests], report.correction)
    remarks = ["" if p < SIGNIFICANCE_LEVEL else ", not significant" for p in p_values]
    parts = [
        f"{rival} ({test.difference:+.4f}, p = {p:.4f}{remark})"
        for rival, test, p, remark in zip(rivals, tests, p_values, remarks, strict=True)
    ]
    return f"{best} against the next best: {', '.join(parts)}."


def sections(pictures: ReportPictures) -> Iterable[ReportSection]:
    """Yield the sections in their order."""
    report = pictures.report
    yield ReportSection(
        "queries", "Query by query",
        f"What each test query gains or loses in {report.main} against {report.baseline}, sorted.",
        tuple(pictures.differences()),
    )  # fmt: skip
    yield ReportSection(
        "learning", "Learning curves",
        "The metric on the validation queries, one line per fold; the dot marks the kept "
        "iteration.",
        tuple(pictures.learning()),
    )  # fmt: skip
    yield ReportSection(
        "tuning", "Settings tried",
        f"{report.main} on the validation queries by setting: thin lines are folds, the bold "
        "line is the mean. If other settings were tried as well, the best of them counts.",
        tuple(pictures.tuning()),
    )  # fmt: skip
    yield ReportSection(
        "features", "Features",
        "Weights of linear rankers, importances of others: the bar is the mean over folds, "
        "the line the range.",
        tuple(pictures.features()),
    )  # fmt: skip


def _legend_entry(report: ComparisonResult, ranker: str) -> LegendEntry:
    number = report.rankers.index(ranker)
    dashes = " ".join(f"{LEGEND_WIDTH * length:g}" for length in svg_drawings.dashes(number))
    return LegendEntry(ranker, number % svg_drawings.N_COLOURS, dashes)


def _listed_rankers(report: ComparisonResult) -> list[str]:
    """Return the rankers whose lists are shown: the baseline and the best others."""
    best = [r for r in report.ranking() if r != report.baseline][: MAX_LISTS_PER_QUERY - 1]
    return [report.baseline, *best]

"""The page of a machine's agreement with people: tables and pictures, light and dark, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from podium.experiments import svg_drawings
from podium.experiments.page_templates import render_template
from podium.experiments.report_pictures import Picture
from podium.experiments.svg_drawings import RankerCurve
from podium.labelling.judging_statistics.summary import StatisticsTable
from podium.labelling.machine_agreement.agreement_intervals import AnswerAgreement, Estimate
from podium.labelling.machine_agreement.agreement_tables import (
    advice_table,
    advice_text,
    answer_table,
    bias_table,
    change_table,
    comparison_table,
    system_table,
    version_table,
)
from podium.labelling.machine_agreement.agreement_with_people import MachineAgreement
from podium.labelling.machine_agreement.answer_biases import LENGTH_RATIOS
from podium.labelling.machine_agreement.judgments_needed import wilson_interval

MAX_QUERIES_SHOWN = 30
"""The number of queries in the picture of queries: those with the lowest agreement."""
MACHINE, PEOPLE = 0, 1
"""The colours of a machine and of people."""


@dataclass(frozen=True)
class AgreementSection:
    """A section of the page: a question, pictures and tables."""

    anchor: str
    title: str
    text: str
    pictures: tuple[Picture, ...]
    tables: tuple[StatisticsTable, ...]


def render_agreement(report: MachineAgreement) -> str:
    """Return the page as HTML."""
    record = report.record
    names = {"model": "model", "endpoint": "endpoint", "prompt": "prompt", "ask": "asks"}
    facts = [(text, str(record[name])) for name, text in names.items() if record.get(name)]
    return render_template(
        "agreement.html.jinja",
        "the page",
        report=report,
        title=f"{report.machine}: a machine held to account",
        facts=[*facts, ("people", f"{len(report.people):,}")],
        sections=[s for s in sections(report) if s.pictures or any(t.rows for t in s.tables)],
        text_columns=count_text_columns,
        version=version("podium-ltr"),
    )


def count_text_columns(table: StatisticsTable) -> int:
    """Return how many columns of a table are text."""
    words = {"assessor", "model", "prompt", "one", "another", "query", "why"}
    return max(1, sum(name in words for name in table.headers))


def sections(report: MachineAgreement) -> Iterable[AgreementSection]:
    """Yield the sections in their order."""
    yield AgreementSection(
        "agreement", "Agreement",
        "How often a machine and a person give the same answer, beside two people. Kappa and alpha "
        "take off what chance would give.",
        tuple(_agreement_pictures(report)),
        (
            comparison_table(report.judged, "Questions that both judged"),
            comparison_table(report.results, "All pairs of documents in finished results"),
            answer_table(report.judged.machine, report),
        ),
    )  # fmt: skip
    yield AgreementSection(
        "advice", "What people should judge", advice_text(report),
        tuple(_query_pictures(report.main.machine)), (advice_table(report)._replace(note=""),),
    )  # fmt: skip
    yield AgreementSection(
        "biases", "Biases",
        "Without a bias for a side, the left document is preferred in half of all questions. Longer "
        "documents may be better: what counts is the difference from people on the same pairs.",
        tuple(_bias_pictures(report)), (bias_table(report),),
    )  # fmt: skip
    yield AgreementSection(
        "drift", "Drift", "Each model with each prompt, and how far people agree with it.",
        tuple(_version_pictures(report)), (version_table(report), change_table(report)),
    )  # fmt: skip
    yield AgreementSection(
        "systems", "Ranking of systems",
        "The same systems, measured by people's truth and by the machine's. On a rising line both "
        "truths rank them alike.",
        tuple(_system_pictures(report)), (system_table(report),),
    )  # fmt: skip


def _agreement_pictures(report: MachineAgreement) -> Iterable[Picture]:
    for what, compared in (("judged", report.judged), ("results", report.results)):
        both, people = compared.machine, compared.people
        rows: list[tuple[str, int, Estimate]] = []
        for measure in ("same", "kappa", "alpha"):
            rows += [
                (f"{measure}, {who}", colour, getattr(agreement, measure))
                for who, colour, agreement in (
                    ("machine", MACHINE, both),
                    ("people", PEOPLE, people),
                )
                if getattr(agreement, measure).is_defined
            ]
        if rows:
            title = "Questions that both judged" if what == "judged" else "All pairs in results"
            yield Picture(title, _dots(rows, "agreement", what))


def _query_pictures(both: AnswerAgreement) -> Iterable[Picture]:
    """Draw the agreement of the queries with the lowest share."""
    shares = {q: agreed / total for q, (agreed, total) in both.by_query.items()}
    worst = sorted(shares, key=lambda q: (shares[q], -both.by_query[q][1]))[:MAX_QUERIES_SHOWN]
    if not worst:
        return
    rows = [
        (
            f"{q} ({both.by_query[q][1]})",
            MACHINE,
            Estimate(shares[q], *wilson_interval(*both.by_query[q])),
        )
        for q in worst
    ]
    yield Picture(
        "Queries with the lowest agreement", _dots(rows, "same answers", "queries", both.same.value),
        "in brackets: common answers; intervals take them as independent; the line is the mean",
    )  # fmt: skip


def _bias_pictures(report: MachineAgreement) -> Iterable[Picture]:
    rows = [
        (name, colour, estimate)
        for name, colour, estimate in (
            ("left, machine", MACHINE, report.side.left),
            ("left, people", PEOPLE, report.people_side.left),
            ("longer, machine", MACHINE, report.length.longer),
            ("longer, people", PEOPLE, report.people_length.longer),
        )
        if estimate.is_defined
    ]
    if rows:
        yield Picture("Preferences", _dots(rows, "share of preferences", "biases", 0.5))
    curves = []
    for name, series, bias in (
        ("machine", MACHINE, report.length), ("people", PEOPLE, report.people_length),
    ):  # fmt: skip
        points = [(r, s) for r, (n, s) in zip(LENGTH_RATIOS, bias.by_ratio, strict=True) if n]
        if len(points) > 1:
            x, y = zip(*points, strict=True)
            curves.append(RankerCurve(series, x, y, dots=True, title=name))
    if curves:
        alt = (
            "Share of preferences for the longer document, by how much longer it is: "
            + "; ".join(
                f"{c.title} {', '.join(f'{v:.2f}' for v in c.y if v is not None)}" for c in curves
            )
        )
        drawing = svg_drawings.lines(
            curves, "times as long, at least", "prefers the longer one", alt, "lengths"
        )
        yield Picture("Longer documents", drawing, "blue: machine, orange: people")


def _version_pictures(report: MachineAgreement) -> Iterable[Picture]:
    rows = [(str(v.version), i, v.same) for i, v in enumerate(report.versions) if v.same.is_defined]
    if len(rows) > 1:
        yield Picture("Same answers as people", _dots(rows, "same answers", "versions"))


def _system_pictures(report: MachineAgreement) -> Iterable[Picture]:
    systems = report.systems
    if systems is None:
        return
    curves = [
        RankerCurve(i, [x], [y], dots=True, title=name)
        for i, (name, x, y) in enumerate(
            zip(systems.systems, systems.people, systems.machine, strict=True)
        )
    ]
    alt = f"{systems.metric} by people and by the machine: " + ", ".join(
        f"{c.title} {c.x[0]:.3f} and {c.y[0]:.3f}" for c in curves
    )
    drawing = svg_drawings.lines(
        curves, f"{systems.metric} by people", f"{systems.metric} by the machine", alt, "systems"
    )
    yield Picture("Systems by both truths", drawing, f"Kendall's tau {systems.tau}")


def _dots(
    rows: Sequence[tuple[str, int, Estimate]], label: str, name: str, line: float | None = None
) -> svg_drawings.Drawing:
    """Draw estimates with their intervals; one without an interval is a dot."""
    low, high = (
        [e.value if getattr(e, end) != getattr(e, end) else getattr(e, end) for _, _, e in rows]
        for end in ("low", "high")
    )
    alt = f"{label}: " + ", ".join(f"{row} {estimate}" for row, _, estimate in rows)
    return svg_drawings.intervals(
        [row for row, _, _ in rows], [colour for _, colour, _ in rows], [e.value for _, _, e in rows],
        low, high, line, label, alt, name,
    )  # fmt: skip

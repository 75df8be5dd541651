"""Tables of machine agreement, for terminals and pages."""

from __future__ import annotations

from datetime import UTC, datetime

from podium.counted_nouns import count_text
from podium.labelling.judging_statistics.reliability import SelfConsistency
from podium.labelling.judging_statistics.summary import StatisticsTable, number_text
from podium.labelling.machine_agreement.agreement_intervals import AnswerAgreement
from podium.labelling.machine_agreement.agreement_with_people import (
    AgreementComparison,
    MachineAgreement,
)

MAX_ADVISED_QUERIES = 20
"""The number of queries that a table of advice shows."""
REASONS = {"part": "machine and people part", "unjudged": "too few judgments of people"}


def agreement_tables(report: MachineAgreement) -> list[StatisticsTable]:
    """Return the tables that have rows."""
    tables = [
        comparison_table(report.judged, "Agreement on questions that both judged"),
        comparison_table(report.results, "Agreement on all pairs in results"),
        answer_table(report.judged.machine, report),
        bias_table(report),
        version_table(report),
        change_table(report),
        system_table(report),
        advice_table(report),
    ]
    return [table for table in tables if table.rows]


def comparison_table(compared: AgreementComparison, title: str) -> StatisticsTable:
    """Return the agreement of machine and people, and of people among themselves."""
    rows = [
        (who, f"{a.answers:,}", f"{a.queries:,}", str(a.same), str(a.kappa), str(a.alpha))
        for who, a in (("machine and people", compared.machine), ("people", compared.people))
        if a.answers
    ]
    note = f"difference of the shares {compared.difference}" if len(rows) == 2 else ""
    headers = ("who", "answers", "queries", "same", "kappa", "alpha")
    return StatisticsTable(title, headers, tuple(rows), note)


def answer_table(both: AnswerAgreement, report: MachineAgreement) -> StatisticsTable:
    """Return what people answer where the machine gives an answer."""
    table, shares = both.table, both.shares
    rows = tuple(
        (name, f"{int(table[i].sum()):,}", *(number_text(share, 3) for share in shares[i].tolist()))
        for i, name in enumerate(report.values[: len(table)])
        if both.answers
    )
    headers = ("machine says", "answers", *(f"people {v}" for v in report.values[: len(table)]))
    note = "Of two documents, the one with the smaller id comes first." if len(table) == 3 else ""
    return StatisticsTable("Answers", headers, rows, note if report.tool == "preference" else "")


def bias_table(report: MachineAgreement) -> StatisticsTable:
    """Return biases and self-consistency, of the machine and of people."""
    gap = report.length.difference
    rows = (
        ("prefers the left document", str(report.side.left), str(report.people_side.left)),
        ("prefers the longer document", str(report.length.longer), str(report.people_length.longer)),
        (f"the same, on {count_text(report.length.shared, 'common pair')}: difference", str(gap), ""),
        (
            "gives the same answer again",
            _consistency_text(report.consistency), _consistency_text(report.people_consistency),
        ),
    )  # fmt: skip
    return StatisticsTable("Biases and self-consistency", ("what", "machine", "people"), rows)


def _consistency_text(consistency: SelfConsistency) -> str:
    if not consistency.repeats:
        return "-"
    return f"{consistency.same:.3f} of {consistency.repeats:,}"


def version_table(report: MachineAgreement) -> StatisticsTable:
    """Return the models and prompts of machines, and how far people agree with each."""
    rows = tuple(
        (
            version.version.assessor, version.version.model, version.version.prompt,
            f"{version.judgments:,}", f"{day(version.first)} to {day(version.last)}",
            f"{version.shared:,}", str(version.same),
        )
        for version in report.versions
    )  # fmt: skip
    headers = ("assessor", "model", "prompt", "judgments", "when", "common", "same as people")
    return StatisticsTable("Models and prompts", headers, rows)


def change_table(report: MachineAgreement) -> StatisticsTable:
    """Return how often two versions of machines give the same answer."""
    rows = tuple(
        (str(change.before), str(change.after), f"{change.shared:,}", str(change.same))
        for change in report.changes
    )
    return StatisticsTable("Changes between them", ("one", "another", "common", "same"), rows)


def system_table(report: MachineAgreement) -> StatisticsTable:
    """Return the systems by both truths."""
    systems = report.systems
    if systems is None:
        return StatisticsTable("Ranking of systems", ("system",), ())
    by_machine = sorted(systems.machine, reverse=True)
    rows = tuple(
        (name, f"{p:.4f}", f"{m:.4f}", str(place), str(1 + by_machine.index(m)))
        for place, (name, p, m) in enumerate(
            zip(systems.systems, systems.people, systems.machine, strict=True), start=1
        )
    )
    headers = (
        "system",
        f"{systems.metric} by people",
        "by machine",
        "place by people",
        "by machine",
    )
    note = f"Kendall's tau {systems.tau} on {count_text(systems.queries, 'query')}"
    if systems.flips:
        note += "; in opposite order: " + ", ".join(f"{a} and {b}" for a, b in systems.flips[:5])
    return StatisticsTable("Ranking of systems", headers, rows, note)


def advice_table(report: MachineAgreement) -> StatisticsTable:
    """Return the queries that people should judge."""
    advice = report.advice
    rows = tuple(
        (
            row.query, REASONS[row.reason],
            f"{row.agreed:,} of {row.shared:,}" if row.shared else "-",
            f"{row.judgments:,}" if row.judgments else "0: take people's",
        )
        for row in advice.queries[:MAX_ADVISED_QUERIES]
    )  # fmt: skip
    return StatisticsTable(
        "What people should judge", ("query", "why", "same answers", "judgments"), rows,
        advice_text(report),
    )  # fmt: skip


def advice_text(report: MachineAgreement) -> str:
    """Return the advice in sentences."""
    advice = report.advice
    parting = sum(row.reason == "part" for row in advice.queries)
    goal = f"half an interval of {advice.half_width:g}"
    first = (
        f"About {advice.more_answers:,} more common answers are needed for {goal}."
        if advice.more_answers
        else f"The agreement is known to {goal} or better."
    )
    second = (
        f" In {count_text(parting, 'query')} machine and people part: take people's judgments there."
        if parting
        else " In no query machine and people part more than elsewhere."
    )
    third = f" Together people should make {count_text(advice.judgments, 'judgment')}"
    third += f" in {count_text(len(advice.queries), 'query')}." if advice.judgments else "."
    return first + second + third


def day(milliseconds: int) -> str:
    """Return the day of a time in milliseconds since 1970.

    Examples
    --------
    >>> day(0)
    '1970-01-01'
    """
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d")

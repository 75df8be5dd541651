"""All that is to be known of judging at once: costs, agreement, reliability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.labelling.grading import Grades
from podium.labelling.judging_statistics.agreement import (
    PREFERENCES,
    AssessorAgreement,
    Opinion,
    agreement,
)
from podium.labelling.judging_statistics.judgment_times import (
    JudgmentTimes,
    times_by_assessor,
    times_by_method,
)
from podium.labelling.judging_statistics.shared_judgments import (
    Consistency,
    GradeReliability,
    Overlap,
    agreement_on_judged,
    consistency,
    grade_reliability,
    shared_judgments,
    top_k_overlap,
)
from podium.labelling.judging_statistics.tool_comparison import ToolComparison, compare_tools
from podium.labelling.judgments import JudgedTopK
from podium.labelling.tasks import Task

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog, Store


class StatisticsTable(NamedTuple):
    """A table for people: a title, the columns' names, rows of text, and what there is to say of it."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, repr=False)
class Statistics:
    """Statistics of judging.

    Parameters
    ----------
    methods, assessors
        StatisticsTable 1, a row for each method; and the same for each assessor and tool.
    preferences
        StatisticsTable 2: agreement on all pairs of the finished top k.
    grades
        StatisticsTable 3: agreement on preferences inferred from grades.
    judged
        Agreement on the pairs that two assessors really judged.
    tools
        Whether agreement differs between preferences and grades; None where one of them has none.
    reliability
        Of grades themselves.
    overlap
        Of the top k between assessors.
    consistency
        Of assessors with themselves, by tool.
    resamples, seed
        Of the permutation test.
    """

    methods: tuple[JudgmentTimes, ...]
    assessors: tuple[JudgmentTimes, ...]
    preferences: AssessorAgreement
    grades: AssessorAgreement
    judged: AssessorAgreement
    tools: ToolComparison | None
    reliability: GradeReliability
    overlap: Overlap
    consistency: dict[str, Consistency]
    resamples: int
    seed: int

    def __repr__(self) -> str:
        judgments = sum(times.judgments for times in self.methods)
        finished = sum(times.finished for times in self.methods)
        sessions = sum(times.sessions for times in self.methods)
        return (
            f"Statistics({judgments:,} judgments, {finished:,} of {sessions:,} sessions finished)"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; None for what is not defined."""
        return {
            "methods": [times.to_dict() for times in self.methods],
            "assessors": [times.to_dict() for times in self.assessors],
            "agreement": {
                "preferences": self.preferences.to_dict(),
                "grades": self.grades.to_dict(),
                "judged": self.judged.to_dict(),
            },
            "tools": None if self.tools is None else self.tools.to_dict(),
            "reliability": self.reliability.to_dict(),
            "overlap": self.overlap.to_dict(),
            "consistency": {
                tool: number_text.to_dict() for tool, number_text in self.consistency.items()
            },
            "resamples": self.resamples,
            "seed": self.seed,
        }

    def tables(self) -> list[StatisticsTable]:
        """Tables for terminals and pages; those with nothing in them are left out."""
        tables = [
            _costs(self.methods, "Costs by method"),
            _costs(self.assessors, "Costs by assessor"),
            _matrix(self.preferences, "Agreement: preferences, all pairs of the top k"),
            _matrix(self.grades, "Agreement: preferences inferred from grades"),
            _matrix(self.judged, "Agreement: preferences, pairs that both judged"),
            _summary(self),
        ]
        return [table for table in tables if table.rows]


def statistics(store: Store, *, resamples: int = 2_000, seed: int = 0) -> Statistics:
    """Statistics of all judgments of a store.

    Parameters
    ----------
    store
        Where the judgments are.
    resamples, seed
        Of the permutation test between the tools.
    """
    # Results first: a session that ends in between is then not finished yet, as it was.
    results = store.results()
    return statistics_of(store.judgments(), results, resamples=resamples, seed=seed)


def statistics_of(
    log: JudgmentLog,
    results: Mapping[str, JudgedTopK | Grades],
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> Statistics:
    """Statistics of a log; `results` has what each finished task came to, by id."""
    finished = [(task, results.get(task.id)) for task in log.tasks]
    done = [result is not None for _, result in finished]
    judged, graded = shared_judgments(log)
    preferences = agreement(opinions(finished, "preference"))
    grades = agreement(opinions(finished, "grade"))
    tools = None
    if preferences.n_pairs and grades.n_pairs:
        tools = compare_tools(preferences, grades, resamples=resamples, seed=seed)
    return Statistics(
        methods=times_by_method(log, done),
        assessors=times_by_assessor(log, done),
        preferences=preferences,
        grades=grades,
        judged=agreement_on_judged(judged),
        tools=tools,
        reliability=grade_reliability(graded),
        overlap=top_k_overlap([(t.query, r) for t, r in finished if isinstance(r, JudgedTopK)]),
        consistency={"preference": consistency(judged), "grade": consistency(graded)},
        resamples=resamples,
        seed=seed,
    )


def opinions(
    results: Sequence[tuple[Task, JudgedTopK | Grades | None]], tool: str
) -> list[Opinion]:
    """What assessors finally think, of tasks that are finished with one tool."""
    finished = []
    for task, result in results:
        if task.tool != tool or result is None:
            continue
        labels = result.labels(task.documents) if isinstance(result, JudgedTopK) else result.labels
        finished.append(Opinion(task.query, task.assessor, labels))
    return finished


def _costs(rows: Sequence[JudgmentTimes], title: str) -> StatisticsTable:
    by_method = any(row.complexity for row in rows)
    headers = (
        "method" if by_method else "assessor",
        "tool",
        *(("complexity",) if by_method else ()),
        "sessions",
        "finished",
        "judgments",
        "undone",
        "s/judgment",
        "median s",
        "min/query",
        "judgments/query",
    )
    return StatisticsTable(
        title,
        headers,
        tuple(
            (
                row.name,
                row.tool,
                *((f"O({row.complexity})",) if by_method else ()),
                f"{row.sessions:,}",
                f"{row.finished:,}",
                f"{row.judgments:,}",
                f"{row.undone:,}",
                number_text(row.seconds, 2),
                number_text(row.median, 2),
                number_text(row.minutes_per_query, 2),
                number_text(row.judgments_per_query, 2),
            )
            for row in rows
        ),
    )


def _matrix(pairs: AssessorAgreement, title: str) -> StatisticsTable:
    rows = zip(PREFERENCES, pairs.matrix.tolist(), strict=True) if pairs.n_pairs else ()
    return StatisticsTable(
        title,
        ("one says", *(f"another A {c} B" for c in PREFERENCES)),
        tuple((f"A {row} B", *(number_text(value) for value in values)) for row, values in rows),
        f"{count_text(pairs.n_pairs, 'pair')} on {count_text(len(pairs.by_query()), 'query')}: "
        f"{number_text(pairs.overall)} agreed, "
        f"{number_text(pairs.without_ties)} without ties; "
        f"kappa {number_text(pairs.kappa)}, alpha {number_text(pairs.alpha)}",
    )


def _summary(stats: Statistics) -> StatisticsTable:
    rows: list[tuple[str, str]] = []
    if (tools := stats.tools) is not None:
        for name, test in (("", tools.overall), (", without ties", tools.without_ties)):
            value = f"{number_text(test.statistic, 1)}, p = {number_text(test.p_value)}"
            rows.append((f"tools, chi-square{name}", value))
        if (drawn := tools.permutation) is not None:
            value = f"{drawn.difference:+.4f}, p = {drawn.p_value:.4f}"
            value += f" ({count_text(drawn.queries, 'query')}, {drawn.method})"
            rows.append(("tools, permutation by query", value))
    if (overlap := stats.overlap).pairs:
        value = f"{overlap.mean:.4f} (least {overlap.least:.4f}, first place {overlap.first:.4f})"
        rows.append(("overlap of the top k", value))
    if (grades := stats.reliability).documents:
        value = f"same {number_text(grades.same)}, kappa {number_text(grades.kappa)}, "
        value += (
            f"alpha {number_text(grades.nominal)} nominal, {number_text(grades.ordinal)} ordinal"
        )
        rows.append(("grades", value))
    for tool, again in stats.consistency.items():
        if again.repeats:
            value = f"same {number_text(again.same)}, opposite {number_text(again.opposite)}"
            rows.append((f"self-consistency, {tool}", f"{value} of {again.repeats:,} asked again"))
    return StatisticsTable("Tests and reliability", ("what", "value"), tuple(rows))


def number_text(value: float, digits: int = 4) -> str:
    """A number for people; - where there is none."""
    return "-" if value != value else f"{value:,.{digits}f}"


def count_text(n: int, what: str) -> str:
    """A number of things for people.

    Examples
    --------
    >>> count_text(1, "query"), count_text(1200, "query"), count_text(0, "pair")
    ('1 query', '1,200 queries', '0 pairs')
    """
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n:,} {what if n == 1 else several}"

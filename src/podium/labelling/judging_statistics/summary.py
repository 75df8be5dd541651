"""Summary of all statistics of judging: times, agreement, reliability, tests; as tables and JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.counted_nouns import count_text
from podium.errors import UnknownNameError, require
from podium.figure_style import new_axes
from podium.html_tables import html_table
from podium.labelling.grading import Grades
from podium.labelling.judging_statistics.agreement import (
    PREFERENCES,
    AssessorAgreement,
    Opinion,
    agreement,
)
from podium.labelling.judging_statistics.drawings import (
    draw_agreement,
    draw_assessor_times,
    draw_times,
)
from podium.labelling.judging_statistics.judgment_times import (
    JudgmentTimes,
    times_by_assessor,
    times_by_method,
)
from podium.labelling.judging_statistics.reliability import (
    GradeReliability,
    SelfConsistency,
    TopKOverlap,
    grade_reliability,
    self_consistency,
    top_k_overlap,
)
from podium.labelling.judging_statistics.shared_judgments import (
    agreement_on_judged,
    shared_judgments,
)
from podium.labelling.judging_statistics.tool_comparison import ToolComparison, compare_tools
from podium.labelling.judgments import JudgedTopK
from podium.labelling.tasks import Task

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog, Store


AGREEMENT_TITLES = {
    "preferences": "preferences, all pairs",
    "grades": "inferred from grades",
    "judged": "preferences, pairs both judged",
}
"""The agreement matrices that `Statistics.plot` draws, with their titles."""


class StatisticsTable(NamedTuple):
    """A table for people: title, names of the columns, rows of text, and a note."""

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
        Table 1 of the paper, one row per method; and the same by assessor and tool.
    preferences
        Table 2: agreement on all pairs of the finished top k.
    grades
        Table 3: agreement on preferences inferred from grades.
    judged
        Agreement on the pairs that both assessors judged themselves.
    tools
        Whether agreement differs between preferences and grades; None if one of them has no pairs.
    reliability
        Agreement on grades.
    overlap
        Overlap of the top k between assessors.
    consistency
        Agreement of assessors with themselves, by tool.
    resamples, seed
        Settings of the permutation test.
    machines
        The ids of assessors that are machines.
    """

    methods: tuple[JudgmentTimes, ...]
    assessors: tuple[JudgmentTimes, ...]
    preferences: AssessorAgreement
    grades: AssessorAgreement
    judged: AssessorAgreement
    tools: ToolComparison | None
    reliability: GradeReliability
    overlap: TopKOverlap
    consistency: dict[str, SelfConsistency]
    resamples: int
    seed: int
    machines: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        judgments = sum(times.judgments for times in self.methods)
        finished = sum(times.finished for times in self.methods)
        sessions = sum(times.sessions for times in self.methods)
        return (
            f"Statistics({judgments:,} judgments, {finished:,} of {sessions:,} sessions finished)"
        )

    def _repr_html_(self) -> str:
        """Return the tables for notebooks."""
        return "".join(
            html_table(
                table.title, table.headers, len(table.rows), table.rows.__getitem__, table.note
            )
            for table in self.tables()
        ) or html_table(repr(self), ("judgments",), 0, lambda i: ())

    def plot(self, ax: Any = None, *, what: str = "times") -> Any:
        """Draw the times of judgments, or how well assessors agree; return the axes.

        Parameters
        ----------
        what
            ``"times"`` by method, ``"assessors"`` for the times by assessor, or an agreement matrix:
            ``"preferences"``, ``"grades"`` or ``"judged"``. `plot_statistics` draws all.
        """
        ax = new_axes("drawing statistics of judging") if ax is None else ax
        if what == "times":
            draw_times(ax, self.methods)
        elif what == "assessors":
            draw_assessor_times(ax, self.assessors)
        elif what in AGREEMENT_TITLES:
            draw_agreement(ax, getattr(self, what), AGREEMENT_TITLES[what])
        else:
            raise UnknownNameError("picture", what, ["times", "assessors", *AGREEMENT_TITLES])
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Return JSON, with None for what is not defined."""
        return {
            "methods": [times.to_dict() for times in self.methods],
            "assessors": [times.to_dict() for times in self.assessors],
            "machines": sorted(self.machines),
            "agreement": {
                "preferences": self.preferences.to_dict(),
                "grades": self.grades.to_dict(),
                "judged": self.judged.to_dict(),
            },
            "tools": None if self.tools is None else self.tools.to_dict(),
            "reliability": self.reliability.to_dict(),
            "overlap": self.overlap.to_dict(),
            "consistency": {tool: repeats.to_dict() for tool, repeats in self.consistency.items()},
            "resamples": self.resamples,
            "seed": self.seed,
        }

    def tables(self) -> list[StatisticsTable]:
        """Return the tables that have rows, for terminals and pages."""
        tables = [
            _cost_table(self.methods, "Costs by method"),
            _cost_table(self.assessors, "Costs by assessor", self.machines),
            _matrix_table(self.preferences, "Agreement: preferences, all pairs of the top k"),
            _matrix_table(self.grades, "Agreement: preferences inferred from grades"),
            _matrix_table(self.judged, "Agreement: preferences, pairs that both judged"),
            _test_table(self),
        ]
        return [table for table in tables if table.rows]


def statistics(store: Store, *, resamples: int = 2_000, seed: int = 0) -> Statistics:
    """Return statistics of all judgments of a store.

    Parameters
    ----------
    store
        The store with the judgments.
    resamples, seed
        Settings of the permutation test between the tools.
    """
    # Results are read first: a session that ends in between then counts as not finished.
    results = store.results()
    return statistics_of(store.judgments(), results, resamples=resamples, seed=seed)


def statistics_of(
    log: JudgmentLog,
    results: Mapping[str, JudgedTopK | Grades],
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> Statistics:
    """Return statistics of a log; `results` has the result of each finished task by id."""
    finished = [(task, results.get(task.id)) for task in log.tasks]
    is_finished = [result is not None for _, result in finished]
    judged, graded = shared_judgments(log)
    preferences = agreement(opinions(finished, "preference"))
    grades = agreement(opinions(finished, "grade"))
    tools = None
    if preferences.n_pairs and grades.n_pairs:
        tools = compare_tools(preferences, grades, resamples=resamples, seed=seed)
    return Statistics(
        methods=times_by_method(log, is_finished),
        assessors=times_by_assessor(log, is_finished),
        preferences=preferences,
        grades=grades,
        judged=agreement_on_judged(judged),
        tools=tools,
        reliability=grade_reliability(graded),
        overlap=top_k_overlap([(t.query, r) for t, r in finished if isinstance(r, JudgedTopK)]),
        consistency={"preference": self_consistency(judged), "grade": self_consistency(graded)},
        resamples=resamples,
        seed=seed,
        machines=log.machines,
    )


def opinions(
    results: Sequence[tuple[Task, JudgedTopK | Grades | None]], tool: str
) -> list[Opinion]:
    """Return the opinions of assessors, from finished tasks of one tool."""
    final_opinions = []
    for task, result in results:
        if task.tool != tool or result is None:
            continue
        labels = result.labels(task.documents) if isinstance(result, JudgedTopK) else result.labels
        final_opinions.append(Opinion(task.query, task.assessor, labels))
    return final_opinions


def _cost_table(
    rows: Sequence[JudgmentTimes], title: str, machines: Collection[str] = ()
) -> StatisticsTable:
    by_method = any(row.complexity for row in rows)
    headers = (
        "method" if by_method else "assessor",
        "tool",
        *(("judgments grow as",) if by_method else ()),
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
                f"{row.name} (machine)" if row.name in machines else row.name,
                row.tool,
                *((row.complexity,) if by_method else ()),
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


def _matrix_table(pairs: AssessorAgreement, title: str) -> StatisticsTable:
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


def _test_table(stats: Statistics) -> StatisticsTable:
    rows: list[tuple[str, str]] = []
    if (tools := stats.tools) is not None:
        for name, test in (("", tools.overall), (", without ties", tools.without_ties)):
            value = f"{number_text(test.statistic, 1)}, p = {number_text(test.p_value)}"
            rows.append((f"tools, chi-square{name}", value))
        if (permutation := tools.permutation) is not None:
            value = f"{permutation.difference:+.4f}, p = {permutation.p_value:.4f}"
            value += f" ({count_text(permutation.queries, 'query')}, {permutation.method})"
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
    for tool, repeats in stats.consistency.items():
        if repeats.repeats:
            value = f"same {number_text(repeats.same)}, opposite {number_text(repeats.opposite)}"
            rows.append(
                (f"self-consistency, {tool}", f"{value} of {repeats.repeats:,} asked again")
            )
    return StatisticsTable("Tests and reliability", ("what", "value"), tuple(rows))


def number_text(value: float, digits: int = 4) -> str:
    """Return a number for people; "-" for nan."""
    return "-" if value != value else f"{value:,.{digits}f}"


def plot_statistics(statistics: Statistics) -> Any:
    """Return a Figure with agreement matrices and the times of judgments by method and by assessor.

    `Statistics.plot` draws one of the panels.
    """
    library = require("matplotlib.figure", "report", "drawing a figure")
    # Without pyplot there is no global state and no window, and any thread may draw.
    figure = library.Figure(figsize=(11, 7.5), layout="constrained")
    figure.set_facecolor("white")
    panels = figure.subplot_mosaic(
        [["preferences", "grades", "judged"], ["times", "times", "assessors"]]
    )
    for what, ax in panels.items():
        statistics.plot(ax, what=what)
    figure.suptitle(repr(statistics)[len("Statistics(") : -1], fontsize="medium")
    return figure

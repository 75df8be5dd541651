"""A report: the result of a comparison as text, Markdown, LaTeX, CSV, JSON and HTML."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from podium.counted_nouns import count_texts
from podium.data.atomic_files import atomic_writer, make_folder
from podium.errors import DataError
from podium.experiments import html_report, report_tables
from podium.experiments.comparison_result import ComparisonResult
from podium.experiments.fold_results import Seconds
from podium.figure_style import BLUE, MUTED, draw_interval_dots, new_axes, plain_label
from podium.html_tables import html_table
from podium.metrics import QueryDifferences
from podium.typing import Path_

FILES = {
    "report.md": "to_markdown",
    "report.tex": "to_latex",
    "report.csv": "to_csv",
    "report.json": "to_json",
    "report.html": "to_html",
}
"""The files that `Report.save` writes, and the method for each; the last file needs an extra."""
TIMES_FILE = "times.json"


@dataclass(frozen=True, repr=False)
class Report(ComparisonResult):
    """Rankers over folds: means with intervals, tests against the baseline, and the results behind them.

    ``str(report)`` is a table; `to_markdown`, `to_latex` (booktabs), `to_csv`, `to_html` (one page
    that needs no network) and `to_json` write it; `save` writes all of them to a folder. `times`
    are kept separately: without them the same seed gives the same bytes.

    Examples
    --------
    >>> import podium
    >>> data = podium.make_synthetic(n_queries=60, n_docs=10, n_features=5, seed=0)
    >>> report = podium.compare(data, ["regression", "ranksvm"], "NDCG@5", folds=3, tune=False)
    >>> report.ranking()
    ('regression', 'ranksvm')
    >>> Report.from_json(report.to_json()) == report.without_times()
    True
    """

    def __str__(self) -> str:
        return report_tables.text_table(self)

    def __repr__(self) -> str:
        best = self.standing(self.ranking()[0])
        value = "no value" if best.mean is None else f"{best.mean:.4f}"
        result = f"best: {best.ranker} with {self.main} {value}"
        if len(self.failed) == len(self.cells):
            result = f"every ranker failed: {report_tables.failures(self)[0]}"
        sizes = count_texts(
            ranker=len(self.rankers), query=self.data.n_queries, fold=len(self.folds)
        )
        return f"Report({sizes}; {result})"

    def _repr_html_(self) -> str:
        """Return the table of the means for notebooks."""
        headers, rows = report_tables.means(self)
        title, note = report_tables.headline(self), " ".join(report_tables.notes(self))
        return html_table(title, headers, len(rows), rows.__getitem__, note)

    def plot(self, ax: Any = None, *, metric: str | None = None) -> Any:
        """Draw the mean of each ranker with its 95% interval, the best on top; return the axes.

        The baseline is grey. Rankers without a mean are left out.

        Parameters
        ----------
        metric
            A metric of the report; the default is the first.
        """
        rows = [self.standing(ranker, metric) for ranker in self.ranking(metric)]
        rows = [row for row in rows if row.mean is not None]
        ax = new_axes("drawing a report") if ax is None else ax
        draw_interval_dots(
            ax, [f"{row.ranker} {row.mark}".strip() for row in rows],
            [_number(row.mean) for row in rows],
            [(_number(row.low), _number(row.high)) for row in rows],
            [MUTED if row.ranker == self.baseline else BLUE for row in rows],
        )  # fmt: skip
        name = self.main if metric is None else metric
        ax.set_xlabel(f"mean {plain_label(name, 40)} over test queries (95% interval)")
        ax.set_title(f"baseline (grey): {plain_label(self.baseline)}", fontsize="medium")
        return ax

    def differences(
        self, ranker: str, other: str | None = None, metric: str | None = None
    ) -> QueryDifferences:
        """Return the differences between two rankers, query by query: `ranker` minus `other`.

        Parameters
        ----------
        other
            The other ranker; the default is the baseline.
        metric
            A metric of the report; the default is the first.
        """
        second = self.baseline if other is None else other
        name = self.standing(ranker, metric).metric
        qids = np.array([qid for fold in self.folds for qid in fold.qids], dtype=object)
        values = self.per_query(ranker, name) - self.per_query(second, name)
        return QueryDifferences(name, ranker, second, qids, values, self.weights())

    def to_json(self, *, times: bool = False) -> str:
        """Return the report as JSON; without the times, the same seed gives the same text."""
        return msgspec.json.encode(self if times else self.without_times()).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a report from the JSON of `to_json`."""
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DataError(f"this is not the JSON of a report ({error})") from None

    def to_markdown(self) -> str:
        """Return the report as Markdown tables."""
        return report_tables.markdown(self)

    def to_latex(self) -> str:
        """Return the report as a LaTeX table for the package booktabs."""
        return report_tables.latex(self)

    def to_csv(self) -> str:
        """Return the report as CSV, one line per ranker and metric."""
        return report_tables.csv_text(self)

    def to_html(self) -> str:
        """Return the report as one HTML page with pictures; needs the extra ``report``."""
        return html_report.render_page(self)

    def save(self, folder: Path_) -> Path:
        """Write report.html, .md, .tex, .csv and .json, and times.json, to a folder."""
        target = Path(folder)
        make_folder(target)
        _write(target / TIMES_FILE, msgspec.json.encode(self.times).decode())
        for name, method in FILES.items():
            _write(target / name, getattr(self, method)())
        return target

    @classmethod
    def load(cls, folder: Path_) -> Self:
        """Read a report from a folder that `save` wrote, with the times if they are there."""
        report = cls.from_json((Path(folder) / "report.json").read_bytes())
        try:
            content = (Path(folder) / TIMES_FILE).read_bytes()
            return replace(report, times=msgspec.json.decode(content, type=tuple[Seconds, ...]))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return report


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _write(path: Path, text: str) -> None:
    with atomic_writer(path) as write:
        write(text.encode("utf-8", "backslashreplace"))

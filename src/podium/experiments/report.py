"""What a comparison came to: a frozen value that is written as text, tables and one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.data import Fold
from podium.data.durability import make_folder
from podium.data.files import Path_, atomic_writer
from podium.errors import DataError, UnknownNameError
from podium.experiments.checkpoints import fingerprint
from podium.experiments.fold_results import FoldResult, Seconds
from podium.experiments.hardest import HardQuery
from podium.experiments.summary import FoldFacts, RankerSummary, per_query, query_weights, summarise

FILES = {
    "report.md": "to_markdown",
    "report.tex": "to_latex",
    "report.csv": "to_csv",
    "report.json": "to_json",
    "report.html": "to_html",
}
"""What `Report.save` writes, and by which method; last what needs an extra."""
TIMES = "times.json"


@dataclass(frozen=True)
class DataFacts:
    """What was compared on."""

    name: str
    n_queries: int
    n_documents: int
    n_features: int
    fingerprint: str

    @classmethod
    def of(cls, folds: Sequence[Fold], name: str) -> Self:
        """Of the test queries of all folds; the fingerprint is that of all parts."""
        return cls(
            name,
            sum(fold.test.n_queries for fold in folds),
            sum(len(fold.test) for fold in folds),
            folds[0].test.n_features,
            fingerprint([[part.fingerprint for part in fold] for fold in folds]),
        )


@dataclass(frozen=True)
class Report:
    """Rankers over folds: means with intervals, tests against the baseline, and what made them.

    ``str(report)`` is a table; `to_markdown`, `to_latex` (booktabs), `to_csv`, `to_html` (one page that
    needs no network) and `to_json` write it; `save` writes all of them to a folder. `times` are kept
    apart: without them the same seed gives the same bytes.

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

    data: DataFacts
    metrics: tuple[str, ...]
    curve: str
    """The metric of the curves, without its cutoff."""
    rankers: tuple[str, ...]
    baseline: str
    correction: str
    seed: int
    tuned: bool
    version: str
    folds: tuple[FoldFacts, ...] = field(repr=False)
    cells: tuple[FoldResult, ...] = field(repr=False)
    standings: tuple[RankerSummary, ...] = field(repr=False)
    hardest: tuple[HardQuery, ...] = field(repr=False)
    times: tuple[Seconds, ...] = field(default=(), repr=False)
    measured: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Each metric as it is computed, by the name it was asked for; `podium.evaluate` takes it."""

    def __str__(self) -> str:
        from podium.experiments.tables import text

        return text(self)

    @property
    def main(self) -> str:
        """The first metric: settings were chosen by it."""
        return self.metrics[0]

    @property
    def failed(self) -> tuple[FoldResult, ...]:
        """The cells that came to nothing."""
        return tuple(cell for cell in self.cells if cell.error is not None)

    def standing(self, ranker: str, metric: str | None = None) -> RankerSummary:
        """A ranker in a metric, the first one unless given."""
        wanted = (self._known(ranker), self.main if metric is None else metric)
        if wanted[1] not in self.metrics:
            raise UnknownNameError("metric of this report", wanted[1], self.metrics)
        return next(s for s in self.standings if (s.ranker, s.metric) == wanted)

    def ranking(self, metric: str | None = None) -> tuple[str, ...]:
        """The rankers, best mean first; those that failed somewhere last: theirs is of fewer queries."""

        def place(ranker: str) -> tuple[int, float]:
            failed = sum(cell.error is not None for cell in self.cells_of(ranker))
            mean = self.standing(ranker, metric).mean
            return failed, np.inf if mean is None else -mean

        return tuple(sorted(self.rankers, key=place))

    def cells_of(self, ranker: str) -> tuple[FoldResult, ...]:
        """A ranker's cells, fold by fold."""
        self._known(ranker)
        return tuple(cell for cell in self.cells if cell.ranker == ranker)

    def per_query(self, ranker: str, metric: str | None = None) -> NDArray[np.float64]:
        """A ranker's value of each test query, fold after fold; NaN where there is none."""
        standing = self.standing(ranker, metric)
        return per_query(self.cells, self.folds, ranker, standing.metric)

    def curve_of(self, ranker: str) -> tuple[float | None, ...]:
        """The means over all test queries at 1, 2, ... places."""
        cells = [cell for cell in self.cells_of(ranker) if cell.error is None]
        if not cells:
            return ()
        columns = zip(*(cell.curve for cell in cells), strict=True)
        counted = zip(*(cell.counted for cell in cells), strict=True)
        return tuple(map(_weighted, columns, counted))

    def seconds(self, ranker: str) -> tuple[float, float] | None:
        """Mean training time of a fold, and prediction time of all folds; None where unknown."""
        done = {cell.fold for cell in self.cells_of(ranker) if cell.error is None}
        own = [time for time in self.times if time.ranker == ranker and time.fold in done]
        if not own:
            return None
        return sum(t.training for t in own) / len(own), sum(t.prediction for t in own)

    def with_baseline(self, baseline: str, correction: str | None = None) -> Report:
        """The same results with another baseline, or another correction."""
        how = self.correction if correction is None else correction
        summaries = summarise(
            self.cells,
            self.folds,
            self.rankers,
            self.metrics,
            self._known(baseline),
            how,
            self.seed,
        )
        return replace(self, baseline=baseline, correction=how, standings=summaries)

    def weights(self) -> NDArray[np.float64] | None:
        """How much each test query counts, or None where all count the same."""
        return query_weights(self.folds)

    def without_times(self) -> Report:
        """All but the times."""
        return replace(self, times=())

    def to_json(self, *, times: bool = False) -> str:
        """As JSON; the same seed gives the same text, unless the times are asked for."""
        return msgspec.json.encode(self if times else self.without_times()).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """From what `to_json` gave."""
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DataError(f"expected the JSON of a report ({error})") from None

    def to_markdown(self) -> str:
        """As Markdown tables."""
        from podium.experiments.tables import markdown

        return markdown(self)

    def to_latex(self) -> str:
        """As a LaTeX table for the package booktabs."""
        from podium.experiments.tables import latex

        return latex(self)

    def to_csv(self) -> str:
        """As CSV, a line for each ranker and metric."""
        from podium.experiments.tables import csv_lines

        return csv_lines(self)

    def to_html(self) -> str:
        """As one page with pictures that needs nothing else; see the extra ``report``."""
        from podium.experiments.html_report import page

        return page(self)

    def save(self, folder: Path_) -> Path:
        """Write report.html, .md, .tex, .csv and .json, and times.json, to a folder."""
        target = Path(folder)
        make_folder(target)
        _write(target / TIMES, msgspec.json.encode(self.times).decode())
        for name, method in FILES.items():
            _write(target / name, getattr(self, method)())
        return target

    @classmethod
    def load(cls, folder: Path_) -> Report:
        """From a folder that `save` wrote, the times included where they are there."""
        report = cls.from_json((Path(folder) / "report.json").read_bytes())
        try:
            content = (Path(folder) / TIMES).read_bytes()
            return replace(report, times=msgspec.json.decode(content, type=tuple[Seconds, ...]))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return report

    def _known(self, ranker: str) -> str:
        if ranker not in self.rankers:
            raise UnknownNameError("ranker of this report", ranker, self.rankers)
        return ranker


def _weighted(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    pairs = [(v, w) for v, w in zip(values, weights, strict=True) if v is not None]
    total = sum(w for _, w in pairs)
    return sum(v * w for v, w in pairs) / total if total > 0 else None


def _write(path: Path, text: str) -> None:
    with atomic_writer(path) as write:
        write(text.encode("utf-8", "backslashreplace"))

"""The result of a comparison: means, tests against the baseline, and the results behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from podium.data import Fold
from podium.data.judged_by import JudgedBy
from podium.errors import UnknownNameError
from podium.experiments.checkpoints import fingerprint
from podium.experiments.fold_results import FoldResult, Seconds
from podium.experiments.hard_queries import HardQuery
from podium.experiments.summary import FoldFacts, RankerSummary, per_query, query_weights, summarise


@dataclass(frozen=True)
class DataFacts:
    """The data of a comparison."""

    name: str
    n_queries: int
    n_documents: int
    n_features: int
    fingerprint: str

    @classmethod
    def of(cls, folds: Sequence[Fold], name: str) -> Self:
        """Count the test queries of all folds; the fingerprint covers all parts."""
        return cls(
            name,
            sum(fold.test.n_queries for fold in folds),
            sum(len(fold.test) for fold in folds),
            folds[0].test.n_features,
            fingerprint([[part.fingerprint for part in fold] for fold in folds]),
        )


@dataclass(frozen=True)
class ComparisonResult:
    """Rankers over folds: means with intervals, tests against the baseline, and the results behind them.

    A cell is one ranker on one fold. `times` are kept separately: without them the same seed gives
    the same bytes.
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
    """Each metric as it is computed, by the name in the request; `podium.evaluate` takes it."""
    judged_by: JudgedBy | None = None
    """Who judged the test data, as far as it is known."""

    @property
    def main(self) -> str:
        """The first metric; settings were chosen by it."""
        return self.metrics[0]

    @property
    def failed(self) -> tuple[FoldResult, ...]:
        """The cells that failed."""
        return tuple(cell for cell in self.cells if cell.error is not None)

    def standing(self, ranker: str, metric: str | None = None) -> RankerSummary:
        """Return the summary of a ranker in a metric; without one, in the first metric."""
        self._check_ranker(ranker)
        metric = self.main if metric is None else metric
        if metric not in self.metrics:
            raise UnknownNameError("metric of this report", metric, self.metrics)
        return next(s for s in self.standings if (s.ranker, s.metric) == (ranker, metric))

    def ranking(self, metric: str | None = None) -> tuple[str, ...]:
        """Return the rankers, best mean first; those that failed in a fold come last."""

        def place(ranker: str) -> tuple[int, float]:
            failed = sum(cell.error is not None for cell in self.cells_of(ranker))
            mean = self.standing(ranker, metric).mean
            return failed, np.inf if mean is None else -mean

        return tuple(sorted(self.rankers, key=place))

    def cells_of(self, ranker: str) -> tuple[FoldResult, ...]:
        """Return a ranker's cells, fold by fold."""
        self._check_ranker(ranker)
        return tuple(cell for cell in self.cells if cell.ranker == ranker)

    def per_query(self, ranker: str, metric: str | None = None) -> NDArray[np.float64]:
        """Return a ranker's value for each test query, fold after fold; NaN if there is none."""
        standing = self.standing(ranker, metric)
        return per_query(self.cells, self.folds, ranker, standing.metric)

    def curve_of(self, ranker: str) -> tuple[float | None, ...]:
        """Return the means over all test queries at 1, 2, ... places."""
        cells = [cell for cell in self.cells_of(ranker) if cell.error is None]
        if not cells:
            return ()
        columns = zip(*(cell.curve for cell in cells), strict=True)
        counted = zip(*(cell.counted for cell in cells), strict=True)
        return tuple(map(_weighted_mean, columns, counted))

    def seconds(self, ranker: str) -> tuple[float, float] | None:
        """Return the mean training time per fold and the prediction time of all folds; None without times."""
        done = {cell.fold for cell in self.cells_of(ranker) if cell.error is None}
        own = [time for time in self.times if time.ranker == ranker and time.fold in done]
        if not own:
            return None
        return sum(t.training for t in own) / len(own), sum(t.prediction for t in own)

    def with_baseline(self, baseline: str, correction: str | None = None) -> Self:
        """Return the same results with another baseline, or another correction."""
        self._check_ranker(baseline)
        how = self.correction if correction is None else correction
        summaries = summarise(
            self.cells,
            self.folds,
            self.rankers,
            self.metrics,
            baseline,
            how,
            self.seed,
        )
        return replace(self, baseline=baseline, correction=how, standings=summaries)

    def weights(self) -> NDArray[np.float64] | None:
        """Return the weight of each test query, or None if all count the same."""
        return query_weights(self.folds)

    def without_times(self) -> Self:
        """Return the result without the times."""
        return replace(self, times=())

    def _check_ranker(self, ranker: str) -> None:
        if ranker not in self.rankers:
            raise UnknownNameError("ranker of this report", ranker, self.rankers)


def _weighted_mean(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    pairs = [(v, w) for v, w in zip(values, weights, strict=True) if v is not None]
    total = sum(w for _, w in pairs)
    return sum(v * w for v, w in pairs) / total if total > 0 else None

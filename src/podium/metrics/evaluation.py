"""Scores against labels, a run against qrels: every metric, per query and in the mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data import Qrels, RankingData, Run
from podium.errors import UsageError
from podium.metrics.lists import Lists
from podium.metrics.metric import Metric
from podium.metrics.naming import resolve

Floats = NDArray[np.float64]


def mean_over_queries(per_query: Floats, weight: Floats | None = None) -> float:
    """The mean over queries that have a value (not NaN), weighted where queries have weights.

    Examples
    --------
    >>> mean_over_queries(np.array([0.5, np.nan, 1.0]))
    0.75
    """
    known = ~np.isnan(per_query)
    weights = np.ones(len(per_query)) if weight is None else weight
    total = weights[known].sum()
    # Not a dot product: with many threads BLAS adds in another order.
    return float((per_query[known] * weights[known]).sum() / total) if total > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class Result:
    """One metric on one set of scores."""

    metric: Metric
    per_query: Floats
    weight: Floats | None = None

    @property
    def mean(self) -> float:
        """The mean over queries."""
        return mean_over_queries(self.per_query, self.weight)

    def __repr__(self) -> str:
        return f"{self.metric} = {self.mean:.4f} ({len(self.per_query)} queries)"


@dataclass(frozen=True, eq=False)
class Evaluation(Mapping[str, Result]):
    """Results by metric; ask with a name or a metric.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 2, [0, 1], qid=[1, 1])
    >>> result = evaluate(data, [0.2, 0.1], ["MRR", "P@1"])
    >>> result["rr"].mean, result["P@1"].per_query.tolist()
    (0.5, [0.0])
    """

    results: dict[Metric, Result]
    qids: NDArray[np.object_]

    def __getitem__(self, metric: str | Metric) -> Result:
        wanted = resolve(metric)
        if wanted not in self.results:
            have = ", ".join(self)
            raise KeyError(f"{wanted} was not asked for; this evaluation has {have}")
        return self.results[wanted]

    def __iter__(self) -> Iterator[str]:
        return (str(metric) for metric in self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __contains__(self, metric: object) -> bool:
        try:
            return isinstance(metric, str | Metric) and resolve(metric) in self.results
        except UsageError:
            return False

    def __repr__(self) -> str:
        width = max((len(name) for name in self), default=0)
        lines = [f"{name:<{width}}  {self[name].mean:.4f}" for name in self]
        return "\n".join([f"Evaluation over {len(self.qids)} queries", *lines])

    def to_dict(self, per_query: bool = False) -> dict[str, Any]:
        """For JSON: means, and values by query id if wanted (None where a query is skipped)."""
        out: dict[str, Any] = {"queries": len(self.qids), "mean": {}}
        out["mean"] = {name: _number(self[name].mean) for name in self}
        if per_query:
            out["per_query"] = {
                name: {
                    qid: _number(value)
                    for qid, value in zip(self.qids, self[name].per_query.tolist(), strict=True)
                }
                for name in self
            }
        return out


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def evaluate(
    data: RankingData | Qrels,
    scores: ArrayLike | Run,
    metrics: Sequence[str | Metric] | str | Metric,
) -> Evaluation:
    """Evaluate scores on labelled data, or a run on qrels.

    Parameters
    ----------
    data
        RankingData (scores: one a row, in the data's row order), or Qrels (scores: a Run).
    metrics
        Names such as "NDCG@10", or metrics.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=20, seed=1)
    >>> evaluate(data, data.truth(data.X), ["NDCG@10", "P@5"])
    Evaluation over 20 queries
    NDCG@10  0.9656
    P@5      0.7200
    """
    wanted = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    if not wanted:
        raise UsageError("expected at least one metric, such as NDCG@10, got none")
    if isinstance(data, Qrels):
        if not isinstance(scores, Run):
            raise UsageError(f"expected a Run to judge by qrels, got {type(scores).__name__}")
        lists = Lists.of_run(data, scores)
    elif isinstance(data, RankingData):
        if isinstance(scores, Run):
            raise UsageError("expected Qrels to judge a Run, got RankingData; see Qrels.from_data")
        lists = Lists.of_scores(data, scores)
    else:
        raise UsageError(
            f"expected RankingData or Qrels to evaluate on, got {type(data).__name__}; "
            "see read_letor and read_qrels"
        )
    return evaluate_lists(lists, wanted)


def evaluate_lists(lists: Lists, metrics: Sequence[str | Metric]) -> Evaluation:
    """Evaluate lists that are ready: one sort a query for all metrics."""
    resolved = [resolve(metric) for metric in metrics]
    results = {m: Result(m, m.per_query(lists), lists.weight) for m in resolved}
    return Evaluation(results, lists.qids)

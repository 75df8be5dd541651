"""Evaluation of scores on labelled data, or of a run on qrels: values per query, and means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.counted_nouns import count_text
from podium.data import Collection, IndexedRun, Qrels, RankingData, Run
from podium.data.argument_checks import to_array
from podium.data.collections.collection_parts import CollectionPart, collection_parts
from podium.data.indexed_runs import chunks_of_queries
from podium.data.text_files import Progress
from podium.errors import LengthMismatchError, UsageError
from podium.figure_style import new_axes
from podium.html_tables import html_table
from podium.metrics.bootstrap import Interval, bootstrap_interval
from podium.metrics.judged_documents import check_shared_queries
from podium.metrics.metric import Metric
from podium.metrics.metric_figures import draw_metrics
from podium.metrics.naming import resolve
from podium.metrics.query_differences import QueryDifferences
from podium.metrics.query_mean import mean_over_queries
from podium.metrics.ranked_lists import RankedLists
from podium.task_runner import DelayedCall, current_runner
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class MetricResult:
    """One metric on one set of scores."""

    metric: Metric
    per_query: Floats
    weight: Floats | None = None

    @property
    def mean(self) -> float:
        """The mean over queries."""
        return mean_over_queries(self.per_query, self.weight)

    def interval(self, level: float = 0.95, *, resamples: int = 10_000, seed: int = 0) -> Interval:
        """Return the bootstrap interval of the mean, as `bootstrap_interval` does.

        Examples
        --------
        >>> from podium.metrics import parse
        >>> result = MetricResult(parse("NDCG@10"), np.array([0.2, 0.4, 0.6, 0.8] * 25))
        >>> interval = result.interval()
        >>> round(interval.low, 2), round(interval.high, 2)
        (0.46, 0.54)
        """
        return bootstrap_interval(
            self.per_query, level, weight=self.weight, resamples=resamples, seed=seed
        )

    def __repr__(self) -> str:
        return f"{self.metric} = {self.mean:.4f} ({count_text(len(self.per_query), 'query')})"


@dataclass(frozen=True, eq=False)
class Evaluation(Mapping[str, MetricResult]):
    """Results by metric; the key is a name or a metric.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[0.0]] * 2, [0, 1], qid=[1, 1])
    >>> result = evaluate(data, [0.2, 0.1], ["MRR", "P@1"])
    >>> result["rr"].mean, result["P@1"].per_query.tolist()
    (0.5, [0.0])
    """

    results: dict[Metric, MetricResult]
    qids: NDArray[np.object_]

    def __getitem__(self, metric: str | Metric) -> MetricResult:
        key = resolve(metric)
        if key not in self.results:
            raise KeyError(
                f"this evaluation has no metric {key}; expected one of {', '.join(self)}"
            )
        return self.results[key]

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
        return "\n".join([f"Evaluation over {count_text(len(self.qids), 'query')}", *lines])

    def _repr_html_(self) -> str:
        """Return the means as a table for notebooks."""
        rows = [
            (name, r.mean, _interval_text(r), int((~np.isnan(r.per_query)).sum()))
            for name, r in self.items()
        ]
        title = f"Evaluation over {count_text(len(self.qids), 'query')}"
        headers = ("metric", "mean", "95% interval", "queries with a value")
        return html_table(title, headers, len(rows), rows.__getitem__)

    def plot(self, ax: Any = None) -> Any:
        """Draw the means with 95% bootstrap intervals; return the axes.

        If every metric has a cutoff and one has several, each metric is a line over the cutoffs;
        otherwise each metric is a dot.
        """
        ax = new_axes("drawing an evaluation") if ax is None else ax
        means = {metric: result.mean for metric, result in self.results.items()}
        columns = {metric: result.per_query for metric, result in self.results.items()}
        weights = [result.weight for result in self.results.values()]
        draw_metrics(ax, means, columns, weights[0] if weights else None)
        return ax

    def differences(
        self, other: Evaluation, metric: str | Metric | None = None,
        *, names: tuple[str, str] = ("this", "other"),
    ) -> QueryDifferences:  # fmt: skip
        """Return the differences from another evaluation of the same queries, query by query.

        Parameters
        ----------
        metric
            A metric of both; the default is the first that both have.
        names
            The names of the two.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> data = make_synthetic(n_queries=20, seed=1)
        >>> best, worst = (evaluate(data, s * data.y, "NDCG@10") for s in (1, -1))
        >>> best.differences(worst).values.min() >= 0
        np.True_
        """
        if self.qids.tolist() != other.qids.tolist():
            raise UsageError(
                "the two evaluations have different queries; expected the same queries"
            )
        key = self._first_shared(other) if metric is None else resolve(metric)
        ours, theirs = self[key].weight, other[key].weight
        ones = np.ones(len(self.qids))
        if not np.array_equal(ones if ours is None else ours, ones if theirs is None else theirs):
            raise UsageError(
                "the two evaluations have different query weights; expected the same weights"
            )
        values = self[key].per_query - other[key].per_query
        return QueryDifferences(str(key), *names, self.qids, values, self[key].weight)

    def _first_shared(self, other: Evaluation) -> Metric:
        """Return the first metric of this evaluation that another one has, too."""
        shared = next((metric for metric in self.results if metric in other.results), None)
        if shared is None:
            raise UsageError(
                f"the two evaluations have no metric in common: this has {', '.join(self)}, the other "
                f"{', '.join(other)}"
            )
        return shared

    def to_dict(self, per_query: bool = False) -> dict[str, Any]:
        """Return a dict for JSON: means, and with `per_query` the values by query id (None: skipped)."""
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


def _interval_text(result: MetricResult) -> str:
    """Return the interval of a mean as text; empty with fewer than two values."""
    if (~np.isnan(result.per_query)).sum() < 2:
        return ""
    interval = result.interval()
    return f"{interval.low:.4f} to {interval.high:.4f}"


def evaluate(
    data: RankingData | Qrels | Collection,
    scores: ArrayLike | Run | IndexedRun,
    metrics: Sequence[str | Metric] | str | Metric,
    *,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate scores on labelled data, or a run on qrels.

    Parameters
    ----------
    data
        RankingData (scores: one per row, in the data's row order), Qrels (scores: a Run or an
        IndexedRun), or a Collection (either). A Collection is read block by block, without its
        features, and so are the lists of an IndexedRun. On a cluster, each worker reads parts.
    metrics
        Names such as "NDCG@10", or metrics.
    progress
        Called with the number of bytes of a Collection read since the last call.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=20, seed=1)
    >>> evaluate(data, data.truth(data.X), ["NDCG@10", "P@5"])
    Evaluation over 20 queries
    NDCG@10  0.9656
    P@5      0.7200
    """
    metric_list = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    if not metric_list:
        raise UsageError("there is no metric; expected at least one, such as NDCG@10")
    if isinstance(data, Collection):
        return _evaluate_blocks(data, scores, metric_list, progress)
    if isinstance(data, Qrels):
        if isinstance(scores, IndexedRun):
            return _evaluate_indexed(data, scores, metric_list)
        if not isinstance(scores, Run):
            raise UsageError(f"qrels need a Run as scores, got {type(scores).__name__}")
        lists = RankedLists.of_run(data, scores)
    elif isinstance(data, RankingData):
        if isinstance(scores, Run | IndexedRun):
            raise UsageError(
                "a Run needs Qrels as data, got RankingData; Qrels.from_data(data) makes them"
            )
        lists = RankedLists.of_scores(data, scores)
    else:
        raise UsageError(
            f"expected RankingData, a Collection or Qrels as data, got {type(data).__name__}; read_letor "
            "and read_qrels read them"
        )
    return evaluate_lists(lists, metric_list)


def _evaluate_blocks(
    collection: Collection,
    scores: ArrayLike | Run | IndexedRun,
    metrics: Sequence[str | Metric],
    progress: Progress | None,
) -> Evaluation:
    """Evaluate block by block: metrics have one value per query, and blocks have whole queries."""
    # A block may lack the top grade, which is the scale of ERR.
    top = collection.manifest.labels[1]
    if isinstance(scores, Run | IndexedRun):
        check_shared_queries(list(scores.qids), collection.query_ids())
        blocks = collection.blocks(with_features=False, progress=progress)
        lists = (_lists_of_run(Qrels.from_data(block), scores) for block in blocks)
        return _evaluate_each(lists, metrics, top)
    values = _one_per_row(collection, scores)
    runner = current_runner()
    if runner is None:
        blocks = collection.blocks(with_features=False, progress=progress)
        return _evaluate_each(_lists_of_scores(blocks, values), metrics, top)
    calls: list[DelayedCall] = []
    first = 0
    for part in collection_parts(collection):
        own = values[first : first + part.record.rows]
        calls.append((_evaluate_part, (part, own, metrics, top), {}))
        first += part.record.rows
    return join_evaluations(list(runner.run(calls)))


def _one_per_row(collection: Collection, scores: ArrayLike) -> Floats:
    values = to_array(scores, "scores", np.float64)
    if values.shape != (len(collection),):
        raise LengthMismatchError(
            f"expected {len(collection):,} scores, one for each document, got shape {values.shape}"
        )
    return values


def _evaluate_part(
    part: CollectionPart, scores: Floats, metrics: Sequence[str | Metric], top_label: float
) -> Evaluation:
    """Evaluate the scores of one part, on a worker."""
    blocks = part.blocks(with_features=False)
    return _evaluate_each(_lists_of_scores(blocks, scores), metrics, top_label)


def _lists_of_scores(blocks: Iterable[RankingData], scores: Floats) -> Iterator[RankedLists]:
    """Yield the lists of each block by its share of the scores."""
    first = 0
    for block in blocks:
        yield RankedLists.of_scores(block, scores[first : first + len(block)])
        first += len(block)


def _evaluate_each(
    blocks: Iterable[RankedLists], metrics: Sequence[str | Metric], top_label: float
) -> Evaluation:
    """Evaluate the lists of each block on one scale of labels."""
    return join_evaluations(
        [evaluate_lists(replace(lists, scale_top=top_label), metrics) for lists in blocks]
    )


def _evaluate_indexed(qrels: Qrels, run: IndexedRun, metrics: Sequence[str | Metric]) -> Evaluation:
    """Evaluate a run whose lists are read some queries at a time."""
    check_shared_queries(run.qids, qrels.qids.tolist())
    top = float(qrels.values.max(initial=0))
    sizes = dict(zip(qrels.qids.tolist(), qrels.groups.sizes.tolist(), strict=True))
    chunks = chunks_of_queries(list(sizes), lambda qid: sizes[qid] + run.size(qid))
    return _evaluate_each((_lists_of_run(qrels.select(qids), run) for qids in chunks), metrics, top)


def _lists_of_run(qrels: Qrels, run: Run | IndexedRun) -> RankedLists:
    """Return the lists of a run for the queries of qrels."""
    qids = qrels.qids.tolist()
    own = run.read(qids) if isinstance(run, IndexedRun) else run.select(qids)
    return RankedLists.of_run(qrels, own)


def join_evaluations(parts: Sequence[Evaluation]) -> Evaluation:
    """Return the evaluations of several sets of queries, by the same metrics, as one."""
    results = {}
    for metric, first in parts[0].results.items():
        columns = [part.results[metric] for part in parts]
        weight = None
        if first.weight is not None:
            weight = np.concatenate([np.asarray(column.weight) for column in columns])
        per_query = np.concatenate([column.per_query for column in columns])
        results[metric] = MetricResult(metric, per_query, weight)
    return Evaluation(results, np.concatenate([part.qids for part in parts]))


def evaluate_lists(lists: RankedLists, metrics: Sequence[str | Metric]) -> Evaluation:
    """Evaluate ranked lists: one sort per query for all metrics."""
    resolved = [resolve(metric) for metric in metrics]
    results = {m: MetricResult(m, m.per_query(lists), lists.weight) for m in resolved}
    return Evaluation(results, lists.qids)

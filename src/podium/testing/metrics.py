"""The contract of a metric: one number per query, which the order of rows does not change."""

from __future__ import annotations

import numpy as np

from podium.data import RankingData
from podium.metrics import METRICS, Metric, parse
from podium.metrics.ranked_lists import RankedLists
from podium.testing.contract import Contract, reorder, small_data
from podium.typing import Floats


def check_metric(metric: Metric, data: RankingData | None = None) -> None:
    """Check that a metric depends only on labels and on the order of documents by score.

    Parameters
    ----------
    metric
        The metric, with a cutoff if it needs one.
    data
        Labelled queries; the default is generated data with grades. A metric of top-k truth needs
        data with top-k truth.

    Examples
    --------
    >>> from podium.metrics import NDCG
    >>> check_metric(NDCG(gain="linear") @ 5)
    """
    contract = Contract(str(metric))
    data = small_data() if data is None else data
    scores = np.random.default_rng(0).permutation(len(data)).astype(float)
    values = metric.per_query(RankedLists.of_scores(data, scores))
    contract.require(values.shape == (data.n_queries,), "expected one value per query")
    contract.require(bool(np.isfinite(values).all()), "expected finite values")
    _check_name(contract, metric)
    _check_scale(contract, metric, data, scores)
    _check_rows(contract, metric, data, scores)
    _check_empty(contract, metric, data)


def _check_name(contract: Contract, metric: Metric) -> None:
    contract.require(bool(metric.formula), "formula must be set")
    if METRICS.get(metric.name) is type(metric):
        contract.require(parse(str(metric)) == metric, "parse(str(metric)) must be the metric")


def _check_scale(contract: Contract, metric: Metric, data: RankingData, scores: Floats) -> None:
    values = metric.per_query(RankedLists.of_scores(data, scores))
    stretched = metric.per_query(RankedLists.of_scores(data, 3.0 * scores - 7.0))
    contract.require_equal(
        stretched, values, "only the order of the scores may change the values", 1e-12
    )


def _check_rows(contract: Contract, metric: Metric, data: RankingData, scores: Floats) -> None:
    moved, rows = reorder(data)
    values = dict(
        zip(data.qids, metric.per_query(RankedLists.of_scores(data, scores)), strict=True)
    )
    moved_values = metric.per_query(RankedLists.of_scores(moved, scores[rows]))
    expected = [values[qid] for qid in moved.qids]
    contract.require_equal(
        moved_values, expected, "the order of rows must not change the values", 1e-12
    )


def _check_empty(contract: Contract, metric: Metric, data: RankingData) -> None:
    blank = RankingData.from_arrays(np.zeros((3, 1)), np.zeros(3), qid=[1, 1, 1], topk=data.topk)
    lists = RankedLists.of_scores(blank, np.arange(3.0))
    blank_queries = metric.blank(lists)
    contract.require(
        blank_queries.shape == (1,),
        "blank must return one truth value per query: whether it has no relevant document",
    )
    values = metric.per_query(lists)
    if getattr(metric, "empty", 0) != "skip":
        clause = "a query without a relevant document must have a number"
        contract.require(bool(np.isfinite(values).all()), clause)

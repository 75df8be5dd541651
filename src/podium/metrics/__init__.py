"""Metrics of rankings; the name of a metric states its convention."""

from typing import TYPE_CHECKING, Any

from podium.metrics.binary_relevance import MAP, MRR, RBP, Hit, P, Recall
from podium.metrics.bootstrap import Interval, bootstrap_interval, bootstrap_intervals
from podium.metrics.convention_explanation import ConventionExplanation, explain
from podium.metrics.conversion import ConversionFacts, conversions, convert
from podium.metrics.err import ERR
from podium.metrics.evaluation import (
    Evaluation,
    MetricResult,
    evaluate,
    evaluate_lists,
)
from podium.metrics.kappa_metrics import kERR, kNDCG
from podium.metrics.kendall_tau import PairAccuracy, Tau
from podium.metrics.metric import Metric
from podium.metrics.multiple_testing import CORRECTIONS, correct
from podium.metrics.naming import METRICS, parse
from podium.metrics.ndcg import DCG, NDCG
from podium.metrics.paired_tests import TESTS, PairedTest, paired_test
from podium.metrics.query_differences import QueryDifferences
from podium.metrics.query_mean import mean_over_queries
from podium.metrics.ranked_lists import RankedLists
from podium.metrics.streamed_evaluation import StreamedMean, evaluate_stream
from podium.metrics.tool_conventions import RULES

if TYPE_CHECKING:
    from podium.metrics.sklearn_scorer import scorer

__all__ = [
    "CORRECTIONS",
    "ConventionExplanation",
    "ConversionFacts",
    "DCG",
    "ERR",
    "Evaluation",
    "Hit",
    "Interval",
    "MAP",
    "METRICS",
    "MRR",
    "Metric",
    "MetricResult",
    "NDCG",
    "P",
    "PairAccuracy",
    "PairedTest",
    "QueryDifferences",
    "RBP",
    "RULES",
    "RankedLists",
    "Recall",
    "StreamedMean",
    "TESTS",
    "Tau",
    "bootstrap_interval",
    "bootstrap_intervals",
    "conversions",
    "convert",
    "correct",
    "evaluate",
    "evaluate_lists",
    "evaluate_stream",
    "explain",
    "kERR",
    "kNDCG",
    "mean_over_queries",
    "paired_test",
    "parse",
    "scorer",
]


def __getattr__(name: str) -> Any:
    # Importing scikit-learn takes almost a second; only users of `scorer` should wait for it.
    if name == "scorer":
        from podium.metrics.sklearn_scorer import scorer

        return scorer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

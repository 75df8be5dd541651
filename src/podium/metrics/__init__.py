"""How good is a ranking? Metrics whose names say their convention."""

from typing import TYPE_CHECKING, Any

from podium.metrics.binary import MAP, MRR, RBP, Hit, P, Recall
from podium.metrics.conventions import Explanation, Facts, conversions, convert, explain
from podium.metrics.evaluation import (
    Evaluation,
    Result,
    evaluate,
    evaluate_lists,
    mean_over_queries,
)
from podium.metrics.graded import DCG, ERR, NDCG, kERR, kNDCG
from podium.metrics.lists import Lists
from podium.metrics.metric import Metric
from podium.metrics.naming import METRICS, RULES, parse
from podium.metrics.pairs import PairAccuracy, Tau
from podium.metrics.significance import (
    CORRECTIONS,
    TESTS,
    Interval,
    PairedTest,
    bootstrap_interval,
    bootstrap_intervals,
    correct,
    paired_test,
)

if TYPE_CHECKING:
    from podium.metrics.scoring import scorer

__all__ = [
    "CORRECTIONS",
    "DCG",
    "ERR",
    "Evaluation",
    "Explanation",
    "Facts",
    "Hit",
    "Interval",
    "Lists",
    "MAP",
    "METRICS",
    "MRR",
    "Metric",
    "NDCG",
    "P",
    "PairAccuracy",
    "PairedTest",
    "RBP",
    "RULES",
    "Recall",
    "Result",
    "TESTS",
    "Tau",
    "bootstrap_interval",
    "bootstrap_intervals",
    "conversions",
    "convert",
    "correct",
    "evaluate",
    "evaluate_lists",
    "explain",
    "kERR",
    "kNDCG",
    "mean_over_queries",
    "paired_test",
    "parse",
    "scorer",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes most of a second to import; only its users should wait for it.
    if name == "scorer":
        from podium.metrics.scoring import scorer

        return scorer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

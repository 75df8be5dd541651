"""Explanation of a metric: its convention in words, and the tables with which it may be compared."""

from __future__ import annotations

from dataclasses import dataclass

from podium.metrics.metric import Metric
from podium.metrics.naming import resolve
from podium.metrics.tool_conventions import RULES, TABLES, fits_cutoff

_DESCRIPTIONS: dict[tuple[str, object], str] = {
    ("gain", "exp2"): "gain 2^label - 1",
    ("gain", "linear"): "gain = label",
    ("gain", "rank"): "gain (n - rank) / (n - 1), rank by label",
    ("gain", "rank-exp2"): "gain 2^r - 1 of r = (n - rank) / (n - 1)",
    ("discount", "log2"): "discount 1 / log2(1 + position)",
    ("discount", "letor"): "discount 1 at positions 1 and 2, then 1 / log2(position)",
    ("ties", "stable"): "equal scores in input order",
    ("ties", "average"): "equal scores: the mean over their orders",
    ("ties", "worst"): "equal scores in the worst order",
    ("ties", "trec"): "scores as float32, equal scores by document id, descending",
    ("empty", 0): "a query without a relevant document counts 0",
    ("empty", 1): "a query without a relevant document counts 1",
    ("empty", "skip"): "a query without a relevant document is left out of the mean",
    ("short", "keep"): "a list shorter than k counts as it is, without a penalty",
    ("short", "zero"): "a list shorter than k counts 0",
    ("short", "length"): "a list shorter than k is divided by its length",
    ("norm", "all"): "divided by all relevant documents",
    ("norm", "cut"): "divided by the number of relevant documents, at most k",
    ("r_max", "scale"): "top of the scale = largest label of the data",
    ("r_max", "query"): "top of the scale = largest label of the query",
}


def describe(parameter: str, value: object) -> str:
    """Describe one parameter of a convention in words.

    Examples
    --------
    >>> describe("empty", 1)
    'a query without a relevant document counts 1'
    """
    if parameter == "rel":
        return f"relevant means label >= {value}"
    return _DESCRIPTIONS.get((parameter, value), f"{parameter} = {value}")


@dataclass(frozen=True)
class ToolConvention:
    """The metric of another tool, and its differing parameters."""

    rule: str
    tables: str
    metric: Metric
    differs: tuple[str, ...]


@dataclass(frozen=True)
class ConventionExplanation:
    """A metric's convention in words, the tools that share it, and the others."""

    metric: Metric
    words: tuple[str, ...]
    same: tuple[ToolConvention, ...]
    other: tuple[ToolConvention, ...]


def explain(metric: str | Metric) -> ConventionExplanation:
    """Explain what a metric's name means, and which tables its values may be compared with.

    Examples
    --------
    >>> [c.rule for c in explain("NDCG@10").same]
    ['ranklib']
    >>> {c.rule: c.differs for c in explain("NDCG@10").other}["lightgbm"]
    ('empty',)
    """
    metric = resolve(metric)
    conventions = []
    for rule, metrics in RULES.items():
        if metric.name in metrics:
            theirs = type(metric)(**metrics[metric.name], k=metric.k)
            differs = differing_parameters(metric, theirs)
            if not fits_cutoff(rule, metric.name, metric.k):
                differs = (*differs, "cutoff")
            conventions.append(ToolConvention(rule, TABLES[rule], theirs, differs))
    return ConventionExplanation(
        metric,
        tuple(describe(p, v) for p, v in metric.convention().items()),
        tuple(c for c in conventions if not c.differs),
        tuple(c for c in conventions if c.differs),
    )


def differing_parameters(a: Metric, b: Metric) -> tuple[str, ...]:
    """Return the parameters in which two metrics of one kind differ."""
    theirs = b.convention()
    return tuple(name for name, value in a.convention().items() if value != theirs[name])

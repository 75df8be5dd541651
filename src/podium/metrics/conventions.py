"""Which tables a number may be compared with, and exact conversion between conventions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.errors import ConversionError, DataError, UsageError
from podium.metrics.lists import Lists
from podium.metrics.metric import Metric
from podium.metrics.naming import RULES, fits_cutoff, resolve

TABLES = {
    "letor": "LETOR 3.0 and 4.0 baselines (Eval-Score scripts)",
    "lightgbm": "LightGBM's and XGBoost's own ndcg@k and map@k, allRank, CatBoost's benchmarks",
    "trec": "trec_eval, pytrec_eval, ir_measures (ties by document id)",
    "sklearn": "scikit-learn's ndcg_score and dcg_score (tied scores averaged)",
    "ranklib": "RankLib, Elasticsearch and Solr learning-to-rank tutorials",
}

_MEANING: dict[tuple[str, object], str] = {
    ("gain", "exp2"): "gain 2^label - 1",
    ("gain", "linear"): "gain = label",
    ("gain", "rank"): "gain (n - rank) / (n - 1), rank by label",
    ("gain", "rank-exp2"): "gain 2^r - 1 of r = (n - rank) / (n - 1)",
    ("discount", "log2"): "discount 1 / log2(1 + position)",
    ("discount", "letor"): "discount 1 at positions 1 and 2, then 1 / log2(position)",
    ("ties", "stable"): "equal scores in input order",
    ("ties", "average"): "equal scores in random order, expected value",
    ("ties", "worst"): "equal scores in the worst order",
    ("ties", "trec"): "scores as float32, equal scores by document id, descending",
    ("empty", 0): "a query without answer counts 0",
    ("empty", 1): "a query without answer counts 1",
    ("empty", "skip"): "a query without answer is left out of the mean",
    ("short", "keep"): "a list shorter than k is taken as it is",
    ("short", "zero"): "a list shorter than k counts 0",
    ("short", "length"): "a list shorter than k is divided by its own length",
    ("norm", "all"): "divided by all relevant documents",
    ("norm", "cut"): "divided by the relevant documents, at most k",
    ("r_max", "scale"): "top of the scale = largest label of the data",
    ("r_max", "query"): "top of the scale = largest label of the query",
}


def describe(parameter: str, value: object) -> str:
    """One parameter of a convention in words.

    Examples
    --------
    >>> describe("empty", 1)
    'a query without answer counts 1'
    """
    if parameter == "rel":
        return f"relevant means label >= {value}"
    return _MEANING.get((parameter, value), f"{parameter} = {value}")


@dataclass(frozen=True)
class Comparison:
    """How a metric stands to another tool's convention."""

    rule: str
    tables: str
    metric: Metric
    differs: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """A metric's convention in words, and who else computes it so."""

    metric: Metric
    words: tuple[str, ...]
    same: tuple[Comparison, ...]
    other: tuple[Comparison, ...]


def explain(metric: str | Metric) -> Explanation:
    """What a metric's name stands for, and which tables its numbers may be compared with.

    Examples
    --------
    >>> [c.rule for c in explain("NDCG@10").same]
    ['ranklib']
    >>> {c.rule: c.differs for c in explain("NDCG@10").other}["lightgbm"]
    ('empty',)
    """
    metric = resolve(metric)
    compared = []
    for rule, defined in RULES.items():
        if metric.name in defined:
            theirs = type(metric)(**defined[metric.name], k=metric.k)
            differs = differing(metric, theirs)
            if not fits_cutoff(rule, metric.name, metric.k):
                differs = (*differs, "cutoff")
            compared.append(Comparison(rule, TABLES[rule], theirs, differs))
    return Explanation(
        metric,
        tuple(describe(p, v) for p, v in metric.convention().items()),
        tuple(c for c in compared if not c.differs),
        tuple(c for c in compared if c.differs),
    )


def differing(a: Metric, b: Metric) -> tuple[str, ...]:
    """The parameters in which two metrics of one kind differ."""
    theirs = b.convention()
    return tuple(name for name, value in a.convention().items() if value != theirs[name])


@dataclass(frozen=True)
class Facts:
    """What must be known of a data set to convert between conventions.

    blank: the share of queries without answer (weighted as the mean is). binary: labels are 0 and
    1 only. shortest: documents in the shortest list.
    """

    blank: float | None = None
    binary: bool = False
    shortest: int = 0

    def __post_init__(self) -> None:
        if self.blank is not None and not 0 <= self.blank <= 1:
            raise UsageError(f"expected a share of queries from 0 to 1, got {self.blank}")

    @classmethod
    def of(cls, data: RankingData, metric: str | Metric) -> Facts:
        """The facts of a data set, for this metric."""
        lists = Lists.of_scores(data, np.zeros(len(data)))
        blank = resolve(metric).blank(lists)
        return cls(
            blank=float(np.average(blank, weights=data.query_weight)),
            binary=bool(np.isin(data.y, (0, 1)).all()),
            shortest=int(data.groups.sizes.min()),
        )


def convert(value: float, source: str | Metric, target: str | Metric, facts: Facts) -> float:
    """A mean under one convention -> under another, where that is exact.

    Queries without answer can be counted 0, 1 or left out afterwards if their share is known;
    gains are the same where labels are 0 and 1; short lists do not matter where there are none.

    Examples
    --------
    >>> round(convert(0.5022, "NDCG@10", "NDCG(empty='skip')@10", Facts(blank=0.2806)), 4)
    0.6981
    """
    a, b = resolve(source), resolve(target)
    if type(a) is not type(b) or a.k != b.k:
        raise ConversionError(f"expected two conventions of one metric, got {a} and {b}")
    obstacles = [name for name in differing(a, b) if not _irrelevant(name, a, b, facts)]
    if obstacles:
        raise ConversionError(
            f"no exact way from {a} to {b}: they differ in {', '.join(obstacles)}; "
            "evaluate the scores again instead"
        )
    if "empty" not in differing(a, b):
        return value
    if facts.blank is None:
        raise ConversionError(f"from {a} to {b} needs the share of queries without answer")
    answered = _answered_sum(value, a.convention()["empty"], facts.blank)
    if abs(answered) > 1 - facts.blank + 1e-9 or (answered < -1e-9 and a.name != "Tau"):
        raise DataError(
            f"expected a mean that is possible where {facts.blank:g} of the queries are without "
            f"answer, got {value:g} as {a}"
        )
    return _with_blanks(answered, b.convention()["empty"], facts.blank)


def _irrelevant(name: str, a: Metric, b: Metric, facts: Facts) -> bool:
    if name == "empty":
        return True
    if name == "gain":
        gains = {a.convention()["gain"], b.convention()["gain"]}
        return facts.binary and gains == {"exp2", "linear"}
    if name == "norm":
        return a.k is None
    return name == "short" and facts.shortest >= (a.k or 0)


def _answered_sum(value: float, empty: Any, blank: float) -> float:
    """The sum over queries with an answer, per query of all."""
    if blank == 1:
        return 0.0
    return value * (1 - blank) if empty == "skip" else value - float(empty) * blank


def _with_blanks(answered: float, empty: Any, blank: float) -> float:
    if empty != "skip":
        return answered + float(empty) * blank
    if blank == 1:
        raise ConversionError("every query is without answer: skipping them leaves none")
    return answered / (1 - blank)


def conversions(value: float, metric: str | Metric, facts: Facts) -> dict[Metric, float]:
    """The value under every convention it can be converted to exactly.

    Examples
    --------
    >>> for metric, value in conversions(0.502, "NDCG@10", Facts(blank=0.28)).items():
    ...     print(metric, round(value, 3))
    NDCG(rule='lightgbm')@10 0.782
    NDCG(empty='skip')@10 0.697
    """
    metric = resolve(metric)
    targets = [c.metric for c in explain(metric).other if "cutoff" not in c.differs]
    if "empty" in metric.convention():
        targets += [replace(metric, empty=e) for e in (0, 1, "skip")]  # type: ignore[call-arg]
    out: dict[Metric, float] = {}
    for target in targets:
        if target == metric or target in out:
            continue
        try:
            out[target] = convert(value, metric, target, facts)
        except ConversionError:
            continue
    return out

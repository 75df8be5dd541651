"""A small comparison on generated data: what the demo shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from podium.data import Fold, RankingData, SyntheticData, kfold, make_synthetic
from podium.metrics import correct, evaluate, mean_over_queries, paired_test
from podium.metrics.conventions import TABLES
from podium.rankers import FocusedNet, LambdaMART, ListNet, Ranker, RankSVM, Regression

Floats = NDArray[np.float64]

METRICS = ("NDCG@10", "ERR@10", "MAP", "P@5")
_CONVENTIONS = {
    "NDCG(rule='letor')@10": TABLES["letor"],
    "NDCG@10": TABLES["ranklib"],
    "NDCG(empty='skip')@10": "queries without a relevant document left out",
    "NDCG(rule='lightgbm')@10": TABLES["lightgbm"],
}


@dataclass(frozen=True)
class Row:
    """One ranker: the means, and how it compares with the baseline."""

    ranker: str
    means: tuple[float, ...]
    verdict: str


@dataclass(frozen=True)
class Table:
    """The comparison, and one ranker under several conventions."""

    rows: tuple[Row, ...]
    baseline: str
    conventions: tuple[tuple[str, float, str], ...]


@dataclass(frozen=True)
class Demo:
    """A generated problem in five folds.

    Examples
    --------
    >>> run = Demo.prepare(n_queries=40, seed=0)
    >>> [row.ranker for row in run.compare().rows]
    ['best feature', 'regression', 'ranksvm', 'listnet', 'focused-net', 'lambdamart', 'the truth']
    """

    data: SyntheticData
    folds: list[Fold] = field(repr=False)

    @classmethod
    def prepare(cls, n_queries: int = 300, seed: int = 0) -> Demo:
        """Generate the problem."""
        data = make_synthetic(n_queries, "mq2008", n_features=20, noise=0.5, blank=0.28, seed=seed)
        return cls(data, kfold(data, 5, seed=seed))

    def rankers(self) -> dict[str, Callable[[Fold], Floats]]:
        """Name -> scores of the test documents; nothing but the truth has seen them."""
        return {
            "best feature": best_feature,
            "regression": learned(Regression()),
            "ranksvm": learned(RankSVM()),
            "listnet": learned(ListNet()),
            "focused-net": learned(FocusedNet(k=5)),
            "lambdamart": learned(LambdaMART(trees=100, learning_rate=0.1)),
            "the truth": lambda fold: self.data.truth(fold.test.X),
        }

    def compare(self, folds: Iterable[Fold] | None = None) -> Table:
        """Every ranker on every fold's test queries."""
        rankers, baseline = self.rankers(), "best feature"
        names = [*METRICS, *_CONVENTIONS]
        per_query: dict[str, dict[str, list[Floats]]] = {r: {m: [] for m in names} for r in rankers}
        for fold in self.folds if folds is None else folds:
            for ranker, score in rankers.items():
                result = evaluate(fold.test, score(fold), names)
                for name in names:
                    per_query[ranker][name].append(result[name].per_query)
        values = {
            r: {m: np.concatenate(parts) for m, parts in found.items()}
            for r, found in per_query.items()
        }
        others = [r for r in rankers if r != baseline]
        tests = [paired_test(values[r][METRICS[0]], values[baseline][METRICS[0]]) for r in others]
        adjusted = correct([t.p_value for t in tests])
        verdicts = {
            r: f"{t.difference:+.4f}, p = {p:.4f}"
            for r, t, p in zip(others, tests, adjusted, strict=True)
        }
        rows = tuple(
            Row(r, tuple(mean_over_queries(values[r][m]) for m in METRICS), verdicts.get(r, ""))
            for r in rankers
        )
        conventions = tuple(
            (m, mean_over_queries(values["ranksvm"][m]), who) for m, who in _CONVENTIONS.items()
        )
        return Table(rows, baseline, conventions)


def best_feature(fold: Fold) -> Floats:
    """The single feature, up or down, that ranks the training queries best."""
    train: RankingData = fold.train
    signed = [(j, sign) for j in range(train.n_features) for sign in (1.0, -1.0)]
    quality = [evaluate(train, s * train.X[:, j], "NDCG@10")["NDCG@10"].mean for j, s in signed]
    j, sign = signed[int(np.argmax(quality))]
    return np.asarray(sign * fold.test.X[:, j])


def learned(ranker: Ranker) -> Callable[[Fold], Floats]:
    """The ranker, fitted to the fold's training queries and stopped by its validation queries."""
    return lambda fold: ranker.fit(fold.train, valid=fold.valid).predict(fold.test)

"""Why a document stands where it stands, and which features a ranker needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from podium.data import RankingData
from podium.errors import UnknownNameError, UsageError
from podium.metrics import Metric, evaluate
from podium.metrics.naming import resolve
from podium.rankers.models import Floats, Linear
from podium.rankers.ranker import Ranker


@dataclass(frozen=True, eq=False)
class Explanation:
    """One query's list, best first, and what each feature adds to each document's score.

    The contributions of a row and a constant that is the same for all documents add up to the score.
    """

    qid: str
    feature_names: tuple[str, ...]
    rows: NDArray[np.int64]
    docids: tuple[str, ...] | None
    scores: Floats
    labels: Floats
    contributions: Floats

    def top(self, place: int, n: int = 5) -> list[tuple[str, float]]:
        """The n features that matter most for the document at this place (from 1)."""
        if not 1 <= place <= len(self.rows):
            raise UsageError(f"expected a place from 1 to {len(self.rows)}, got {place!r}")
        row = self.contributions[place - 1]
        strongest = np.argsort(-np.abs(row), kind="stable")[:n]
        return [(self.feature_names[j], float(row[j])) for j in strongest]


def feature_weights(ranker: Ranker) -> dict[str, float]:
    """The weights of a linear ranker by feature name, the strongest first.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=50, n_features=3, seed=0)
    >>> list(feature_weights(RankSVM().fit(data)))
    ['f1', 'f3', 'f2']
    """
    check_is_fitted(ranker, "model_")
    if not isinstance(ranker.model_, Linear):
        raise UsageError(
            f"expected a linear ranker, which has weights, got {ranker.name} with a "
            f"{ranker.model_.kind} model; see feature_importance and permutation_importance"
        )
    return _by_name(ranker, ranker.model_.weights)


def feature_importance(ranker: Ranker) -> dict[str, float]:
    """How much a model uses each feature, by name, the most used first; no data is needed.

    Linear: |w|; stumps: the sum of |alpha|; trees: the gain of their splits.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankBoost
    >>> data = make_synthetic(n_queries=50, n_features=3, seed=0)
    >>> list(feature_importance(RankBoost(rounds=20).fit(data)))
    ['f1', 'f3', 'f2']
    """
    check_is_fitted(ranker, "model_")
    return _by_name(ranker, ranker.model_.importance())


def _by_name(ranker: Ranker, values: Floats) -> dict[str, float]:
    names = names_of(ranker)
    strongest = np.argsort(-np.abs(values), kind="stable")
    return {names[j]: float(values[j]) for j in strongest.tolist()}


def names_of(ranker: Ranker) -> tuple[str, ...]:
    """The features' names, or f1..fd."""
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        return tuple(f"f{j}" for j in range(1, ranker.n_features_in_ + 1))
    return tuple(map(str, names))


def explain(ranker: Ranker, data: RankingData, query: str | int) -> Explanation:
    """One query's list with each feature's contribution to each score.

    Parameters
    ----------
    ranker
        Linear, boosted or trees.
    query
        The query's id.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=50, n_features=3, seed=0)
    >>> found = explain(RankSVM().fit(data), data, "q7")
    >>> bool(np.allclose(found.contributions.sum(axis=1), found.scores))
    True
    """
    numbers = {qid: q for q, qid in enumerate(data.qids.tolist())}
    if str(query) not in numbers:
        raise UnknownNameError("query", str(query), numbers)
    part = data.subset([numbers[str(query)]])
    scores = ranker.predict(part)
    contributions = ranker.model_.contributions(part.X)
    order = part.groups.order(scores)
    first = int(data.groups.offsets[numbers[str(query)]])
    return Explanation(
        qid=str(query),
        feature_names=names_of(ranker),
        rows=order + first,
        docids=None if part.docids is None else tuple(part.docids[order].tolist()),
        scores=scores[order],
        labels=part.y[order],
        contributions=contributions[order],
    )


@dataclass(frozen=True, eq=False)
class Importance:
    """How much a metric falls where one feature is shuffled: the mean over repeats, and their spread."""

    metric: str
    value: float
    feature_names: tuple[str, ...]
    mean: Floats
    std: Floats

    def top(self, n: int | None = None) -> list[tuple[str, float]]:
        """The features the metric needs most."""
        order = np.argsort(-self.mean, kind="stable")[:n]
        return [(self.feature_names[j], float(self.mean[j])) for j in order]


def permutation_importance(
    ranker: Ranker,
    data: Any,
    metric: str | Metric = "NDCG@10",
    *,
    repeats: int = 5,
    seed: int = 0,
) -> Importance:
    """How much a ranking metric falls where the values of one feature are shuffled among documents.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=50, n_features=3, seed=0)
    >>> found = permutation_importance(RankSVM().fit(data), data)
    >>> [name for name, fall in found.top(1)]
    ['f1']
    """
    if repeats < 1:
        raise UsageError(f"expected 1 repeat or more, got {repeats}")
    data, wanted = ranker.ranking_data(data), resolve(metric)
    value = evaluate(data, ranker.predict(data), wanted)[wanted].mean
    rng = np.random.default_rng(seed)
    falls = np.empty((repeats, data.n_features))
    X = np.array(data.X)
    for repeat in range(repeats):
        for j in range(data.n_features):
            kept = X[:, j].copy()
            X[:, j] = kept[rng.permutation(len(X))]
            scores = ranker.model_.scores(X, data.groups)
            falls[repeat, j] = value - evaluate(data, scores, wanted)[wanted].mean
            X[:, j] = kept
    return Importance(str(wanted), value, names_of(ranker), falls.mean(axis=0), falls.std(axis=0))

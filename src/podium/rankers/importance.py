"""Feature importance: weights, use by the model, and permutation importance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from podium.data import Groups
from podium.errors import UsageError
from podium.figure_style import new_axes
from podium.html_tables import html_table
from podium.metrics import Metric, evaluate
from podium.metrics.naming import resolve
from podium.rankers.feature_figures import draw_importance
from podium.rankers.models import ROWS_PER_BLOCK, Model
from podium.rankers.ranking_estimator import RankingEstimator
from podium.typing import Floats


def feature_weights(ranker: RankingEstimator) -> dict[str, float]:
    """Return the weights of a linear ranker by feature name, the strongest first.

    The weights of a prepared ranker are those of its prepared features: scaled ones, words of
    categories, indicators of missing values.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=50, n_features=3, seed=0)
    >>> list(feature_weights(RankSVM().fit(data)))
    ['f1', 'f3', 'f2']
    """
    check_is_fitted(ranker, "model_")
    named_weights = ranker.model_.linear_weights(feature_names_of(ranker))
    if named_weights is None:
        raise UsageError(
            f"{ranker.name} has a {ranker.model_.kind} model, which has no weights; expected "
            "a linear ranker. Use feature_importance or permutation_importance"
        )
    return _by_name(*named_weights)


def feature_importance(ranker: RankingEstimator) -> dict[str, float]:
    """Return how much a model uses each feature, by name, the most used first; it needs no data.

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
    return _by_name(feature_names_of(ranker), ranker.model_.importance())


def _by_name(names: Sequence[str], values: Floats) -> dict[str, float]:
    strongest = np.argsort(-np.abs(values), kind="stable")
    return {names[j]: float(values[j]) for j in strongest.tolist()}


def feature_names_of(ranker: RankingEstimator) -> tuple[str, ...]:
    """Return the names of the features, f1..fd if they have none."""
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        return tuple(f"f{j}" for j in range(1, ranker.n_features_in_ + 1))
    return tuple(map(str, names))


@dataclass(frozen=True, eq=False, repr=False)
class Importance:
    """How much a metric falls if one feature is shuffled: mean and standard deviation over the repeats."""

    metric: str
    value: float
    feature_names: tuple[str, ...]
    mean: Floats
    std: Floats

    def top(self, n: int | None = None) -> list[tuple[str, float]]:
        """Return the features that lower the metric most when they are shuffled."""
        order = np.argsort(-self.mean, kind="stable")[:n]
        return [(self.feature_names[j], float(self.mean[j])) for j in order]

    def __repr__(self) -> str:
        strongest = ", ".join(f"{name} {fall:.4f}" for name, fall in self.top(3))
        more = ", ..." if len(self.feature_names) > 3 else ""
        return f"Importance({self.metric} = {self.value:.4f}: {strongest}{more})"

    def _repr_html_(self) -> str:
        """Return the features, the most important first, as a table for notebooks."""
        order = np.argsort(-self.mean, kind="stable")

        def cells(i: int) -> tuple[object, ...]:
            j = order[i]
            return self.feature_names[j], float(self.mean[j]), float(self.std[j])

        title = f"Fall of {self.metric} = {self.value:.4f} if a feature is shuffled"
        return html_table(title, ("feature", "mean fall", "deviation"), len(order), cells)

    def plot(self, ax: Any = None, *, features: int = 15) -> Any:
        """Draw a bar for each of the most important features; return the axes.

        Parameters
        ----------
        features
            How many features to draw.
        """
        if features < 1:
            raise UsageError(f"expected 1 feature or more, got {features!r}")
        order = np.argsort(-self.mean, kind="stable")[:features]
        ax = new_axes("drawing the importance of features") if ax is None else ax
        names = [self.feature_names[j] for j in order]
        label = f"fall of {self.metric} = {self.value:.4f} if the feature is shuffled"
        draw_importance(ax, names, self.mean[order], self.std[order], label)
        return ax


def permutation_importance(
    ranker: RankingEstimator,
    data: Any,
    metric: str | Metric = "NDCG@10",
    *,
    repeats: int = 5,
    seed: int = 0,
) -> Importance:
    """Return how much a ranking metric falls if one feature is shuffled among documents.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=50, n_features=3, seed=0)
    >>> importance = permutation_importance(RankSVM().fit(data), data)
    >>> [name for name, fall in importance.top(1)]
    ['f1']
    """
    if repeats < 1:
        raise UsageError(f"expected 1 repeat or more, got {repeats}")
    data, resolved = ranker.ranking_data(data, scaled=ranker.trained_.scaled), resolve(metric)
    value = evaluate(data, ranker.predict(data), resolved)[resolved].mean
    rng = np.random.default_rng(seed)
    falls = np.empty((repeats, data.n_features))
    X = ranker.model_.align(data)
    for repeat in range(repeats):
        for j in range(data.n_features):
            column = np.asarray(X[:, j])[rng.permutation(len(X))]
            scores = _scores_with(ranker.model_, X, data.groups, j, column)
            falls[repeat, j] = value - evaluate(data, scores, resolved)[resolved].mean
    names = feature_names_of(ranker)
    return Importance(str(resolved), value, names, falls.mean(axis=0), falls.std(axis=0))


def _scores_with(
    model: Model, X: NDArray[Any], groups: Groups, j: int, column: NDArray[Any]
) -> Floats:
    """Return the scores of documents with another column j, some queries at a time."""
    scores = np.empty(len(X))
    for block in groups.blocks(ROWS_PER_BLOCK):
        rows = np.array(X[block.rows])
        rows[:, j] = column[block.rows]
        scores[block.rows] = model.scores(rows, block.groups)
    return scores

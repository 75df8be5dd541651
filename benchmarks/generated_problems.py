"""Generated problems for the study of `auto`: their truth does not come from any public set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import podium
from podium.data import Fold, RankingData
from podium.data.groups import Groups
from podium.typing import Floats

FIVE_GRADES = (0.5, 0.2, 0.15, 0.1, 0.05)
N_LATENT, N_PRODUCTS = 12, 6
"""The hidden qualities of a document, and how many products of two of them count."""


@dataclass(frozen=True)
class GeneratedProblem:
    """A generated problem; each fold is drawn anew, with its own truth.

    Parameters
    ----------
    n_train
        Training queries; half as many validate.
    settings
        Those of the generator.
    web_search
        Whether the generator is `make_web_search`; otherwise `make_synthetic`.
    """

    n_train: int
    n_test: int = 300
    n_folds: int = 1
    n_features: int = 46
    settings: Mapping[str, Any] = field(default_factory=dict)
    web_search: bool = False

    def folds(self) -> list[Fold]:
        """Return the folds."""
        return [self.fold(seed) for seed in range(self.n_folds)]

    def fold(self, seed: int) -> Fold:
        """Generate training, validation and test queries with one truth."""
        sizes = (self.n_train, self.n_train // 2, self.n_test)
        if self.web_search:
            data = make_web_search(sum(sizes), self.n_features, seed, **self.settings)
        else:
            settings = {"n_features": self.n_features, "n_docs": (10, 40), **self.settings}
            data = podium.make_synthetic(n_queries=sum(sizes), seed=seed, **settings)
        ends = np.cumsum(sizes)
        return Fold(*(data.subset(q) for q in np.split(np.arange(ends[-1]), ends[:-1])))


def make_web_search(
    n_queries: int,
    n_features: int,
    seed: int,
    *,
    n_docs: tuple[int, int] = (10, 60),
    cuts: Sequence[float] = (0.55, 0.78, 0.9, 0.97),
    noise: float = 0.8,
    spread: float = 0.08,
    is_normalised: bool = False,
) -> RankingData:
    """Generate queries like those of web search: redundant features of hidden qualities.

    A document has hidden qualities z, shifted for each query. Each feature is a monotone curve of one or two
    of them, with noise; some have steps or are mostly 0. The utility is a sum of thresholds of the
    qualities and of products of two of them; noise and query-dependent cuts make grades of it.

    Parameters
    ----------
    cuts
        The share of documents below each grade from 1.
    noise
        Standard deviation of the noise, in standard deviations of the utility.
    spread
        Standard deviation of the shift of a query's cuts.
    is_normalised
        Whether each feature is scaled to 0..1 within the query, as LETOR's are; grades then
        depend more on the other documents of the query.
    """
    rng = np.random.default_rng(seed)
    groups = Groups.from_sizes(rng.integers(n_docs[0], n_docs[1] + 1, n_queries))
    z = rng.standard_normal((groups.n_rows, N_LATENT))
    z += groups.spread(0.6 * rng.standard_normal((n_queries, N_LATENT)))
    utility = _utility(z, rng)
    utility += noise * utility.std() * rng.standard_normal(groups.n_rows)
    if is_normalised:
        utility -= 0.7 * groups.spread(groups.reduce(np.add, utility) / groups.sizes)
    place = np.argsort(np.argsort(utility)) / groups.n_rows
    # Queries differ in how many good documents they have.
    place = np.clip(place + groups.spread(spread * rng.standard_normal(n_queries)), 0, 1)
    y = np.searchsorted(cuts, place).astype(np.float64)
    X = np.stack([_feature(z, rng) for _ in range(n_features)], axis=1)
    if is_normalised:
        low, high = (groups.spread(groups.reduce(end, X)) for end in (np.minimum, np.maximum))
        X = np.where(high > low, (X - low) / np.maximum(high - low, 1e-12), 0.0)
    return RankingData(
        X=X, y=y, groups=groups, qids=np.arange(n_queries).astype(str).astype(object)
    )


def _utility(z: Floats, rng: np.random.Generator) -> Floats:
    utility = z @ (0.4 * rng.standard_normal(N_LATENT))
    for j in range(N_LATENT):
        cut, height = rng.normal(0, 0.7), rng.normal(0, 0.8)
        utility = utility + height * np.tanh(4 * (z[:, j] - cut))
    for _ in range(N_PRODUCTS):
        i, j = rng.choice(N_LATENT, 2, replace=False)
        utility = utility + rng.normal(0, 0.6) * z[:, i] * z[:, j]
    return np.asarray(utility)


def _feature(z: Floats, rng: np.random.Generator) -> Floats:
    weights = np.zeros(N_LATENT)
    weights[rng.choice(N_LATENT, int(rng.integers(1, 3)), replace=False)] = rng.standard_normal()
    values = z @ weights + rng.uniform(0.2, 1.0) * rng.standard_normal(len(z))
    kind = rng.integers(0, 4)
    if kind == 0:
        return np.exp(values)
    if kind == 1:
        return np.round(np.maximum(values, 0) * 3)
    return np.where(values > 0.8, values, 0.0) if kind == 2 else values


GENERATED: dict[str, GeneratedProblem] = {
    "few queries": GeneratedProblem(60, settings={"grades": FIVE_GRADES, "noise": 1.0}),
    "heavy ties": GeneratedProblem(
        200,
        settings={
            "grades": FIVE_GRADES,
            "noise": 1.0,
            "features": "levels",
            "truth": "nonlinear",
            "n_docs": (10, 30),
        },
    ),
    "web search": GeneratedProblem(400, web_search=True),
}
"""The problems by the names that the docs use."""

_NORMALISED = {"cuts": (0.7, 0.9), "noise": 1.5, "is_normalised": True}
MEMBER_PROBLEMS: dict[str, GeneratedProblem] = {
    "few queries": GENERATED["few queries"],
    "heavy ties": GENERATED["heavy ties"],
    "normalised": GeneratedProblem(
        400, 600, web_search=True, settings={**_NORMALISED, "n_docs": (6, 40)}
    ),
    "more queries": GeneratedProblem(1000, 600, web_search=True, settings=_NORMALISED),
    "many features": GeneratedProblem(
        150, 500, n_features=136, web_search=True, settings={"n_docs": (60, 120), "noise": 1.2}
    ),
    "long lists": GeneratedProblem(
        40,
        n_features=64,
        web_search=True,
        settings={"n_docs": (200, 400), "cuts": (0.98,), "noise": 1.0, "spread": 0.01,
                  "is_normalised": True},
    ),
}  # fmt: skip
"""The problems of `benchmarks.quality_members`."""

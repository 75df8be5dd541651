"""Synthetic data: generated ranking problems whose answer is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.argument_checks import check_seed
from podium.data.groups import Groups
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.errors import UsageError

# Quantiles (every 5%) of the number of documents per query in LETOR 4.0's MQ2008.
_MQ2008_SIZES = (5, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 15, 15, 16, 16, 16, 29, 31, 32, 60, 121)


_FEATURE_SHAPES: dict[
    str, Callable[[NDArray[np.float64], np.random.Generator], NDArray[np.float64]]
] = {
    "normal": lambda X, rng: X,
    "sparse": lambda X, rng: np.where(rng.random(X.shape) < 0.1, X, 0.0),
    "levels": lambda X, rng: np.clip(np.round(X), -1.0, 1.0),
    "skewed": lambda X, rng: np.exp(X),
}


@dataclass(frozen=True)
class TrueUtility:
    """The utility behind the labels: linear, or with a bend and an interaction.

    linear: u(x) = w.x. nonlinear: u(x) = w.x + 2 sin(3 x_1) + 2 x_2 x_3.
    """

    weights: NDArray[np.float64]
    kind: Literal["linear", "nonlinear"] = "linear"

    def __call__(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the utility of each row, without noise."""
        X = np.asarray(X, dtype=np.float64)
        utility = X @ self.weights
        if self.kind == "nonlinear":
            utility = utility + 2 * np.sin(3 * X[:, 0]) + 2 * X[:, 1] * X[:, 2]
        return np.asarray(utility)


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticData(RankingData):
    """RankingData with the utility behind its labels."""

    truth: TrueUtility = field(kw_only=True)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The best weights of a linear ranker (exactly so if the utility is linear)."""
        return self.truth.weights


def make_synthetic(
    n_queries: int = 100,
    n_docs: int | tuple[int, int] | Literal["mq2008"] = (5, 40),
    n_features: int = 46,
    *,
    grades: Sequence[float] = (0.8, 0.15, 0.05),
    truth: Literal["linear", "nonlinear"] = "linear",
    features: Literal["normal", "sparse", "levels", "skewed"] = "normal",
    noise: float = 0.1,
    blank: float = 0.0,
    seed: int = 0,
) -> SyntheticData:
    """Generate a ranking problem whose answer is known.

    Features are standard normal, shifted for each query. The utility u(x) (see TrueUtility)
    is standardised within the query, disturbed by noise, and cut into grades.

    Parameters
    ----------
    n_docs
        Documents per query: a number, a range (low, high), or "mq2008" for the sizes of that set.
        (1000 gives lists like MQ2007-list's.)
    grades
        The share of labels 0, 1, 2, ...
    features
        What the normal features become before the utility is computed. "sparse": nine of ten values
        are 0. "levels": -1, 0 or 1, so that many documents are alike. "skewed": exp(x).
    noise
        Standard deviation of the noise, in standard deviations of the utility.
    blank
        The share of queries without a relevant document (in MQ2008: 0.28).
    seed
        Same seed, same bytes.

    Examples
    --------
    >>> data = make_synthetic(n_queries=3, n_docs=4, seed=0)
    >>> data
    SyntheticData(3 queries, 12 documents, 46 features, labels 0..2)
    >>> data.truth(data.X).shape, data.weights.shape
    ((12,), (46,))
    """
    shares = np.asarray(grades, dtype=np.float64)
    if n_queries < 1 or n_features < 1:
        raise UsageError(f"expected queries and features, got {n_queries} and {n_features}")
    if len(shares) < 2 or (shares < 0).any() or not np.isclose(shares.sum(), 1):
        raise UsageError(f"expected shares of at least two grades that add up to 1, got {grades}")
    if not 0 <= blank <= 1:
        raise UsageError(f"expected a share of blank queries from 0 to 1, got {blank}")
    if truth not in ("linear", "nonlinear"):
        raise UsageError(f"expected truth='linear' or 'nonlinear', got {truth!r}")
    if truth == "nonlinear" and n_features < 3:
        raise UsageError(f"expected 3 features or more for a nonlinear truth, got {n_features}")
    if features not in _FEATURE_SHAPES:
        raise UsageError(f"expected features among {', '.join(_FEATURE_SHAPES)}, got {features!r}")
    if not noise >= 0:
        raise UsageError(f"expected noise of 0 or more, got {noise}")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    groups = Groups.from_sizes(_draw_sizes(rng, n_queries, n_docs))
    X = rng.standard_normal((groups.n_rows, n_features))
    X += groups.spread(0.5 * rng.standard_normal((n_queries, n_features)))
    X = _FEATURE_SHAPES[features](X, rng)
    answer = TrueUtility(rng.standard_normal(n_features) / np.sqrt(n_features), truth)
    utility = _standardise(groups, answer(X)) + noise * rng.standard_normal(groups.n_rows)
    # The share of a query's documents below this one decides its grade. A document covers 1/n of the
    # query; its point in there is drawn once per query, so that shares hold on average in short lists.
    n, draw = groups.spread(groups.sizes), groups.spread(rng.random(n_queries))
    share_below = (n - groups.ranks(utility) + draw) / n
    labels = np.searchsorted(np.cumsum(shares)[:-1], share_below, side="right")
    labels[groups.spread(rng.random(n_queries) < blank)] = 0
    qids = _query_names(n_queries)
    return SyntheticData(
        X=X,
        y=labels.astype(np.float64),
        groups=groups,
        qids=qids,
        docid_column=_document_names(qids, groups),
        truth=answer,
    )


def make_opposed(
    n_lists: int = 100,
    n_docs: int = 40,
    seed: int = 0,
    *,
    n_features: int = 46,
    noise: float = 0.05,
) -> RankingData:
    """Generate total orders whose top degree is ordered against the rest: no linear score fits them.

    A document has a degree, uniform on 0, 1, 2, and t, uniform on (0, 1); its utility is degree + t.

        x_1 = degree + e_1,    x_2 = v (t - 1/2) + e_2,    v = -1 in degree 2, else 1,

    e normal with standard deviation `noise`; the other features are nuisance, normal with standard
    deviation 0.3. Within the top degree a larger x_2 is worse, within the others it is better. The
    label of the document at rank r of n is (n - r) / (n - 1), the relevance of Wu et al., Listwise
    learning to rank by exploring structure of objects (RPC-MTL), section 3.1.

    Parameters
    ----------
    n_lists, n_docs
        How many lists, and documents in each.
    seed
        Same seed, same bytes.
    n_features
        The two features above and the nuisance.
    noise
        Standard deviation of e.

    Examples
    --------
    >>> data = make_opposed(n_lists=2, n_docs=5, seed=0)
    >>> data, sorted(data.y[:5].tolist())
    (RankingData(2 queries, 10 documents, 46 features, labels 0..1), [0.0, 0.25, 0.5, 0.75, 1.0])
    """
    for name, count in (("n_lists", n_lists), ("n_docs", n_docs), ("n_features", n_features)):
        if not isinstance(count, int | np.integer):
            raise UsageError(f"expected {name} to be a whole number, got {count!r}")
    if n_lists < 1 or n_docs < 2:
        raise UsageError(f"expected lists of 2 documents or more, got {n_lists} of {n_docs}")
    if n_features < 2:
        raise UsageError(f"expected 2 features or more, got {n_features}")
    if not noise >= 0:
        raise UsageError(f"expected noise of 0 or more, got {noise}")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    groups = Groups.from_sizes(np.full(n_lists, n_docs))
    n = groups.n_rows
    degree, t = rng.integers(0, 3, n), rng.random(n)
    X = 0.3 * rng.standard_normal((n, n_features))
    X[:, :2] = noise * rng.standard_normal((n, 2))
    X[:, 0] += degree
    X[:, 1] += np.where(degree == 2, -1.0, 1.0) * (t - 0.5)
    qids = _query_names(n_lists)
    return RankingData(
        X=X,
        y=(n_docs - groups.ranks(degree + t)) / (n_docs - 1),
        groups=groups,
        qids=qids,
        docid_column=_document_names(qids, groups),
    )


def _query_names(n: int) -> NDArray[np.object_]:
    return np.array([f"q{q}" for q in range(1, n + 1)], dtype=object)


def _document_names(qids: NDArray[np.object_], groups: Groups) -> Strings:
    return Strings.of(
        f"{qid}-d{place}"
        for qid, n in zip(qids, groups.sizes.tolist(), strict=True)
        for place in range(1, n + 1)
    )


def _draw_sizes(
    rng: np.random.Generator, n_queries: int, n_docs: int | tuple[int, int] | Literal["mq2008"]
) -> NDArray[np.int64]:
    if n_docs == "mq2008":
        levels = np.linspace(0, 1, len(_MQ2008_SIZES))
        return np.round(np.interp(rng.random(n_queries), levels, _MQ2008_SIZES)).astype(np.int64)
    if isinstance(n_docs, str):
        raise UsageError(f"expected a number, a range (low, high) or 'mq2008', got {n_docs!r}")
    low, high = n_docs if isinstance(n_docs, tuple | list) else (n_docs, n_docs)
    if not 1 <= low <= high:
        raise UsageError(f"expected 1 <= low <= high documents per query, got {n_docs}")
    return rng.integers(low, high + 1, n_queries)


def _standardise(groups: Groups, values: NDArray[np.float64]) -> NDArray[np.float64]:
    n = groups.sizes
    centred = values - groups.spread(groups.reduce(np.add, values) / n)
    sd = np.sqrt(groups.reduce(np.add, centred**2) / n)
    return np.asarray(centred / groups.spread(np.where(sd > 0, sd, 1.0)))

"""Parts of a data set by query: a query is never split."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.data.checks import check_seed, to_array
from podium.data.groups import Groups
from podium.data.ranking_data import RankingData, concatenate
from podium.data.strings import Strings
from podium.data.truth import document_noise
from podium.errors import DataError, UsageError


class Fold(NamedTuple):
    """One round of cross-validation."""

    train: RankingData
    valid: RankingData
    test: RankingData


def shuffled_queries(data: RankingData, seed: int) -> NDArray[np.int64]:
    """Query numbers in a random order that depends on the seed and the query ids alone."""
    check_seed(seed)
    return np.argsort(Strings.of(data.qids.tolist()).hash(seed), kind="stable")


def shuffled(data: RankingData, seed: int) -> RankingData:
    """Queries and their documents in a random order that depends on seed, ids, features and labels
    alone: what is learned from it cannot depend on the order of the rows.

    Documents without ids are told apart by their features.
    """
    queries = shuffled_queries(data, seed)
    place = np.empty(data.n_queries, dtype=np.int64)
    place[queries] = np.arange(data.n_queries)
    rows = np.lexsort((-data.y, document_noise(data, seed), data.groups.spread(place)))
    return RankingData(
        X=data.X[rows],
        y=data.y[rows],
        groups=Groups.from_sizes(data.groups.sizes[queries]),
        qids=data.qids[queries],
        docid_column=None if data.docid_column is None else data.docid_column.take(rows),
        query_weight=None if data.query_weight is None else data.query_weight[queries],
        feature_names=data.feature_names,
        topk=data.topk,
        scaled=data.scaled,
        missing=data.missing,
    )


def split(data: RankingData, fractions: Sequence[float], *, seed: int = 0) -> list[RankingData]:
    """Random parts with these shares of the queries.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> train, test = split(make_synthetic(n_queries=10, seed=0), [0.8, 0.2])
    >>> train.n_queries, test.n_queries
    (8, 2)
    """
    shares = to_array(fractions, "fractions", np.float64)
    if len(shares) == 0 or (shares <= 0).any() or not np.isclose(shares.sum(), 1):
        raise UsageError(f"expected fractions above 0 that add up to 1, got {list(fractions)}")
    cuts = np.round(np.cumsum(shares)[:-1] * data.n_queries).astype(np.int64)
    return _parts(data, cuts, seed)


def kfold(data: RankingData, k: int = 5, *, seed: int = 0) -> list[Fold]:
    """k folds by query: the queries in k random parts, rotated as LETOR does.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=10, seed=0), 5)
    >>> [part.n_queries for part in folds[0]]
    [6, 2, 2]
    """
    if not isinstance(k, int | np.integer) or k < 3:
        raise UsageError(f"expected at least 3 folds (train, validation, test), got {k}")
    cuts = np.round(np.arange(1, k) * data.n_queries / k).astype(np.int64)
    return rotate(_parts(data, cuts, seed))


def rotate(parts: Sequence[RankingData]) -> list[Fold]:
    """LETOR's rotation of k parts: fold i tests on part i - 1, validates on part i - 2, trains on
    the rest. With five parts, fold 1 = S1 S2 S3 / S4 / S5, fold 2 = S2 S3 S4 / S5 / S1, ...
    """
    k = len(parts)
    if k < 3:
        raise UsageError(f"expected at least 3 parts (train, validation, test), got {k}")
    _check_parts(parts)
    turned = [[parts[(i + j) % k] for j in range(k)] for i in range(k)]
    return [Fold(concatenate(turn[:-2]), turn[-2], turn[-1]) for turn in turned]


def _check_parts(parts: Sequence[RankingData]) -> None:
    """Raise where a query stands in two parts, or parts have different features."""
    seen: dict[str, int] = {}
    for number, part in enumerate(parts, start=1):
        if part.n_features != parts[0].n_features:
            raise DataError(
                f"expected parts with the same features, got {parts[0].n_features} in part 1 "
                f"and {part.n_features} in part {number}"
            )
        for qid in part.qids.tolist():
            if qid in seen:
                raise DataError(
                    f"expected each query in one part, got query {qid!r} in part {seen[qid]} "
                    f"and in part {number}: it would be trained and tested on"
                )
            seen[qid] = number


def _listed(sizes: Sequence[int], most: int = 10) -> str:
    return "/".join([*map(str, sizes[:most]), *(["..."] if len(sizes) > most else [])])


def _parts(data: RankingData, cuts: NDArray[np.int64], seed: int) -> list[RankingData]:
    bounds = [0, *cuts.tolist(), data.n_queries]
    sizes = [b - a for a, b in itertools.pairwise(bounds)]
    if min(sizes) < 1:
        raise DataError(
            f"expected at least one query in each of {len(sizes)} parts, got "
            f"{_listed(sizes)} of {data.n_queries} queries"
        )
    order = shuffled_queries(data, seed)
    # Within a part queries keep the order of the data.
    return [data.subset(np.sort(order[a:b])) for a, b in itertools.pairwise(bounds)]

"""Splits and folds of a data set by query: the rows of a query stay together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.data.argument_checks import check_seed, to_array
from podium.data.concatenation import concatenate
from podium.data.packed_strings import Strings
from podium.data.ranking_data import RankingData
from podium.data.row_selection import SelectedData
from podium.data.topk_truth import document_noise
from podium.errors import DataError, UsageError


class Fold(NamedTuple):
    """Training, validation and test data of one round of cross-validation."""

    train: RankingData
    valid: RankingData
    test: RankingData


def shuffled_queries(data: RankingData, seed: int) -> NDArray[np.int64]:
    """Return query numbers in a random order that depends on the seed and the query ids alone."""
    check_seed(seed)
    return np.argsort(Strings.of(data.qids.tolist()).hash(seed), kind="stable")


def shuffle(data: RankingData, seed: int) -> RankingData:
    """Return queries and their documents in a random order that is the same for any order of rows.

    The order depends on the seed, ids, features and labels alone, so a ranker cannot learn from the
    order of the rows. Documents without ids are identified by their features, which are not copied.
    """
    queries = shuffled_queries(data, seed)
    order = data.groups.order(-document_noise(data, seed), -data.y)
    return SelectedData(data, queries, order[data.groups.take(queries)[1]])


def split(data: RankingData, fractions: Sequence[float], *, seed: int = 0) -> list[RankingData]:
    """Split the data into random parts with these shares of the queries.

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
    return _cut_at(data, cuts, seed)


def kfold(data: RankingData, k: int = 5, *, seed: int = 0) -> list[Fold]:
    """Make k folds by query: the queries in k random parts, rotated as LETOR does.

    With two folds there is no part left for validation: a quarter of the training queries is held
    out for it.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=10, seed=0), 5)
    >>> [part.n_queries for part in folds[0]]
    [6, 2, 2]
    """
    if not isinstance(k, int | np.integer) or k < 2:
        raise UsageError(f"expected at least 2 folds, got {k}")
    cuts = np.round(np.arange(1, k) * data.n_queries / k).astype(np.int64)
    parts = _cut_at(data, cuts, seed)
    if k > 2:
        return rotate(parts)
    first, second = parts
    return [_hold_out(first, second, seed), _hold_out(second, first, seed)]


def _hold_out(data: RankingData, test: RankingData, seed: int) -> Fold:
    train, valid = split(data, HELD_OUT_SHARES, seed=seed)
    return Fold(train, valid, test)


HELD_OUT_SHARES = (0.75, 0.25)
"""The shares of training and validation queries if there are only two folds."""


def rotate(parts: Sequence[RankingData]) -> list[Fold]:
    """Make k folds from k parts as LETOR does: with five parts, fold 1 = S1 S2 S3 / S4 / S5.

    Fold 2 = S2 S3 S4 / S5 / S1, and so on: fold i tests on part i - 1 and validates on part i - 2.
    """
    k = len(parts)
    if k < 3:
        raise UsageError(f"expected at least 3 parts (train, validation, test), got {k}")
    _check_parts(parts)
    rotations = [[parts[(i + j) % k] for j in range(k)] for i in range(k)]
    return [Fold(concatenate(turn[:-2]), turn[-2], turn[-1]) for turn in rotations]


def _check_parts(parts: Sequence[RankingData]) -> None:
    """Raise DataError if a query is in two parts, or parts have different features."""
    part_of_query: dict[str, int] = {}
    for number, part in enumerate(parts, start=1):
        if part.n_features != parts[0].n_features:
            raise DataError(
                f"expected parts with the same features, got {parts[0].n_features} in part 1 "
                f"and {part.n_features} in part {number}"
            )
        for qid in part.qids.tolist():
            if qid in part_of_query:
                raise DataError(
                    f"expected each query in one part, got query {qid!r} in part {part_of_query[qid]} "
                    f"and in part {number}: it would be trained and tested on"
                )
            part_of_query[qid] = number


def _join_sizes(sizes: Sequence[int], most: int = 10) -> str:
    return "/".join([*map(str, sizes[:most]), *(["..."] if len(sizes) > most else [])])


def _cut_at(data: RankingData, cuts: NDArray[np.int64], seed: int) -> list[RankingData]:
    bounds = [0, *cuts.tolist(), data.n_queries]
    sizes = [b - a for a, b in itertools.pairwise(bounds)]
    if min(sizes) < 1:
        raise DataError(
            f"expected at least one query in each of {len(sizes)} parts, got "
            f"{_join_sizes(sizes)} of {data.n_queries} queries"
        ).advise(
            python="use fewer parts, or larger fractions, or data with more queries",
            command_line="use fewer --folds, or larger --fractions, or data with more queries",
        )
    order = shuffled_queries(data, seed)
    # Within a part, queries keep the order of the data.
    return [data.subset(np.sort(order[a:b])) for a, b in itertools.pairwise(bounds)]

"""Splits and folds of a data set by query: the rows of a query stay together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.data.concatenation import concatenate
from podium.data.mapped_arrays import mapped_file
from podium.data.random_queries import (
    cut_queries,
    fold_cuts,
    fraction_cuts,
    random_order,
    sample_queries,
)
from podium.data.ranking_data import RankingData
from podium.data.row_selection import SelectedData, select_queries
from podium.data.topk_truth import document_noise
from podium.errors import DataError, UsageError


class Fold(NamedTuple):
    """Training, validation and test data of one round of cross-validation."""

    train: RankingData
    valid: RankingData
    test: RankingData


def shuffled_queries(data: RankingData, seed: int) -> NDArray[np.int64]:
    """Return query numbers in a random order that depends on the seed and the query ids alone."""
    return random_order(data.qids.tolist(), seed)


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
    return _cut_at(data, fraction_cuts(fractions, data.n_queries), seed)


def sample(data: RankingData, n_queries: int, *, seed: int = 0) -> RankingData:
    """Return random queries, all with the same chance, in the order of the data.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> sample(make_synthetic(n_queries=10, seed=0), 3).n_queries
    3
    """
    chosen = set(sample_queries(data.qids.tolist(), n_queries, seed))
    return data.subset(np.flatnonzero([qid in chosen for qid in data.qids.tolist()]))


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
    cuts = fold_cuts(k, data.n_queries)
    if k > 2:
        # The rows of a mapped file stay there.
        is_mapped = mapped_file(data.stored_features()[0]) is not None
        return _rotate_rows(data, cuts, seed) if is_mapped else rotate(_cut_at(data, cuts, seed))
    first, second = _cut_at(data, cuts, seed)
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


def _cut_at(data: RankingData, cuts: NDArray[np.int64], seed: int) -> list[RankingData]:
    # Within a part, queries keep the order of the data.
    return [data.subset(part) for part in cut_queries(data.qids.tolist(), cuts, seed)]


def _rotate_rows(data: RankingData, cuts: NDArray[np.int64], seed: int) -> list[Fold]:
    """Make the folds that `rotate` makes, without a copy of the features."""
    parts = cut_queries(data.qids.tolist(), cuts, seed)
    k = len(parts)
    turns = [[parts[(i + j) % k] for j in range(k)] for i in range(k)]
    return [
        Fold(*(select_queries(data, q) for q in (np.concatenate(turn[:-2]), turn[-2], turn[-1])))
        for turn in turns
    ]

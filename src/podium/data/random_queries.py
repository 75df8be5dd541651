"""Random queries: an order of query ids that a seed and the ids alone decide, samples and parts of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.counted_nouns import count_text
from podium.data.argument_checks import check_seed, to_array
from podium.data.packed_strings import Strings
from podium.errors import DataError, UsageError


def random_order(qids: Sequence[str], seed: int) -> NDArray[np.int64]:
    """Return query numbers in a random order that depends on the seed and the query ids alone."""
    check_seed(seed)
    return np.argsort(Strings.of(qids).hash(seed), kind="stable")


def sample_queries(qids: Sequence[str], n: int, seed: int) -> list[str]:
    """Return n random queries, in the order of `qids`; raise if there are fewer.

    Examples
    --------
    >>> sample_queries(["a", "b", "c", "d"], 4, seed=0)
    ['a', 'b', 'c', 'd']
    """
    if not 1 <= n <= len(qids):
        raise UsageError(f"expected 1 to {len(qids):,} queries, as many as there are, got {n:,}")
    return [qids[q] for q in np.sort(random_order(qids, seed)[:n]).tolist()]


def fraction_cuts(fractions: Sequence[float], n_queries: int) -> NDArray[np.int64]:
    """Return where parts with these shares of the queries end, without the last; raise for wrong shares."""
    shares = to_array(fractions, "fractions", np.float64)
    if len(shares) == 0 or (shares <= 0).any() or not np.isclose(shares.sum(), 1):
        raise UsageError(
            "expected fractions above 0 that add up to 1, got "
            + ", ".join(f"{share:g}" for share in shares.tolist())
        )
    return np.asarray(np.round(np.cumsum(shares)[:-1] * n_queries).astype(np.int64))


def fold_cuts(k: int, n_queries: int) -> NDArray[np.int64]:
    """Return where k equal parts end, without the last; raise for fewer than two."""
    if not isinstance(k, int | np.integer) or k < 2:
        raise UsageError(f"expected at least 2 folds, got {k}")
    return np.asarray(np.round(np.arange(1, k) * n_queries / k).astype(np.int64))


def cut_queries(qids: Sequence[str], cuts: NDArray[np.int64], seed: int) -> list[NDArray[np.int64]]:
    """Return the query numbers of random parts that end at these cuts; within a part they are in order."""
    bounds = [0, *cuts.tolist(), len(qids)]
    sizes = [b - a for a, b in itertools.pairwise(bounds)]
    if min(sizes) < 1:
        raise DataError(
            f"expected at least one query in each of {len(sizes)} parts, got "
            f"{count_text(len(qids), 'query')}{_uneven_parts(sizes)}"
        ).advise(
            python="use fewer parts, or larger fractions, or data with more queries",
            command_line="use fewer --folds, or larger --fractions, or data with more queries",
        )
    order = random_order(qids, seed)
    return [np.sort(order[a:b]) for a, b in itertools.pairwise(bounds)]


def _uneven_parts(sizes: Sequence[int], most: int = 10) -> str:
    """Return the sizes of parts, if there are enough queries for all of them."""
    if len(sizes) > sum(sizes):
        return ""
    return " cut as " + "/".join([*map(str, sizes[:most]), *(["..."] if len(sizes) > most else [])])

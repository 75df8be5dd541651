"""Kendall's distance and Spearman's footrule between rankings: full or partial, with ties and weights.

Both rankings are completed to all documents of either ranking: documents that a ranking does not
list are tied with each other behind those that it lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.aggregation.aggregator import check_weights, order_by_scores, weighted_sum
from podium.aggregation.rankings import Ranking, Rankings, documents_of
from podium.data.argument_checks import to_array
from podium.errors import DataError, UsageError
from podium.typing import Document, Floats

DocumentWeights = Mapping[Document, float]


def kendall(
    a: Ranking,
    b: Ranking,
    p: float = 0.5,
    weights: DocumentWeights | None = None,
    swaps: Sequence[float] | None = None,
) -> float:
    """Kendall's distance K^(p): the number of pairs that two rankings put in opposite order.

    A pair counts 1 if the rankings order it oppositely, p if one of them ties it and the other does
    not, and 0 if they agree or both tie it. For top-k lists, with unlisted documents tied behind
    the listed ones, these are the cases of Fagin, Kumar and Sivakumar. Both documents in both
    lists: 1 if in opposite order. Both in one list and one of them in the other: 1 if the first
    list has that one lower. Each in only one list: 1. Both in one list and none in the other: p.

    Fagin, Kumar, Sivakumar, Comparing top k lists, SIAM J. Discrete Math. 2003; with ties: Fagin,
    Kumar, Mahdian, Sivakumar, Vee, Comparing and aggregating rankings with ties, PODS 2004; with
    weights: Kumar, Vassilvitskii, Generalized distances between rankings, WWW 2010.

    Parameters
    ----------
    a, b
        Rankings: documents best first (a tie is a nested list), or documents with scores.
    p
        The value of a pair that only one ranking ties: 0 is optimistic, 1/2 is the mean over both
        orders of the tie, 1 is pessimistic. From 1/2 on, the distance is a metric on rankings of
        one set.
    weights
        One weight of 0 or more per document: a pair is multiplied by w_i w_j.
    swaps
        For full rankings without ties, the cost of a swap of places r and r + 1, r = 1..n-1. Let
        c_r be the sum of the costs above place r. A pair in opposite order counts m_i m_j, where
        m_i = (c_a(i) - c_b(i)) / (a(i) - b(i)) is the mean cost of the swaps that move i, 1 if it
        keeps its place.

    Examples
    --------
    >>> kendall(["a", "b", "c"], ["c", "a", "b"])
    2.0
    >>> kendall(["a", "b", "c"], ["a", "d"])  # (b, d) and (c, d) are opposite, (b, c) is tied
    2.5
    >>> kendall(["a", "b", "c"], ["a", ["b", "c"]], p=0)
    0.0
    >>> kendall(["a", "b", "c"], ["b", "a", "c"], weights={"a": 2, "b": 3, "c": 1})
    6.0
    """
    _check_penalty(p)
    documents, rankings = _complete(a, b)
    places = np.ascontiguousarray(rankings.filled.T)
    if weights is None and swaps is None:
        bounds = np.array([0, len(documents)])
        _, opposite, tied_in_b, tied_in_a = kernels.pair_counts(places[0], places[1], bounds)[
            0
        ].tolist()
        return float(opposite + p * (tied_in_b + tied_in_a))
    w = _weights_of(documents, weights)
    if swaps is not None:
        w = w * _mean_costs(places, _costs_above(rankings, swaps))
    total = 0.0
    for i in range(len(documents) - 1):
        sign_a, sign_b = np.sign(places[:, i + 1 :] - places[:, i : i + 1])
        counts = np.where(sign_a * sign_b < 0, 1.0, np.where(sign_a != sign_b, p, 0.0))
        total += float(w[i] * (counts * w[i + 1 :]).sum())
    return total


def footrule(
    a: Ranking,
    b: Ranking,
    weights: DocumentWeights | None = None,
    swaps: Sequence[float] | None = None,
    location: float | None = None,
) -> float:
    """Spearman's footrule: sum over documents of |place in a - place in b|.

    Documents in a tie share the mean of their places, and unlisted documents share the mean of the
    remaining places: F_prof of Fagin et al., between one and two times Kendall's K^(1/2).

    With weights, a document's place is the weight above it plus half the other weight in its tie,
    and its difference is multiplied by w_i (Kumar and Vassilvitskii).

    Diaconis, Graham, Spearman's footrule as a measure of disarray, J. R. Stat. Soc. B 1977; partial
    lists, ties and weights as in `kendall`.

    Parameters
    ----------
    a, b
        Rankings: documents best first (a tie is a nested list), or documents with scores.
    weights
        One weight of 0 or more per document.
    swaps
        For full rankings without ties, the cost of a swap of places r and r + 1, r = 1..n-1: a
        document's difference is the sum of the costs between its places.
    location
        The place of unlisted documents, instead of the mean of the remaining places. For two lists
        of k documents, k + 1 gives F^(k+1) of Fagin, Kumar and Sivakumar.

    Examples
    --------
    >>> footrule(["a", "b", "c"], ["c", "a", "b"])
    4.0
    >>> footrule(["a", "b"], ["a", "c"])  # b and c: |2 - 3| each
    2.0
    >>> footrule(["a", "b", "c"], ["b", "a", "c"], swaps=[5, 1])
    10.0
    """
    if sum(option is not None for option in (location, weights, swaps)) > 1:
        raise UsageError("location, weights and swaps exclude each other; use only one of them")
    if location is not None and not (np.isfinite(location) and location >= 1):
        raise UsageError(f"expected a location of 1 or more, got {location!r}")
    documents, rankings = _complete(a, b)
    places = rankings.filled.T
    if location is not None:
        places = np.where(rankings.ranked.T, places, location)
    w = _weights_of(documents, weights)
    if swaps is not None:
        places = _costs_above(rankings, swaps)
    elif weights is not None:
        places = np.stack([_weight_above(row, w) for row in places])
    return float((w * np.abs(places[0] - places[1])).sum())


def distance_to(
    rankings: Rankings,
    scores: ArrayLike,
    weights: ArrayLike | None = None,
    p: float = 0.5,
) -> Floats:
    """Return the weighted mean of Kendall's distances from one order to all rankings, query by query.

    sum_a w_a (number of pairs on which ranker a opposes the order + p times the number of pairs
    without its vote), with weights that add up to 1. Kemeny's order minimises it. A ranker votes
    for i over j if it ranks i above j, or i and not j.

    Parameters
    ----------
    rankings
        The rankings of all rankers.
    scores
        One score per row; the highest comes first, and ties are in the order of rows.
    weights
        How much each ranker counts; by default all the same.
    p
        The value of a pair without a vote.

    Examples
    --------
    >>> rankings = Rankings.of([["a", "b", "c"], ["b", "a", "c"], ["a"]])
    >>> distance_to(rankings, [3, 2, 1], weights=[2, 1, 1]).tolist()  # 1/4 (a, b), 1/4 p (b, c)
    [0.375]
    """
    _check_penalty(p)
    order = order_by_scores(scores, rankings, "scores")
    return weighted_distance(rankings, order, check_weights(weights, rankings), p)


def weighted_distance(
    rankings: Rankings, order: NDArray[np.int64], weights: Floats, p: float = 0.5
) -> Floats:
    """Return `distance_to` for rows in order and weights that add up to 1."""
    counts = kernels.disagreements(rankings.places, order, rankings.groups.offsets)
    return weighted_sum(counts[:, :, 0] + p * counts[:, :, 1], weights)


def _check_penalty(p: float) -> None:
    if not isinstance(p, int | float | np.number) or not 0 <= p <= 1:
        raise UsageError(f"expected a penalty p from 0 to 1, got {p!r}")


def _complete(a: Ranking, b: Ranking) -> tuple[list[Document], Rankings]:
    """Return the documents of both rankings, and both rankings completed to them."""
    documents = documents_of([a, b])
    return documents, Rankings.of([a, b], documents)


def _weights_of(documents: Sequence[Document], weights: DocumentWeights | None) -> Floats:
    if weights is None:
        return np.ones(len(documents))
    for document in documents:
        if document not in weights:
            raise DataError(
                f"document {document!r} has no weight; expected one weight per document"
            )
        if not (np.isfinite(weights[document]) and weights[document] >= 0):
            raise DataError(
                f"expected weights of 0 or more, got {weights[document]} for {document!r}"
            )
    return np.array([weights[document] for document in documents], dtype=np.float64)


def _weight_above(places: Floats, w: Floats) -> Floats:
    """Return the weight above each document plus half the other weight in its tie."""
    order = np.argsort(places, kind="stable")
    _, starts = np.unique(places[order], return_index=True)
    ties = np.add.reduceat(w[order], starts)
    middle = np.repeat(np.cumsum(ties) - ties / 2, np.diff(np.append(starts, len(w))))
    out = np.empty(len(w))
    out[order] = middle
    return np.asarray(out - w / 2)


def _costs_above(rankings: Rankings, swaps: Sequence[float]) -> Floats:
    """Return the costs of the swaps from the first place to each document's place, one row per ranking."""
    n, places = rankings.groups.n_rows, rankings.places.T
    if not (np.sort(places, axis=1) == np.arange(1, n + 1)).all():
        raise UsageError("swaps= needs two rankings of the same documents without ties")
    costs = to_array(swaps, "swaps", np.float64)
    if costs.shape != (n - 1,):
        raise UsageError(
            f"expected {n - 1} costs, one per pair of neighbouring places, got {costs.size}"
        )
    if not (np.isfinite(costs) & (costs >= 0)).all():
        raise UsageError(f"expected costs of 0 or more, got {costs[~(costs >= 0)]}")
    return np.append(0.0, np.cumsum(costs))[places.astype(np.int64) - 1]


def _mean_costs(places: Floats, costs: Floats) -> Floats:
    """Return the mean cost of the swaps that move each document from one place to the other."""
    moves = places[0] - places[1]
    return np.where(moves == 0, 1.0, (costs[0] - costs[1]) / np.where(moves == 0, 1.0, moves))

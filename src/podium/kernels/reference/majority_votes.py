"""Majority votes of several rankers on pairs of documents (the table M), and orders that agree with them.

Places have one row per document and one column per ranker; 1 is best, NaN means not ranked. A ranker
votes for i over j if it ranks i above j, or ranks i and not j. Weights add up to 1; ``order`` holds row
numbers, query by query.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from podium.typing import Floats, Rows

TIE_MARGIN = 1e-12
"""A lead this small comes from rounding in the sums of weights; it is not a majority."""


def majority_tables(places: Floats, weights: Floats, offsets: Rows, listed_only: bool) -> Floats:
    """Return the weight of the rankers that vote for i over j, as one n x n table per query.

    With `listed_only`, rankers that do not rank both have no vote.
    """
    filled = places if listed_only else np.where(np.isnan(places), np.inf, places)
    tables = [
        _table(filled[first:last], weights).ravel()
        for first, last in itertools.pairwise(offsets.tolist())
    ]
    return np.concatenate([np.empty(0), *tables])


def _table(places: Floats, weights: Floats) -> Floats:
    table = np.zeros((len(places), len(places)))
    for column, weight in zip(places.T, weights.tolist(), strict=True):
        table += np.where(column[:, None] < column[None, :], weight, 0.0)
    return table


def _leads(places: Floats, weights: Floats, listed_only: bool) -> Floats:
    """Return the lead of i over j in one query."""
    n = len(places)
    bounds = np.array([0, n], dtype=np.int64)
    table = majority_tables(places, weights, bounds, listed_only).reshape(n, n)
    return np.asarray(table - table.T)


Sorting = Callable[[list[int], Floats], list[int]]


def _reorder(
    places: Floats, weights: Floats, order: Rows, offsets: Rows, listed_only: bool, sort: Sorting
) -> Rows:
    """Return each query's documents in the order of sort(documents, leads)."""
    out = np.empty(len(order), dtype=np.int64)
    for a, b in itertools.pairwise(offsets.tolist()):
        out[a:b] = sort((order[a:b] - a).tolist(), _leads(places[a:b], weights, listed_only))
        out[a:b] += a
    return out


def local_kemenisation(places: Floats, weights: Floats, order: Rows, offsets: Rows) -> Rows:
    """Move each document of `order` in turn up while a strict majority ranks it above the one before it."""
    return _reorder(places, weights, order, offsets, False, _climb)


def _climb(documents: list[int], leads: Floats) -> list[int]:
    out: list[int] = []
    for document in documents:
        j = len(out)
        while j > 0 and leads[document, out[j - 1]] > TIE_MARGIN:
            j -= 1
        out.insert(j, document)
    return out


def majority_quicksort(places: Floats, weights: Floats, order: Rows, offsets: Rows) -> Rows:
    """Quicksort by the majority of the rankers that rank both, which is not transitive.

    The pivot is the middle document; documents without a majority stay on their side of it.
    """
    return _reorder(places, weights, order, offsets, True, _quicksort)


def _quicksort(documents: list[int], leads: Floats) -> list[int]:
    out: list[int] = []
    todo = [documents]  # a stack: the next part is the last element
    while todo:
        part = todo.pop()
        if len(part) < 2:
            out += part
            continue
        middle = len(part) // 2
        pivot = part[middle]
        better, worse = [], []
        for i, document in enumerate(part):
            lead = leads[document, pivot]
            if i == middle:
                continue
            if lead > TIE_MARGIN or (lead >= -TIE_MARGIN and i < middle):
                better.append(document)
            else:
                worse.append(document)
        todo += [worse, [pivot], better]
    return out


def kemeny_search(places: Floats, weights: Floats, order: Rows, offsets: Rows) -> Rows:
    """Move each document in turn to the place with the least disagreement, until no document moves."""
    return _reorder(places, weights, order, offsets, False, _insert_until_still)


def _insert_until_still(documents: list[int], leads: Floats) -> list[int]:
    order, moved = documents, True
    while moved:
        moved = False
        for document in list(order):
            p = order.index(document)
            target = _best_place(order, p, leads[document])
            if target != p:
                moved = True
                order.insert(target, order.pop(p))
    return order


def _best_place(order: list[int], p: int, lead: Floats) -> int:
    """Return the best place: a move up gains the leads over the passed documents, a move down loses them.

    Among equal gains, the nearest place wins.
    """
    best, target = TIE_MARGIN, p
    for step, places in ((1.0, range(p - 1, -1, -1)), (-1.0, range(p + 1, len(order)))):
        gain = 0.0
        for q in places:
            gain += step * float(lead[order[q]])
            if gain > best:
                best, target = gain, q
    return target


def disagreements(places: Floats, order: Rows, offsets: Rows) -> Rows:
    """Return for each query and ranker the number of pairs with a vote against the order, and of ties."""
    filled = np.where(np.isnan(places), np.inf, places)
    out = np.zeros((len(offsets) - 1, places.shape[1], 2), dtype=np.int64)
    for q, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        for i, j in itertools.combinations(order[a:b].tolist(), 2):
            out[q, :, 0] += filled[i] > filled[j]
            out[q, :, 1] += filled[i] == filled[j]
    return out


def best_order(table: Floats) -> Rows:
    """Return the order with the least weight of votes against it: table[v, u] for each u above a v.

    Held and Karp's recurrence over all subsets: the best order of a set ends with some v behind the
    best order of the others. It stores 2^n n numbers, which is feasible for about a dozen documents.
    """
    n = len(table)
    behind = np.zeros((n, 1))  # [v, S] = sum over u in S of table[v, u]
    for u in range(n):
        behind = np.concatenate([behind, behind + table[:, u : u + 1]], axis=1)
    sets = np.arange(1 << n)
    best, last = np.zeros(1 << n), np.zeros(1 << n, dtype=np.int64)
    sizes = np.bitwise_count(sets)
    for size in range(1, n + 1):
        layer = sets[sizes == size]
        costs = np.full((n, len(layer)), np.inf)
        for v in range(n):
            inside = (layer >> v & 1).astype(bool)
            others = layer[inside] ^ (1 << v)
            costs[v, inside] = best[others] + behind[v, others]
        last[layer] = costs.argmin(axis=0)
        best[layer] = costs.min(axis=0)
    out, left = [], (1 << n) - 1
    while left:
        out.append(int(last[left]))
        left ^= 1 << out[-1]
    return np.array(out[::-1], dtype=np.int64)

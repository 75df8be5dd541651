"""Interleaving: two rankings in one list, such that clicks show which of them users prefer."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from podium.clicks.optimised_lists import list_distribution
from podium.data import check_seed
from podium.errors import DataError, UnknownNameError, UsageError

Draw = Callable[[], float]
"""Returns a random number from 0 to 1, without 1."""

FIRST, SECOND, NO_TEAM = 0, 1, -1
"""Teams: the ranking that placed a document, or neither."""
MAX_OPTIMISED_DEPTH = 10
"""The number of documents that the optimised method places; it looks at up to 2^10 lists."""


@dataclass(frozen=True)
class InterleavedList:
    """A list of two rankings, and what a click on each document says about them.

    Parameters
    ----------
    docs
        The documents, best first.
    teams
        For each document: 0 if the first ranking placed it, 1 for the second, -1 for neither.
    credits
        What a click adds to the outcome of the list, for methods whose outcome is a sum.
    ranks
        The ranks of each document in the first and in the second ranking, from 1, for the method that
        compares them; 0: not in the part that was interleaved.
    """

    docs: tuple[Any, ...]
    teams: tuple[int, ...]
    credits: tuple[float, ...] | None = None
    ranks: tuple[tuple[int, ...], tuple[int, ...]] | None = None


def interleave(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    method: str = "team-draft",
    *,
    depth: int | None = None,
    seed: int = 0,
) -> InterleavedList:
    """Interleave two rankings of the same documents, best first.

    Parameters
    ----------
    method
        ``team-draft``, ``balanced`` or ``optimised``.
    depth
        The number of documents to interleave. The others follow in the order of the first ranking, without
        a team.

    Examples
    --------
    >>> shown = interleave(["a", "b", "c"], ["c", "a", "b"], seed=1)
    >>> shown.docs, shown.teams
    (('a', 'c', 'b'), (0, 1, 1))
    >>> outcome(shown, ["c"])
    1.0
    """
    check_seed(seed)
    if method not in INTERLEAVING_METHODS:
        raise UnknownNameError("interleaving method", method, INTERLEAVING_METHODS)
    for ranking in (first, second):
        if len(set(ranking)) < len(ranking):
            raise DataError(f"expected a ranking without repeats, got {list(ranking)!r:.80}")
    if depth is not None and depth < 1:
        raise UsageError(f"expected a depth of 1 or more, got {depth}")
    return interleave_by_draws(first, second, method, depth, random.Random(seed).random)


def interleave_by_draws(
    first: Sequence[Any], second: Sequence[Any], method: str, depth: int | None, draw: Draw
) -> InterleavedList:
    """Interleave as `interleave` does, by random numbers of the caller, without checks."""
    n_union = len({*first, *second})
    n = n_union if depth is None else min(depth, n_union)
    if method == "optimised":
        n = min(n, MAX_OPTIMISED_DEPTH)
    top = INTERLEAVING_METHODS[method](first, second, n, draw)
    placed = set(top.docs)
    rest = [doc for doc in first if doc not in placed]
    if not rest:
        return top
    none = [0] * len(rest)
    return InterleavedList(
        (*top.docs, *rest),
        (*top.teams, *[NO_TEAM] * len(rest)),
        None if top.credits is None else (*top.credits, *[0.0] * len(rest)),
        None if top.ranks is None else ((*top.ranks[0], *none), (*top.ranks[1], *none)),
    )


def team_draft(first: Sequence[Any], second: Sequence[Any], n: int, draw: Draw) -> InterleavedList:
    """Place n documents as two captains choose teams: in each round a coin says who chooses first.

    A captain chooses the best document of its ranking that is not placed. Radlinski, Kurup and Joachims,
    "How Does Clickthrough Data Reflect Retrieval Quality?", CIKM 2008.

    Examples
    --------
    >>> team_draft("abc", "bca", 3, iter([0.9, 0.1]).__next__)
    InterleavedList(docs=('b', 'a', 'c'), teams=(1, 0, 0), credits=None, ranks=None)
    """
    rankings, nexts, placed = (first, second), [0, 0], set[Any]()
    docs, teams = list[Any](), list[int]()
    while len(docs) < n:
        captain = FIRST if draw() < 0.5 else SECOND
        for team in (captain, 1 - captain):
            ranking, at = rankings[team], nexts[team]
            while at < len(ranking) and ranking[at] in placed:
                at += 1
            nexts[team] = at
            if at < len(ranking) and len(docs) < n:
                placed.add(ranking[at])
                docs.append(ranking[at])
                teams.append(team)
    return InterleavedList(tuple(docs), tuple(teams))


def balanced(first: Sequence[Any], second: Sequence[Any], n: int, draw: Draw) -> InterleavedList:
    """Place n documents so that each prefix has the top of both rankings, to about the same depth.

    A coin says which ranking begins; then the ranking that is less deep adds its next document, unless it is
    placed. Joachims, "Optimizing Search Engines using Clickthrough Data", KDD 2002. Clicks at random prefer
    one ranking for some pairs: of abc and bca, the second wins two of three single clicks.

    Examples
    --------
    >>> balanced("abc", "bca", 3, lambda: 0.1).docs
    ('a', 'b', 'c')
    """
    beginner = FIRST if draw() < 0.5 else SECOND
    rankings, depths, placed = (first, second), [0, 0], set[Any]()
    docs, teams = list[Any](), list[int]()
    while len(docs) < n:
        is_begin = depths[beginner] <= depths[1 - beginner]
        team = beginner if is_begin else 1 - beginner
        if depths[team] >= len(rankings[team]):
            team = 1 - team
        doc = rankings[team][depths[team]]
        depths[team] += 1
        if doc not in placed:
            placed.add(doc)
            docs.append(doc)
            teams.append(team)
    ranks = [{doc: at for at, doc in enumerate(ranking, 1)} for ranking in rankings]
    one, other = (tuple(rank.get(doc, 0) for doc in docs) for rank in ranks)
    return InterleavedList(tuple(docs), tuple(teams), ranks=(one, other))


def optimised(first: Sequence[Any], second: Sequence[Any], n: int, draw: Draw) -> InterleavedList:
    """Place n documents by the distribution over lists that is unbiased and the most sensitive.

    See `list_distribution`. Radlinski and Craswell, "Optimized Interleaving for Online Retrieval
    Evaluation", WSDM 2013.

    Examples
    --------
    >>> optimised("ab", "ba", 2, lambda: 0.9)  # doctest: +ELLIPSIS
    InterleavedList(docs=('b', 'a'), teams=(1, 0), credits=(0.333..., -0.333...), ranks=None)
    """
    names = list(dict.fromkeys([*first[:n], *second[:n]]))
    number = {doc: at for at, doc in enumerate(names)}
    n_first = min(n, len(first))
    distribution = list_distribution(n_first, tuple(number[doc] for doc in second[:n]), n)
    chosen = distribution.choose(draw())
    own = tuple(distribution.credits[doc] for doc in chosen)
    teams = tuple(NO_TEAM if credit == 0 else int(credit > 0) for credit in own)
    return InterleavedList(tuple(names[doc] for doc in chosen), teams, own)


INTERLEAVING_METHODS: Mapping[
    str, Callable[[Sequence[Any], Sequence[Any], int, Draw], InterleavedList]
] = MappingProxyType({"team-draft": team_draft, "balanced": balanced, "optimised": optimised})
"""Methods by name."""


def outcome(listing: InterleavedList, clicked: Collection[Any]) -> float:
    """Return the outcome of a list: above 0 if its clicks prefer the second ranking, below 0 the first.

    ``team-draft``: the sign of the difference of the teams' clicks. ``balanced``: the sign of the difference
    of the clicks on the top k of each ranking; k is the smallest depth at which one of them has the lowest
    document that was clicked. ``optimised``: the sum of the credits of the clicks.

    Examples
    --------
    >>> listing = InterleavedList(("a", "b", "c"), (0, 1, 1))
    >>> outcome(listing, ["a"]), outcome(listing, ["a", "c"]), outcome(listing, ["b", "c"])
    (-1.0, 0.0, 1.0)
    """
    rows = [at for at, doc in enumerate(listing.docs) if doc in clicked]
    return outcome_of_rows(listing, rows)


def outcome_of_rows(listing: InterleavedList, rows: Sequence[int]) -> float:
    """Return the outcome of clicks on these rows of a list, in increasing order."""
    if not rows:
        return 0.0
    if listing.credits is not None:
        return float(sum(listing.credits[row] for row in rows))
    if listing.ranks is not None:
        return _balanced_outcome(listing.ranks, rows)
    teams = [listing.teams[row] for row in rows]
    return _sign(teams.count(SECOND) - teams.count(FIRST))


def _balanced_outcome(ranks: tuple[tuple[int, ...], tuple[int, ...]], rows: Sequence[int]) -> float:
    rows = [row for row in rows if ranks[0][row] or ranks[1][row]]
    if not rows:
        return 0.0
    lowest = rows[-1]
    depth = min(rank[lowest] for rank in ranks if rank[lowest])
    counts = [sum(0 < rank[row] <= depth for row in rows) for rank in ranks]
    return _sign(counts[SECOND] - counts[FIRST])


def _sign(value: int) -> float:
    return float((value > 0) - (value < 0))

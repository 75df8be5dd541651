"""Hard rules and constraints by chance, and what brute force says of them."""

import itertools
from functools import cache

import numpy as np

from podium.postranking import (
    Apart,
    AtLeast,
    AtMost,
    Before,
    Hide,
    NotTopK,
    Pin,
    Together,
    TopK,
)
from podium.postranking.binding import bind
from podium.postranking.listing import Listing
from podium.postranking.methods.problem import Method, Solution
from podium.postranking.places.constraints import (
    ApartConstraint,
    BeforeConstraint,
    CountConstraint,
    TogetherConstraint,
    WindowConstraint,
)


class AsGiven(Method):
    """Scores that fall by one from row to row: what the tests here need of a method."""

    name = "as-given"

    def solve(self, problems):
        return [Solution(-np.arange(p.n, dtype=np.float64)) for p in problems]


@cache
def permutations(n):
    """All places of n rows."""
    every = list(itertools.permutations(range(1, n + 1)))
    return np.array(every, dtype=np.int64).reshape(len(every), n)


def some(rng, n, least, most):
    """A few of the rows."""
    return tuple(rng.permutation(n)[: int(rng.integers(least, most + 1))].tolist())


def any_constraint(rng, n):
    """A constraint of any kind on n rows, possible or not."""
    kind = rng.integers(6) if n > 1 else rng.integers(3)
    row = int(rng.integers(n))
    if kind == 0:
        first, last = sorted(rng.integers(1, n + 1, 2).tolist())
        return WindowConstraint(
            row, first if rng.random() < 0.6 else 1, last if rng.random() < 0.6 else n
        )
    if kind == 1:
        at = int(rng.integers(1, n + 1))
        return WindowConstraint(row, at, at)
    if kind == 2:
        rows, k = some(rng, n, 1, n), int(rng.integers(1, n + 2))
        if rng.random() < 0.5:
            return CountConstraint(rows, k, 0, int(rng.integers(0, len(rows) + 1)))
        return CountConstraint(rows, k, int(rng.integers(1, len(rows) + 1)), k)
    rows = some(rng, n, 2, min(n, 4))
    if kind == 3:
        cut = int(rng.integers(1, len(rows)))
        return BeforeConstraint(rows[:cut], rows[cut:])
    return TogetherConstraint(rows) if kind == 4 else ApartConstraint(rows, int(rng.integers(1, 3)))


def meeting(constraints, n):
    """The permutations that meet constraints, without any of the code under test."""
    P = permutations(n)
    good = np.ones(len(P), dtype=bool)
    for c in constraints:
        if isinstance(c, WindowConstraint):
            good &= (P[:, c.row] >= c.first) & (P[:, c.row] <= c.last)
        elif isinstance(c, BeforeConstraint):
            good &= P[:, c.a].max(axis=1) < P[:, c.b].min(axis=1)
        elif isinstance(c, TogetherConstraint):
            good &= np.ptp(P[:, c.rows], axis=1) == len(c.rows) - 1
        elif isinstance(c, ApartConstraint):
            good &= (np.diff(np.sort(P[:, c.rows], axis=1), axis=1) > c.gap).all(axis=1)
        else:
            inside = (P[:, c.rows] <= c.k).sum(axis=1)
            good &= (inside >= c.least) & (inside <= c.most)
    return P[good]


def any_rule(rng, n, most=4):
    """A hard rule on documents 0..n-1, possible or not; it names so many of them at most."""
    kind, doc, k = rng.integers(9), int(rng.integers(n)), int(rng.integers(1, n + 2))
    if kind < 4:
        return (TopK, NotTopK, Pin)[kind](doc, k, hard=True) if kind < 3 else Hide(doc, hard=True)
    rows = list(some(rng, n, 2, min(n, most)))
    if kind == 4:
        return Before(rows[0], rows[1:], hard=True)
    if kind < 7:
        return Together(rows, hard=True) if kind == 5 else Apart(rows, hard=True)
    return (AtMost, AtLeast)[kind - 7](rows, int(rng.integers(1, len(rows) + 1)), k, hard=True)


def can_hold(rules, n):
    """Whether some order of the documents that are shown has no slack in any rule: brute force."""
    hidden = {rule.doc for rule in rules if isinstance(rule, Hide)}
    rest = [rule for rule in rules if not isinstance(rule, Hide)]
    if any(isinstance(rule, TopK | Pin) and rule.doc in hidden for rule in rest):
        return False
    listing = Listing.of([doc for doc in range(n) if doc not in hidden])
    bound = [one for rule in rest for one in bind(rule, listing)]
    # A rule whose documents are hidden asks nothing, but for one that wants so many of them.
    bound = [b for b in bound if all(b.parts) or isinstance(b.rule, AtLeast)]
    return any(
        all(b.slack(place) <= 0 for b in bound)
        for place in permutations(len(listing.docs)).tolist()
    )


def rules_that_hold(rng, n, size):
    """Hard rules on documents 0..n-1, all of which hold in an order that is not told."""
    order = rng.permutation(n)
    place = np.empty(n, dtype=int)
    place[order] = np.arange(1, n + 1)
    rules = []
    while len(rules) < size:
        kind, doc = rng.integers(8), int(rng.integers(n))
        at = int(place[doc])
        if kind == 0:
            rules.append(TopK(doc, int(rng.integers(at, n + 1)), hard=True))
        elif kind == 1 and at > 1:
            rules.append(NotTopK(doc, int(rng.integers(1, at)), hard=True))
        elif kind == 2:
            rules.append(Pin(doc, at, hard=True))
        elif kind == 3 and n > 1:
            a, b = sorted(some(rng, n, 2, 2), key=place.__getitem__)
            rules.append(Before(a, b, hard=True))
        elif kind == 4 and n > 1:
            length = int(rng.integers(2, min(n, 5) + 1))
            start = int(rng.integers(n - length + 1))
            rules.append(Together(order[start : start + length].tolist(), hard=True))
        elif kind == 5 and n > 2:
            docs = some(rng, n, 2, min(n, 5))
            gap = int(np.diff(np.sort(place[list(docs)])).min()) - 1
            if gap:
                rules.append(Apart(list(docs), int(rng.integers(1, min(gap, 10) + 1)), hard=True))
        else:
            group = list(some(rng, n, 1, max(n // 2, 1)))
            k = int(rng.integers(1, min(n, 20) + 1))
            inside = int((place[group] <= k).sum())
            if kind == 6:
                rules.append(AtMost(group, inside, k, hard=True))
            elif inside:
                rules.append(AtLeast(group, inside, k, hard=True))
    return rules

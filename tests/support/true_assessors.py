"""What the tests of judging share: all orders, true assessors, what must come out."""

import itertools


def weak_orders(documents):
    """Every way to put documents on levels 0, 1, ... without a gap."""
    for levels in itertools.product(range(len(documents)), repeat=len(documents)):
        if set(levels) == set(range(max(levels) + 1)):
            yield dict(zip(documents, levels, strict=True))


def answer(levels, a, b):
    return ">" if levels[a] < levels[b] else "<" if levels[a] > levels[b] else "~"


def judge(run, levels):
    """All questions answered by true levels."""
    while not run.finished:
        run.judge(answer(levels, run.step.a, run.step.b))
    return run.step


def true_top(levels, k):
    """Levels of all documents that have fewer than k strictly better ones, as sets."""
    found = []
    for level in sorted(set(levels.values())):
        if sum(map(len, found)) < k:
            found.append({d for d, own in levels.items() if own == level})
    return found

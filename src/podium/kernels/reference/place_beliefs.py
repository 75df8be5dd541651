"""Place beliefs: loopy belief propagation over the places of documents, and what an answer would tell.

Places are cells, best first. Two documents in one cell are in either order with probability 1/2. A judged
pair (first, second) has the likelihood `less` of its answers if the first document is better, and `more` if
the second one is.
"""

from __future__ import annotations

import numpy as np

from podium.typing import Floats, Rows

FLOOR = 1e-100
"""Beliefs stay above this number, so that none vanishes for good."""


def sweep_places(
    beliefs: Floats, messages: Floats, first: Rows, second: Rows, less: Floats, more: Floats
) -> tuple[Floats, Floats, Floats]:
    """Pass messages over all pairs once, one pair after the other; each pair sees the beliefs so far.

    `messages` has the messages of each pair to its first and to its second document. Returns the new
    beliefs and messages, and per pair the probability that its first document is better. On a tree
    of pairs, as many sweeps as the tree is deep give the exact posterior.
    """
    beliefs, messages = beliefs.copy(), messages.copy()
    better = np.empty(len(first))
    for t, (u, v) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        one, two = _without(beliefs[u], messages[0, t]), _without(beliefs[v], messages[1, t])
        lead = less[t] - more[t]
        behind = _behind(two)
        messages[0, t] = more[t] + lead * behind
        messages[1, t] = more[t] + lead * _before(one)
        beliefs[u] = _floored(one * messages[0, t])
        beliefs[v] = _floored(two * messages[1, t])
        share = float(one @ behind)
        better[t] = less[t] * share / (less[t] * share + more[t] * (1 - share))
    return beliefs, messages, better


def pair_information(beliefs: Floats, members: Floats, weights: Floats, errors: float) -> Floats:
    """Return, for every two documents, the bits that an answer tells about their memberships.

    `members[c]` has the probability, per document and place, to be within cut c; information about
    cut c has the weight `weights[c]`. An answer is wrong with probability `errors`. The documents
    are taken as independent.
    """
    behind = np.stack([_behind(belief) for belief in beliefs])
    better = errors + (1 - 2 * errors) * (beliefs @ behind.T)
    total = np.zeros_like(better)
    for weight, chances in zip(weights.tolist(), members, strict=True):
        mass = beliefs * chances
        member = mass.sum(axis=1)[:, None]
        both = errors * member + (1 - 2 * errors) * (mass @ behind.T)
        gained = _information(better, member, both)
        total += weight * (gained + gained.T)
    np.fill_diagonal(total, 0.0)
    return total


def judged_pair_information(
    beliefs: Floats,
    messages: Floats,
    first: Rows,
    second: Rows,
    less: Floats,
    more: Floats,
    members: Floats,
    weights: Floats,
    errors: float,
) -> Floats:
    """Return what `pair_information` does for judged pairs, whose documents are not independent."""
    total = np.zeros(len(first))
    for t, (u, v) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        one, two = _without(beliefs[u], messages[0, t]), _without(beliefs[v], messages[1, t])
        behind, before = _behind(two), _before(one)
        share = float(one @ behind)
        scale = less[t] * share + more[t] * (1 - share)
        better = errors + (1 - 2 * errors) * less[t] * share / scale
        for weight, chances in zip(weights.tolist(), members, strict=True):
            for belief, wins, place in ((one, behind, chances[u]), (two, before, chances[v])):
                mass = belief * place
                won, lost = (
                    less[t] * float(mass @ wins) / scale,
                    more[t] * float(mass @ (1 - wins)) / scale,
                )
                both = errors * (won + lost) + (1 - 2 * errors) * won
                total[t] += weight * float(_information(better, won + lost, both))
    return total


def members_by_count(members: Floats, sizes: Rows, low: int, high: int) -> Floats:
    """Return the probability that each group is a member, if `low` to `high` documents are members.

    `members` has the probabilities without that condition, as if groups were independent. If no such
    number is possible, they are returned as they are.
    """
    counts = np.arange(high + 1)
    before = [np.eye(1, high + 1)[0]]
    for member, size in zip(members.tolist(), sizes.tolist(), strict=True):
        before.append(_with_group(before[-1], member, size))
    total = float(before[-1][low:].sum())
    if not total > 0:
        return members.copy()
    out, after = np.empty(len(members)), before[0]
    for i in range(len(members) - 1, -1, -1):
        size = int(sizes[i])
        sums = counts[:, None] + counts + size
        fits = (sums >= low) & (sums <= high)
        out[i] = members[i] * float(before[i] @ fits @ after) / total
        after = _with_group(after, members[i], size)
    return np.minimum(out, 1.0)


def _with_group(counts: Floats, member: float, size: int) -> Floats:
    """Return the distribution of the number of members with one more group."""
    out = counts * (1 - member)
    out[size:] += member * counts[: max(0, len(counts) - size)]
    return out


def _without(belief: Floats, message: Floats) -> Floats:
    """Return the belief without a message."""
    rest = belief / message
    return np.asarray(rest / rest.sum())


def _behind(belief: Floats) -> Floats:
    """Return the probability that a document is behind each place."""
    return np.asarray(np.cumsum(belief[::-1])[::-1] - belief / 2)


def _before(belief: Floats) -> Floats:
    """Return the probability that a document is before each place."""
    return np.asarray(np.cumsum(belief) - belief / 2)


def _floored(belief: Floats) -> Floats:
    return np.asarray(np.maximum(belief / belief.sum(), FLOOR))


def _information(better: Floats, member: Floats, both: Floats) -> Floats:
    """Return the mutual information of an answer and a membership, from their probabilities."""
    member = np.clip(member, 1e-9, 1 - 1e-9)
    gained = _bits(better) - member * _bits(both / member)
    return np.asarray(gained - (1 - member) * _bits((better - both) / (1 - member)))


def _bits(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-(p * np.log2(p) + (1 - p) * np.log2(1 - p)))

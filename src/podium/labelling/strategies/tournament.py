"""The tournament: tree selection, the fewest judgments."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Sequence
from functools import cached_property

from podium.labelling.judgments import Document
from podium.labelling.strategies.strategy import Asking, Strategy


class Tournament(Strategy):
    """A knockout tournament finds the best; the next best is one of those who lost to it directly.

    Those play in the order in which they lost, each against the winner of those before, which keeps
    the tree as balanced as it was. At most n - k + sum of ceil(lg j), j = n-k+2..n, judgments (Knuth: The
    Art of Computer Programming 3, 5.3.3), n - 1 of them for the first place.

    A place costs as many judgments as its winner has matches to play. A prior therefore shapes the tree
    as Huffman's code: the document at place i of the prior weighs 1 / (i + k)^2, and heavy ones play few
    matches. A prior that says nothing then costs some 7 % more judgments than none at all.

    Examples
    --------
    >>> Tournament.bound(50, 10)
    94
    """

    name = "tournament"

    def __init__(self, order: Sequence[Document], k: int, prior: bool = False) -> None:
        super().__init__(order, k, prior)
        self._losers: dict[Document, list[Document]] = {document: [] for document in order}
        """Who is still to be placed, and who lost to it, in this order."""
        self._rivals = set(order)
        """Who may still win the place now played for."""
        self._left = k
        self._weights = _weights(len(self.order), k, prior)

    def play(self) -> Asking[list[Document]]:
        """The knockout, then a play-off for each further place."""
        best = [(yield from self._knockout())]
        while len(best) < self.k:
            losers = self._losers.pop(best[-1])
            self._left -= 1
            best.append((yield from self._play_off(losers)))
        return best

    def _knockout(self) -> Asking[Document]:
        field = [(w, i, d) for i, (w, d) in enumerate(zip(self._weights, self.order, strict=True))]
        heapq.heapify(field)
        for turn in range(len(field), 2 * len(field) - 1):
            weight_a, _, a = heapq.heappop(field)
            weight_b, _, b = heapq.heappop(field)
            winner = yield from self._match(a, b)
            heapq.heappush(field, (weight_a + weight_b, turn, winner))
        return field[0][2]

    def _play_off(self, losers: Sequence[Document]) -> Asking[Document]:
        self._rivals = set(losers)
        winner = losers[0]
        for rival in losers[1:]:
            winner = yield from self._match(winner, rival)
        return winner

    def _match(self, a: Document, b: Document) -> Asking[Document]:
        winner, loser = (a, b) if (yield a, b) >= 0 else (b, a)
        self._losers[winner].append(loser)
        self._rivals.discard(loser)
        return winner

    def remaining(self, gone: Collection[Document], skip_implied: bool) -> float:
        """Matches for the place now played for, and a mean number for each place after it."""
        n = sum(document not in gone for document in self._losers)
        now = sum(document not in gone for document in self._rivals) - 1
        per_doubling = self._mean_matches / max(1.0, math.log2(len(self.order)))
        places = range(n, n - min(self._left, n) + 1, -1)
        later = sum(max(0.0, per_doubling * math.log2(j) - 1) for j in places)
        return max(0, now) + later

    @cached_property
    def _mean_matches(self) -> float:
        played = zip(self._weights, _depths(self._weights), strict=True)
        return sum(weight * matches for weight, matches in played) / sum(self._weights)

    @staticmethod
    def _bound(n: int, k: int, prior: bool) -> int:
        if (
            prior
        ):  # n - 1 for the first, and the others those with most matches, the first of them free
            deepest = sorted(_depths(_weights(n, k, prior)), reverse=True)[: k - 1]
            return n - 1 + sum(max(0, matches - 1) for matches in deepest)
        return n - k + sum((j - 1).bit_length() for j in range(n - k + 2, n + 1))


def _weights(n: int, k: int, prior: bool) -> list[float]:
    """How much depends on a document's matches being few."""
    return [1.0 / (i + k) ** 2 if prior else 1.0 for i in range(n)]


def _depths(weights: Sequence[float]) -> list[int]:
    """The matches each document has to play to win Huffman's tree of these weights."""
    n = len(weights)
    field = [(weight, node) for node, weight in enumerate(weights)]
    heapq.heapify(field)
    parent = [0] * (2 * n - 1)
    for node in range(n, 2 * n - 1):
        (weight_a, a), (weight_b, b) = heapq.heappop(field), heapq.heappop(field)
        parent[a] = parent[b] = node
        heapq.heappush(field, (weight_a + weight_b, node))
    depths = [0] * (2 * n - 1)
    for node in range(2 * n - 3, -1, -1):
        depths[node] = depths[parent[node]] + 1
    return depths[:n]

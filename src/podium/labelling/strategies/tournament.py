"""Tournament: tree selection, the strategy with the fewest judgments."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Sequence
from functools import cached_property

from podium.labelling.judgments import DocumentId
from podium.labelling.strategies.strategy import Comparisons, Strategy


class Tournament(Strategy):
    """A knockout tournament finds the best document; the next best lost directly to it.

    The documents that lost to the best play off in the order in which they lost, each against the
    current winner. This keeps the tree balanced. At most n - k + sum of ceil(lg j), j = n-k+2..n,
    judgments (Knuth: The Art of Computer Programming 3, 5.3.3), n - 1 of them for the first place.

    A place costs as many judgments as its winner plays matches. A prior therefore shapes the tree like
    Huffman's code: the document at place i of the prior weighs 1 / (i + k)^2, and heavy documents play
    few matches. A random prior costs about 7 % more judgments than no prior.

    Examples
    --------
    >>> Tournament.bound(50, 10)
    94
    """

    name = "tournament"

    def __init__(self, order: Sequence[DocumentId], k: int, prior: bool = False) -> None:
        super().__init__(order, k, prior)
        self._losers: dict[DocumentId, list[DocumentId]] = {document: [] for document in order}
        """Documents without a place -> the documents that lost to them, in order."""
        self._rivals = set(order)
        """Documents that may still win the current place."""
        self._places_left = k
        self._weights = _weights(len(self.order), k, prior)

    def find_top_k(self) -> Comparisons[list[DocumentId]]:
        """Play the knockout, then a play-off for each further place."""
        best = [(yield from self._knockout())]
        while len(best) < self.k:
            losers = self._losers.pop(best[-1])
            self._places_left -= 1
            best.append((yield from self._play_off(losers)))
        return best

    def _knockout(self) -> Comparisons[DocumentId]:
        players = [
            (w, i, d) for i, (w, d) in enumerate(zip(self._weights, self.order, strict=True))
        ]
        heapq.heapify(players)
        for turn in range(len(players), 2 * len(players) - 1):
            weight_a, _, a = heapq.heappop(players)
            weight_b, _, b = heapq.heappop(players)
            winner = yield from self._match(a, b)
            heapq.heappush(players, (weight_a + weight_b, turn, winner))
        return players[0][2]

    def _play_off(self, losers: Sequence[DocumentId]) -> Comparisons[DocumentId]:
        self._rivals = set(losers)
        winner = losers[0]
        for rival in losers[1:]:
            winner = yield from self._match(winner, rival)
        return winner

    def _match(self, a: DocumentId, b: DocumentId) -> Comparisons[DocumentId]:
        winner, loser = (a, b) if (yield a, b) >= 0 else (b, a)
        self._losers[winner].append(loser)
        self._rivals.discard(loser)
        return winner

    def remaining(self, rejected_documents: Collection[DocumentId], skip_implied: bool) -> float:
        """Return the matches for the current place, and the mean number for each later place."""
        n = sum(document not in rejected_documents for document in self._losers)
        current = sum(document not in rejected_documents for document in self._rivals) - 1
        per_doubling = self._mean_matches / max(1.0, math.log2(len(self.order)))
        places = range(n, n - min(self._places_left, n) + 1, -1)
        later = sum(max(0.0, per_doubling * math.log2(j) - 1) for j in places)
        return max(0, current) + later

    @cached_property
    def _mean_matches(self) -> float:
        played = zip(self._weights, _depths(self._weights), strict=True)
        return sum(weight * matches for weight, matches in played) / sum(self._weights)

    @staticmethod
    def _bound(n: int, k: int, prior: bool) -> int:
        if prior:
            # n - 1 matches for the first place. At worst the winners of the others have most matches to
            # play; one match of each is played already.
            deepest = sorted(_depths(_weights(n, k, prior)), reverse=True)[: k - 1]
            return n - 1 + sum(max(0, matches - 1) for matches in deepest)
        return n - k + sum((j - 1).bit_length() for j in range(n - k + 2, n + 1))


def _weights(n: int, k: int, prior: bool) -> list[float]:
    """Return the weight of each document: heavy documents should play few matches."""
    return [1.0 / (i + k) ** 2 if prior else 1.0 for i in range(n)]


def _depths(weights: Sequence[float]) -> list[int]:
    """Return how many matches each document plays to win, in Huffman's tree of these weights."""
    n = len(weights)
    trees = [(weight, node) for node, weight in enumerate(weights)]
    heapq.heapify(trees)
    parent = [0] * (2 * n - 1)
    for node in range(n, 2 * n - 1):
        (weight_a, a), (weight_b, b) = heapq.heappop(trees), heapq.heappop(trees)
        parent[a] = parent[b] = node
        heapq.heappush(trees, (weight_a + weight_b, node))
    depths = [0] * (2 * n - 1)
    for node in range(2 * n - 3, -1, -1):
        depths[node] = depths[parent[node]] + 1
    return depths[:n]

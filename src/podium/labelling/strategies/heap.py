"""Heap labelling: the heap of the k best so far, Algorithm 1 of the paper."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

from podium.labelling.judgments import Document
from podium.labelling.strategies.strategy import Asking, Strategy

_Phase = Literal["build", "challenge", "sort"]

# Judgments that a document takes to sink in a heap of m, as a lg m - b: (a, b) as fitted to the means of
# simulated runs with 2 <= k <= 100, with implied pairs skipped and with all asked.
_COSTS: dict[bool, dict[_Phase, tuple[float, float]]] = {
    True: {"build": (1.65, 0.5), "challenge": (1.65, 1.2), "sort": (1.5, 2.2)},
    False: {"build": (1.65, 0.5), "challenge": (1.65, 0.8), "sort": (2.0, 1.7)},
}


class Heap(Strategy):
    """A min-heap of k documents, its root the one that the next document has to beat.

    Build a heap of the first k; compare each other document d with the root, and where d is better it
    takes the root's place and sinks; at last the heap is sorted. A tie displaces nobody.
    (Niu, Guo, Lan, Cheng: Top-k learning to rank, SIGIR 2012, Algorithm 1.)

    A prior puts the probably best documents into the first heap, which others then seldom enter.

    Examples
    --------
    >>> Heap.bound(50, 10)
    330
    """

    name = "heap"

    def play(self) -> Asking[list[Document]]:
        """Build, let the others challenge the root, sort."""
        self._heap = heap = list(self.order[: self.k])
        self._phase: _Phase = "build"
        self._unbuilt, self._waiting, self._entered = len(heap) // 2, len(self.order) - self.k, 0
        self._place: int | None = None
        while self._unbuilt:
            self._unbuilt -= 1
            yield from self._sink(self._unbuilt, heap[self._unbuilt])
        self._phase = "challenge"
        for challenger in self.order[self.k :]:
            better = (yield challenger, heap[0]) > 0
            self._waiting -= 1
            if better:
                self._entered += 1
                yield from self._sink(0, challenger)
        self._phase = "sort"
        worst_first = []
        while heap:
            worst_first.append(heap[0])
            last = heap.pop()
            if heap:
                yield from self._sink(0, last)
        return worst_first[::-1]

    def _sink(self, place: int, document: Document) -> Asking[None]:
        """Move worse documents up until this one has none below it; a free place is at `place`."""
        heap = self._heap
        while (child := 2 * place + 1) < len(heap):
            self._place = place
            if child + 1 < len(heap) and (yield heap[child], heap[child + 1]) > 0:
                child += 1
            if (yield document, heap[child]) <= 0:
                break
            heap[place] = heap[child]
            place = child
        heap[place] = document
        self._place = None

    def remaining(self, gone: Collection[Document], skip_implied: bool) -> float:
        """Every document yet to sink takes a number of judgments that grows with the log of the heap.

        Of documents in random order the j-th enters with probability k / j. A prior makes it rarer,
        by how much those tell that did enter so far.
        """
        cost = _COSTS[skip_implied]
        size = len(self._heap)
        total = 0.0
        if self._place is not None:
            total += _sinking(size / (self._place + 1), cost[self._phase])
        total += sum(_sinking(size / i, cost["build"]) for i in range(1, self._unbuilt + 1))
        if self._phase != "sort":
            entering = self._entering() * _sinking(size, cost["challenge"])
            total += self._waiting + entering
        staying = sum(document not in gone for document in self._heap)
        return total + sum(_sinking(j, cost["sort"]) for j in range(2, staying))

    def _entering(self) -> float:
        """How many of those who wait will probably enter the heap."""
        n = len(self.order)
        seen = n - self._waiting
        expected = self.k * math.log((seen + 0.5) / (self.k + 0.5))
        usual = 0.3 if self.prior else 1.0
        share = (self._entered + 5 * usual) / (expected + 5)
        return min(self._waiting, share * self.k * math.log((n + 0.5) / (seen + 0.5)))

    @staticmethod
    def _bound(n: int, k: int, prior: bool) -> int:
        # Each of the others challenges and sinks, by two judgments a level: O(n log k).
        build = sum(2 * (_depth(k) - _depth(i)) for i in range(1, k // 2 + 1))
        return build + (n - k) * (1 + 2 * _depth(k)) + sum(2 * _depth(j) for j in range(1, k))


def _depth(n: int) -> int:
    """Levels below the root of a heap of n."""
    return n.bit_length() - 1


def _sinking(size: float, cost: tuple[float, float]) -> float:
    """Judgments until a document has found its place in a heap of this size."""
    slope, less = cost
    return max(0.0, slope * math.log2(size) - less)

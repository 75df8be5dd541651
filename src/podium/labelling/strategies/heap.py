"""Heap labelling: a heap of the k best documents so far (Algorithm 1 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

from podium.labelling.judgments import DocumentId
from podium.labelling.strategies.strategy import Comparisons, Strategy

_Phase = Literal["build", "challenge", "sort"]

# Judgments until a document has sunk in a heap of m: a lg m - b. The pairs (a, b) are fitted to the means
# of simulated runs with 2 <= k <= 100, with implied pairs skipped (True) and with all pairs asked (False).
_COSTS: dict[bool, dict[_Phase, tuple[float, float]]] = {
    True: {"build": (1.65, 0.5), "challenge": (1.65, 1.2), "sort": (1.5, 2.2)},
    False: {"build": (1.65, 0.5), "challenge": (1.65, 0.8), "sort": (2.0, 1.7)},
}


class Heap(Strategy):
    """A min-heap of k documents; the next document must beat its root.

    Build a heap of the first k. Compare each other document d with the root; if d is better, it
    takes the root's place and sinks. Finally sort the heap. A tie displaces no document. (Niu, Guo,
    Lan, Cheng: Top-k learning to rank, SIGIR 2012, Algorithm 1.)

    A prior puts the probably best documents into the first heap, so others rarely enter it.

    Examples
    --------
    >>> Heap.bound(50, 10)
    330
    """

    name = "heap"

    def find_top_k(self) -> Comparisons[list[DocumentId]]:
        """Build the heap, compare the other documents with its root, sort the heap."""
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

    def _sink(self, place: int, document: DocumentId) -> Comparisons[None]:
        """Put a document at the free `place`, and move worse documents up until its children are better."""
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

    def remaining(self, rejected_documents: Collection[DocumentId], skip_implied: bool) -> float:
        """Return the expected judgments: each document that sinks costs a lg m - b of them.

        If documents are in random order, the j-th enters with probability k / j. A prior makes this
        rarer; the number of documents that entered so far shows by how much.
        """
        cost = _COSTS[skip_implied]
        size = len(self._heap)
        total = 0.0
        if self._place is not None:
            total += _sinking_cost(size / (self._place + 1), cost[self._phase])
        total += sum(_sinking_cost(size / i, cost["build"]) for i in range(1, self._unbuilt + 1))
        if self._phase != "sort":
            entering = self._expected_entries() * _sinking_cost(size, cost["challenge"])
            total += self._waiting + entering
        staying = sum(document not in rejected_documents for document in self._heap)
        return total + sum(_sinking_cost(j, cost["sort"]) for j in range(2, staying))

    def _expected_entries(self) -> float:
        """Return how many of the waiting documents will probably enter the heap."""
        n = len(self.order)
        compared = n - self._waiting
        expected = self.k * math.log((compared + 0.5) / (self.k + 0.5))
        usual = 0.3 if self.prior else 1.0
        share = (self._entered + 5 * usual) / (expected + 5)
        return min(self._waiting, share * self.k * math.log((n + 0.5) / (compared + 0.5)))

    @staticmethod
    def _bound(n: int, k: int, prior: bool) -> int:
        # Each other document is compared with the root and sinks, two judgments per level: O(n log k).
        build = sum(2 * (_depth(k) - _depth(i)) for i in range(1, k // 2 + 1))
        return build + (n - k) * (1 + 2 * _depth(k)) + sum(2 * _depth(j) for j in range(1, k))


def _depth(n: int) -> int:
    """Return the number of levels below the root of a heap of n."""
    return n.bit_length() - 1


def _sinking_cost(size: float, cost: tuple[float, float]) -> float:
    """Return the expected judgments until a document has sunk in a heap of this size."""
    slope, less = cost
    return max(0.0, slope * math.log2(size) - less)

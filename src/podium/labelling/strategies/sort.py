"""Merge insertion: all documents sorted, for comparison."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from podium.labelling.judgments import Document
from podium.labelling.strategies.strategy import Asking, Strategy


class Sort(Strategy):
    """Ford and Johnson's merge insertion: the whole order, in nearly the fewest judgments it can take.

    Compare pairs, sort the better ones by the same method, and insert the others by binary search, in
    an order in which the searched part is as near below a power of two as can be. At most
    sum of ceil(lg(3 j / 4)), j = 1..n, judgments (Knuth: The Art of Computer Programming 3, 5.3.1).

    A prior only says in which order documents are taken: it saves nothing.

    Examples
    --------
    >>> Sort.bound(5, 5), Sort.bound(50, 10)
    (7, 219)
    """

    name = "sort"

    def play(self) -> Asking[list[Document]]:
        """Sort all, keep the first k."""
        self._planned, self._searched = _expected(len(self.order)), 0
        worst_first = yield from self._sorted(list(self.order))
        return worst_first[::-1][: self.k]

    def _sorted(self, documents: list[Document]) -> Asking[list[Document]]:
        """Worst first."""
        if len(documents) < 2:
            return documents
        worse_of = {}
        for a, b in zip(documents[::2], documents[1::2], strict=False):
            better, worse = (a, b) if (yield a, b) >= 0 else (b, a)
            worse_of[better] = worse
            self._planned -= 1
        chain = yield from self._sorted(list(worse_of))
        # (document to insert, the one it is known to be below); a document without a pair has none.
        pending: list[tuple[Document, Document | None]] = [(worse_of[b], b) for b in chain]
        pending += [(document, None) for document in documents[2 * len(worse_of) :]]
        chain.insert(0, pending[0][0])
        for i, among in _insertions(len(pending)):
            document, above = pending[i]
            self._planned -= _search(among)
            yield from self._insert(chain, document, above)
        return chain

    def _insert(
        self, chain: list[Document], document: Document, above: Document | None
    ) -> Asking[None]:
        """Binary search below `above`."""
        low, high = 0, len(chain) if above is None else chain.index(above)
        while low < high:
            self._searched = high - low
            middle = (low + high) // 2
            if (yield document, chain[middle]) > 0:
                low = middle + 1
            else:
                high = middle
        self._searched = 0
        chain.insert(low, document)

    def remaining(self, gone: Collection[Document], skip_implied: bool) -> float:
        """The present search, and what is planned of pairs and searches after it."""
        staying = 1 - len(gone) / len(self.order)
        return _search(self._searched) + self._planned * staying

    @staticmethod
    def _bound(n: int, k: int, prior: bool) -> int:
        # ceil(lg(3 j / 4)) = ceil(lg(3 j)) - 2
        return sum((3 * j - 1).bit_length() - 2 for j in range(1, n + 1))


def _insertions(n: int) -> Iterator[tuple[int, int]]:
    """The order of insertion: places 2 1, 4 3, 10 .. 5, 20 .. 11, ... of n, and among how many.

    Groups have 2, 2, 6, 10, 22, ... members, any two neighbours a power of two: with it, those of one
    group are inserted among 2^j - 1 documents at most.
    """
    first, size, power = 1, 2, 4
    while first < n:
        last = min(first + size, n)
        for i in range(last - 1, first - 1, -1):
            yield i, first + last - 1
        first, size, power = last, power - size, 2 * power


def _search(n: int) -> float:
    """The mean number of judgments to find one of n + 1 places among n documents."""
    places = n + 1
    depth = places.bit_length() - 1
    return depth + 2 * (places - (1 << depth)) / places


def _expected(n: int) -> float:
    """The mean number of judgments to sort n documents."""
    if n < 2:
        return 0.0
    searches = sum(_search(among) for _, among in _insertions((n + 1) // 2))
    return n // 2 + _expected(n // 2) + searches

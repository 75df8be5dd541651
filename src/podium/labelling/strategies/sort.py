"""Sort, merge insertion: sort all documents, as a baseline for the other strategies."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from podium.labelling.judgments import DocumentId
from podium.labelling.strategies.strategy import Comparisons, Strategy


class Sort(Strategy):
    """Ford and Johnson's merge insertion: the whole order, in nearly the fewest possible judgments.

    Compare pairs, sort the better ones by the same method, and insert the others by binary search. The
    order of insertion keeps the searched part just below a power of two. At most
    sum of ceil(lg(3 j / 4)), j = 1..n, judgments (Knuth: The Art of Computer Programming 3, 5.3.1).

    A prior only changes the order in which documents are taken; it saves no judgments.

    Examples
    --------
    >>> Sort.bound(5, 5), Sort.bound(50, 10)
    (7, 219)
    """

    name = "sort"

    def find_top_k(self) -> Comparisons[list[DocumentId]]:
        """Sort all documents and return the first k."""
        self._planned, self._searched = _expected_judgments(len(self.order)), 0
        worst_first = yield from self._sorted(list(self.order))
        return worst_first[::-1][: self.k]

    def _sorted(self, documents: list[DocumentId]) -> Comparisons[list[DocumentId]]:
        """Sort documents, worst first."""
        if len(documents) < 2:
            return documents
        worse_of = {}
        for a, b in zip(documents[::2], documents[1::2], strict=False):
            better, worse = (a, b) if (yield a, b) >= 0 else (b, a)
            worse_of[better] = worse
            self._planned -= 1
        chain = yield from self._sorted(list(worse_of))
        # (document to insert, the better document of its pair); an odd last document has no pair.
        pending: list[tuple[DocumentId, DocumentId | None]] = [(worse_of[b], b) for b in chain]
        pending += [(document, None) for document in documents[2 * len(worse_of) :]]
        chain.insert(0, pending[0][0])
        for i, n_searched in _insertions(len(pending)):
            document, upper = pending[i]
            self._planned -= _search_cost(n_searched)
            yield from self._insert(chain, document, upper)
        return chain

    def _insert(
        self, chain: list[DocumentId], document: DocumentId, upper: DocumentId | None
    ) -> Comparisons[None]:
        """Insert a document by binary search among those worse than `upper`."""
        low, high = 0, len(chain) if upper is None else chain.index(upper)
        while low < high:
            self._searched = high - low
            middle = (low + high) // 2
            if (yield document, chain[middle]) > 0:
                low = middle + 1
            else:
                high = middle
        self._searched = 0
        chain.insert(low, document)

    def remaining(self, rejected_documents: Collection[DocumentId], skip_implied: bool) -> float:
        """Return the expected judgments of the current search and of all pairs and searches after it."""
        staying = 1 - len(rejected_documents) / len(self.order)
        return _search_cost(self._searched) + self._planned * staying

    @staticmethod
    def _bound(n: int, k: int, prior: bool) -> int:
        # ceil(lg(3 j / 4)) = ceil(lg(3 j)) - 2
        return sum((3 * j - 1).bit_length() - 2 for j in range(1, n + 1))


def _insertions(n: int) -> Iterator[tuple[int, int]]:
    """Yield the places in the order of insertion, and the number of documents to search.

    The order is 2 1, 4 3, 10 .. 5, 20 .. 11, ...: groups of 2, 2, 6, 10, 22, ... places. Two neighbouring
    sizes add up to a power of two, so each group is inserted among at most 2^j - 1 documents.
    """
    first, size, power = 1, 2, 4
    while first < n:
        last = min(first + size, n)
        for i in range(last - 1, first - 1, -1):
            yield i, first + last - 1
        first, size, power = last, power - size, 2 * power


def _search_cost(n: int) -> float:
    """Return the mean number of judgments to find one of the n + 1 places among n documents."""
    places = n + 1
    depth = places.bit_length() - 1
    return depth + 2 * (places - (1 << depth)) / places


def _expected_judgments(n: int) -> float:
    """Return the mean number of judgments to sort n documents."""
    if n < 2:
        return 0.0
    searches = sum(_search_cost(n_searched) for _, n_searched in _insertions((n + 1) // 2))
    return n // 2 + _expected_judgments(n // 2) + searches

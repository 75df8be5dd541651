"""Implied preferences: answers that follow from earlier judgments by transitivity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podium.errors import DataError, EmptyDataError
from podium.labelling.judgments import Answer, DocumentId, Judgment
from podium.labelling.pools import first_repeated


class ImpliedPreferences:
    """The preferences that judgments imply: ties are an equivalence, "better" is transitive.

    a > b, b ~ c and c > d imply a > c and a > d. Documents judged "bad" are rejected, together with
    all documents that are known to be no better. A rejected document is worse than all others, and
    two rejected documents are "bad".

    The first judgment wins: a later one that contradicts an implied answer changes nothing, except
    that "bad" always counts. If implied pairs are not asked, no judgment can contradict.

    Parameters
    ----------
    documents
        All documents of the run, each once.

    Examples
    --------
    >>> implied = ImpliedPreferences("abcd")
    >>> for text in ("a>b", "b~c", "c>d"):
    ...     implied.add(Judgment(text[0], text[2], text[1]))
    >>> implied.answer("d", "a"), implied.answer("c", "b")
    ('<', '~')
    >>> implied.add(Judgment("a", "b", "<"))     # a > b came first, and stays
    >>> implied.answer("a", "b")
    '>'
    """

    def __init__(self, documents: Iterable[DocumentId]) -> None:
        self.documents = _check_documents(documents)
        n = len(self.documents)
        self._place = {document: i for i, document in enumerate(self.documents)}
        # A set of documents is an integer, one bit per document. Tied documents form a class with one
        # of them as its head; the sets of better and of worse documents are stored at the head only.
        self._head = list(range(n))
        self._heads = (1 << n) - 1
        self._members = [1 << i for i in range(n)]
        self._better = [0] * n
        self._worse = [0] * n
        self._rejected = 0
        self.rejected_documents: set[DocumentId] = set()
        """Documents judged bad, and all documents known to be no better."""

    def add(self, judgment: Judgment) -> None:
        """Add a judgment and everything that it implies."""
        a, b = self._index(judgment.a), self._index(judgment.b)
        if a == b:
            raise DataError(f"expected a judgment of two documents, got {judgment.a!r} twice")
        if judgment.answer == "bad":
            self._reject(a)
            self._reject(b)
        elif self.answer(judgment.a, judgment.b) is None:
            high, low = self._head[a], self._head[b]
            if judgment.answer == "~":
                self._tie(high, low)
            elif judgment.answer == ">":
                self._rank(high, low)
            else:
                self._rank(low, high)

    def answer(self, a: DocumentId, b: DocumentId) -> Answer | None:
        """Return the implied answer for a and b; None if nothing is implied."""
        i, j = self._index(a), self._index(b)
        if self._rejected and (answer := self._answer_by_rejection(i, j)) is not None:
            return answer
        i, j = self._head[i], self._head[j]
        if i == j:
            return "~"
        if self._worse[i] >> j & 1:
            return ">"
        return "<" if self._better[i] >> j & 1 else None

    def tied_documents(self, document: DocumentId) -> tuple[DocumentId, ...]:
        """Return the documents that are tied with this one, and itself, in the order of `documents`.

        Examples
        --------
        >>> implied = ImpliedPreferences("abc")
        >>> implied.add(Judgment("c", "a", "~"))
        >>> implied.tied_documents("c")
        ('a', 'c')
        """
        members = self._members[self._head[self._index(document)]]
        return tuple(self.documents[i] for i in _bits(members))

    def count_better(self, document: DocumentId) -> int:
        """Return how many documents are implied to be better than this one.

        Examples
        --------
        >>> implied = ImpliedPreferences("abc")
        >>> implied.add(Judgment("c", "a", ">"))
        >>> implied.count_better("a"), implied.count_better("b")
        (1, 0)
        """
        return self._better[self._head[self._index(document)]].bit_count()

    def _index(self, document: DocumentId) -> int:
        try:
            return self._place[document]
        except (KeyError, TypeError):
            raise DataError(
                f"expected a document of the run ({len(self.documents)} documents), got {document!r}"
            ) from None

    def _answer_by_rejection(self, i: int, j: int) -> Answer | None:
        rejected = self._rejected >> i & 1, self._rejected >> j & 1
        if rejected == (0, 0):
            return None
        return "bad" if rejected == (1, 1) else "<" if rejected[0] else ">"

    def _rank(self, high: int, low: int) -> None:
        """Make `high` and all better classes better than `low` and all worse classes."""
        up = self._better[high] | self._members[high]
        down = self._worse[low] | self._members[low]
        # A class that is already better than `low` is also better than everything worse than `low`,
        # and vice versa, so only new ones need an update.
        new_up, new_down = up & ~self._better[low], down & ~self._worse[high]
        for i in _bits(new_up & self._heads):
            self._worse[i] |= down
        for i in _bits(new_down & self._heads):
            self._better[i] |= up

    def _tie(self, head: int, other: int) -> None:
        """Join two classes: documents better (or worse) than either are better (or worse) than both."""
        for i in _bits(self._members[other]):
            self._head[i] = head
        self._heads &= ~(1 << other)
        for sets in (self._members, self._better, self._worse):
            sets[head] |= sets[other]
        up, same, down = self._better[head], self._members[head], self._worse[head]
        for i in _bits(up & self._heads):
            self._worse[i] |= same | down
        for i in _bits(down & self._heads):
            self._better[i] |= same | up

    def _reject(self, i: int) -> None:
        head = self._head[i]
        new = (self._members[head] | self._worse[head]) & ~self._rejected
        self._rejected |= new
        self.rejected_documents.update(self.documents[j] for j in _bits(new))


def _bits(mask: int) -> Iterator[int]:
    """Yield the members of a set: the places of its bits."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _check_documents(documents: Iterable[DocumentId]) -> tuple[DocumentId, ...]:
    ids = tuple(documents)
    if not ids:
        raise EmptyDataError("expected documents to judge, got none")
    if strange := [document for document in ids if not isinstance(document, str)]:
        raise DataError(f"expected document ids as text, got {strange[0]!r}")
    if (twice := first_repeated(ids)) is not None:
        raise DataError(f"expected each document once, got {twice!r:.60} twice")
    return ids

"""Implied preferences: ties are an equivalence, and "better" is transitive through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podium.errors import DataError, EmptyDataError
from podium.labelling.judgments import Answer, Document, Judgment
from podium.labelling.pools import first_repeated


class Knowledge:
    """The order that judgments so far imply, closed under transitivity.

    From a > b, b ~ c and c > d follow a > c and a > d. Documents judged "bad" drop out, and with
    them all that are known to be no better. To one who is still in they all are worse, and
    among themselves "bad".

    What is implied stays: a later judgment that contradicts it changes nothing, save that "bad" always
    counts. Where implied pairs are not asked, there is none that could contradict.

    Parameters
    ----------
    documents
        All documents of the run, each once.

    Examples
    --------
    >>> known = Knowledge("abcd")
    >>> for text in ("a>b", "b~c", "c>d"):
    ...     known.add(Judgment(text[0], text[2], text[1]))
    >>> known.implied("d", "a"), known.implied("c", "b")
    ('<', '~')
    >>> known.add(Judgment("a", "b", "<"))       # a > b is known, and stays
    >>> known.implied("a", "b")
    '>'
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = _check_documents(documents)
        n = len(self.documents)
        self._place = {document: i for i, document in enumerate(self.documents)}
        # Sets of documents are bits of an integer. A class of tied documents is known by its head:
        # what is above and below the class stands there.
        self._head = list(range(n))
        self._heads = (1 << n) - 1
        self._members = [1 << i for i in range(n)]
        self._above = [0] * n
        self._below = [0] * n
        self._left = 0
        self.gone: set[Document] = set()
        """The documents that have dropped out."""

    def add(self, judgment: Judgment) -> None:
        """Take a judgment into account."""
        a, b = self._index(judgment.a), self._index(judgment.b)
        if a == b:
            raise DataError(f"expected a judgment of two documents, got {judgment.a!r} twice")
        if judgment.answer == "bad":
            self._leave(a)
            self._leave(b)
        elif self.implied(judgment.a, judgment.b) is None:
            high, low = self._head[a], self._head[b]
            if judgment.answer == "~":
                self._tie(high, low)
            elif judgment.answer == ">":
                self._rank(high, low)
            else:
                self._rank(low, high)

    def implied(self, a: Document, b: Document) -> Answer | None:
        """What a judgment of a and b would have to say; None where it could say anything."""
        i, j = self._index(a), self._index(b)
        if self._left and (left := self._implied_by_leaving(i, j)) is not None:
            return left
        i, j = self._head[i], self._head[j]
        if i == j:
            return "~"
        if self._below[i] >> j & 1:
            return ">"
        return "<" if self._above[i] >> j & 1 else None

    def tied(self, document: Document) -> tuple[Document, ...]:
        """The documents known to be as good as this one, itself among them, in the order given.

        Examples
        --------
        >>> known = Knowledge("abc")
        >>> known.add(Judgment("c", "a", "~"))
        >>> known.tied("c")
        ('a', 'c')
        """
        members = self._members[self._head[self._index(document)]]
        return tuple(self.documents[i] for i in _bits(members))

    def _index(self, document: Document) -> int:
        try:
            return self._place[document]
        except (KeyError, TypeError):
            raise DataError(
                f"expected a document of the run ({len(self.documents)} documents), got {document!r}"
            ) from None

    def _implied_by_leaving(self, i: int, j: int) -> Answer | None:
        gone = self._left >> i & 1, self._left >> j & 1
        if gone == (0, 0):
            return None
        return "bad" if gone == (1, 1) else "<" if gone[0] else ">"

    def _rank(self, high: int, low: int) -> None:
        """All of `high` and above it are better than all of `low` and below it."""
        up = self._above[high] | self._members[high]
        down = self._below[low] | self._members[low]
        # Who is above `low` already is above all that is below it, and the other way round.
        new_up, new_down = up & ~self._above[low], down & ~self._below[high]
        for i in _bits(new_up & self._heads):
            self._below[i] |= down
        for i in _bits(new_down & self._heads):
            self._above[i] |= up

    def _tie(self, head: int, other: int) -> None:
        """Two classes become one, below all that is above either and above all that is below."""
        for i in _bits(self._members[other]):
            self._head[i] = head
        self._heads &= ~(1 << other)
        for sets in (self._members, self._above, self._below):
            sets[head] |= sets[other]
        up, same, down = self._above[head], self._members[head], self._below[head]
        for i in _bits(up & self._heads):
            self._below[i] |= same | down
        for i in _bits(down & self._heads):
            self._above[i] |= same | up

    def _leave(self, i: int) -> None:
        head = self._head[i]
        leaving = (self._members[head] | self._below[head]) & ~self._left
        self._left |= leaving
        self.gone.update(self.documents[j] for j in _bits(leaving))


def _bits(mask: int) -> Iterator[int]:
    """The members of a set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _check_documents(documents: Iterable[Document]) -> tuple[Document, ...]:
    ids = tuple(documents)
    if not ids:
        raise EmptyDataError("expected documents to judge, got none")
    if strange := [document for document in ids if not isinstance(document, str)]:
        raise DataError(f"expected document ids as text, got {strange[0]!r}")
    if (twice := first_repeated(ids)) is not None:
        raise DataError(f"expected each document once, got {twice!r:.60} twice")
    return ids

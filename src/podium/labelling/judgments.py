"""Judgments: a question about two documents with its answer, and the top k as judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from podium.errors import UsageError

DocumentId = str
"""A document is its id."""

Answer = Literal[">", "~", "<", "bad"]
"""The first document is better, a tie, the second is better, both are bad."""

_FLIPPED: dict[Answer, Answer] = {">": "<", "~": "~", "<": ">", "bad": "bad"}


def check_answer(answer: str) -> Answer:
    """Return one of the four answers; raise for anything else.

    Examples
    --------
    >>> check_answer("~")
    '~'
    """
    for choice in get_args(Answer):
        if answer == choice:
            return choice  # type: ignore[no-any-return]
    raise UsageError(f"expected one of the answers >, ~, < and bad, got {answer!r}")


@dataclass(frozen=True)
class Question:
    """A pair of documents: which of them is better?"""

    a: DocumentId
    b: DocumentId


@dataclass(frozen=True)
class Judgment:
    """A question and its answer.

    Judgments are equal if their documents and answers are; side and assessor do not count.

    Parameters
    ----------
    a, b
        The documents.
    answer
        The answer.
    left
        The document that was shown on the left; None if nobody recorded it.
    assessor
        Who judged, where several people judge in one run.

    Examples
    --------
    >>> Judgment("d1", "d2", ">").flipped()
    Judgment(a='d2', b='d1', answer='<')
    """

    a: DocumentId
    b: DocumentId
    answer: Answer
    left: DocumentId | None = field(default=None, compare=False, repr=False)
    assessor: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_answer(self.answer)

    def flipped(self) -> Judgment:
        """Return the same judgment with the documents in the other order."""
        return replace(self, a=self.b, b=self.a, answer=_FLIPPED[self.answer])


@dataclass(frozen=True)
class JudgedTopK:
    """The top k as judged: levels best first, tied documents on one level.

    Documents tied with the last of the k share its level, so there may be more than k documents. If
    documents were judged bad, there may be fewer.

    Parameters
    ----------
    levels
        The levels, best first. Within a level, documents that the strategy placed come first.
    k
        How many documents the strategy looked for.
    judged
        The number of judgments.

    Examples
    --------
    >>> top = JudgedTopK((("b",), ("a", "d")), k=2, judged=4)
    >>> top.order
    ('b', 'a', 'd')
    >>> top.labels(["a", "b", "c", "d"])
    {'a': 1, 'b': 2, 'c': 0, 'd': 1}
    """

    levels: tuple[tuple[DocumentId, ...], ...]
    k: int
    judged: int

    @property
    def order(self) -> tuple[DocumentId, ...]:
        """All documents of the top k, best first."""
        return tuple(document for level in self.levels for document in level)

    def labels(self, documents: Iterable[DocumentId]) -> dict[DocumentId, int]:
        """Return y = k - (number of documents strictly better) inside the top k, else 0."""
        labels = {}
        better = 0
        for level in self.levels:
            labels.update(dict.fromkeys(level, self.k - better))
            better += len(level)
        return {document: labels.get(document, 0) for document in documents}

"""Questions, answers, and the top k that comes of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from podium.errors import UsageError

Document = str
"""A document is its id."""

Answer = Literal[">", "~", "<", "bad"]
"""The first is better, a tie, the second is better, both are bad."""

_FLIPPED: dict[Answer, Answer] = {">": "<", "~": "~", "<": ">", "bad": "bad"}


def check_answer(answer: str) -> Answer:
    """One of the four answers, or an error that lists them.

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
    """Which of two documents is the better one?"""

    a: Document
    b: Document


@dataclass(frozen=True)
class Judgment:
    """A question and its answer.

    Examples
    --------
    >>> Judgment("d1", "d2", ">").flipped()
    Judgment(a='d2', b='d1', answer='<')
    """

    a: Document
    b: Document
    answer: Answer

    def __post_init__(self) -> None:
        check_answer(self.answer)

    def flipped(self) -> Judgment:
        """The same judgment with the documents in the other order."""
        return Judgment(self.b, self.a, _FLIPPED[self.answer])


@dataclass(frozen=True)
class JudgedTopK:
    """The top k as judged: levels best first, tied documents on one level.

    Documents judged equal to the last of the k share its level, so there may be more than k of them;
    where documents were judged bad there may be fewer.

    Parameters
    ----------
    levels
        Best first. Within a level, documents that the strategy itself placed come first.
    k
        How many were looked for.
    judged
        How many judgments it took.

    Examples
    --------
    >>> top = JudgedTopK((("b",), ("a", "d")), k=2, judged=4)
    >>> top.order
    ('b', 'a', 'd')
    >>> top.labels(["a", "b", "c", "d"])
    {'a': 1, 'b': 2, 'c': 0, 'd': 1}
    """

    levels: tuple[tuple[Document, ...], ...]
    k: int
    judged: int

    @property
    def order(self) -> tuple[Document, ...]:
        """All of them, best first."""
        return tuple(document for level in self.levels for document in level)

    def labels(self, documents: Iterable[Document]) -> dict[Document, int]:
        """y = k - (number of documents strictly better) inside the top k, else 0."""
        labels = {}
        better = 0
        for level in self.levels:
            labels.update(dict.fromkeys(level, self.k - better))
            better += len(level)
        return {document: labels.get(document, 0) for document in documents}

"""Strategy: the base class of labelling strategies, which are sorting algorithms that ask questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Sequence
from typing import ClassVar, TypeVar

from podium.labelling.judgments import DocumentId

Result = TypeVar("Result")

Comparisons = Generator[tuple[DocumentId, DocumentId], int, Result]
"""A generator that yields pairs (a, b), receives 1 (a is better), 0 (a tie) or -1 (b is better),
and returns a result."""


class Strategy(ABC):
    """Finds the top k of documents by comparing two at a time.

    A strategy need not know implied answers or rejected documents: StrategyRun answers such
    questions without an assessor, and rejected documents are worse than all others.

    Parameters
    ----------
    order
        The documents in the order in which to take them.
    k
        How many documents to find, at most as many as there are.
    prior
        Whether the order is a prior: probably better documents first.
    """

    name: ClassVar[str]

    def __init__(self, order: Sequence[DocumentId], k: int, prior: bool = False) -> None:
        self.order = tuple(order)
        self.k = k
        self.prior = prior

    @abstractmethod
    def find_top_k(self) -> Comparisons[list[DocumentId]]:
        """Yield pairs until the top k is found; return it best first."""

    @abstractmethod
    def remaining(self, rejected_documents: Collection[DocumentId], skip_implied: bool) -> float:
        """Return how many judgments are still expected while `find_top_k` waits for an answer.

        Parameters
        ----------
        rejected_documents
            Documents judged bad, and all that are no better.
        skip_implied
            Whether implied pairs are not asked.
        """

    @classmethod
    def bound(cls, n: int, k: int, prior: bool = False) -> int:
        """Return the largest number of judgments in any run.

        Parameters
        ----------
        n
            Documents.
        k
            Documents to find; at most n.
        prior
            Whether there is a prior, which may be wrong.
        """
        return cls._bound(n, min(k, n), prior)

    @staticmethod
    @abstractmethod
    def _bound(n: int, k: int, prior: bool) -> int: ...

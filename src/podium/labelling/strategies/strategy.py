"""What a strategy is: a sorting algorithm that asks its comparisons."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Sequence
from typing import ClassVar, TypeVar

from podium.labelling.judgments import Document

Result = TypeVar("Result")

Asking = Generator[tuple[Document, Document], int, Result]
"""Asks for pairs (a, b), is told 1 (a is better), 0 (a tie) or -1 (b is better), gives a result."""


class Strategy(ABC):
    """Finds the top k of documents by comparing two at a time.

    A strategy need not know what is implied, nor of documents that dropped out: who runs it answers
    such questions without an assessor, and documents that left are worse than all others.

    Parameters
    ----------
    order
        The documents in the order in which to take them.
    k
        How many are wanted, at most as many as there are.
    prior
        Whether the order means something: probably better ones first.
    """

    name: ClassVar[str]

    def __init__(self, order: Sequence[Document], k: int, prior: bool = False) -> None:
        self.order = tuple(order)
        self.k = k
        self.prior = prior

    @abstractmethod
    def play(self) -> Asking[list[Document]]:
        """Ask until the top k is known; best first."""

    @abstractmethod
    def remaining(self, gone: Collection[Document], skip_implied: bool) -> float:
        """How many judgments are still to be expected while `play` waits for an answer.

        Parameters
        ----------
        gone
            Documents that dropped out.
        skip_implied
            Whether implied pairs are not asked.
        """

    @classmethod
    def bound(cls, n: int, k: int, prior: bool = False) -> int:
        """The number of judgments that is never exceeded.

        Parameters
        ----------
        n
            Documents.
        k
            Places; more than there are documents are as many.
        prior
            Whether there is a prior, however wrong.
        """
        return cls._bound(n, min(k, n), prior)

    @staticmethod
    @abstractmethod
    def _bound(n: int, k: int, prior: bool) -> int: ...

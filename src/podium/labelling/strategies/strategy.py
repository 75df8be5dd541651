"""Strategy: the base class of labelling strategies, which are sorting algorithms that ask questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Sequence
from typing import ClassVar, TypeVar

from podium.labelling.judgments import DocumentId
from podium.labelling.strategies.evidence import RunEvidence

Result = TypeVar("Result")

Comparisons = Generator[tuple[DocumentId, DocumentId], int, Result]
"""A generator that yields pairs (a, b), receives 1 (a is better), 0 (a tie) or -1 (b is better),
and returns a result."""


class Strategy(ABC):
    """Finds the top k of documents by comparing two at a time.

    A strategy need not know implied answers or rejected documents: StrategyRun answers such
    questions without an assessor, and rejected documents are worse than all others.

    A strategy that does not trust single answers sets `trusts_answers` to False. Then its pairs are
    asked as they are, again if need be. Its choice and its levels depend on `evidence` and nothing else:
    all judgments so far, with the documents' sides. They may be of any pairs.

    Parameters
    ----------
    order
        The documents in the order in which to take them.
    k
        How many documents to find, at most as many as there are.
    prior
        Whether the order is a prior: probably better documents first.
    confidence
        The expected recall at which to end; None for the strategy's own rule. Only for strategies that do
        not trust single answers.
    """

    name: ClassVar[str]
    trusts_answers: ClassVar[bool] = True
    """Whether one answer decides about a pair and everything that it implies."""
    evidence: RunEvidence
    """The judgments so far; the run of the strategy sets it and adds them."""

    def __init__(
        self,
        order: Sequence[DocumentId],
        k: int,
        prior: bool = False,
        confidence: float | None = None,
    ) -> None:
        self.order = tuple(order)
        self.k = k
        self.prior = prior
        self.confidence = confidence

    @property
    def certainty(self) -> float | None:
        """The expected recall of the top k so far; None without a belief about it."""
        return None

    @property
    def memberships(self) -> dict[DocumentId, float] | None:
        """The probability of each document to be in the top k; None without a belief about it."""
        return None

    def levels(self, best: Sequence[DocumentId]) -> tuple[tuple[DocumentId, ...], ...]:
        """Return the top k in levels, best first, from what `find_top_k` returned.

        By default, documents of an implied tie share a level, and rejected documents are out.
        """
        implied = self.evidence.implied_preferences
        places = {document: i for i, document in enumerate(best)}
        levels: list[tuple[DocumentId, ...]] = []
        placed: set[DocumentId] = set()
        for document in best:
            if document not in placed and document not in implied.rejected_documents:
                tied = implied.tied_documents(document)
                levels.append(tuple(sorted(tied, key=lambda d: places.get(d, len(places)))))
                placed.update(tied)
            if len(placed) >= self.k:
                break
        return tuple(levels)

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

    def next_pairs(self, n: int) -> list[tuple[DocumentId, DocumentId]]:
        """Return up to n pairs that may be asked at the same time; [] at the end.

        Only strategies that do not trust single answers have it.
        """
        raise NotImplementedError(f"strategy {self.name} asks one pair at a time")

    def next_set(self, size: int) -> list[DocumentId]:
        """Return documents of which an assessor may choose the best; [] at the end.

        Only strategies that do not trust single answers have it.
        """
        raise NotImplementedError(f"strategy {self.name} asks pairs, not sets")

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

"""Grading, the five-grade tool T2: every document gets one grade."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from podium.errors import UsageError


@dataclass(frozen=True)
class GradeQuestion:
    """A document to grade."""

    document: str


@dataclass(frozen=True)
class Graded:
    """A document and its grade: 0 is the worst."""

    document: str
    grade: int


@dataclass(frozen=True)
class Grades:
    """The result of a finished grade task: documents and their grades, in the order of judging."""

    graded: tuple[Graded, ...]
    names: tuple[str, ...]

    @property
    def labels(self) -> dict[str, int]:
        """The grade of each document.

        Examples
        --------
        >>> Grades((Graded("x", 4), Graded("y", 0)), ("Bad", "Fair", "Good", "Excellent", "Perfect")).labels
        {'x': 4, 'y': 0}
        """
        return {graded.document: graded.grade for graded in self.graded}


class Grading:
    """A queue of documents: the first one is graded next, and a skipped one goes to the end.

    Examples
    --------
    >>> grading = Grading(["x", "y"], ["Bad", "Good"])
    >>> grading.skip()
    >>> grading.step, grading.judge(1)
    (GradeQuestion(document='y'), GradeQuestion(document='x'))
    >>> grading.judge(0).labels
    {'y': 1, 'x': 0}
    """

    def __init__(self, documents: Sequence[str], names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._queue = deque(documents)
        self._judgments: list[Graded] = []

    @property
    def step(self) -> GradeQuestion | Grades:
        """The next document, or all grades at the end."""
        if self._queue:
            return GradeQuestion(self._queue[0])
        return Grades(tuple(self._judgments), self._names)

    @property
    def judgments(self) -> tuple[Graded, ...]:
        """The grades so far."""
        return tuple(self._judgments)

    @property
    def remaining(self) -> float:
        """The number of documents without a grade."""
        return float(len(self._queue))

    def judge(self, grade: int) -> GradeQuestion | Grades:
        """Grade the current document; return the next one, or all grades."""
        if not 0 <= grade < len(self._names):
            raise UsageError(f"expected a grade from 0 to {len(self._names) - 1}, got {grade}")
        self._judgments.append(Graded(self._queue.popleft(), grade))
        return self.step

    def skip(self) -> None:
        """Move the current document to the end of the queue."""
        self._queue.rotate(-1)

    def undo(self, steps: int) -> None:
        """Take back the last grades: their documents are asked again, in the same order."""
        for _ in range(steps):
            self._queue.appendleft(self._judgments.pop().document)

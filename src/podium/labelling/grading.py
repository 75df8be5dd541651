"""The five-grade tool: every document once, one grade each."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from podium.errors import UsageError


@dataclass(frozen=True)
class GradeQuestion:
    """A document that is to have a grade."""

    document: str


@dataclass(frozen=True)
class Graded:
    """A document and its grade, a number from 0, the worst."""

    document: str
    grade: int


@dataclass(frozen=True)
class Grades:
    """The finished truth of the grade tool: documents and their grades, in the order of judging."""

    graded: tuple[Graded, ...]
    names: tuple[str, ...]

    @property
    def labels(self) -> dict[str, int]:
        """Grade by document.

        Examples
        --------
        >>> Grades((Graded("x", 4), Graded("y", 0)), ("Bad", "Fair", "Good", "Excellent", "Perfect")).labels
        {'x': 4, 'y': 0}
        """
        return {graded.document: graded.grade for graded in self.graded}


class Grading:
    """Documents in a line: the first is asked for, a skipped one goes to the end.

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
        self._line = deque(documents)
        self._judgments: list[Graded] = []

    @property
    def step(self) -> GradeQuestion | Grades:
        """The next document, or all grades."""
        if self._line:
            return GradeQuestion(self._line[0])
        return Grades(tuple(self._judgments), self._names)

    @property
    def judgments(self) -> tuple[Graded, ...]:
        """The grades so far."""
        return tuple(self._judgments)

    @property
    def remaining(self) -> float:
        """How many documents are to come."""
        return float(len(self._line))

    def judge(self, grade: int) -> GradeQuestion | Grades:
        """Give the document at hand a grade."""
        if not 0 <= grade < len(self._names):
            raise UsageError(f"expected a grade from 0 to {len(self._names) - 1}, got {grade}")
        self._judgments.append(Graded(self._line.popleft(), grade))
        return self.step

    def skip(self) -> None:
        """Put the document at hand to the end of the line."""
        self._line.rotate(-1)

    def undo(self, steps: int) -> None:
        """Take the last grades back: their documents come again, in the same order."""
        for _ in range(steps):
            self._line.appendleft(self._judgments.pop().document)

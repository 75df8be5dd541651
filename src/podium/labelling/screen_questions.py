"""Questions on screen: whether an old question is asked again, and which document is left."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from podium.labelling.grading import Graded, GradeQuestion
from podium.labelling.judgments import Judgment, Question
from podium.labelling.session import Session
from podium.labelling.tasks import Task


@dataclass(frozen=True)
class ScreenQuestion:
    """A question on screen.

    Parameters
    ----------
    documents
        The left and the right document, or the document to grade.
    judged
        How many judgments the session had when the question was asked.
    repeat
        Whether the question is asked again, to measure how consistent the assessor is.
    """

    documents: tuple[str, ...]
    judged: int
    repeat: bool = False

    @property
    def event_fields(self) -> dict[str, Any]:
        """The fields that an event about this question has."""
        fields: dict[str, Any] = {"document": self.documents[0]}
        if len(self.documents) == 2:
            left, right = self.documents
            fields = {"a": left, "b": right, "left": left}
        return fields | ({"repeat": True} if self.repeat else {})


def current_question(session: Session, repeats: float, gap: int) -> ScreenQuestion | None:
    """Return the question that is asked now; None if the session is finished.

    A question depends on its session and nothing else. So a page that is loaded again shows the same
    question with the same sides, whichever process answers.

    Parameters
    ----------
    session
        The session that goes on.
    repeats, gap
        The share of judgments that are asked again, and how many judgments lie between at least.

    Examples
    --------
    >>> from podium.labelling.tasks import GradeTask
    >>> session = Session(GradeTask("s1", "q1", "ann", ("x", "y"), grades=("Bad", "Good")))
    >>> current_question(session, repeats=0.05, gap=5)
    ScreenQuestion(documents=('x',), judged=0, repeat=False)
    """
    step = session.step
    if not isinstance(step, Question | GradeQuestion):
        return None
    judged = session.progress.judged
    repeated = _repeated_documents(session, judged, repeats, gap)
    if repeated is not None:
        # The sides are swapped, so that the assessor does not just click on the same side again.
        return ScreenQuestion(_sides(session.task, repeated)[::-1], judged, repeat=True)
    documents = (step.document,) if isinstance(step, GradeQuestion) else (step.a, step.b)
    return ScreenQuestion(arrange_sides(session, documents), judged)


def arrange_sides(session: Session, documents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the left and the right document of a question that is not a repeat.

    A strategy that asks a pair again sees it with swapped sides, which cancels a bias for one side.
    """
    sides = _sides(session.task, documents)
    times = sum(set(_documents(judgment)) == set(sides) for judgment in session.judgments)
    return sides[::-1] if times % 2 else sides


def _repeated_documents(
    session: Session, judged: int, share: float, gap: int
) -> tuple[str, ...] | None:
    """Return the documents to ask about again now, if any: each question once, and not too soon."""
    task, repeats = session.task.id, session.repeats
    # A repeat that the assessor put off counts as asked: another one comes later.
    n_repeats = len(repeats) + session.put_off
    if int(share * judged + _pseudorandom(task)) <= n_repeats:
        return None
    repeated = {frozenset(_documents(timed.judgment)) for timed in repeats}
    old = session.judgments[: max(0, judged - gap)]
    candidates = [pair for pair in map(_documents, old) if frozenset(pair) not in repeated]
    if not candidates:
        return None
    return candidates[int(_pseudorandom(task, judged, n_repeats) * len(candidates))]


def _documents(judgment: Judgment | Graded) -> tuple[str, ...]:
    if isinstance(judgment, Graded):
        return (judgment.document,)
    return judgment.a, judgment.b


def _sides(task: Task, documents: tuple[str, ...]) -> tuple[str, ...]:
    """Return the left and the right document: random, but always the same for a pair in a session."""
    if len(documents) < 2:
        return documents
    first, second = sorted(documents)
    is_first_left = _pseudorandom(task.id, first, second) < 0.5
    return (first, second) if is_first_left else (second, first)


def _pseudorandom(*key: object) -> float:
    """Return a number from 0 to 1 that looks random, and is the same for the same key."""
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56

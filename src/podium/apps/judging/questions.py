"""Questions on screen: which document is left, which question is asked again, signed tokens."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podium.errors import EventError, NotAskedError
from podium.labelling.grading import Graded, GradeQuestion
from podium.labelling.judgments import Answer, Judgment, Question
from podium.labelling.session import Session
from podium.labelling.tasks import Task

ANSWERS: dict[str, Answer] = {"left": ">", "tie": "~", "right": "<", "bad": "bad"}
"""Answers of a page -> answers of a judgment with the left document first."""

_SERVER_FIELDS = frozenset(("a", "b", "document", "left", "repeat", "answer"))
"""Fields of an event that only the server fills in; a browser cannot set them."""


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


class SignedQuestions:
    """The questions of sessions, with tokens that prove that a question was asked.

    A question depends on its session and nothing else. So a page that is loaded again shows the same
    question with the same sides, whichever process answers.

    Parameters
    ----------
    key
        Signs the tokens.
    repeats, gap
        The share of judgments that are asked again, and how many judgments lie between at least.
    """

    def __init__(self, key: bytes, repeats: float, gap: int) -> None:
        self._key, self._repeats, self._gap = key, repeats, gap

    def current(self, session: Session) -> ScreenQuestion | None:
        """Return the question that is asked now; None if the session is finished."""
        step = session.step
        if not isinstance(step, Question | GradeQuestion):
            return None
        judged = session.progress.judged
        repeated = self._repeated_documents(session, judged)
        if repeated is not None:
            return ScreenQuestion(_sides(session.task, repeated)[::-1], judged, repeat=True)
        documents = (step.document,) if isinstance(step, GradeQuestion) else (step.a, step.b)
        return ScreenQuestion(_sides(session.task, documents), judged)

    def _repeated_documents(self, session: Session, judged: int) -> tuple[str, ...] | None:
        """Return the documents to ask about again now, if any: each question once, and not too soon."""
        task, repeats = session.task.id, session.repeats
        # A repeat that the assessor put off counts as asked: another one comes later.
        n_repeats = len(repeats) + session.put_off
        if int(self._repeats * judged + _pseudorandom(task)) <= n_repeats:
            return None
        repeated = {frozenset(_documents(timed.judgment)) for timed in repeats}
        old = session.judgments[: max(0, judged - self._gap)]
        candidates = [pair for pair in map(_documents, old) if frozenset(pair) not in repeated]
        if not candidates:
            return None
        return candidates[int(_pseudorandom(task, judged, n_repeats) * len(candidates))]

    def token(self, task: Task, question: ScreenQuestion) -> str:
        """Return the signed token of a question, which only this server can make."""
        places = [task.documents.index(document) for document in question.documents]
        numbers = [*places, question.judged]
        return "-".join((*map(str, numbers), self._proof(task, numbers, question.repeat)))

    def read(self, task: Task, token: object) -> ScreenQuestion | None:
        """Return the question of a token, whenever it was asked; None if it was never asked."""
        n_parts = 4 if task.tool == "preference" else 3
        if not isinstance(token, str) or len(token) > 100 or token.count("-") != n_parts - 1:
            return None
        *texts, proof = token.split("-")
        if not all(text.isascii() and text.isdecimal() for text in texts) or not proof.isascii():
            return None
        numbers = list(map(int, texts))
        for repeat in (False, True):
            if hmac.compare_digest(proof, self._proof(task, numbers, repeat)):
                documents = tuple(task.documents[place] for place in numbers[:-1])
                return ScreenQuestion(documents, numbers[-1], repeat)
        return None

    def _proof(self, task: Task, numbers: list[int], repeat: bool) -> str:
        content = json.dumps([task.id, numbers, repeat]).encode()
        return hmac.new(self._key, content, "sha256").hexdigest()[:24]

    def event_data(self, task: Task, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Check the question's token; return the event's data with documents in place of left and right.

        The result depends on the sent data only, so an event that comes again is the same event.
        """
        fields = {name: value for name, value in data.items() if name not in _SERVER_FIELDS}
        if "question" not in data:
            if kind in ("judgment", "shown") or (kind == "skip" and task.tool == "grade"):
                raise EventError(f"expected the question of a {kind}, got none")
            return fields
        question = self.read(task, data["question"])
        if question is None:
            raise NotAskedError("expected a question of this task, got one that was never asked")
        fields |= question.event_fields
        if kind == "judgment" and task.tool == "preference":
            answer = data.get("answer")
            if not isinstance(answer, str) or answer not in ANSWERS:
                raise EventError(f"expected answer {', '.join(ANSWERS)}, got {answer!r:.60}")
            fields["answer"] = ANSWERS[answer]
        return fields


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

"""QuestionTokens: signed tokens prove that the server asked a question."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from typing import Any

from podium.errors import EventError, NotAskedError
from podium.labelling.judgments import Answer
from podium.labelling.screen_questions import ScreenQuestion
from podium.labelling.tasks import Task

PAGE_ANSWERS: dict[str, Answer] = {"left": ">", "tie": "~", "right": "<", "bad": "bad"}
"""Answers of a page -> answers of a judgment with the left document first."""

_SERVER_FIELDS = frozenset(("a", "b", "document", "left", "repeat", "answer"))
"""Fields that the server fills in; it ignores the values of the browser, and translates `answer`."""


class QuestionTokens:
    """Signs questions, and reads the tokens that come back with events.

    Parameters
    ----------
    key
        Signs the tokens.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, task: Task, question: ScreenQuestion) -> str:
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

    def check_and_resolve(self, task: Task, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
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
            if not isinstance(answer, str) or answer not in PAGE_ANSWERS:
                raise EventError(f"expected answer {', '.join(PAGE_ANSWERS)}, got {answer!r:.60}")
            fields["answer"] = PAGE_ANSWERS[answer]
        return fields

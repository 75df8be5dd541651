"""Questions as they stand on screen: which side, which repetition, and a name that proves it was asked."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podium.errors import EventError, NotAskedError
from podium.labelling.grading import Graded, GradeQuestion
from podium.labelling.judgments import Answer, Question
from podium.labelling.session import Judged, Session
from podium.labelling.tasks import Task

ANSWERS: dict[str, Answer] = {"left": ">", "tie": "~", "right": "<", "bad": "bad"}
"""What a page says, and what a judgment with the left document first says."""

_OURS = frozenset(("a", "b", "document", "left", "repeat", "answer"))
"""What the server says of an event; a browser has no say in it."""


@dataclass(frozen=True)
class Asked:
    """A question on screen.

    Parameters
    ----------
    documents
        The left and the right one, or the one to be graded.
    judged
        How many judgments stood when it was asked.
    repeat
        Whether it was judged before, and is asked again to see how consistent the assessor is.
    """

    documents: tuple[str, ...]
    judged: int
    repeat: bool = False

    @property
    def told(self) -> dict[str, Any]:
        """What an event about the question says of it."""
        about: dict[str, Any] = {"document": self.documents[0]}
        if len(self.documents) == 2:
            left, right = self.documents
            about = {"a": left, "b": right, "left": left}
        return about | ({"repeat": True} if self.repeat else {})


class Questions:
    """What is asked in a session, as a function of the session and nothing else.

    So a page that is loaded again shows the same question with the same sides, in any process.

    Parameters
    ----------
    key
        Signs the questions' names.
    repeats, gap
        The share of judgments that are asked for again, and how many judgments later at least.
    """

    def __init__(self, key: bytes, repeats: float, gap: int) -> None:
        self._key, self._repeats, self._gap = key, repeats, gap

    def asked(self, session: Session) -> Asked | None:
        """The question at hand; None when all is done."""
        step = session.step
        if not isinstance(step, Question | GradeQuestion):
            return None
        judged = session.progress.judged
        again = self._again(session, judged)
        if again is not None:
            return Asked(_sides(session.task, again)[::-1], judged, repeat=True)
        about = (step.document,) if isinstance(step, GradeQuestion) else (step.a, step.b)
        return Asked(_sides(session.task, about), judged)

    def _again(self, session: Session, judged: int) -> tuple[str, ...] | None:
        """What is to be asked again now, if anything: each question once, and not soon after it."""
        task, done = session.task.id, session.repeats
        asked = len(done) + session.put_off  # who puts one off is asked for another, later
        if int(self._repeats * judged + _share(task)) <= asked:
            return None
        known = {frozenset(_about(timed.judgment)) for timed in done}
        old = session.judgments[: max(0, judged - self._gap)]
        fresh = [about for about in map(_about, old) if frozenset(about) not in known]
        return fresh[int(_share(task, judged, asked) * len(fresh))] if fresh else None

    def name(self, task: Task, asked: Asked) -> str:
        """What a page calls the question: it says nothing to people, and nobody else can make one."""
        places = [task.documents.index(document) for document in asked.documents]
        numbers = [*places, asked.judged]
        return "-".join((*map(str, numbers), self._proof(task, numbers, asked.repeat)))

    def read(self, task: Task, name: object) -> Asked | None:
        """The question of a task that has a name, whenever it was asked; None if none ever was."""
        wanted = 4 if task.tool == "preference" else 3
        if not isinstance(name, str) or len(name) > 100 or name.count("-") != wanted - 1:
            return None
        *texts, proof = name.split("-")
        if not all(text.isascii() and text.isdecimal() for text in texts) or not proof.isascii():
            return None
        numbers = list(map(int, texts))
        for repeat in (False, True):
            if hmac.compare_digest(proof, self._proof(task, numbers, repeat)):
                documents = tuple(task.documents[place] for place in numbers[:-1])
                return Asked(documents, numbers[-1], repeat)
        return None

    def _proof(self, task: Task, numbers: list[int], repeat: bool) -> str:
        said = json.dumps([task.id, numbers, repeat]).encode()
        return hmac.new(self._key, said, "sha256").hexdigest()[:24]

    def translated(self, task: Task, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """The data of an event, with documents instead of sides.

        It depends on nothing but what was sent, so an event that comes again is the same event.
        """
        told = {name: value for name, value in data.items() if name not in _OURS}
        if "question" not in data:
            if kind in ("judgment", "shown") or (kind == "skip" and task.tool == "grade"):
                raise EventError(f"expected the question of a {kind}, got none")
            return told
        asked = self.read(task, data["question"])
        if asked is None:
            raise NotAskedError("expected a question of this task, got one that was never asked")
        told |= asked.told
        if kind == "judgment" and task.tool == "preference":
            answer = data.get("answer")
            if not isinstance(answer, str) or answer not in ANSWERS:
                raise EventError(f"expected answer {', '.join(ANSWERS)}, got {answer!r:.60}")
            told["answer"] = ANSWERS[answer]
        return told


def _about(judged: Judged) -> tuple[str, ...]:
    return (judged.document,) if isinstance(judged, Graded) else (judged.a, judged.b)


def _sides(task: Task, about: tuple[str, ...]) -> tuple[str, ...]:
    """Left and right, by a coin that falls alike whenever the two meet in this session."""
    if len(about) < 2:
        return about
    first, second = sorted(about)
    return (first, second) if _share(task.id, first, second) < 0.5 else (second, first)


def _share(*of: object) -> float:
    """A number from 0 to 1 that looks like chance, but is always the same."""
    digest = hashlib.sha256(json.dumps(of).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56

"""Sessions: the work on a task as the replay of its events, with undo, repeats and pauses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from podium.errors import EventError, NotAskedError
from podium.labelling.active_time import MAX_SEGMENTS_PER_JUDGMENT, ActiveTime, Segment, active_time
from podium.labelling.events import JudgingEvent
from podium.labelling.grading import Graded, GradeQuestion, Grades, Grading
from podium.labelling.judgments import Answer, JudgedTopK, Judgment, Question
from podium.labelling.strategies.strategy_run import StrategyRun
from podium.labelling.tasks import GradeTask, Task

Step = Question | JudgedTopK | GradeQuestion | Grades
AnyJudgment = Judgment | Graded

ANSWERS: tuple[Answer, ...] = get_args(Answer)
ANSWER_CODES: dict[str, int] = {"<": -1, "~": 0, ">": 1, "bad": 2}
"""Answers as numbers, for columns."""


class SessionProgress(NamedTuple):
    """The progress of a session: judgments made, and judgments still expected."""

    judged: int
    remaining: float


class EventNumbers(NamedTuple):
    """An event in numbers, for statistics.

    `first` and `second` are places in the task's documents, or -1. `answer` is a code of ANSWER_CODES, a
    grade, or the number of steps of an undo. `repeated` is 1 for a repeated question, and for an undo
    that names its judgment, which may be a repeat. No number needs more than 31 bits.
    """

    first: int = -1
    second: int = -1
    answer: int = 0
    repeated: int = 0
    active_ms: int = 0
    flaws: int = 0


@dataclass(frozen=True)
class TimedJudgment:
    """A judgment with its active time, the id of its event, and the event's place in the session."""

    judgment: Judgment | Graded
    time: ActiveTime
    event: str
    place: int


class Session:
    """The work on a task after some events.

    Parameters
    ----------
    task
        The task to judge.

    Examples
    --------
    >>> task = GradeTask("s1", "q1", "ann", ("x", "y"), grades=("Bad", "Good"))
    >>> session = Session(task)
    >>> session.step
    GradeQuestion(document='x')
    >>> data = {"document": "x", "grade": 1, "segments": [[0, 2500]]}
    >>> session.apply(JudgingEvent("e1", "s1", "judgment", 3000, data)).step
    GradeQuestion(document='y')
    >>> session.active_seconds, session.progress
    ((2.5,), SessionProgress(judged=1, remaining=1.0))
    >>> session.apply(JudgingEvent("e2", "s1", "undo", 4000, {"judgment": "e1"})).step
    GradeQuestion(document='x')
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.n_events = 0
        self.paused = False
        self.put_off = 0
        self._place = {document: place for place, document in enumerate(task.documents)}
        self._work: StrategyRun | Grading = _start_work(task)
        self._kept_judgments: list[TimedJudgment] = []
        self._active_ms = 0
        self._counted_until: int | None = None  # the end of the last counted segment
        self._undone: list[TimedJudgment] = []
        self._repeats: list[TimedJudgment] = []
        self._comments: list[JudgingEvent] = []
        self._segments: list[object] = []  # of the current question
        self._surplus = 0
        self._pauses: list[Segment] = []
        self._paused_at = 0

    @classmethod
    def replay(cls, task: Task, events: Iterable[JudgingEvent]) -> Session:
        """Return the session after these events."""
        session = cls(task)
        for event in events:
            session.apply(event)
        return session

    @property
    def step(self) -> Step:
        """The next question, or the result of a finished session."""
        return self._work.step

    @property
    def finished(self) -> bool:
        """Whether all questions are answered."""
        return isinstance(self.step, JudgedTopK | Grades)

    @property
    def progress(self) -> SessionProgress:
        """Judgments made, and judgments still expected."""
        return SessionProgress(len(self._kept_judgments), self._work.remaining)

    @property
    def certainty(self) -> float | None:
        """The expected recall of the top k so far; None if the strategy has no belief about it."""
        return None if self.run is None else self.run.certainty

    @property
    def run(self) -> StrategyRun | None:
        """The run of the strategy; None if documents are graded."""
        return self._work if isinstance(self._work, StrategyRun) else None

    @property
    def judgments(self) -> tuple[AnyJudgment, ...]:
        """The judgments that were not undone, in order, without repeats."""
        return tuple(self._work.judgments)

    @property
    def times(self) -> tuple[ActiveTime, ...]:
        """The active time of each judgment in `judgments`."""
        return tuple(timed.time for timed in self._kept_judgments)

    @property
    def active_seconds(self) -> tuple[float, ...]:
        """The active seconds of each judgment in `judgments`."""
        return tuple(timed.time.seconds for timed in self._kept_judgments)

    @property
    def active_ms(self) -> int:
        """All active time, including undone and repeated judgments."""
        return self._active_ms

    @property
    def undone(self) -> tuple[TimedJudgment, ...]:
        """Judgments that an undo took back."""
        return tuple(self._undone)

    @property
    def repeats(self) -> tuple[TimedJudgment, ...]:
        """Judgments of repeated questions, which measure consistency and do not change the result."""
        return tuple(self._repeats)

    @property
    def last(self) -> TimedJudgment | None:
        """The last judgment that was not undone, repeats included: an undo names this one."""
        ends = [judgments[-1] for judgments in (self._kept_judgments, self._repeats) if judgments]
        return max(ends, key=lambda timed: timed.place, default=None)

    @property
    def comments(self) -> tuple[JudgingEvent, ...]:
        """The assessor's comments."""
        return tuple(self._comments)

    def apply(self, event: JudgingEvent) -> Session:
        """Apply an event and return the session; an event that does not fit raises and changes nothing."""
        self.apply_with_numbers(event)
        return self

    def apply_with_numbers(self, event: JudgingEvent) -> EventNumbers:
        """Apply an event and return it in numbers, for statistics."""
        judgment = self._check(event)
        self.n_events += 1
        self._update_clock(event)
        if judgment is not None:
            return self._judge(judgment, event)
        if event.kind == "undo":
            return self._undo(event)
        if event.kind == "shown":
            return self._event_numbers(
                event.data.get("a", event.data.get("document")), event.data.get("b")
            )
        if event.kind == "skip" and isinstance(self._work, Grading):
            return self._skip(event, self._work)
        if event.kind == "comment":
            self._comments.append(event)
        return EventNumbers()

    def _update_clock(self, event: JudgingEvent) -> None:
        """Collect the active segments and pauses since the last judgment."""
        sent = event.data.get("segments")
        if sent is not None:
            segments = sent if isinstance(sent, list | tuple) else [sent]
            room = MAX_SEGMENTS_PER_JUDGMENT - len(self._segments)
            self._segments += segments[:room]
            self._surplus += len(segments[room:])
        if event.kind == "pause" and not self.paused:
            self.paused, self._paused_at = True, event.at
        elif event.kind == "resume" and self.paused:
            self.paused = False
            if len(self._pauses) < MAX_SEGMENTS_PER_JUDGMENT:
                self._pauses.append((self._paused_at, event.at))

    def _take_time(self, at: int) -> ActiveTime:
        """Return the active time of a judgment made at `at`, and reset the clock."""
        limits = (self._counted_until, at)
        time = active_time(self._segments, self._pauses, limits=limits, surplus=self._surplus)
        if time.segments:
            self._counted_until = time.segments[-1][1]
        self._active_ms += time.milliseconds
        self._segments, self._pauses, self._surplus = [], [], 0
        self.paused = False  # nobody judges during a pause, so its end event was lost
        return time

    def _judge(self, sent_judgment: AnyJudgment, event: JudgingEvent) -> EventNumbers:
        time, repeated = self._take_time(event.at), event.data.get("repeat") is True
        judgment = sent_judgment if repeated else self._answer_question(sent_judgment)
        judgments = self._repeats if repeated else self._kept_judgments
        judgments.append(TimedJudgment(judgment, time, event.id, self.n_events))
        if isinstance(sent_judgment, Graded):
            numbers = self._event_numbers(sent_judgment.document)
            numbers = numbers._replace(answer=sent_judgment.grade)
        else:
            numbers = self._event_numbers(sent_judgment.a, sent_judgment.b)
            numbers = numbers._replace(answer=ANSWER_CODES[sent_judgment.answer])
        active_ms, flaws = min(time.milliseconds, 2**31 - 1), min(time.flaws, 2**16)
        return numbers._replace(repeated=int(repeated), active_ms=active_ms, flaws=flaws)

    def _answer_question(self, sent_judgment: AnyJudgment) -> AnyJudgment:
        """Pass a judgment to the strategy or the grading; return it in the orientation of the question."""
        if isinstance(self._work, Grading):
            assert isinstance(sent_judgment, Graded)
            self._work.judge(sent_judgment.grade)
            return sent_judgment
        assert isinstance(sent_judgment, Judgment)
        self._work.add(sent_judgment)
        return self._work.judgments[-1]

    def _undo(self, event: JudgingEvent) -> EventNumbers:
        """Take back the named judgment; without a name, as in old stores, the last ones except repeats."""
        has_name, steps = "judgment" in event.data, event.data.get("steps", 1)
        if has_name and self.last in self._repeats[-1:]:
            self._undone.append(self._repeats.pop())
        else:
            self._undone += self._kept_judgments[-steps:]
            del self._kept_judgments[-steps:]
            if isinstance(self._work, Grading):
                self._work.undo(steps)
            else:
                self._work = self._work.undo(steps)
        return EventNumbers(answer=steps, repeated=int(has_name))

    def _skip(self, event: JudgingEvent, grading: Grading) -> EventNumbers:
        """Move the document to the end of the queue; a repeat is not in the queue and is only counted."""
        repeated = event.data.get("repeat") is True
        if repeated:
            self.put_off += 1
        else:
            grading.skip()
        return self._event_numbers(event.data["document"])._replace(repeated=int(repeated))

    def _event_numbers(self, first: object, second: object = None) -> EventNumbers:
        return EventNumbers(self._place.get(first, -1), self._place.get(second, -1))  # type: ignore[call-overload]

    # Checks: all of them run before anything changes.

    def _check(self, event: JudgingEvent) -> AnyJudgment | None:
        """Return the judgment of a judgment event, else None; raise if the event does not fit."""
        if event.task_id != self.task.id:
            raise EventError(
                f"the event belongs to task {event.task_id!r}, not to {self.task.id!r}"
            )
        if event.kind == "judgment":
            judgment = self._read_judgment(event)
            if event.data.get("repeat") is True:
                self._check_repeat(judgment, event)
            else:
                self._check_asked(judgment, event)
            return judgment
        if event.kind == "undo":
            self._check_undo(event)
        elif event.kind == "skip" and isinstance(self._work, Grading):
            self._check_skip(event)
        elif event.kind == "shown":
            for name in ("a", "b") if "a" in event.data else ("document",):
                self._document(event, name)
        elif event.kind == "comment" and not isinstance(event.data.get("text"), str):
            raise EventError(
                f"expected a text in comment {event.id!r}, got {event.data.get('text')!r:.60}"
            )
        return None

    def _read_judgment(self, event: JudgingEvent) -> AnyJudgment:
        """Return the judgment of an event."""
        data: Mapping[str, Any] = event.data
        if isinstance(self.task, GradeTask):
            grade, best = data.get("grade"), len(self.task.grades) - 1
            is_whole = isinstance(grade, int) and not isinstance(grade, bool)
            if not is_whole or not 0 <= grade <= best:  # type: ignore[operator]
                raise EventError(
                    f"expected a grade from 0 to {best} in event {event.id!r}, got {grade!r:.60}"
                )
            return Graded(self._document(event, "document"), grade)  # type: ignore[arg-type]
        answer = data.get("answer")
        if not isinstance(answer, str) or answer not in ANSWERS:
            raise EventError(
                f"expected answer {', '.join(ANSWERS)} in event {event.id!r}, got {answer!r:.60}"
            )
        a, b = self._document(event, "a"), self._document(event, "b")
        left = data.get("left")
        return Judgment(a, b, answer, left if left in (a, b) else None)

    def _document(self, event: JudgingEvent, name: str) -> str:
        document = event.data.get(name)
        if not isinstance(document, str) or document not in self._place:
            raise EventError(
                f"expected a document of query {self.task.query!r} as {name!r} in event {event.id!r}, "
                f"got {document!r:.60}"
            )
        return document

    def _check_asked(self, judgment: AnyJudgment, event: JudgingEvent) -> None:
        if isinstance(self._work, StrategyRun) and not self._work.trusts_answers:
            # On another machine such a strategy may have asked another pair, and every answer counts.
            self._check_two_documents(judgment, event)
            return
        step = self.step
        if isinstance(step, GradeQuestion) and isinstance(judgment, Graded):
            if step.document != judgment.document:
                raise _not_asked(event, f"a grade for {judgment.document!r:.60}", step)
        elif isinstance(step, Question) and isinstance(judgment, Judgment):
            if {step.a, step.b} != {judgment.a, judgment.b}:
                got = f"a judgment of {judgment.a!r:.60} and {judgment.b!r:.60}"
                raise _not_asked(event, got, step)
        else:
            raise _not_asked(event, "a judgment", step)

    def _check_two_documents(self, judgment: AnyJudgment, event: JudgingEvent) -> None:
        if len(_documents(judgment)) < 2:
            raise EventError(f"expected two documents in event {event.id!r}, got {judgment!r:.80}")

    def _check_repeat(self, judgment: AnyJudgment, event: JudgingEvent) -> None:
        documents = _documents(judgment)
        if not any(_documents(timed.judgment) == documents for timed in self._kept_judgments):
            raise NotAskedError(
                f"event {event.id!r} repeats {' and '.join(map(repr, sorted(documents)))}, "
                "which was not judged before"
            )

    def _check_skip(self, event: JudgingEvent) -> None:
        document = event.data.get("document")
        if event.data.get("repeat") is True:
            self._check_repeat(Graded(self._document(event, "document"), 0), event)
        elif self.step != GradeQuestion(document):  # type: ignore[arg-type]
            raise _not_asked(event, f"a skip of {document!r:.60}", self.step)

    def _check_undo(self, event: JudgingEvent) -> None:
        if "judgment" in event.data:
            judgment, last = event.data["judgment"], self.last
            if last is None or judgment != last.event or event.data.get("steps", 1) != 1:
                expected = "nothing" if last is None else f"{last.event!r}, the last that counts"
                raise NotAskedError(
                    f"expected an undo of {expected}, got {judgment!r:.60} in event {event.id!r}"
                )
            return
        steps, most = event.data.get("steps", 1), len(self._kept_judgments)
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise EventError(
                f"expected an undo of 1 step or more in event {event.id!r}, got {steps!r:.60}"
            )
        if steps > most:
            raise NotAskedError(
                f"expected an undo of at most {most} judgments in event {event.id!r}, got {steps}"
            )


def _start_work(task: Task) -> StrategyRun | Grading:
    if isinstance(task, GradeTask):
        return Grading(task.documents, task.grades)
    return StrategyRun(
        task.strategy, task.documents, task.k, task.prior, task.skip_implied, task.confidence
    )


def _documents(judgment: AnyJudgment) -> frozenset[str]:
    """Return the documents of a judgment, in whatever order they were."""
    return frozenset(
        (judgment.document,) if isinstance(judgment, Graded) else (judgment.a, judgment.b)
    )


def _not_asked(event: JudgingEvent, got: str, step: Step) -> NotAskedError:
    expected = "no event, because the session is finished"
    if isinstance(step, Question):
        expected = f"a judgment of {step.a!r} and {step.b!r}"
    elif isinstance(step, GradeQuestion):
        expected = f"a grade for {step.document!r}"
    return NotAskedError(
        f"expected {expected}, got {got} in event {event.id!r}; ask the session for its next step"
    )

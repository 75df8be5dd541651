"""Events, the clock, and sessions as the replay of their events."""

import json
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import EventError, NotAskedError, UsageError
from podium.labelling import (
    STRATEGIES,
    Graded,
    GradeQuestion,
    Grades,
    GradeTask,
    JudgedTopK,
    JudgingEvent,
    Judgment,
    PreferenceTask,
    Question,
    Session,
    StrategyRun,
    active_time,
)
from podium.labelling.active_time import LONGEST_SEGMENT_MS
from podium.labelling.events import LATEST_TIME_MS, MAX_DATA_CHARS
from podium.labelling.session import ANSWER_CODES, EventNumbers
from podium.labelling.store.rows import read_result, result_record

DOCUMENTS = tuple("cabfed")
PREFERENCE = PreferenceTask("s", "q", "ann", DOCUMENTS, k=2)
GRADE = GradeTask("s", "q", "ann", DOCUMENTS)


def tell(kind="comment", at=0, id="e", session="s", **data):  # noqa: A002
    if kind == "comment":
        data.setdefault("text", "")
    return JudgingEvent(id, session, kind, at, data)


def truthful(step, at=0, segments=None, **more):
    """The judgment of an assessor for whom "a" is best, with a new id."""
    data = {"a": step.a, "b": step.b, "answer": ">" if step.a < step.b else "<", **more}
    if segments is not None:
        data["segments"] = segments
    return tell("judgment", at, id=f"j{next(ids)}", **data)


ids = count()


def run_to_the_end(session, at=0):
    events = []
    while isinstance(session.step, Question):
        start = at + 1000 * len(events)
        events.append(truthful(session.step, start + 1000, [[start, start + 1000]]))
        session.apply(events[-1])
    return events


# Events


def test_an_event_is_the_same_after_json():
    event = JudgingEvent(
        "é", "s", "comment", -5, {"text": "\0 \ud800 ☃", "nested": {"x": [1, 2.5, None]}}
    )
    assert json.loads(event.to_json())["session"] == "s"
    assert JudgingEvent.from_json(event.to_json()) == event
    assert JudgingEvent.from_record(json.loads(event.to_json())).content == event.content


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""), ("id", 7), ("id", "x" * 201), ("id", "a\nb"), ("id", "a\0"), ("task_id", None),
        ("kind", "judgement"), ("kind", None), ("kind", ["judgment"]), ("at", 1.5), ("at", "now"),
        ("at", True), ("at", LATEST_TIME_MS + 1), ("data", [1]), ("data", None), ("data", {1: 2}),
        ("data", {"x": float("nan")}), ("data", {"x": {1, 2}}), ("data", {"x": "y" * MAX_DATA_CHARS}),
    ],
)  # fmt: skip
def test_a_malformed_event_is_refused(field, value):
    good = {"id": "e", "task_id": "s", "kind": "pause", "at": 0, "data": {}}
    JudgingEvent(**good)
    with pytest.raises(EventError, match=r"expected|cannot be written as JSON"):
        JudgingEvent(**good | {field: value})


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"id": "e"}', "[" * 100_000, b"\xff",
     '{"id": "e", "session": "s", "kind": "pause", "at": 0, "more": 1}'],
)  # fmt: skip
def test_json_that_is_no_event_is_refused(text):
    with pytest.raises(EventError, match="expected an event"):
        JudgingEvent.from_json(text)


def test_data_that_cannot_end_is_refused():
    endless = {}
    endless["x"] = endless
    with pytest.raises(EventError, match="JSON"):
        JudgingEvent("e", "s", "pause", 0, endless)


def test_dates_stop_at_the_years_there_are():
    assert JudgingEvent("e", "s", "pause", LATEST_TIME_MS).time.year == 9999
    assert JudgingEvent("e", "s", "pause", -LATEST_TIME_MS).time.year == 1
    assert (
        JudgingEvent("e", "s", "pause", 86_400_000).time.isoformat() == "1970-01-02T00:00:00+00:00"
    )


# The clock


@pytest.mark.parametrize(
    ("segments", "milliseconds", "flaws"),
    [
        ([], 0, {}),
        (None, 0, {}),
        ([[0, 1000], [2000, 2500]], 1000 + 500, {}),
        ([[2000, 2500], [0, 1000]], 1000 + 500, {}),
        ([[0, 1000], [1000, 1500]], 1500, {}),
        ([[0, 1000], [500, 1500]], 1500, {"overlaps": 1}),
        ([[0, 1000], [0, 1000]], 1000, {"overlaps": 1}),
        ([[0, 1000], [200, 300], [900, 1100]], 1100, {"overlaps": 2}),
        ([[1000, 0], [0, 10]], 10, {"negative": 1}),
        ([[5, 5]], 0, {}),
        ([[0, LONGEST_SEGMENT_MS]], LONGEST_SEGMENT_MS, {}),
        ([[0, LONGEST_SEGMENT_MS + 1], [0, 10]], 10, {"jumps": 1}),
        ([[0.4, 999.6]], 1000, {}),
        ([[0, None], [1], "ab", 3, [1, 2, 3], [True, 5], ["0", 5]], 0, {"malformed": 7}),
        ([[float("nan"), 1], [0, float("inf")], [0, 1e300], [0, 10**400]], 0, {"malformed": 4}),
        ("0-1000", 0, {"malformed": 1}),
        ({"start": 0}, 0, {"malformed": 1}),
    ],
)
def test_active_time(segments, milliseconds, flaws):
    time = active_time(segments)
    assert time.milliseconds == milliseconds
    assert time.flaws == sum(flaws.values())
    for name, number in flaws.items():
        assert getattr(time, name) == number


def test_pauses_are_no_active_time():
    time = active_time([[0, 10_000]], pauses=[(2000, 4000), (3000, 5000), (9000, 20_000)])
    assert time.milliseconds == 2000 + 4000
    assert time.paused == 2
    assert active_time([[0, 1000]], pauses=[(500, 100)]).milliseconds == 1000  # the clock jumped
    assert active_time([[0, 1000]], pauses=[(1000, 2000)]).flaws == 0


numbers = st.one_of(
    st.integers(-50, 50), st.integers(), st.floats(), st.none(), st.text(max_size=2), st.booleans()
)
rubbish = st.one_of(
    st.lists(st.one_of(st.lists(numbers, max_size=3), numbers), max_size=12), st.text(), st.none()
)


@given(rubbish, st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), max_size=4))
def test_no_segments_break_the_clock(segments, pauses):
    time = active_time(segments, pauses)
    flat = [ms for segment in time.segments for ms in segment]
    assert flat == sorted(flat)
    assert time.milliseconds >= 0


small = st.tuples(st.integers(0, 40), st.integers(0, 40))


@given(st.lists(small, max_size=6), st.lists(small, max_size=3))
def test_active_time_is_the_milliseconds_in_a_segment_and_in_no_pause(segments, pauses):
    expected = {ms for start, end in segments for ms in range(start, end)}
    expected -= {ms for start, end in pauses for ms in range(start, end)}
    assert active_time(segments, pauses).milliseconds == len(expected)


# Sessions


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("skip_implied", [True, False])
def test_a_session_asks_what_the_race_asks(strategy, skip_implied):
    task = replace(PREFERENCE, strategy=strategy, skip_implied=skip_implied, prior=tuple("fedcba"))
    session = Session(task)
    run = StrategyRun(strategy, DOCUMENTS, 2, tuple("fedcba"), skip_implied)
    while isinstance(run.step, Question):
        assert session.step == run.step
        run.judge(">" if run.step.a < run.step.b else "<")
        session.apply(truthful(session.step))
        assert session.judgments == run.judgments
        assert session.progress == (len(run.judgments), run.remaining)
    assert session.finished
    assert session.step == run.step
    assert session.step.order == ("a", "b")


def test_a_judgment_may_come_with_the_documents_in_the_other_order():
    straight, turned = Session(PREFERENCE), Session(PREFERENCE)
    while not straight.finished:
        event = truthful(straight.step)
        data = event.data
        straight.apply(event)
        flipped = Judgment(data["a"], data["b"], data["answer"]).flipped()
        turned.apply(tell("judgment", a=flipped.a, b=flipped.b, answer=flipped.answer))
        assert straight.step == turned.step
    assert straight.judgments == turned.judgments


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_undo_of_any_number_of_steps_is_the_session_before_them(strategy):
    task = replace(PREFERENCE, strategy=strategy)
    events = run_to_the_end(Session(task))
    for steps in range(1, len(events) + 1):
        undone = Session.replay(task, [*events, tell("undo", steps=steps)])
        before = Session.replay(task, events[: len(events) - steps])
        assert undone.step == before.step
        assert undone.judgments == before.judgments
        assert undone.active_seconds == before.active_seconds
        assert undone.progress == before.progress
        assert len(undone.undone) == steps
        assert undone.active_ms == 1000 * len(events)  # the time was spent all the same
        again = run_to_the_end(undone)
        assert len(again) == steps
        assert undone.step == Session.replay(task, events).step


def test_an_undo_without_a_number_is_of_one_step():
    session = Session(PREFERENCE)
    first = session.step
    session.apply(truthful(first)).apply(tell("undo"))
    assert session.step == first
    assert session.judgments == ()


moves = st.lists(
    st.one_of(
        st.sampled_from([">", "~", "<", "bad"]).map(lambda a: ("judgment", a)),
        st.integers(1, 4).map(lambda n: ("undo", n)),
        st.sampled_from(["pause", "resume", "shown", "skip", "comment"]).map(lambda k: (k, None)),
    ),
    max_size=30,
)


def play(session, moves):
    """Apply what of the moves the session takes; returns the events."""
    events = []
    for i, (kind, what) in enumerate(moves):
        data = {"segments": [[1000 * i, 1000 * i + 300]]}
        if kind == "judgment":
            if session.finished:
                continue
            if isinstance(session.step, Question):
                data |= {"a": session.step.a, "b": session.step.b, "answer": what}
            else:
                data |= {"document": session.step.document, "grade": len(what)}
        elif kind == "undo":
            if what > session.progress.judged:
                continue
            data["steps"] = what
        elif kind in ("shown", "skip") and session.task.tool == "grade":
            if session.finished:
                continue
            data["document"] = session.step.document
        elif kind == "shown":
            data |= {"a": "a", "b": "b"}
        elif kind == "comment":
            data["text"] = "so"
        events.append(JudgingEvent(f"e{i}", "s", kind, 1000 * i + 300, data))
        session.apply(events[-1])
    return events


@given(moves, st.sampled_from([PREFERENCE, GRADE]))
def test_a_session_moved_on_is_its_replay(moves, task):
    session = Session(task)
    events = play(session, moves)
    replayed = Session.replay(task, [JudgingEvent.from_json(event.to_json()) for event in events])
    for name in ("step", "judgments", "times", "undone", "progress", "comments", "active_ms", "paused",
                 "put_off", "last", "n_events"):  # fmt: skip
        assert getattr(replayed, name) == getattr(session, name), name
    assert replayed.n_events == len(events)


@given(moves, st.sampled_from([PREFERENCE, GRADE]))
def test_undo_is_what_a_stack_does(moves, task):
    session, stack = Session(task), []
    for event in play(Session(task), moves):
        session.apply(event)
        if event.kind == "judgment":
            stack.append(event.data)
        elif event.kind == "undo":
            del stack[-event.data["steps"] :]
        said = [j.answer if isinstance(j, Judgment) else j.grade for j in session.judgments]
        assert said == [data.get("answer", data.get("grade")) for data in stack]


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (tell("judgment", a="c", b="b", answer=">"), NotAskedError),
        (tell("judgment", a="c", b="c", answer=">"), NotAskedError),
        (tell("judgment", a="c", b="z", answer=">"), EventError),
        (tell("judgment", a="c", answer=">"), EventError),
        (tell("judgment", a=["c"], b="a", answer=">"), EventError),
        (tell("judgment", a="c", b="a", answer=">>"), EventError),
        (tell("judgment", a="c", b="a", answer=None), EventError),
        (tell("judgment", a="c", b="a", answer=["<"]), EventError),
        (tell("judgment", document="c", grade=1), EventError),
        (tell("judgment", a="c", b="a", answer=">", repeat=True), NotAskedError),
        (tell("judgment", a="c", b="a", answer=">", session="t"), EventError),
        (tell("undo"), NotAskedError),
        (tell("undo", steps=0), EventError),
        (tell("undo", steps=True), EventError),
        (tell("undo", steps="1"), EventError),
        (tell("shown", a="c", b="z"), EventError),
        (tell("shown", a="c"), EventError),
        (tell("shown"), EventError),
        (tell("comment", text=3), EventError),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(event, error):
    session = Session(PREFERENCE)
    assert session.step == Question("c", "a")
    with pytest.raises(error):
        session.apply(event)
    assert session.n_events == 0
    assert session.step == Question("c", "a")


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (tell("judgment", document="a", grade=1), NotAskedError),
        (tell("judgment", document="z", grade=1), EventError),
        (tell("judgment", document="c", grade=5), EventError),
        (tell("judgment", document="c", grade=-1), EventError),
        (tell("judgment", document="c", grade=True), EventError),
        (tell("judgment", document="c", grade=1.0), EventError),
        (tell("judgment", document="c"), EventError),
        (tell("judgment", a="c", b="a", answer=">"), EventError),
        (tell("skip", document="a"), NotAskedError),
        (tell("skip"), NotAskedError),
    ],
)
def test_what_does_not_fit_a_grade_session_is_refused(event, error):
    session = Session(GRADE)
    with pytest.raises(error):
        session.apply(event)
    assert session.n_events == 0
    assert session.step == GradeQuestion("c")


def test_a_finished_session_takes_no_judgment_but_an_undo():
    session = Session(PREFERENCE)
    last = run_to_the_end(session)[-1]
    with pytest.raises(NotAskedError, match="finished"):
        session.apply(replace(last, id="again"))
    session.apply(tell("undo"))
    assert not session.finished
    session.apply(replace(last, id="again"))
    assert session.finished


def test_time_runs_from_judgment_to_judgment_and_not_in_pauses():
    session = Session(PREFERENCE)
    step = session.step
    session.apply(tell("shown", 0, a=step.a, b=step.b))
    session.apply(tell("pause", 2000, segments=[[0, 2000]]))
    assert session.paused
    session.apply(tell("resume", 60_000))
    assert not session.paused
    session.apply(truthful(step, 63_000, segments=[[60_000, 63_000]]))
    session.apply(truthful(session.step, 70_000, segments=[[63_000, 64_500]]))
    assert session.active_seconds == (2.0 + 3.0, 1.5)
    assert session.active_ms == 6500


def test_a_segment_that_runs_on_in_a_pause_is_cut():
    session = Session(PREFERENCE)
    session.apply(tell("pause", 2000)).apply(tell("resume", 60_000))
    session.apply(truthful(session.step, 63_000, segments=[[0, 63_000]]))
    assert session.active_seconds == (2.0 + 3.0,)
    assert session.times[0].paused == 1


def test_the_end_of_a_pause_may_get_lost():
    session = Session(PREFERENCE)
    session.apply(tell("pause", 2000))
    session.apply(truthful(session.step, 9000, segments=[[0, 2000], [5000, 9000]]))
    assert session.active_seconds == (2.0 + 4.0,)
    assert not session.paused


def test_repeats_are_kept_apart():
    session = Session(PREFERENCE)
    first = session.step
    session.apply(truthful(first, 1000, segments=[[0, 1000]]))
    second = session.step
    told = {"a": first.b, "b": first.a, "answer": ">", "segments": [[1000, 1700]]}
    again = tell("judgment", 1700, repeat=True, **told)
    entry = session.apply_with_numbers(again)
    assert session.step == second
    assert session.repeats[0].judgment == Judgment(first.b, first.a, ">")
    assert entry == EventNumbers(1, 0, ANSWER_CODES[">"], repeated=1, active_ms=700)
    assert session.active_seconds == (1.0,)
    session.apply(tell("undo"))
    assert session.step == first
    assert len(session.repeats) == 1


def test_grades():
    session = Session(GradeTask("s", "q", "ann", tuple("abc"), grades=("no", "yes")))
    session.apply(tell("skip", document="a"))
    assert session.step == GradeQuestion("b")
    for document, grade in (("b", 1), ("c", 0), ("a", 1)):
        assert session.step == GradeQuestion(document)
        session.apply(tell("judgment", document=document, grade=grade))
    assert session.step == Grades((Graded("b", 1), Graded("c", 0), Graded("a", 1)), ("no", "yes"))
    assert session.step.labels == {"a": 1, "b": 1, "c": 0}
    session.apply(tell("undo", steps=2))
    assert session.step == GradeQuestion("c")
    assert session.progress == (1, 2.0)


def test_a_skip_of_a_pair_changes_nothing():
    session = Session(PREFERENCE)
    step = session.step
    session.apply(tell("skip"))
    assert (session.step, session.n_events) == (step, 1)


def test_entries_are_the_events_in_numbers():
    session = Session(PREFERENCE)
    place = DOCUMENTS.index
    shown = session.apply_with_numbers(tell("shown", a="f", b="d"))
    assert shown == EventNumbers(place("f"), place("d"))
    judged = tell("judgment", 900, a="c", b="a", answer="<", segments=[[0, 900], [5, 1]])
    assert session.apply_with_numbers(judged) == EventNumbers(0, 1, -1, 0, 900, 1)
    assert session.apply_with_numbers(tell("undo", steps=1)) == EventNumbers(answer=1)
    assert session.apply_with_numbers(tell("comment", text="hm")) == EventNumbers()
    graded = Session(GRADE).apply_with_numbers(tell("judgment", document="c", grade=4))
    assert graded == EventNumbers(0, -1, 4)


@pytest.mark.parametrize("task", [PREFERENCE, GRADE])
def test_results_are_the_same_after_json(task):
    session = Session(task)
    assert result_record(session.step) is None
    play(session, [("judgment", ">")] * 50)
    assert isinstance(session.step, JudgedTopK | Grades)
    assert read_result(json.loads(json.dumps(result_record(session.step)))) == session.step


def test_tasks_are_checked():
    with pytest.raises(UsageError, match="k of 1 or more"):
        replace(PREFERENCE, k=0)
    with pytest.raises(UsageError, match="did you mean tournament"):
        replace(PREFERENCE, strategy="turnament")
    with pytest.raises(ValueError, match="prior"):
        replace(PREFERENCE, prior=("a",))
    with pytest.raises(ValueError, match="'c' twice"):
        replace(PREFERENCE, documents=("c", "c"))
    with pytest.raises(ValueError, match="has no documents"):
        replace(PREFERENCE, documents=())
    with pytest.raises(UsageError, match="2 to 100"):
        replace(GRADE, grades=("one",))

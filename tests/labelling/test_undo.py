"""Undo names what it takes back; time is counted once: sessions, columns and statistics agree."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import NotAskedError
from podium.labelling import (
    GradeQuestion,
    GradeTask,
    JudgingEvent,
    Judgment,
    Pool,
    PoolDocument,
    PoolQuery,
    PreferenceTask,
    Question,
    Session,
    statistics,
)
from podium.labelling.active_time import LONGEST_JUDGMENT_MS, MAX_SEGMENTS_PER_JUDGMENT
from podium.labelling.session import EventNumbers
from podium.labelling.store import Store, StoreMember

DOCUMENTS = tuple("cabfed")
PAIRS = PreferenceTask("s", "q", "ann", DOCUMENTS, k=3)
GRADES = GradeTask("s", "q", "ann", DOCUMENTS)


def told(session, name, at=0, answer=">", **data):
    step = session.step
    about = {"document": getattr(step, "document", None), "grade": 1}
    if isinstance(step, Question):
        about = {"a": step.a, "b": step.b, "answer": answer}
    return JudgingEvent(name, "s", "judgment", at, about | data)


def again(session, name, place=0):
    """The judgment of an earlier question, asked again."""
    earlier = session.judgments[place]
    if isinstance(earlier, Judgment):
        about = {"a": earlier.b, "b": earlier.a, "answer": ">"}
    else:
        about = {"document": earlier.document, "grade": 2}
    return JudgingEvent(name, "s", "judgment", 0, about | {"repeat": True})


def undo(name, judgment):
    return JudgingEvent(name, "s", "undo", 0, {"judgment": judgment})


@pytest.mark.parametrize("task", [PAIRS, GRADES], ids=["pairs", "grades"])
def test_an_undo_takes_back_a_repeat(task):
    session = Session(task)
    for name in ("e1", "e2"):
        session.apply(told(session, name))
    before = session.step
    session.apply(again(session, "e3"))
    assert session.last.event == "e3"
    assert session.apply_with_numbers(undo("u1", "e3")) == EventNumbers(answer=1, repeated=1)
    assert (session.repeats, session.step, len(session.judgments)) == ((), before, 2)
    assert [timed.event for timed in session.undone] == ["e3"]
    session.apply(undo("u2", "e2"))
    assert len(session.judgments) == 1
    assert session.last.event == "e1"


def test_an_undo_of_any_other_is_refused():
    session = Session(PAIRS)
    with pytest.raises(NotAskedError, match="an undo of nothing"):
        session.apply(undo("u", "e1"))
    for name in ("e1", "e2"):
        session.apply(told(session, name))
    session.apply(again(session, "e3"))
    for wrong in ("e1", "e2", "u", "", None, 7, ["e3"]):
        with pytest.raises(NotAskedError, match="an undo of 'e3'"):
            session.apply(undo("u", wrong))
    with pytest.raises(NotAskedError):
        session.apply(JudgingEvent("u", "s", "undo", 0, {"judgment": "e3", "steps": 2}))
    assert (session.n_events, len(session.judgments), len(session.repeats)) == (3, 2, 1)


def test_an_old_undo_means_what_it_meant():
    """It passed repeats over."""
    session = Session(PAIRS)
    first = session.step
    session.apply(told(session, "e1"))
    session.apply(again(session, "e2"))
    assert session.apply_with_numbers(JudgingEvent("u", "s", "undo", 0)) == EventNumbers(
        answer=1, repeated=0
    )
    assert session.step == first
    assert [timed.event for timed in session.repeats] == ["e2"]


def test_a_repeat_that_is_put_off_stays_out_of_the_line():
    session = Session(GRADES)
    session.apply(told(session, "e1"))
    step = session.step
    skip = JudgingEvent("k", "s", "skip", 0, {"document": DOCUMENTS[0], "repeat": True})
    assert session.apply_with_numbers(skip) == EventNumbers(first=0, repeated=1)
    assert (session.step, session.put_off) == (step, 1)
    strange = JudgingEvent("k2", "s", "skip", 0, {"document": DOCUMENTS[3], "repeat": True})
    with pytest.raises(NotAskedError):
        session.apply(strange)
    session.apply(JudgingEvent("k3", "s", "skip", 0, {"document": step.document}))
    assert session.step == GradeQuestion(DOCUMENTS[2])


@given(st.lists(st.sampled_from(["judge", "judge", "again", "undo", "old"]), max_size=40))
def test_undo_is_what_a_stack_does(moves):
    session, stack, n_undone = Session(GRADES), [], 0
    for i, move in enumerate(moves):
        plain = [entry for entry in stack if not entry[1]]
        if move == "judge" and not session.finished:
            session.apply(told(session, f"e{i}"))
            stack.append((f"e{i}", False))
        elif move == "again" and plain:
            session.apply(again(session, f"e{i}", i % len(plain)))
            stack.append((f"e{i}", True))
        elif move == "undo" and stack:
            session.apply(undo(f"e{i}", stack.pop()[0]))
            n_undone += 1
        elif move == "old" and plain:
            session.apply(JudgingEvent(f"e{i}", "s", "undo", 0))
            stack.remove(plain[-1])
            n_undone += 1
        assert (None if session.last is None else session.last.event) == (
            stack[-1][0] if stack else None
        )
        assert [t.event for t in session.repeats] == [name for name, repeat in stack if repeat]
        assert len(session.judgments) == sum(not repeat for _, repeat in stack)
    assert len(session.undone) == n_undone


@pytest.fixture
def store(store_url):
    with Store.open(store_url) as store:
        documents = tuple(PoolDocument(d) for d in DOCUMENTS)
        store.add_pool(Pool((PoolQuery("q", "jazz", documents=documents),)))
        store.add_members([StoreMember("ann")])
        store.add_tasks([GRADES])
        yield store


def test_columns_and_statistics_agree_with_the_replay(store):
    rng = random.Random(3)
    for i in range(120):
        session = store.session("s")
        last, kind = session.last, rng.choice(["judge", "judge", "again", "undo", "old"])
        event = JudgingEvent(f"e{i}", "s", "comment", 0, {"text": ""})
        if kind == "judge" and not session.finished:
            event = told(session, f"e{i}")
        elif kind == "again" and session.judgments:
            event = again(session, f"e{i}", rng.randrange(len(session.judgments)))
        elif kind == "undo" and last is not None:
            event = undo(f"e{i}", last.event)
        elif kind == "old" and session.judgments:
            event = JudgingEvent(f"e{i}", "s", "undo", 0)
        store.append(event)
    session = Session.replay(GRADES, store.events("s"))
    log, names = store.judgments(), [e.id for e in store.events("s") if e.kind == "judgment"]
    undone = {timed.event for timed in session.undone}
    repeats = {timed.event for timed in session.repeats}
    assert undone
    assert repeats
    assert [name for name, gone in zip(names, log.undone, strict=True) if gone] == [
        name for name in names if name in undone
    ]
    kept = log.repeated & ~log.undone
    assert {name for name, repeat in zip(names, kept, strict=True) if repeat} == repeats
    standing = {j.document for j in session.judgments}
    asked = [timed for timed in session.repeats if timed.judgment.document in standing]
    assert statistics(store).consistency["grade"].repeats == len(asked)


# Time


def test_time_is_counted_once():
    session = Session(PAIRS)
    session.apply(told(session, "e1", 10_000, segments=[[0, 10_000]]))
    session.apply(told(session, "e2", 12_000, segments=[[0, 10_000], [9_000, 12_000]]))
    assert session.active_seconds == (10.0, 2.0)
    assert [time.outside for time in session.times] == [0, 2]
    assert [time.flaws for time in session.times] == [0, 2]


def test_the_future_does_not_count():
    session = Session(PAIRS)
    year_2191 = 6_974_000_000_000
    claimed = [
        [year_2191 + i * 1_900_000, year_2191 + i * 1_900_000 + 1_800_000] for i in range(700)
    ]
    for name in ("e1", "e2"):
        session.apply(told(session, name, 5_000, segments=claimed))
    assert session.active_seconds == (0.0, 0.0)
    assert [time.flaws for time in session.times] == [700, 700]
    assert len(session.judgments) == 2


def test_a_judgment_takes_an_hour_at_most():
    session = Session(PAIRS)
    spans = [[i * 2_000_000, i * 2_000_000 + 1_800_000] for i in range(10)]
    session.apply(told(session, "e1", 20_000_000, segments=spans))
    (time,) = session.times
    assert time.milliseconds == LONGEST_JUDGMENT_MS == 2 * 1_800_000
    assert (time.capped, time.flaws) == (1, 1)


def test_a_clock_that_was_set_back_is_a_flaw_and_no_loss():
    session = Session(PAIRS)
    hour = 3_600_000
    session.apply(told(session, "e1", 2 * hour, segments=[[2 * hour - 5_000, 2 * hour]]))
    for i, name in enumerate(("e2", "e3")):
        at = hour + 10_000 * (i + 1)
        session.apply(told(session, name, at, segments=[[at - 4_000, at]]))
    assert session.active_seconds == (5.0, 4.0, 4.0)
    assert [time.set_back for time in session.times] == [0, 1, 0]


def test_segments_of_one_question_are_bounded():
    session = Session(PAIRS)
    for i in range(30):
        sent = [[1000 * i + 10 * j, 1000 * i + 10 * j + 5] for j in range(100)]
        session.apply(JudgingEvent(f"c{i}", "s", "comment", 0, {"text": "", "segments": sent}))
        session.apply(JudgingEvent(f"p{i}", "s", "pause", 0)).apply(
            JudgingEvent(f"r{i}", "s", "resume", 0)
        )
    assert len(session._segments) == MAX_SEGMENTS_PER_JUDGMENT
    session.apply(told(session, "e1", 1_000_000))
    (time,) = session.times
    assert time.surplus == 30 * 100 - MAX_SEGMENTS_PER_JUDGMENT
    assert time.milliseconds == 5 * MAX_SEGMENTS_PER_JUDGMENT
    session.apply(told(session, "e2", 1_000_500, segments=[[1_000_000, 1_000_500]]))
    assert session.times[1].flaws == 0


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 30),
)
def test_active_time_is_the_milliseconds_within_limits(segments, after, until, most):
    from podium.labelling import active_time

    time = active_time(segments, limits=(after, until), most=most)
    low = after if after <= until else 0
    expected = {ms for start, end in segments for ms in range(start, end) if low <= ms < until}
    assert time.milliseconds == min(len(expected), most)
    assert time.capped == (len(expected) > most)
    assert time.set_back == (until < after)

"""The store: events once each, pools, members and tasks, in SQLite and PostgreSQL."""

import json
import random
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
import sqlalchemy as sa

from podium.errors import (
    DataError,
    EventError,
    NotAskedError,
    ReusedIdError,
    UnknownNameError,
    UsageError,
)
from podium.labelling import (
    Graded,
    GradeTask,
    JudgingEvent,
    Pool,
    PoolDocument,
    PoolQuery,
    PreferenceTask,
    Question,
)
from podium.labelling.session import ANSWER_CODES
from podium.labelling.store import Store, StoreMember
from tests.support.stores import (
    ANN,
    BOB,
    CAT,
    DOCUMENTS,
    MEMBERS,
    POOL,
    assert_is_its_replay,
    furnish,
    judge_all,
    judgment,
)

# Appending


@pytest.mark.parametrize("task", [ANN, BOB, CAT], ids=lambda task: task.id)
def test_a_session_from_the_first_to_the_last_question(store, store_url, task):
    events = judge_all(store, task.id)
    assert store.events(task.id) == events
    result = store.session(task.id).step
    if task is CAT:
        assert result.labels == {d: int(d[1:]) % 5 for d in DOCUMENTS}
    else:
        assert result.order == DOCUMENTS[:3]
    assert_is_its_replay(store, task)
    with Store.open(store_url) as other:  # as after a restart
        assert other.session(task.id).step == result
        assert other.events(task.id) == events
        assert_is_its_replay(other, task)


def test_an_event_sent_twice_is_one_event(store, store_url):
    events = judge_all(store, "ann-q1", at_most=5)
    before = store.session("ann-q1").step
    with Store.open(store_url) as other:
        for event in [*events, *reversed(events)]:
            again = other.append(JudgingEvent.from_json(event.to_json()))
            assert not again.new
            assert again.session.step == before
    assert store.events("ann-q1") == events
    assert store.append(judgment("ann-q1", before, 5)).new


def test_an_id_with_other_content_is_an_error(store):
    (event,) = judge_all(store, "ann-q1", at_most=1)
    step = store.session("ann-q1").step
    others = [
        JudgingEvent(event.id, event.task_id, event.kind, event.at, {**event.data, "answer": "~"}),
        JudgingEvent(event.id, event.task_id, event.kind, event.at + 1, event.data),
        JudgingEvent(event.id, event.task_id, "pause", event.at, event.data),
        JudgingEvent(event.id, "bob-q1", event.kind, event.at, event.data),
        judgment("ann-q1", step, 0),
    ]
    for other in others:
        with pytest.raises(ReusedIdError, match=repr(event.id)):
            store.append(other)
    assert store.events("ann-q1") == [event]
    assert store.events("bob-q1") == []
    assert store.append(judgment("ann-q1", step, 1)).new


def test_a_judgment_of_what_was_not_asked_is_refused(store):
    step = store.session("ann-q1").step
    wrong = {
        "a": step.a,
        "b": next(d for d in DOCUMENTS if d not in (step.a, step.b)),
        "answer": ">",
    }
    with pytest.raises(NotAskedError, match="expected a judgment of"):
        store.append(JudgingEvent("e", "ann-q1", "judgment", 0, wrong))
    with pytest.raises(NotAskedError):
        store.append(JudgingEvent("e", "ann-q1", "undo", 0))
    assert store.events("ann-q1") == []
    good = judgment("ann-q1", step, 0)
    store.append(good)
    with pytest.raises(NotAskedError):  # the same answer again, under a new id
        store.append(JudgingEvent("f", "ann-q1", "judgment", 0, good.data))
    assert store.events("ann-q1") == [good]
    assert_is_its_replay(store, ANN)


def test_an_unknown_session_is_refused(store):
    for call in (
        store.session,
        store.events,
        lambda s: store.append(JudgingEvent("e", s, "pause", 0)),
    ):
        with pytest.raises(EventError, match="the store has no task 'eve-q1'"):
            call("eve-q1")


def test_any_text_is_kept_as_it_is(store):
    text = "'; DROP TABLE events; -- \0 \ud800 ☃ \U0001f600 \\u0000 é"
    event = JudgingEvent(
        "☃ %s :x", "ann-q1", "comment", -1, {"text": text, "deep": [{"ä": None}, 1e300, 2**70]}
    )
    store.append(event)
    assert store.events("ann-q1") == [event]
    assert not store.append(event).new
    assert store.comments() == [event]


def test_undo_is_in_the_log(store):
    events = judge_all(store, "ann-q1")
    undo = JudgingEvent("undo", "ann-q1", "undo", 0, {"steps": len(events) - 1})
    session = store.append(undo).session
    assert len(session.judgments) == 1
    assert store.events("ann-q1") == [*events, undo]
    assert_is_its_replay(store, ANN)  # the result is gone, too
    judge_all(store, "ann-q1")
    assert_is_its_replay(store, ANN)


def random_event(rng, session, number):
    """Something that the session takes, whatever it is."""
    kinds = ["judgment"] * 8 + [
        "undo",
        "pause",
        "resume",
        "comment",
        "shown",
        "skip",
        "repeat",
        "repeat",
    ]
    kind, step, data = rng.choice(kinds), session.step, {}
    if session.finished and kind in ("judgment", "shown", "skip"):
        kind = "undo"
    if kind in ("undo", "repeat") and not session.judgments:
        kind = "judgment"
    if kind == "undo":
        data = {"steps": rng.randint(1, min(4, len(session.judgments)))}
        if rng.random() < 0.6:  # the way of pages; the other one is of older stores
            data = {"judgment": session.last.event}
    elif kind == "comment":
        data = {"text": "so"}
    elif kind == "repeat":
        past = rng.choice(session.judgments)
        data = {"repeat": True}
        if isinstance(past, Graded):
            data |= {"document": past.document, "grade": rng.randint(0, 4)}
        else:
            data |= {"a": past.b, "b": past.a, "answer": rng.choice([">", "~", "<"])}
        kind = "judgment"
    elif isinstance(step, Question):
        data = {"a": step.a, "b": step.b}
        if kind == "judgment":
            data["answer"] = rng.choice([">", ">", "~", "<", "<", "bad"])
    elif not session.finished:
        data = {"document": step.document}
        if kind == "judgment":
            data["grade"] = rng.randint(0, 4)
    data["segments"] = [[100 * number, 100 * number + rng.randint(-5, 90)]]
    return JudgingEvent(
        f"{session.task.id}-{number}", session.task.id, kind, 100 * number + 80, data
    )


def test_what_is_kept_beside_the_events_is_what_they_say(store):
    rng = random.Random(0)
    for number in range(250):
        task = rng.choice([ANN, BOB, CAT])
        store.append(random_event(rng, store.session(task.id), number))
        if number % 50 == 49:
            for each in (ANN, BOB, CAT):
                assert_is_its_replay(store, each)
    check_columns(store)


def check_columns(store):
    """The columns of all judgments against the sessions themselves."""
    log = store.judgments()
    assert [task.id for task in log.tasks] == ["ann-q1", "bob-q1", "cat-q1"]
    assert sum(log.undone) > 0
    assert sum(log.repeated) > 0
    for i, task in enumerate(log.tasks):
        session = store.session(task.id)
        of_task = log.task == i
        told = [e for e in store.events(task.id) if e.kind == "judgment"]
        assert np.count_nonzero(of_task) == len(told)
        stand = log.standing & of_task
        timed = list(zip(session.judgments, session.times, strict=True))
        expected = [
            (
                task.documents.index(j.document if isinstance(j, Graded) else j.a),
                -1 if isinstance(j, Graded) else task.documents.index(j.b),
                j.grade if isinstance(j, Graded) else ANSWER_CODES[j.answer],
                time.milliseconds,
                time.flaws,
            )
            for j, time in timed
        ]
        columns = (log.first, log.second, log.answer, log.active_ms, log.flaws)
        got = list(zip(*(column[stand].tolist() for column in columns), strict=True))
        # A judgment may be told with its documents in the other order: never by these assessors.
        assert got == expected
        assert np.count_nonzero(of_task & log.repeated & ~log.undone) == len(session.repeats)
        assert np.count_nonzero(of_task & log.undone) == len(session.undone)


def test_an_empty_store_has_no_judgments(store):
    log = store.judgments()
    assert len(log) == 0
    assert len(log.tasks) == 3
    assert repr(log) == "JudgmentLog(0 judgments in 3 tasks)"
    assert [s.finished for s in store.session_states()] == [False] * 3


# Pools, members, tasks


def test_pools_members_and_tasks_are_kept(store, store_url):
    with Store.open(store_url) as other:
        assert other.pool() == POOL
        assert other.query("q2") == POOL["q2"]
        assert other.members() == MEMBERS
        assert [s.task for s in other.session_states()] == [ANN, BOB, CAT]
        assert [s.task for s in other.session_states(assessor="bob")] == [BOB]
        assert [s.task for s in other.session_states(assessor="bob", query="q2")] == []
        with pytest.raises(UnknownNameError, match="known: q1, q2"):
            other.query("q3")


def test_comments_come_in_the_order_in_which_they_came(store):
    for i, session in enumerate(["cat-q1", "ann-q1", "bob-q1", "ann-q1"]):
        store.append(JudgingEvent(f"c{i}", session, "comment", -i, {"text": "so"}))
        time.sleep(0.002)
    assert [event.id for event in store.comments()] == ["c0", "c1", "c2", "c3"]
    assert [event.id for event in store.comments(latest=2)] == ["c2", "c3"]


def test_comments_are_found_without_looking_at_all_events(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store, store.database.reading() as connection:
        said = (
            "EXPLAIN QUERY PLAN SELECT id FROM events WHERE kind = 'comment' ORDER BY received DESC"
        )
        plan = " ".join(str(row) for row in connection.exec_driver_sql(said))
    assert "events_comments" in plan


def test_links_are_renewed_one_by_one(store):
    assert store.renew_links(["cat", "ann"]) == [
        StoreMember("ann", generation=1),
        StoreMember("cat", generation=1),
    ]
    assert store.renew_links(["cat"]) == [StoreMember("cat", generation=2)]
    store.add_members([StoreMember("cat", "Catherine")])  # which says nothing of links
    assert [member.generation for member in store.members()] == [1, 0, 2]
    with pytest.raises(UnknownNameError, match="member 'dan'"):
        store.renew_links(["ann", "dan"])
    assert store.members()[0].generation == 1


def test_adding_again_adds_nothing(store):
    assert store.add_pool(POOL) == 0
    assert store.add_tasks([ANN, CAT]) == 0
    third = PoolQuery("q3", documents=(PoolDocument("x"),))
    assert store.add_pool(Pool((POOL["q2"], third))) == 1
    assert store.pool() == Pool((*POOL, third))
    store.add_members([StoreMember("bob", "Robert"), StoreMember("dan")])
    assert store.members() == [
        StoreMember("ann"),
        StoreMember("bob", "Robert"),
        StoreMember("cat"),
        StoreMember("dan"),
    ]


def test_many_queries_at_once(store):
    queries = tuple(PoolQuery(f"n{i}", documents=(PoolDocument("x"),)) for i in range(1200))
    assert store.add_pool(Pool(queries)) == 1200
    assert store.add_pool(Pool(queries)) == 0
    tasks = [GradeTask(f"t{i}", f"n{i}", "ann", ("x",)) for i in range(1200)]
    assert store.add_tasks(tasks) == 1200
    assert store.add_tasks(tasks) == 0


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (
            lambda s: s.add_pool(Pool((PoolQuery("q2", documents=(PoolDocument("x"),)),))),
            DataError,
            "'q2'",
        ),
        (
            lambda s: s.add_tasks([GradeTask("ann-q1", "q1", "ann", DOCUMENTS)]),
            DataError,
            "other settings",
        ),
        (
            lambda s: s.add_tasks([GradeTask("t", "q1", "eve", DOCUMENTS)]),
            UnknownNameError,
            "assessor 'eve'",
        ),
        (
            lambda s: s.add_tasks([GradeTask("t", "q9", "ann", DOCUMENTS)]),
            UnknownNameError,
            "query 'q9'",
        ),
        (
            lambda s: s.add_tasks([GradeTask("t", "q2", "ann", ("x", "z"))]),
            DataError,
            "has document 'z'",
        ),
        (
            lambda s: s.add_tasks([GradeTask("t", "q1", "cat", DOCUMENTS)]),
            DataError,
            "'cat' has another task for query 'q1'",
        ),
        (
            lambda s: s.add_tasks([GradeTask("\n", "q1", "ann", DOCUMENTS)]),
            DataError,
            "events can name",
        ),
        (
            lambda s: s.add_tasks([GradeTask(i, "q2", "ann", ("x",)) for i in "tu"]),
            DataError,
            "has another task for query",
        ),
        (
            lambda s: s.add_tasks([GradeTask("t", "q2", a, ("x",)) for a in ("ann", "bob")]),
            DataError,
            "t",
        ),
        (lambda s: s.add_members([StoreMember("x\0")]), UsageError, "printable"),
        (lambda s: s.add_members([StoreMember("x", role="boss")]), UnknownNameError, "role 'boss'"),
    ],
)
def test_what_does_not_fit_is_refused_whole(store, change, error, says):
    with pytest.raises(error, match=says):
        change(store)
    assert store.pool() == POOL
    assert [s.task for s in store.session_states()] == [ANN, BOB, CAT]
    assert store.members() == MEMBERS


# Work: functions that are called, which no other program on the machine changes


def calls_of(work, *arguments):
    """How many functions some work calls."""
    counted = Counter()
    sys.setprofile(lambda frame, kind, argument: counted.update([kind]))
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
    return counted["call"] + counted["c_call"]


def test_appending_takes_as_few_calls_after_five_thousand_events(store_url):
    documents = tuple(f"d{i:04d}" for i in range(1000))
    with Store.open(store_url) as store:
        store.add_pool(Pool((PoolQuery("q", documents=tuple(map(PoolDocument, documents))),)))
        store.add_members([StoreMember("ann")])
        store.add_tasks([PreferenceTask("s", "q", "ann", documents, k=50, strategy="sort")])
        first = [calls_of(append_judgment, store, number) for number in range(20)]
        numbers, step = range(20, 2580), store.session("s").step
        ids = [f"s{sign}{number}" for number in numbers for sign in ("", "-")]
        with store.batch(["s"], ids) as batch:
            for number in numbers:
                shown = JudgingEvent(f"s{number}", "s", "shown", number, {"a": step.a, "b": step.b})
                batch.append(shown)
                step = batch.append(judgment("s", step, number)).session.step
        last = [calls_of(append_judgment, store, number) for number in range(2580, 2600)]
        assert len(store.events("s")) > 5000
    assert np.median(last) < 2 * np.median(first)


def append_judgment(store, number):
    """A judgment of the question that is asked."""
    store.append(judgment("s", store.session("s").step, number))


def test_all_judgments_are_read_without_a_call_for_each(store_url):
    n_tasks, n_events = 100, 500
    documents = tuple(f"document-{i:04d}" for i in range(50))
    with Store.open(store_url) as store:
        pool = [
            PoolQuery(f"q{i}", documents=tuple(map(PoolDocument, documents)))
            for i in range(n_tasks)
        ]
        store.add_pool(Pool(tuple(pool)))
        store.add_members([StoreMember("ann")])
        store.add_tasks(PreferenceTask(f"s{i}", f"q{i}", "ann", documents) for i in range(n_tasks))
        data = json.dumps(
            {"a": documents[0], "b": documents[1], "answer": ">", "segments": [[0, 900]]}
        )
        insert = sa.text(
            "INSERT INTO events SELECT t.number, p.place, t.number || '-' || p.place, "
            "CASE WHEN p.place % 2 = 1 THEN 'shown' ELSE 'judgment' END, p.place, p.place, :data, "
            "p.place % 50, (p.place + 1) % 50, 1, 0, p.place, 0, 0 FROM tasks t CROSS JOIN ("
            "WITH RECURSIVE n(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM n WHERE place < :n) "
            "SELECT place FROM n) p ORDER BY p.place, t.number"
        )
        with store.database.writing("many events") as connection:
            connection.execute(insert, {"n": n_events, "data": data})
        calls = calls_of(store.judgments)
        log = store.judgments()
    assert len(log) == n_tasks * n_events // 2
    assert calls < len(log)
    assert log.active_ms.reshape(n_tasks, -1)[7].tolist() == list(range(2, n_events + 1, 2))


def test_nothing_is_left_open(tmp_path):
    path = tmp_path / "judgments.db"
    with Store.open(path) as store:
        furnish(store)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["judgments.db"]  # the log was taken in
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

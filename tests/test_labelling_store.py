"""The store: events once each, in SQLite and PostgreSQL, whoever else writes and whatever fails."""

import json
import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress

import numpy as np
import postgres
import psycopg
import pytest
import sqlalchemy as sa

from podium.errors import (
    DataError,
    EventError,
    MissingExtraError,
    NotAskedError,
    ReusedIdError,
    StoreError,
    UnknownNameError,
    UsageError,
    require,
)
from podium.labelling import (
    Event,
    Graded,
    GradeTask,
    Judgment,
    Pool,
    PoolDocument,
    PoolQuery,
    PreferenceTask,
    Question,
    Session,
    TopK,
)
from podium.labelling.session import ANSWER_CODES
from podium.labelling.store import Member, Store, tables
from podium.labelling.store.database import Database, parse_url
from podium.labelling.store.migrations import MIGRATIONS, VERSION

DOCUMENTS = tuple(f"d{i:02d}" for i in range(12))
POOL = Pool(
    (
        PoolQuery("q1", "jazz", "music", tuple(PoolDocument(d, f"text {d}") for d in DOCUMENTS)),
        PoolQuery("q2", "☃ 'folk'", "", (PoolDocument("x", "<b>", "html", "t", 0.25), PoolDocument("y"))),
    )
)  # fmt: skip
ANN = PreferenceTask("ann-q1", "q1", "ann", DOCUMENTS, k=3)
BOB = PreferenceTask("bob-q1", "q1", "bob", DOCUMENTS[::-1], k=3, strategy="sort", prior=DOCUMENTS)
CAT = GradeTask("cat-q1", "q1", "cat", DOCUMENTS)
MEMBERS = [Member("ann"), Member("bob", "Bob ☃", "admin"), Member("cat")]


def furnish(store):
    store.add_pool(POOL)
    store.add_members(MEMBERS)
    store.add_tasks([ANN, BOB, CAT])
    return store


@pytest.fixture
def store(store_url):
    with Store.open(store_url) as store:
        yield furnish(store)


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path}/judgments.db"


def judgment(session, step, number, at=0):
    """What an assessor says who likes small ids."""
    data = {"segments": [[at, at + 250]]}
    if isinstance(step, Question):
        data |= {"a": step.a, "b": step.b, "answer": ">" if step.a < step.b else "<"}
    else:
        data |= {"document": step.document, "grade": int(step.document[1:]) % 5}
    return Event(f"{session}-{number}", session, "judgment", at, data)


def judge_all(store, session, at_most=1000):
    events = []
    while not (live := store.session(session)).finished and len(events) < at_most:
        events.append(judgment(session, live.step, live.n_events, 1000 * live.n_events))
        store.append(events[-1])
    return events


def rows(store, select):
    with store.database.reading() as connection:
        return connection.execute(select).all()


def assert_is_its_replay(store, task):
    """What is kept of a session for fast reading is what its events say."""
    session = Session.replay(task, store.events(task.id))
    (standing,) = [s for s in store.standings() if s.task.id == task.id]
    assert standing.task == task
    assert standing.events == session.n_events
    assert (standing.judged, standing.remaining) == session.progress
    assert standing.active_ms == session.active_ms
    assert standing.result == (session.step if session.finished else None)
    live = store.session(task.id)
    assert (live.step, live.judgments, live.n_events) == (
        session.step,
        session.judgments,
        session.n_events,
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
            again = other.append(Event.from_json(event.to_json()))
            assert not again.new
            assert again.session.step == before
    assert store.events("ann-q1") == events
    assert store.append(judgment("ann-q1", before, 5)).new


def test_an_id_with_other_content_is_an_error(store):
    (event,) = judge_all(store, "ann-q1", at_most=1)
    step = store.session("ann-q1").step
    others = [
        Event(event.id, event.session, event.kind, event.at, {**event.data, "answer": "~"}),
        Event(event.id, event.session, event.kind, event.at + 1, event.data),
        Event(event.id, event.session, "pause", event.at, event.data),
        Event(event.id, "bob-q1", event.kind, event.at, event.data),
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
        store.append(Event("e", "ann-q1", "judgment", 0, wrong))
    with pytest.raises(NotAskedError):
        store.append(Event("e", "ann-q1", "undo", 0))
    assert store.events("ann-q1") == []
    good = judgment("ann-q1", step, 0)
    store.append(good)
    with pytest.raises(NotAskedError):  # the same answer again, under a new id
        store.append(Event("f", "ann-q1", "judgment", 0, good.data))
    assert store.events("ann-q1") == [good]
    assert_is_its_replay(store, ANN)


def test_an_unknown_session_is_refused(store):
    for call in (store.session, store.events, lambda s: store.append(Event("e", s, "pause", 0))):
        with pytest.raises(EventError, match="expected a session of the store, got 'eve-q1'"):
            call("eve-q1")


def test_any_text_is_kept_as_it_is(store):
    text = "'; DROP TABLE events; -- \0 \ud800 ☃ \U0001f600 \\u0000 é"
    event = Event(
        "☃ %s :x", "ann-q1", "comment", -1, {"text": text, "deep": [{"ä": None}, 1e300, 2**70]}
    )
    store.append(event)
    assert store.events("ann-q1") == [event]
    assert not store.append(event).new
    assert store.comments() == [event]


def test_undo_is_in_the_log(store):
    events = judge_all(store, "ann-q1")
    undo = Event("undo", "ann-q1", "undo", 0, {"steps": len(events) - 1})
    session = store.append(undo).session
    assert len(session.judgments) == 1
    assert store.events("ann-q1") == [*events, undo]
    assert_is_its_replay(store, ANN)  # the result is gone, too
    judge_all(store, "ann-q1")
    assert_is_its_replay(store, ANN)


def random_event(rng, session, number):
    """Something that the session takes, whatever it is."""
    kinds = ["judgment"] * 8 + ["undo", "pause", "resume", "comment", "shown", "skip", "repeat"]
    kind, step, data = rng.choice(kinds), session.step, {}
    if session.finished and kind in ("judgment", "shown", "skip"):
        kind = "undo"
    if kind in ("undo", "repeat") and not session.judgments:
        kind = "judgment"
    if kind == "undo":
        data = {"steps": rng.randint(1, min(4, len(session.judgments)))}
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
    return Event(f"{session.task.id}-{number}", session.task.id, kind, 100 * number, data)


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
        assert np.count_nonzero(of_task & log.repeated) == len(session.repeats)
        assert np.count_nonzero(of_task & log.undone) == len(session.undone)


def test_an_empty_store_has_no_judgments(store):
    log = store.judgments()
    assert len(log) == 0
    assert len(log.tasks) == 3
    assert repr(log) == "JudgmentLog(0 judgments in 3 tasks)"
    assert [s.finished for s in store.standings()] == [False] * 3


# Pools, members, tasks


def test_pools_members_and_tasks_are_kept(store, store_url):
    with Store.open(store_url) as other:
        assert other.pool() == POOL
        assert other.query("q2") == POOL["q2"]
        assert other.members() == MEMBERS
        assert [s.task for s in other.standings()] == [ANN, BOB, CAT]
        assert [s.task for s in other.standings(assessor="bob")] == [BOB]
        assert [s.task for s in other.standings(assessor="bob", query="q2")] == []
        with pytest.raises(UnknownNameError, match="did you mean q"):
            other.query("q3")


def test_adding_again_adds_nothing(store):
    assert store.add_pool(POOL) == 0
    assert store.add_tasks([ANN, CAT]) == 0
    third = PoolQuery("q3", documents=(PoolDocument("x"),))
    assert store.add_pool(Pool((POOL["q2"], third))) == 1
    assert store.pool() == Pool((*POOL, third))
    store.add_members([Member("bob", "Robert"), Member("dan")])
    assert store.members() == [Member("ann"), Member("bob", "Robert"), Member("cat"), Member("dan")]


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
        (lambda s: s.add_tasks([GradeTask("t", "q2", "ann", ("x", "z"))]), DataError, "got 'z'"),
        (
            lambda s: s.add_tasks([GradeTask("t", "q1", "cat", DOCUMENTS)]),
            DataError,
            "once for 'cat'",
        ),
        (
            lambda s: s.add_tasks([GradeTask("\n", "q1", "ann", DOCUMENTS)]),
            DataError,
            "events can name",
        ),
        (
            lambda s: s.add_tasks([GradeTask(i, "q2", "ann", ("x",)) for i in "tu"]),
            DataError,
            "once for",
        ),
        (
            lambda s: s.add_tasks([GradeTask("t", "q2", a, ("x",)) for a in ("ann", "bob")]),
            DataError,
            "t",
        ),
        (lambda s: s.add_members([Member("x\0")]), UsageError, "printable"),
        (lambda s: s.add_members([Member("x", role="boss")]), UnknownNameError, "role 'boss'"),
    ],
)
def test_what_does_not_fit_is_refused_whole(store, change, error, says):
    with pytest.raises(error, match=says):
        change(store)
    assert store.pool() == POOL
    assert [s.task for s in store.standings()] == [ANN, BOB, CAT]
    assert store.members() == MEMBERS


# Several at once


def run_processes(target, arguments):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=target, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def comment_and_judge(url, me, shared):
    """Comments into a shared session, and all judgments of one's own."""
    with Store.open(url, timeout=60) as store:
        own = f"{me}-q1"
        for number in range(60):
            store.append(Event(f"{me}-c{number}", shared, "comment", number, {"text": me}))
            live = store.session(own)
            if not live.finished:
                store.append(judgment(own, live.step, live.n_events))


def test_processes_lose_nothing_and_double_nothing(store, store_url):
    run_processes(comment_and_judge, [(store_url, "ann", "cat-q1"), (store_url, "bob", "cat-q1")])
    events = store.events("cat-q1")
    assert sorted(event.id for event in events) == sorted(
        f"{m}-c{i}" for m in ("ann", "bob") for i in range(60)
    )
    for me in ("ann", "bob"):  # each one's in the order of sending
        assert [e.at for e in events if e.data["text"] == me] == list(range(60))
        assert store.session(f"{me}-q1").step.order == DOCUMENTS[:3]
    for task in (ANN, BOB, CAT):
        assert_is_its_replay(store, task)


def race_for_every_question(url, me):
    """Judge one session against others who do the same; be refused where they were faster."""
    with Store.open(url, timeout=60) as store:
        while not (live := store.session("ann-q1")).finished:
            step, number = live.step, live.n_events
            try:
                store.append(
                    Event(f"{me}-{number}", "ann-q1", "judgment", 0, judgment("-", step, 0).data)
                )
            except (NotAskedError, ReusedIdError):
                continue


def test_of_two_judgments_of_one_question_one_is_kept(store, store_url):
    run_processes(race_for_every_question, [(store_url, "one"), (store_url, "two")])
    alone = Session(ANN)
    while not alone.finished:
        alone.apply(judgment("ann-q1", alone.step, alone.n_events))
    assert store.session("ann-q1").judgments == alone.judgments
    assert len(store.events("ann-q1")) == len(alone.judgments)
    assert_is_its_replay(store, ANN)


def send_all(url, lines):
    with Store.open(url, timeout=60) as store:
        for line in lines:
            store.append(Event.from_json(line))


def test_the_same_events_from_two_processes_are_kept_once(store, store_url):
    events = [Event(f"e{i}", "ann-q1", "comment", i, {"text": "so"}) for i in range(80)]
    lines = [event.to_json() for event in events]
    run_processes(send_all, [(store_url, lines), (store_url, lines)])
    assert sorted(store.events("ann-q1"), key=lambda e: e.at) == events


def test_one_id_for_two_sessions_at_the_same_time(store, store_url):
    lines = [
        [Event(f"e{i}", session, "comment", i, {"text": "so"}).to_json() for i in range(1)]
        for session in ("ann-q1", "bob-q1")
    ]
    refused = []

    def send(line):
        with Store.open(store_url) as other:
            try:
                other.append(Event.from_json(line))
            except ReusedIdError as error:
                refused.append(error)

    threads = [threading.Thread(target=send, args=(sent[0],)) for sent in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert len(store.events("ann-q1")) + len(store.events("bob-q1")) == 1


def test_threads_share_a_store(store):
    def work(me):
        try:
            for number in range(25):
                store.append(
                    Event(f"{me}-{number}", "cat-q1", "comment", number, {"text": str(me)})
                )
                live = store.session("ann-q1")
                if not live.finished:
                    with suppress(NotAskedError):
                        store.append(judgment("ann-q1", live.step, f"{me}-{number}"))
        except BaseException as error:
            failures.append(error)

    failures = []
    threads = [threading.Thread(target=work, args=(me,)) for me in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.events("cat-q1")) == 6 * 25
    assert_is_its_replay(store, ANN)
    assert_is_its_replay(store, CAT)


def append_until_killed(url, acknowledged):
    with Store.open(url) as store, open(acknowledged, "w", buffering=1) as log:
        for number in range(1_000_000):
            store.append(Event(f"e{number}", "ann-q1", "comment", number, {"text": "x" * 200}))
            log.write(f"e{number}\n")


def test_what_was_acknowledged_outlives_a_kill(store, store_url, tmp_path):
    log = tmp_path / "acknowledged"
    process = multiprocessing.get_context("spawn").Process(
        target=append_until_killed, args=(store_url, log)
    )
    process.start()
    until = time.monotonic() + 60
    while time.monotonic() < until and (not log.exists() or log.read_text().count("\n") < 100):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    acknowledged = log.read_text().split("\n")[:-1]
    assert len(acknowledged) >= 100
    with Store.open(store_url) as other:
        kept = [event.id for event in other.events("ann-q1")]
        # At most the one that was being written is there without having been acknowledged.
        assert kept in (acknowledged, [*acknowledged, f"e{len(acknowledged)}"])
        assert_is_its_replay(other, ANN)
        other.append(judgment("ann-q1", other.session("ann-q1").step, "next"))


def test_another_process_s_events_are_noticed(store, store_url):
    with Store.open(store_url) as other:
        for turn in range(6):
            writer, reader = (store, other) if turn % 2 else (other, store)
            live = writer.session("ann-q1")
            writer.append(judgment("ann-q1", live.step, turn))
            assert reader.session("ann-q1").judgments == writer.session("ann-q1").judgments
            assert reader.session("ann-q1").step == writer.session("ann-q1").step


def test_few_sessions_in_memory_are_enough(store_url):
    with Store.open(store_url, live_sessions=1) as store:
        furnish(store)
        for _ in range(10):
            for task in (ANN, BOB, CAT):
                judge_all(store, task.id, at_most=1)
        for task in (ANN, BOB, CAT):
            assert len(store.events(task.id)) == 10
            assert_is_its_replay(store, task)


def test_a_copy_put_back_is_noticed(store):
    events = judge_all(store, "ann-q1", at_most=6)
    with store.database.writing(
        "the past"
    ) as connection:  # as if a backup of an hour ago was restored
        connection.execute(sa.delete(tables.events).where(tables.events.c.place > 4))
        connection.execute(
            sa.update(tables.sessions).where(tables.sessions.c.task == 1).values(events=4)
        )
    assert store.session("ann-q1").judgments == Session.replay(ANN, events[:4]).judgments
    assert store.append(events[4]).new


# What fails


def refuses(call, *says):
    with pytest.raises(StoreError) as caught:
        call()
    for text in says:
        assert text in str(caught.value)
    return caught.value


def test_a_locked_database_says_that_the_judgment_was_not_kept(store, store_url):
    (first,) = judge_all(store, "ann-q1", at_most=1)
    with Store.open(store_url, timeout=0.2) as other:
        event = judgment("ann-q1", other.session("ann-q1").step, 1)
        with store.database.writing("nothing") as connection:
            connection.execute(sa.select(tables.sessions).with_for_update())
            refuses(
                lambda: other.append(event),
                f"judgment {event.id!r} was not kept",
                "lock",
                "try again",
            )
            assert other.events("ann-q1") == [first]  # reading goes on
            assert len(other.session("ann-q1").judgments) == 1
        assert other.append(event).new
        assert other.events("ann-q1") == [first, event]
        assert_is_its_replay(other, ANN)


def test_a_full_disk_says_that_the_judgment_was_not_kept(sqlite_url):
    with Store.open(sqlite_url) as store:
        furnish(store)
        judge_all(store, "ann-q1", at_most=2)
        full = [True]

        @sa.event.listens_for(store.database.engine, "begin")
        def limit(connection):
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar() if full[0] else 2**30
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        event = Event("big", "ann-q1", "comment", 0, {"text": "x" * 60_000})
        refuses(lambda: store.append(event), "comment 'big' was not kept", "full", "make room")
        assert len(store.events("ann-q1")) == 2
        assert len(store.session("ann-q1").judgments) == 2
        full[0] = False
        assert store.append(event).new
        assert_is_its_replay(store, ANN)


def fill_the_disk(url, told):
    """Append until the file system refuses; then with room again."""
    with Store.open(url) as store, open(told, "w") as log:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = os.path.getsize(parse_url(url).database + "-wal")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 300_000, resource.RLIM_INFINITY))
        kept = 0
        try:
            for number in range(1000):
                event = Event(f"e{number}", "ann-q1", "comment", number, {"text": "x" * 20_000})
                store.append(event)
                kept += 1
        except StoreError as error:
            log.write(json.dumps([kept, str(error)]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert store.append(event).new
        assert len(store.session("ann-q1").comments) == kept + 1


def test_a_file_system_that_refuses_to_write(sqlite_url, tmp_path):
    with Store.open(sqlite_url) as store:
        furnish(store)
        run_processes(fill_the_disk, [(sqlite_url, tmp_path / "told")])
        kept, said = json.loads((tmp_path / "told").read_text())
        assert kept > 0
        assert f"comment 'e{kept}' was not kept" in said
        assert [event.id for event in store.events("ann-q1")] == [f"e{i}" for i in range(kept + 1)]


def test_a_database_that_fails_in_the_middle_keeps_nothing(store):
    """The event is written, where the session stands is not: neither is there afterwards."""
    (first,) = judge_all(store, "ann-q1", at_most=1)
    event = judgment("ann-q1", store.session("ann-q1").step, 1)
    broken = [True]

    @sa.event.listens_for(store.database.engine, "before_cursor_execute")
    def fail(connection, cursor, statement, *_):
        if broken[0] and statement.startswith("UPDATE sessions"):
            raise sa.exc.OperationalError(statement, {}, sqlite3.OperationalError("disk I/O error"))

    refuses(lambda: store.append(event), "was not kept: disk I/O error")
    assert store.events("ann-q1") == [first]
    assert len(store.session("ann-q1").judgments) == 1
    broken[0] = False
    assert store.append(event).new
    assert_is_its_replay(store, ANN)


def test_connections_that_were_cut_are_made_again(postgres_server):
    postgres.create(postgres_server, "cut")
    with Store.open(postgres_server.format(name="cut")) as store:
        furnish(store)
        judge_all(store, "ann-q1", at_most=2)
        with psycopg.connect(postgres_server.format(name="postgres"), autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut'"
            )
        judge_all(store, "ann-q1", at_most=1)
        assert len(store.session("ann-q1").judgments) == 3


def test_an_event_that_cannot_be_replayed_is_named(store, store_url):
    judge_all(store, "ann-q1", at_most=2)
    with store.database.writing("a mistake") as connection:
        wrong = json.dumps({"a": "d00", "b": "d00", "answer": ">"})
        where = tables.events.c.place == 2
        connection.execute(sa.update(tables.events).where(where).values(data=wrong))
    with Store.open(store_url) as other:
        refuses(lambda: other.session("ann-q1"), "event 'ann-q1-1' of the store cannot be replayed")
        refuses(lambda: other.append(Event("e", "ann-q1", "pause", 0)), "cannot be replayed")


@pytest.mark.parametrize(
    "content", [b"not a database, by any means" * 99, b"SQLite format 3\0" + b"x" * 4096]
)
def test_a_file_that_is_something_else_is_refused(tmp_path, content):
    path = tmp_path / "judgments.db"
    path.write_bytes(content)
    refuses(lambda: Store.open(path), str(path), "something else than a store")
    assert path.read_bytes() == content


def test_a_folder_that_is_not_there(tmp_path):
    refuses(lambda: Store.open(tmp_path / "none" / "judgments.db"), "there is no such folder")


def test_a_server_that_is_not_there(tmp_path):
    url = f"postgresql://ann:secret@/judging?host={tmp_path}"
    error = refuses(
        lambda: Store.open(url, timeout=1), "was not kept", "the server cannot be reached"
    )
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "://", "redis://localhost"]
)
def test_urls_that_are_no_store(url):
    with pytest.raises(UsageError, match="expected"):
        Store.open(url)


def test_without_sqlalchemy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtraError, match=r"podium-ltr\[web\]"):
        require("sqlalchemy", "web", "a store of judgments")


def test_durable_waits_for_the_disk(tmp_path):
    for durable, level in ((False, 1), (True, 2)):
        with Store.open(tmp_path / f"{durable}.db", durable=durable) as store:
            assert rows(store, sa.text("PRAGMA synchronous")) == [(level,)]
            assert rows(store, sa.text("PRAGMA journal_mode")) == [("wal",)]


# Versions


FIRST_LAYOUT = [
    "CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, what TEXT NOT NULL, applied BIGINT NOT NULL)",
    "INSERT INTO schema_versions VALUES (1, 'queries, documents, members, tasks, events', 1700000000000)",
    """CREATE TABLE queries (id TEXT PRIMARY KEY NOT NULL, place INTEGER NOT NULL, text TEXT NOT NULL,
    description TEXT NOT NULL)""",
    """CREATE TABLE documents (query TEXT NOT NULL REFERENCES queries (id), id TEXT NOT NULL,
    place INTEGER NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL,
    score DOUBLE PRECISION, PRIMARY KEY (query, id))""",
    "CREATE TABLE members (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL)",
    """CREATE TABLE tasks (number INTEGER PRIMARY KEY NOT NULL, id TEXT NOT NULL UNIQUE,
    query TEXT NOT NULL REFERENCES queries (id), assessor TEXT NOT NULL REFERENCES members (id),
    tool TEXT NOT NULL, documents TEXT NOT NULL, settings TEXT NOT NULL, UNIQUE (assessor, query, tool))""",
    """CREATE TABLE events (task INTEGER NOT NULL REFERENCES tasks (number), place INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, at BIGINT NOT NULL, received BIGINT NOT NULL,
    data TEXT NOT NULL, PRIMARY KEY (task, place))""",
    "INSERT INTO queries VALUES ('q', 0, 'jazz', '')",
    "INSERT INTO documents VALUES ('q', 'x', 0, 'text', '', 'Miles', NULL)",
    "INSERT INTO documents VALUES ('q', 'y', 1, 'text', '', 'Duke', 0.5)",
    "INSERT INTO documents VALUES ('q', 'z', 2, 'text', '', 'Bird', NULL)",
    "INSERT INTO members VALUES ('ann', '', 'assessor')",
    """INSERT INTO tasks VALUES (1, 's1', 'q', 'ann', 'preference', '["x","y","z"]',
    '{"k":1,"prior":null,"skip_implied":true,"strategy":"tournament"}')""",
    """INSERT INTO tasks VALUES (2, 's2', 'q', 'ann', 'grade', '["x","y","z"]',
    '{"grades":["Bad","Good"]}')""",
    """INSERT INTO events VALUES (1, 1, 'e1', 'judgment', 1000, 1001,
    '{"a":"x","answer":"<","b":"y","segments":[[0,900]]}')""",
    "INSERT INTO events VALUES (1, 2, 'e2', 'undo', 2000, 2001, '{}')",
    """INSERT INTO events VALUES (1, 3, 'e3', 'judgment', 3000, 3001,
    '{"a":"x","answer":">","b":"y","segments":[[2000,2700],[2600,2800]]}')""",
    """INSERT INTO events VALUES (1, 4, 'e4', 'judgment', 4000, 4001,
    '{"a":"z","answer":">","b":"x","segments":[[3000,3100]]}')""",
]


def in_first_layout(url):
    database = Database(url)
    with database.writing("the first layout") as connection:
        for statement in FIRST_LAYOUT:
            connection.exec_driver_sql(statement)
    database.close()


def test_a_store_of_the_first_version_is_migrated(store_url):
    in_first_layout(store_url)
    with Store.open(store_url) as store:
        versions = rows(store, sa.select(tables.schema_versions).order_by("version"))
        assert [(row.version, row.what) for row in versions] == [
            (i, step.what) for i, step in enumerate(MIGRATIONS, start=1)
        ]
        assert versions[0].applied == 1700000000000
        first, second = store.standings()
        assert first.result == TopK((("z",),), 1, 2)
        assert (first.events, first.judged, first.active_ms, first.changed) == (
            4,
            2,
            900 + 800 + 100,
            4001,
        )
        assert (second.events, second.judged, second.remaining, second.result) == (0, 0, 3.0, None)
        log = store.judgments()
        assert log.answer.tolist() == [-1, 1, 1]
        assert log.undone.tolist() == [True, False, False]
        assert log.active_ms.tolist() == [900, 800, 100]
        assert log.flaws.tolist() == [0, 1, 0]
        assert (log.first.tolist(), log.second.tolist()) == ([0, 0, 2], [1, 1, 0])
        assert store.session("s1").judgments == (Judgment("x", "y", ">"), Judgment("z", "x", ">"))
        store.append(Event("e5", "s2", "judgment", 0, {"document": "x", "grade": 1}))
        for standing in store.standings():
            assert_is_its_replay(store, standing.task)
    with Store.open(store_url) as store:  # nothing more to do
        assert len(rows(store, sa.select(tables.schema_versions))) == VERSION


def test_a_new_store_has_the_tables_that_we_think(store_url):
    with Store.open(store_url) as store, store.database.reading() as connection:
        inspector = sa.inspect(connection)
        assert set(inspector.get_table_names()) == set(tables.metadata.tables)
        for name, table in tables.metadata.tables.items():
            columns = {c["name"]: c for c in inspector.get_columns(name)}
            assert list(columns) == [c.name for c in table.columns], name
            for column in table.columns:
                found = columns[column.name]
                assert found["nullable"] == (column.nullable and not column.primary_key) or (
                    name == "schema_versions"
                ), (name, column.name)
                assert found["type"]._type_affinity is column.type._type_affinity, (
                    name,
                    column.name,
                )
            key = inspector.get_pk_constraint(name)["constrained_columns"]
            assert key == [c.name for c in table.primary_key], name
            foreign = {tuple(k["constrained_columns"]) for k in inspector.get_foreign_keys(name)}
            assert foreign == {tuple(k.column_keys) for k in table.foreign_key_constraints}, name


def test_a_newer_store_is_refused_and_left_alone(store, store_url):
    with store.database.writing("the future") as connection:
        connection.execute(
            sa.insert(tables.schema_versions).values(version=VERSION + 1, what="more", applied=0)
        )
    refuses(
        lambda: Store.open(store_url),
        f"version {VERSION} at most, got version {VERSION + 1}",
        "update",
    )
    assert len(rows(store, sa.select(tables.schema_versions))) == VERSION + 1


def test_tables_of_something_else_are_left_alone(store_url):
    database = Database(store_url)
    with database.writing("a foreign table") as connection:
        connection.exec_driver_sql("CREATE TABLE events (x INTEGER)")
    refuses(lambda: Store.open(store_url), "tables of something else", "events")
    with database.reading() as connection:
        assert sa.inspect(connection).get_table_names() == ["events"]
    database.close()


def test_a_migration_that_fails_changes_nothing(store_url):
    in_first_layout(store_url)
    database = Database(store_url)
    with database.writing("a mistake") as connection:
        connection.exec_driver_sql("UPDATE events SET data = '{}' WHERE id = 'e4'")
    refuses(lambda: Store.open(store_url), "event 'e4' of the store cannot be replayed")
    with database.writing("its repair") as connection:
        names = [c["name"] for c in sa.inspect(connection).get_columns("events")]
        assert names == ["task", "place", "id", "kind", "at", "received", "data"]
        connection.exec_driver_sql("DELETE FROM events WHERE id = 'e4'")
    database.close()
    with Store.open(store_url) as store:
        assert len(store.session("s1").judgments) == 1


def open_and_close(url):
    Store.open(url, timeout=60).close()


def test_processes_that_open_a_new_store_at_once(store_url):
    run_processes(open_and_close, [(store_url,)] * 3)
    with Store.open(store_url) as store:
        assert len(rows(store, sa.select(tables.schema_versions))) == VERSION


# Speed


def test_appending_is_as_fast_after_five_thousand_events(store_url):
    documents = tuple(f"d{i:04d}" for i in range(1000))
    with Store.open(store_url) as store:
        store.add_pool(Pool((PoolQuery("q", documents=tuple(map(PoolDocument, documents))),)))
        store.add_members([Member("ann")])
        store.add_tasks([PreferenceTask("s", "q", "ann", documents, k=50, strategy="sort")])
        step, spent = store.session("s").step, []
        for number in range(2600):
            shown = Event(f"s{number}", "s", "shown", number, {"a": step.a, "b": step.b})
            for event in (shown, judgment("s", step, number)):
                started = time.process_time()
                step = store.append(event).session.step
                spent.append(time.process_time() - started)
    assert len(spent) > 5000
    assert np.median(spent[-300:]) < 0.003  # measured: 0.0004 with SQLite, 0.001 with PostgreSQL


def test_all_judgments_are_read_fast(store_url):
    n_tasks, n_events = 400, 500
    documents = tuple(f"document-{i:04d}" for i in range(50))
    with Store.open(store_url) as store:
        pool = [
            PoolQuery(f"q{i}", documents=tuple(map(PoolDocument, documents)))
            for i in range(n_tasks)
        ]
        store.add_pool(Pool(tuple(pool)))
        store.add_members([Member("ann")])
        store.add_tasks(PreferenceTask(f"s{i}", f"q{i}", "ann", documents) for i in range(n_tasks))
        data = json.dumps(
            {"a": documents[0], "b": documents[1], "answer": ">", "segments": [[0, 900]]}
        )
        insert = sa.text(
            "INSERT INTO events SELECT t.number, p.place, t.number || '-' || p.place, "
            "CASE WHEN p.place % 2 = 1 THEN 'shown' ELSE 'judgment' END, p.place, p.place, :data, "
            "p.place % 50, (p.place + 1) % 50, 1, 0, p.place, 0 FROM tasks t CROSS JOIN ("
            "WITH RECURSIVE n(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM n WHERE place < :n) "
            "SELECT place FROM n) p ORDER BY p.place, t.number"
        )
        with store.database.writing("many events") as connection:
            connection.execute(insert, {"n": n_events, "data": data})
        spent = []
        for _ in range(3):
            started = time.process_time()
            log = store.judgments()
            spent.append(time.process_time() - started)
    assert len(log) == n_tasks * n_events // 2
    assert log.active_ms.reshape(n_tasks, -1)[7].tolist() == list(range(2, n_events + 1, 2))
    assert min(spent) < 0.2 * 2.0  # 2 s for a million events; measured: 0.12


def test_nothing_is_left_open(tmp_path):
    path = tmp_path / "judgments.db"
    with Store.open(path) as store:
        furnish(store)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["judgments.db"]  # the log was taken in
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

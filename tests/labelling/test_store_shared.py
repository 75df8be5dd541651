"""A store that several threads and processes use: nothing is lost, nothing is doubled."""

import os
import signal
import threading
import time
from contextlib import suppress

import sqlalchemy as sa

from podium.errors import (
    NotAskedError,
    ReusedIdError,
)
from podium.labelling import (
    JudgingEvent,
    Session,
)
from podium.labelling.store import Store, tables
from tests.support.stores import (
    ANN,
    BOB,
    CAT,
    DOCUMENTS,
    assert_is_its_replay,
    furnish,
    judge_all,
    judgment,
    run_processes,
)
from tools.forks import FORKS


def comment_and_judge(url, me, shared):
    """Comments into a shared session, and all judgments of one's own."""
    with Store.open(url, timeout=60) as store:
        own = f"{me}-q1"
        for number in range(60):
            store.append(JudgingEvent(f"{me}-c{number}", shared, "comment", number, {"text": me}))
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
                    JudgingEvent(
                        f"{me}-{number}", "ann-q1", "judgment", 0, judgment("-", step, 0).data
                    )
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
            store.append(JudgingEvent.from_json(line))


def test_the_same_events_from_two_processes_are_kept_once(store, store_url):
    events = [JudgingEvent(f"e{i}", "ann-q1", "comment", i, {"text": "so"}) for i in range(80)]
    lines = [event.to_json() for event in events]
    run_processes(send_all, [(store_url, lines), (store_url, lines)])
    assert sorted(store.events("ann-q1"), key=lambda e: e.at) == events


def test_one_id_for_two_sessions_at_the_same_time(store, store_url):
    lines = [
        [JudgingEvent(f"e{i}", session, "comment", i, {"text": "so"}).to_json() for i in range(1)]
        for session in ("ann-q1", "bob-q1")
    ]
    refused = []

    def send(line):
        with Store.open(store_url) as other:
            try:
                other.append(JudgingEvent.from_json(line))
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
                    JudgingEvent(f"{me}-{number}", "cat-q1", "comment", number, {"text": str(me)})
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
            store.append(
                JudgingEvent(f"e{number}", "ann-q1", "comment", number, {"text": "x" * 200})
            )
            log.write(f"e{number}\n")


def test_what_was_acknowledged_outlives_a_kill(store, store_url, tmp_path):
    log = tmp_path / "acknowledged"
    process = FORKS.Process(target=append_until_killed, args=(store_url, log))
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
    with Store.open(store_url, max_sessions=1) as store:
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

"""Events of several sessions in one transaction: all of them or none, in SQLite and PostgreSQL."""

import threading

import pytest

from podium.errors import EventError, NotAskedError, ReusedIdError
from podium.labelling import JudgingEvent, Question
from podium.labelling.store import Store
from tests.support.judging_client import fill


@pytest.fixture
def store(store_url):
    with Store.open(store_url) as store:
        store.ids = [task.id for task in fill(store).values()]
        yield store


def judgment(store, session, name):
    step = store.session(session).step
    told = {"document": getattr(step, "document", None), "grade": 1}
    if isinstance(step, Question):
        told = {"a": step.a, "b": step.b, "answer": ">"}
    return JudgingEvent(name, session, "judgment", 1, told)


def test_a_batch_is_what_single_events_would_be(store):
    events = [judgment(store, session, f"e{i}") for i, session in enumerate(store.ids)]
    with store.batch(store.ids, [event.id for event in events]) as batch:
        assert [batch.append(event).new for event in events] == [True] * 3
        assert [batch.append(event).new for event in events] == [False] * 3
        assert batch.has_event("e0")
        assert batch.session(store.ids[0]).progress.judged == 1
    assert [store.append(event).new for event in events] == [False] * 3
    assert [s.judged for s in store.session_states()] == [1, 1, 1]
    assert len(store.judgments()) == 3


def test_what_is_refused_leaves_the_others(store):
    first = judgment(store, store.ids[0], "e1")
    store.append(first)
    with store.batch(store.ids, ["e1", "e2", "e3"]) as batch:
        other = JudgingEvent("e1", store.ids[1], "pause", 1)
        with pytest.raises(ReusedIdError, match="of another session"):
            batch.append(other)
        with pytest.raises(NotAskedError):
            batch.append(JudgingEvent("e2", store.ids[0], "judgment", 1, first.data))
        batch.append(JudgingEvent("e3", store.ids[1], "pause", 1))
    assert [event.id for event in store.events(store.ids[0])] == ["e1"]
    assert [event.id for event in store.events(store.ids[1])] == ["e3"]


def test_a_batch_that_fails_keeps_nothing(store):
    events = [judgment(store, session, f"e{i}") for i, session in enumerate(store.ids)]
    before = [store.session(session).step for session in store.ids]

    def fail():
        with store.batch(store.ids, ["e0", "e1", "e2"]) as batch:
            for event in events:
                batch.append(event)
            raise RuntimeError("after all")

    with pytest.raises(RuntimeError, match="after all"):
        fail()
    assert [store.session(session).step for session in store.ids] == before
    assert [store.append(event).new for event in events] == [True] * 3


def test_a_batch_of_a_session_that_is_none(store):
    with pytest.raises(EventError, match="the store has no task"), store.batch(["x"], []):
        pytest.fail("never here")


def test_batches_of_two_stores_do_not_wait_in_a_circle(store, store_url):
    def work(own, sessions, prefix):
        for i in range(20):
            ids = [f"{prefix}{i}-{session}" for session in sessions]
            with own.batch(sessions, ids) as batch:
                for name, session in zip(ids, sessions, strict=True):
                    batch.append(JudgingEvent(name, session, "pause", i))

    with Store.open(store_url) as other:
        threads = [
            threading.Thread(target=work, args=(store, store.ids, "a")),
            threading.Thread(target=work, args=(other, store.ids[::-1], "b")),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert [len(store.events(session)) for session in store.ids] == [40] * 3


def test_a_session_at_rest_is_not_moved_on(store):
    session = store.ids[0]
    event = judgment(store, session, "e1")
    with store.locked_session(session) as found:
        thread = threading.Thread(target=store.append, args=(event,))
        thread.start()
        thread.join(0.1)
        assert found.progress.judged == 0
    thread.join(10)
    assert store.session(session).progress.judged == 1


def test_texts_of_queries(store):
    assert next(iter(store.query_texts().items())) == ("q1", "cool jazz")

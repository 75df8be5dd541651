"""The writer of the judging server: many at once, each for itself."""

import asyncio
import threading

import pytest

from podium.apps.http.refusals import Refusal
from podium.apps.judging.event_writer import MAX_REQUESTS_PER_TRANSACTION, EventWriter
from podium.errors import EventError, StoreError
from podium.labelling import JudgingEvent
from podium.labelling.store import Store
from tests.support.judging_client import fill


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store:
        store.tasks = list(fill(store).values())
        yield store


def pause(i, task):
    event = JudgingEvent(f"e{i}", task.id, "pause", i)
    return task.id, [event.id], lambda batch: batch.append(event).new


def run_all(writer, jobs):
    async def main():
        return await asyncio.gather(*(writer.run(*job) for job in jobs), return_exceptions=True)

    try:
        return asyncio.run(main())
    finally:
        writer.close()


def count_transactions(store, monkeypatch):
    opened, writing = [], store.database.writing
    monkeypatch.setattr(
        store.database, "writing", lambda *a, **k: opened.append(1) or writing(*a, **k)
    )
    return opened


def test_what_waits_is_kept_together_and_in_order(store, monkeypatch):
    opened = count_transactions(store, monkeypatch)
    jobs = [pause(i, store.tasks[i % 3]) for i in range(300)]
    assert run_all(EventWriter(store, 60), jobs) == [True] * 300
    assert 300 / MAX_REQUESTS_PER_TRANSACTION <= len(opened) < 150
    for number, task in enumerate(store.tasks):
        assert [e.id for e in store.events(task.id)] == [f"e{i}" for i in range(number, 300, 3)]


def test_one_that_fails_is_no_concern_of_others(store):
    def fails(batch):
        raise RuntimeError("a mistake")

    jobs = [pause(i, store.tasks[0]) for i in range(4)]
    jobs.insert(2, (store.tasks[1].id, [], fails))
    found = run_all(EventWriter(store, 60), jobs)
    assert [str(answer) for answer in found] == ["True", "True", "a mistake", "True", "True"]
    assert len(store.events(store.tasks[0].id)) == 4


def test_a_session_that_is_none_is_no_concern_of_others(store):
    jobs = [
        pause(0, store.tasks[0]),
        ("nothing", ["x"], lambda batch: None),
        pause(1, store.tasks[1]),
    ]
    found = run_all(EventWriter(store, 60), jobs)
    assert found[0] is found[2] is True
    assert isinstance(found[1], EventError)


def test_a_database_that_fails_is_told_to_all_and_nothing_is_kept(store, monkeypatch):
    writing = store.database.writing

    def broken(*_, **__):
        raise StoreError("not kept: no disk") from OSError("no disk")

    monkeypatch.setattr(store.database, "writing", broken)
    jobs = [pause(i, store.tasks[0]) for i in range(5)]
    found = run_all(EventWriter(store, 60), jobs)
    assert {type(answer) for answer in found} == {StoreError}
    monkeypatch.setattr(store.database, "writing", writing)
    assert store.events(store.tasks[0].id) == []
    assert run_all(EventWriter(store, 60), jobs) == [True] * 5


def held():
    """Something to be written that says when it is begun, and waits until it may go on."""
    begun, go = threading.Event(), threading.Event()

    def wait(batch):
        begun.set()
        return go.wait(60)

    return begun, go, wait


def test_whoever_waits_too_long_is_told_so(store):
    writer = EventWriter(store, 60)
    begun, go, wait = held()

    async def main():
        slow = asyncio.ensure_future(writer.run(store.tasks[0].id, [], wait))
        assert await asyncio.to_thread(begun.wait, 60)
        writer._seconds = 0.05
        late = asyncio.ensure_future(writer.run(*pause(1, store.tasks[1])))
        await asyncio.sleep(0.2)
        go.set()
        return await asyncio.gather(slow, late, return_exceptions=True)

    slow, late = asyncio.run(main())
    writer.close()
    assert slow is True
    assert isinstance(late, Refusal)
    assert (late.status, late.code) == (503, "busy")
    assert store.events(store.tasks[1].id) == []


def test_a_writer_can_be_closed_twice_and_never_started(store):
    writer = EventWriter(store, 1)
    writer.close()
    assert run_all(writer, [pause(0, store.tasks[0])]) == [True]
    writer.close()


def test_a_request_that_is_cancelled_leaves_the_writer_at_work(store):
    writer = EventWriter(store, 60)
    begun, go, wait = held()

    async def main():
        slow = asyncio.ensure_future(writer.run(store.tasks[0].id, [], wait))
        assert await asyncio.to_thread(begun.wait, 60)
        waiting = [asyncio.ensure_future(writer.run(*pause(i, store.tasks[1]))) for i in range(3)]
        await asyncio.sleep(0.05)
        slow.cancel()  # it is being written
        waiting[1].cancel()  # it waits
        await asyncio.sleep(0.05)
        go.set()
        answers = await asyncio.gather(slow, *waiting, return_exceptions=True)
        later = await asyncio.wait_for(writer.run(*pause(9, store.tasks[2])), 60)
        return [type(answer) for answer in answers], later

    cancelled = asyncio.CancelledError
    assert asyncio.run(main()) == ([cancelled, bool, cancelled, bool], True)
    writer.close()
    assert [event.id for event in store.events(store.tasks[1].id)] == ["e0", "e2"]


def test_a_thread_that_died_is_started_again(store, monkeypatch):
    writer = EventWriter(store, 60)

    monkeypatch.setattr(writer, "_next_jobs", list)  # nothing, which is the end
    writer._start()
    writer._thread.join(5)
    monkeypatch.undo()
    assert run_all(writer, [pause(0, store.tasks[0])]) == [True]

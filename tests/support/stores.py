"""What the tests of the store share: a pool, tasks, assessors, and what must hold."""

import pytest

from podium.errors import (
    StoreError,
)
from podium.labelling import (
    GradeTask,
    JudgingEvent,
    Pool,
    PoolDocument,
    PoolQuery,
    PreferenceTask,
    Question,
    Session,
)
from podium.labelling.store import StoreMember
from tools.forks import FORKS

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
MEMBERS = [StoreMember("ann"), StoreMember("bob", "Bob ☃", "admin"), StoreMember("cat")]


def furnish(store):
    store.add_pool(POOL)
    store.add_members(MEMBERS)
    store.add_tasks([ANN, BOB, CAT])
    return store


def judgment(session, step, number, at=0):
    """What an assessor says who likes small ids."""
    data = {"segments": [[at, at + 250]]}
    if isinstance(step, Question):
        data |= {"a": step.a, "b": step.b, "answer": ">" if step.a < step.b else "<"}
    else:
        data |= {"document": step.document, "grade": int(step.document[1:]) % 5}
    return JudgingEvent(f"{session}-{number}", session, "judgment", at + 250, data)


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
    (state,) = [s for s in store.session_states() if s.task.id == task.id]
    assert state.task == task
    assert state.events == session.n_events
    assert (state.judged, state.remaining) == session.progress
    assert state.active_ms == session.active_ms
    assert state.result == (session.step if session.finished else None)
    live = store.session(task.id)
    assert (live.step, live.judgments, live.n_events) == (
        session.step,
        session.judgments,
        session.n_events,
    )


def run_processes(target, arguments):
    processes = [FORKS.Process(target=target, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def refuses(call, *says):
    with pytest.raises(StoreError) as caught:
        call()
    for text in says:
        assert text in str(caught.value)
    return caught.value

"""Stores with judgments for tests: a small one told judgment by judgment, and generated ones."""

from podium.labelling import (
    GradeTask,
    JudgingEvent,
    Pool,
    PoolDocument,
    PoolQuery,
    PreferenceTask,
    Question,
    crossover_design,
    make_judgments,
    make_tasks,
)
from podium.labelling.store import StoreMember


def pool_of(queries, documents):
    return Pool(
        tuple(
            PoolQuery(q, f"text of {q}", documents=tuple(PoolDocument(d, d) for d in documents))
            for q in queries
        )
    )


def generated(store, n_queries=8, n_documents=12, k=4, seed=0, **options):
    """Five assessors in the paper's design, all sessions finished."""
    queries = [f"q{i}" for i in range(n_queries)]
    pool = pool_of(queries, [f"d{i:02d}" for i in range(n_documents)])
    assessors = [f"u{i}" for i in range(5)]
    store.add_pool(pool)
    store.add_members(map(StoreMember, assessors))
    store.add_tasks(make_tasks(crossover_design(queries, assessors, rounds=2), pool, k=k))
    make_judgments(store, seed=seed, **options)
    return store


def answer_by(store, task, better, *, seconds=1.0, until=None):
    """Judge a task by an order (documents best first, ties as nested lists) or by grades."""
    session = store.session(task.id)
    while not session.finished and (until is None or session.n_events < until):
        tell(store, task, told_by(session.step, better), seconds=seconds)
    return session


def told_by(step, better):
    if not isinstance(step, Question):
        return {"document": step.document, "grade": better[step.document]}
    level = {d: i for i, tied in enumerate(better) for d in tied}
    a, b = level[step.a], level[step.b]
    return {"a": step.a, "b": step.b, "answer": ">" if a < b else "<" if a > b else "~"}


def tell(store, task, data, *, kind="judgment", seconds=1.0):
    n = store.session(task.id).n_events
    start = 100_000 * n
    end = start + round(1000 * seconds)
    segments = {"segments": [[start, end]]} if seconds else {}
    store.append(
        JudgingEvent(f"{task.id}-{n}", task.id, kind, max(start, end), {**data, **segments})
    )


def small(store):
    """Two queries of four documents; q1 by preferences from ann and bob, q2 grades of both."""
    store.add_pool(pool_of(["q1", "q2"], "wxyz"))
    store.add_members([StoreMember("ann"), StoreMember("bob"), StoreMember("cat")])
    tasks = {
        "ann-q1": PreferenceTask("ann-q1", "q1", "ann", tuple("wxyz"), k=2, strategy="sort"),
        "bob-q1": PreferenceTask("bob-q1", "q1", "bob", tuple("zyxw"), k=2, strategy="sort"),
        "ann-q2": GradeTask("ann-q2", "q2", "ann", tuple("wxyz")),
        "bob-q2": GradeTask("bob-q2", "q2", "bob", tuple("xwzy")),
        "cat-q1": PreferenceTask("cat-q1", "q1", "cat", tuple("wxyz"), k=2),
    }
    store.add_tasks(tasks.values())
    answer_by(store, tasks["ann-q1"], ["w", "x", "y", "z"], seconds=2)
    answer_by(store, tasks["bob-q1"], ["x", "w", "yz"], seconds=4)
    answer_by(store, tasks["ann-q2"], {"w": 4, "x": 3, "y": 3, "z": 0}, seconds=10)
    answer_by(store, tasks["bob-q2"], {"w": 3, "x": 3, "y": 4, "z": 0}, seconds=20)
    answer_by(store, tasks["cat-q1"], ["z", "y", "x", "w"], until=1)
    return tasks

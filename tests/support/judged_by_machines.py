"""Stores that people and a machine judged, for tests of agreement."""

import numpy as np

from podium.labelling import Question, make_tasks
from podium.labelling.events import JudgingEvent
from podium.labelling.grading import GradeQuestion
from podium.labelling.store import StoreMember


def let_people_judge(
    store, pool, names=("ann", "bob"), queries=None, tool="preference", noise=0.0, k=3
):
    """People finish queries of a numbered pool; documents with larger numbers are better."""
    random = np.random.default_rng(0)
    chosen = [query.id for query in pool][:queries]
    store.add_members([StoreMember(name) for name in names])
    tasks = make_tasks(
        [(name, query, tool) for name in names for query in chosen], pool, k=k, strategy="heap"
    )
    store.add_tasks(tasks)
    for task in tasks:
        number = 0
        while isinstance(step := store.session(task.id).step, Question | GradeQuestion):
            data = judge(step, random, noise)
            store.append(
                JudgingEvent(f"{task.id}-{number}", task.id, "judgment", 1_700_000_000_000, data)
            )
            number += 1


def judge(step, random, noise):
    """The data of a judgment: right, or wrong with a probability."""
    is_wrong = random.random() < noise
    if isinstance(step, GradeQuestion):
        grade = int(step.document[1:]) // 2
        return {"document": step.document, "grade": (grade + is_wrong) % 5}
    a, b = (step.a, step.b) if random.random() < 0.5 else (step.b, step.a)
    answer = ">" if (int(a[1:]) > int(b[1:])) != is_wrong else "<"
    return {"a": a, "b": b, "left": a, "answer": answer}

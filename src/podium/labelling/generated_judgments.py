"""Generated judgments: simulated assessors finish the open tasks of a store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from math import erf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.argument_checks import check_seed
from podium.errors import UsageError
from podium.labelling.events import JudgingEvent
from podium.labelling.grading import Graded, GradeQuestion
from podium.labelling.judgments import Answer, Judgment, Question
from podium.labelling.session import Session

if TYPE_CHECKING:
    from podium.labelling.store import Store

START_MS = 1_750_000_000_000
"""The start of generated sessions, in milliseconds since 1970."""

MEAN_JUDGMENT_SECONDS = {"preference": 5.5, "grade": 13.9}
"""The mean time of a judgment in the paper's study, by tool."""


def make_judgments(
    store: Store, *, noise: float = 0.5, tie: float = 0.2, repeat: float = 0.03, seed: int = 0
) -> int:
    """Finish all open sessions of a store with generated judgments; return the number of events.

    A document's quality is standard normal. An assessor perceives it with normal noise, says tie if two
    documents seem equal, and uses all grades equally often. Times are lognormal. Use it to try out admin
    pages, statistics and exports.

    Parameters
    ----------
    store
        A store with tasks.
    noise
        The standard deviation of the noise.
    tie
        The difference below which documents seem equal.
    repeat
        The share of judgments after which an earlier question is asked again, sides swapped.
    seed
        The seed; the same seed gives the same judgments.

    Examples
    --------
    >>> import tempfile
    >>> from podium.labelling import GradeTask, Pool, PoolDocument, PoolQuery
    >>> from podium.labelling.store import StoreMember, Store
    >>> store = Store.open(tempfile.mkdtemp() + "/judgments.db")
    >>> _ = store.add_pool(Pool((PoolQuery("q", documents=(PoolDocument("x"), PoolDocument("y"))),)))
    >>> store.add_members([StoreMember("ann")])
    >>> _ = store.add_tasks([GradeTask("s", "q", "ann", ("x", "y"))])
    >>> make_judgments(store, repeat=0)
    2
    >>> store.close()
    """
    check_seed(seed)
    if noise < 0 or tie < 0 or not 0 <= repeat < 1:
        raise UsageError(
            "expected noise and tie of 0 or more and repeat from 0 to below 1, got "
            f"{noise}, {tie}, {repeat}"
        )
    written = 0
    for state in store.session_states():
        task = state.task
        if state.finished:
            continue
        quality = {d: float(_random(seed, task.query, d).normal()) for d in task.documents}
        random = _random(seed, task.id)
        session, at = store.session(task.id), START_MS
        while not session.finished:
            data = _judgment_data(session.step, quality, noise, tie, random, session)
            if session.judgments and random.random() < repeat:
                data = _repeat_data(session, quality, noise, tie, random)
            spent = int(1000 * MEAN_JUDGMENT_SECONDS[task.tool] * random.lognormal(-0.245, 0.7)) + 1
            event = JudgingEvent(
                f"{task.id}-{session.n_events + 1}",
                task.id,
                "judgment",
                at + spent,
                data | {"segments": [[at, at + spent]]},
            )
            session = store.append(event).session
            at += spent + 500
            written += 1
    return written


def _random(*key: object) -> np.random.Generator:
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def _judgment_data(
    step: object,
    quality: Mapping[str, float],
    noise: float,
    tie: float,
    random: np.random.Generator,
    session: Session,
) -> dict[str, Any]:
    """Return the data of a judgment of this question."""
    if isinstance(step, GradeQuestion):
        perceived = quality[step.document] + noise * random.normal()
        share = (1 + erf(perceived / sqrt(2 * (1 + noise**2)))) / 2
        n = len(session.task.settings["grades"])
        return {"document": step.document, "grade": min(n - 1, int(share * n))}
    assert isinstance(step, Question)
    perceived = quality[step.a] - quality[step.b] + sqrt(2) * noise * random.normal()
    answer: Answer = "~" if abs(perceived) < tie else ">" if perceived > 0 else "<"
    return {"a": step.a, "b": step.b, "answer": answer}


def _repeat_data(
    session: Session,
    quality: Mapping[str, float],
    noise: float,
    tie: float,
    random: np.random.Generator,
) -> dict[str, Any]:
    """Return the data of a judgment of an earlier question, with the sides swapped."""
    earlier = session.judgments[int(random.integers(len(session.judgments)))]
    question: Question | GradeQuestion
    if isinstance(earlier, Judgment):
        question = Question(earlier.b, earlier.a)
    else:
        assert isinstance(earlier, Graded)
        question = GradeQuestion(earlier.document)
    return _judgment_data(question, quality, noise, tie, random, session) | {"repeat": True}

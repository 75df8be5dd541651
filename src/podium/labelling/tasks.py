"""Tasks: one query for one assessor with one tool. The work on a task is its session."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from podium.data.argument_checks import check_seed
from podium.errors import DataError, UnknownNameError, UsageError
from podium.labelling.pools import Pool, first_repeated
from podium.labelling.strategies.strategy_run import check_confidence, strategy_named

Tool = Literal["preference", "grade"]
TOOLS: tuple[Tool, ...] = get_args(Tool)
"""The tools of the paper: T1, pairs of documents, and T2, one document and a grade."""

FIVE_GRADES = ("Bad", "Fair", "Good", "Excellent", "Perfect")
"""The grades of the paper, worst first."""


@dataclass(frozen=True)
class PreferenceTask:
    """Find the top k of a query's documents by judging pairs.

    Parameters
    ----------
    id
        The id of the task and of its session.
    query, assessor
        Their ids.
    documents
        Ids, in the order in which the strategy takes them.
    k
        How many documents to find.
    strategy
        A name of STRATEGIES.
    prior
        The documents as an existing ranker orders them, best first, or None.
    skip_implied
        Whether pairs are not asked if their answer follows from earlier answers.
    confidence
        The expected recall at which the session ends; None for the strategy's own rule.
    """

    id: str
    query: str
    assessor: str
    documents: tuple[str, ...]
    k: int = 10
    strategy: str = "tournament"
    prior: tuple[str, ...] | None = None
    skip_implied: bool = True
    confidence: float | None = None
    tool: ClassVar[Tool] = "preference"

    def __post_init__(self) -> None:
        _check_documents(self.documents, self.query)
        check_confidence(self.confidence, self.strategy)
        strategy_named(self.strategy)
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise UsageError(f"expected k of 1 or more, got {self.k!r}")
        if self.prior is not None and sorted(self.prior) != sorted(self.documents):
            raise DataError(
                f"the prior order must have exactly the {len(self.documents)} documents of "
                f"query {self.query!r}"
            )

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the task, as JSON."""
        settings = {
            "k": self.k,
            "strategy": self.strategy,
            "prior": self.prior and list(self.prior),
            "skip_implied": self.skip_implied,
        }
        # Older stores have no confidence, and a task without one must equal theirs.
        return settings | ({} if self.confidence is None else {"confidence": self.confidence})


@dataclass(frozen=True)
class GradeTask:
    """Grade every document of a query.

    Parameters
    ----------
    id
        The id of the task and of its session.
    query, assessor
        Their ids.
    documents
        Ids, in the order of grading.
    grades
        Names of the grades, worst first.
    """

    id: str
    query: str
    assessor: str
    documents: tuple[str, ...]
    grades: tuple[str, ...] = FIVE_GRADES
    tool: ClassVar[Tool] = "grade"

    def __post_init__(self) -> None:
        _check_documents(self.documents, self.query)
        if not 2 <= len(self.grades) <= 100 or len(set(self.grades)) < len(self.grades):
            raise UsageError(f"expected 2 to 100 names of grades, got {list(self.grades)!r:.80}")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the task, as JSON."""
        return {"grades": list(self.grades)}


Task = PreferenceTask | GradeTask


def make_task(
    tool: str,
    id: str,  # noqa: A002 - the field's name
    query: str,
    assessor: str,
    documents: Iterable[str],
    settings: Mapping[str, Any],
) -> Task:
    """Return the task with this tool, these ids, documents and settings.

    Examples
    --------
    >>> task = GradeTask("t1", "q1", "ann", ("x", "y"))
    >>> make_task(task.tool, task.id, task.query, task.assessor, task.documents, task.settings) == task
    True
    """
    options: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in settings.items()
    }
    if tool == "preference":
        return PreferenceTask(id, query, assessor, tuple(documents), **options)
    if tool == "grade":
        return GradeTask(id, query, assessor, tuple(documents), **options)
    raise UnknownNameError("tool", tool, TOOLS)


def make_tasks(
    assignments: Iterable[tuple[str, str, str]],
    pool: Pool,
    *,
    k: int = 10,
    strategy: str = "tournament",
    prior: bool = False,
    skip_implied: bool = True,
    confidence: float | None = None,
    grades: Sequence[str] = FIVE_GRADES,
    seed: int = 0,
) -> list[Task]:
    """Return one task per (assessor, query, tool), with the documents in a random order.

    The same arguments give the same tasks and ids, so adding them to a store twice adds nothing.

    Parameters
    ----------
    assignments
        (assessor, query, tool), see ``podium.labelling.assignments``.
    pool
        The queries with their documents.
    k, strategy, skip_implied, confidence
        Settings of preference tasks.
    prior
        Whether preference tasks start from the order of the pool's scores; then all documents need
        scores.
    grades
        Names of grades, worst first.
    seed
        The seed of the order of the documents in each task.

    Examples
    --------
    >>> from podium.labelling.pools import PoolDocument, PoolQuery
    >>> pool = Pool((PoolQuery("q1", "jazz", documents=(PoolDocument("x"), PoolDocument("y"))),))
    >>> task, = make_tasks([("ann", "q1", "grade")], pool)
    >>> task.assessor, sorted(task.documents), len(task.id)
    ('ann', ['x', 'y'], 20)
    """
    check_seed(seed)
    tasks: list[Task] = []
    for assessor, query_id, tool in assignments:
        query = pool[query_id]
        digest = hashlib.sha256(json.dumps([assessor, query_id, tool]).encode()).digest()
        random = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
        documents = tuple(query.documents[i].id for i in random.permutation(len(query.documents)))
        settings: dict[str, Any] = {"grades": tuple(grades)}
        if tool == "preference":
            order = query.prior if prior else None
            settings = {
                "k": k, "strategy": strategy, "prior": order, "skip_implied": skip_implied,
                "confidence": confidence,
            }  # fmt: skip
        tasks.append(make_task(tool, digest.hex()[:20], query_id, assessor, documents, settings))
    return tasks


def _check_documents(documents: tuple[str, ...], query: str) -> None:
    if not isinstance(documents, tuple) or not documents:
        raise DataError(f"query {query!r} has no documents; expected a tuple of ids")
    if (twice := first_repeated(documents)) is not None:
        raise DataError(
            f"query {query!r} has document {twice!r:.60} twice; expected each document once"
        )

"""MachineReranker: orders the head of a list by a machine's answers, within a budget of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from podium.errors import DataError, UsageError
from podium.labelling.machines.call_budget import BudgetSpentError
from podium.labelling.machines.machine_client import MachineClient
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.session_judge import AssessmentSettings, SessionJudge
from podium.labelling.pools import Pool, PoolQuery
from podium.labelling.session import Session
from podium.labelling.strategies.strategy_run import check_confidence, strategy_named
from podium.labelling.tasks import PreferenceTask


@dataclass(frozen=True)
class RerankSettings:
    """How lists are ordered.

    Parameters
    ----------
    k
        How many first places the machine fills.
    depth
        The documents of the head; those below keep their places.
    questions
        The most questions about one list, answered from the cache or not; None for no limit.
    ask, set_size, both_orders, batch, threads
        As in `AssessmentSettings`; the machine compares pairs or sets.
    strategy
        A strategy that does not trust single answers.
    prior
        Whether the order of the list is a start, trusted as far as the answers agree with it.
    confidence
        The expected recall of the first k places at which a list is done; None for the strategy's own
        rule.

    Examples
    --------
    >>> RerankSettings(k=3, strategy="heap")
    Traceback (most recent call last):
    podium.errors.UsageError: expected a strategy that has a probable top k when a budget ends, such as \
bayesian, got heap
    """

    k: int = 10
    depth: int = 50
    questions: int | None = 100
    ask: Literal["pairs", "sets"] = "pairs"
    set_size: int = 5
    both_orders: bool = False
    batch: int = 1
    threads: int = 4
    strategy: str = "bayesian"
    prior: bool = True
    confidence: float | None = None

    def __post_init__(self) -> None:
        if min(self.k, self.depth) < 1 or (self.questions is not None and self.questions < 0):
            raise UsageError(
                "expected k and a depth of 1 or more, and 0 or more questions, got "
                f"{self.k}, {self.depth}, {self.questions}"
            )
        if strategy_named(self.strategy).trusts_answers:
            raise UsageError(
                "expected a strategy that has a probable top k when a budget ends, such as bayesian, got "
                f"{self.strategy}"
            )
        check_confidence(self.confidence, self.strategy)
        if self.ask not in ("pairs", "sets"):
            raise UsageError(f"expected pairs or sets as questions about a list, got {self.ask!r}")
        self.judging  # noqa: B018 - checks the other settings

    @property
    def judging(self) -> AssessmentSettings:
        """How the machine is asked: no question is repeated to measure consistency."""
        return AssessmentSettings(
            self.ask, self.both_orders, self.set_size, repeats=0.0, batch=self.batch,
            threads=self.threads,
        )  # fmt: skip

    def task(self, query: PoolQuery) -> PreferenceTask:
        """Return the task to find the top k of the head of a list."""
        head = tuple(document.id for document in query.documents[: self.depth])
        order = head if self.prior else None
        return PreferenceTask(
            f"rerank {query.id}", query.id, "machine", head, self.k, self.strategy, order,
            confidence=self.confidence,
        )  # fmt: skip


@dataclass(frozen=True)
class RerankedList:
    """A list with a new order of its head.

    Parameters
    ----------
    query
        Its id.
    order
        All documents, best first.
    questions
        How many questions were asked about it.
    certainty
        The expected recall of the first k places; None for a strategy without a belief.
    stopped
        Why it ended before it was certain; "" if it was.
    """

    query: str
    order: tuple[str, ...]
    questions: int
    certainty: float | None
    stopped: str = ""


class MachineReranker:
    """Orders the head of lists by a machine's comparisons.

    Every list has its own budget of questions; the caps of the client hold for all of them. Answers are
    kept in the client's cache, so that the same list costs nothing again.

    Parameters
    ----------
    client, prompts, settings
        The machine, what it reads, and how lists are ordered.

    Examples
    --------
    >>> import tempfile
    >>> from podium.labelling import PoolDocument
    >>> from podium.labelling.machines import (
    ...     AnswerCache, CallBudget, CallCaps, Endpoint, SimulatedEndpoint)
    >>> texts = {"x": "a chair", "y": "a chess set", "z": "a chess clock"}
    >>> query = PoolQuery("q", "chess clock", documents=tuple(PoolDocument(*t) for t in texts.items()))
    >>> with SimulatedEndpoint() as server, AnswerCache(tempfile.mkdtemp() + "/answers.db") as cache:
    ...     client = MachineClient(Endpoint(server.url, "words"), cache, CallBudget(CallCaps(calls=50)))
    ...     MachineReranker(client, settings=RerankSettings(k=2)).rerank(query).order
    ('z', 'y', 'x')
    """

    def __init__(
        self,
        client: MachineClient,
        prompts: QuestionPrompts | None = None,
        settings: RerankSettings | None = None,
    ) -> None:
        self.client, self.settings = client, settings or RerankSettings()
        self._judge = SessionJudge(client, prompts or QuestionPrompts(), self.settings.judging)

    def rerank(self, query: PoolQuery) -> RerankedList:
        """Return a list in its new order; the query's documents are the list, best first.

        A budget or a cap that ends early leaves the probable order so far.

        Raises
        ------
        EndpointError
            The endpoint does not answer as it should.
        """
        with ThreadPoolExecutor(self.settings.threads) as calls:
            return self._rerank(query, calls)

    def rerank_all(
        self, queries: Iterable[PoolQuery], progress: Callable[[int, int], object] | None = None
    ) -> Iterator[RerankedList]:
        """Yield the new order of many lists, some of them at a time; `progress` takes done and all."""
        lists, threads = list(queries), self.settings.threads
        with ThreadPoolExecutor(threads) as calls, ThreadPoolExecutor(threads) as workers:
            futures = [workers.submit(self._rerank, query, calls) for query in lists]
            try:
                for done, future in enumerate(futures, start=1):
                    yield future.result()
                    if progress is not None:
                        progress(done, len(lists))
            except BaseException:
                for future in futures:
                    future.cancel()
                raise

    def _rerank(self, query: PoolQuery, calls: ThreadPoolExecutor) -> RerankedList:
        session, n_questions, stopped = Session(self.settings.task(query)), 0, ""
        cost = 2 if self.settings.both_orders else 1
        while not session.finished and not stopped:
            most = self._most_questions(n_questions, cost)
            if most == 0:
                stopped = f"the budget of {self.settings.questions:,} questions is spent"
                break
            try:
                events = self._judge.judge(session, query, calls, most)
            except BudgetSpentError as error:
                stopped = str(error)
                break
            n_questions += len(
                {key for event in events for key in event.data["machine"]["answers"]}
            )
            for event in events:
                session.apply(event)
            stopped = "" if events else "a question got no answer that can be read"
        assert session.run is not None
        first = session.run.best_so_far.order
        rest = (d.id for d in query.documents if d.id not in first)
        return RerankedList(query.id, (*first, *rest), n_questions, session.certainty, stopped)

    def _most_questions(self, n_questions: int, cost: int) -> int | None:
        """Return how many questions (each of `cost` calls) the budget still allows."""
        if self.settings.questions is None:
            return None
        return max(0, (self.settings.questions - n_questions) // cost)


@dataclass(frozen=True)
class MachineVoter:
    """A machine as a voter of TopRank: orders the documents of a query that a pool has texts of.

    Parameters
    ----------
    reranker
        The machine; its settings decide how many documents it compares.
    pool
        The texts of queries and documents.
    name
        The name of the vote.
    """

    reranker: MachineReranker
    pool: Pool
    name: str = "machine"

    def order(self, query: str, documents: Sequence[str]) -> tuple[str, ...]:
        """Return documents of a query, the best first; those below the machine's head keep their order."""
        texts = {document.id: document for document in self.pool[query].documents}
        for document in documents:
            if document not in texts:
                raise DataError(
                    f"the pool has no text of document {document!r:.60} of query {query!r:.60}; expected "
                    "the texts of all documents to compare"
                )
        chosen = tuple(texts[document] for document in documents)
        return self.reranker.rerank(replace(self.pool[query], documents=chosen)).order

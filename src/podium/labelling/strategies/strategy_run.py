"""StrategyRun: a strategy at work, from the judgments so far to the next question or the top k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podium.errors import DataError, UnknownNameError, UsageError
from podium.labelling.judgments import (
    Answer,
    Document,
    JudgedTopK,
    Judgment,
    Question,
    check_answer,
)
from podium.labelling.knowledge import Knowledge
from podium.labelling.strategies.heap import Heap
from podium.labelling.strategies.sort import Sort
from podium.labelling.strategies.strategy import Strategy
from podium.labelling.strategies.tournament import Tournament
from podium.plugins import Registry, subclasses_of

STRATEGIES: Registry[type[Strategy]] = Registry(
    "podium.strategies",
    {
        "tournament": Tournament,
        "heap": Heap,
        "sort": Sort,
    },
    subclasses_of(Strategy),
)
"""Every strategy by name."""

_SIGNS: dict[Answer, int] = {">": 1, "~": 0, "<": -1, "bad": 0}


def strategy_named(name: str | type[Strategy]) -> type[Strategy]:
    """Return a strategy by name, or one's own as it is; an unknown name is an error.

    Examples
    --------
    >>> strategy_named("tournament").bound(50, 10)
    94
    """
    if isinstance(name, type) and issubclass(name, Strategy):
        return name
    if name not in STRATEGIES:
        raise UnknownNameError("strategy", name, STRATEGIES)
    return STRATEGIES[name]


class StrategyRun:
    """A strategy that looks for the top k, one judgment after the other.

    `step` is the question to be asked now, or the finished top k. A run is what its judgments make of
    it, so it is taken up again, or set back any number of steps, by `replay` of all or of fewer of them.

    Documents tied share a level; documents that an assessor calls "bad" leave, with all that are known
    to be no better, which may leave fewer than k.

    Parameters
    ----------
    strategy
        A name of `STRATEGIES`, or a strategy of your own.
    documents
        All that may get into the top k, each once. Strategies take them in this order, which should be
        a random one unless there is a prior.
    k
        How many places there are.
    prior
        Documents best first, as a ranker has them; those it does not list come after, in order.
    skip_implied
        Whether pairs whose answer follows from earlier ones are not asked. Where they are, an answer
        against what is already known is kept among the judgments and changes nothing else.

    Examples
    --------
    >>> run = StrategyRun("tournament", ["a", "b", "c"], k=2)
    >>> run.step
    Question(a='a', b='b')
    >>> run.judge("<")
    Question(a='c', b='b')
    >>> run.judge("~")
    JudgedTopK(levels=(('c', 'b'),), k=2, judged=2)
    >>> run.judgments[-1], run.remaining
    (Judgment(a='c', b='b', answer='~'), 0.0)
    """

    def __init__(
        self,
        strategy: str | type[Strategy],
        documents: Iterable[Document],
        k: int,
        prior: Sequence[Document] | None = None,
        skip_implied: bool = True,
    ) -> None:
        if not isinstance(k, int) or k < 1:
            raise UsageError(f"expected k of 1 or more, got {k!r}")
        chosen = strategy_named(strategy)
        self.k = k
        self.skip_implied = skip_implied
        self.knowledge = Knowledge(documents)
        order = _by_prior(self.documents, prior)
        self._strategy = chosen(order, min(k, len(order)), prior is not None)
        self._prior = prior
        self._play = self._strategy.play()
        self._judgments: list[Judgment] = []
        self.step: Question | JudgedTopK = self._advance(None)

    @classmethod
    def replay(
        cls,
        strategy: str | type[Strategy],
        documents: Iterable[Document],
        k: int,
        judgments: Iterable[Judgment],
        *,
        prior: Sequence[Document] | None = None,
        skip_implied: bool = True,
    ) -> StrategyRun:
        """Return the run after these judgments, each of the question then asked, in either orientation.

        Examples
        --------
        >>> run = StrategyRun.replay("heap", "abc", 1, [Judgment("a", "b", ">")])
        >>> run.step
        Question(a='c', b='a')
        """
        run = cls(strategy, documents, k, prior, skip_implied)
        for judgment in judgments:
            run.judge(run.answer_of(judgment))
        return run

    @property
    def strategy(self) -> str:
        """The strategy's name."""
        return self._strategy.name

    @property
    def documents(self) -> tuple[Document, ...]:
        """All documents of the run, as given."""
        return self.knowledge.documents

    @property
    def judgments(self) -> tuple[Judgment, ...]:
        """The judgments so far."""
        return tuple(self._judgments)

    @property
    def finished(self) -> bool:
        """Whether the top k is known."""
        return isinstance(self.step, JudgedTopK)

    @property
    def remaining(self) -> float:
        """How many judgments are still to be expected, without further ties; 0 at the end."""
        if self.finished:
            return 0.0
        return max(1.0, self._strategy.remaining(self.knowledge.gone, self.skip_implied))

    def judge(self, answer: Answer) -> Question | JudgedTopK:
        """Answer the question; the next one, or the top k."""
        if isinstance(self.step, JudgedTopK):
            raise UsageError(f"expected no answer to a finished run, got {answer!r}")
        question = self.step
        judgment = Judgment(question.a, question.b, check_answer(answer))
        self.knowledge.add(judgment)
        self._judgments.append(judgment)
        self.step = self._advance(self._sign(question.a, question.b))
        return self.step

    def undone(self, steps: int = 1) -> StrategyRun:
        """The run as it was some judgments ago."""
        if not 0 <= steps <= len(self._judgments):
            raise UsageError(
                f"expected to undo at most the {len(self._judgments)} judgments made, got {steps}"
            )
        kept = self._judgments[: len(self._judgments) - steps]
        return StrategyRun.replay(
            type(self._strategy), self.documents, self.k, kept,
            prior=self._prior, skip_implied=self.skip_implied,
        )  # fmt: skip

    def _advance(self, sign: int | None) -> Question | JudgedTopK:
        """Let the strategy go on up to the first question that only an assessor can answer."""
        try:
            a, b = next(self._play) if sign is None else self._play.send(sign)
            while not self._asks(a, b):
                a, b = self._play.send(self._sign(a, b))
        except StopIteration as stop:
            return self._result(stop.value)
        return Question(a, b)

    def _asks(self, a: Document, b: Document) -> bool:
        gone = self.knowledge.gone
        if a in gone or b in gone:
            return False
        return not self.skip_implied or self.knowledge.implied(a, b) is None

    def _sign(self, a: Document, b: Document) -> int:
        """What is known of a pair as a number: also after a contradiction, what was known first."""
        answer = self.knowledge.implied(a, b)
        assert answer is not None
        return _SIGNS[answer]

    def _result(self, best: Sequence[Document]) -> JudgedTopK:
        """Levels until there are k documents; all that are tied with one of them are with it."""
        places = {document: i for i, document in enumerate(best)}
        levels: list[tuple[Document, ...]] = []
        placed: set[Document] = set()
        for document in best:
            if document not in placed and document not in self.knowledge.gone:
                tied = self.knowledge.tied(document)
                levels.append(tuple(sorted(tied, key=lambda d: places.get(d, len(places)))))
                placed.update(tied)
            if len(placed) >= self.k:
                break
        return JudgedTopK(tuple(levels), self.k, len(self._judgments))

    def answer_of(self, judgment: Judgment) -> Answer:
        """Return a logged judgment's answer to the question now asked."""
        at = len(self._judgments) + 1
        if isinstance(self.step, JudgedTopK):
            raise DataError(
                f"expected {at - 1} judgments, after which the run is finished, got another one: "
                f"judgment {at} of {judgment.a!r} and {judgment.b!r}"
            )
        if (judgment.b, judgment.a) == (self.step.a, self.step.b):
            judgment = judgment.flipped()
        if (judgment.a, judgment.b) != (self.step.a, self.step.b):
            raise DataError(
                f"expected judgment {at} of {self.step.a!r} and {self.step.b!r}, the question then "
                f"asked, got one of {judgment.a!r} and {judgment.b!r}"
            )
        return judgment.answer


def next_step(
    strategy: str,
    documents: Iterable[Document],
    k: int,
    judgments: Iterable[Judgment],
    *,
    prior: Sequence[Document] | None = None,
    skip_implied: bool = True,
) -> Question | JudgedTopK:
    """From the judgments so far to the next question, or the finished top k.

    Examples
    --------
    >>> next_step("tournament", ["a", "b", "c", "d"], 1, [Judgment("a", "b", ">")])
    Question(a='c', b='d')
    """
    run = StrategyRun.replay(
        strategy, documents, k, judgments, prior=prior, skip_implied=skip_implied
    )
    return run.step


def _by_prior(
    documents: Sequence[Document], prior: Sequence[Document] | None
) -> tuple[Document, ...]:
    """The documents as the prior has them, those it does not list after them."""
    if prior is None:
        return tuple(documents)
    judged, listed = set(documents), set()
    for document in prior:
        if document not in judged:
            raise DataError(f"expected a prior of the documents judged, got {document!r} in it")
        if document in listed:
            raise DataError(f"expected each document once in the prior, got {document!r} twice")
        listed.add(document)
    return (*prior, *(document for document in documents if document not in listed))

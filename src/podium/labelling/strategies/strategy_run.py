"""StrategyRun: run a strategy, from the judgments so far to the next question or the top k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podium.errors import DataError, UnknownNameError, UsageError
from podium.labelling.implied_preferences import ImpliedPreferences
from podium.labelling.judgments import (
    Answer,
    DocumentId,
    JudgedTopK,
    Judgment,
    Question,
    check_answer,
)
from podium.labelling.strategies.bayesian import Bayesian
from podium.labelling.strategies.evidence import RunEvidence
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
        "bayesian": Bayesian,
    },
    subclasses_of(Strategy),
)
"""Every strategy by name."""

_SIGNS: dict[Answer, int] = {">": 1, "~": 0, "<": -1, "bad": 0}


def strategy_named(name: str | type[Strategy]) -> type[Strategy]:
    """Return a strategy by its name; a strategy class is returned unchanged.

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
    """A run of a strategy that looks for the top k, one judgment after another.

    `step` is the current question, or the finished top k. The judgments determine the run, so `replay`
    of all judgments resumes it, and of fewer judgments undoes the last ones.

    Tied documents share a level. Documents that an assessor calls "bad" are rejected, with all that are
    known to be no better, so that fewer than k may be left.

    A strategy that does not trust single answers may ask a pair again and decides itself what follows.

    Parameters
    ----------
    strategy
        A name of `STRATEGIES`, or your own strategy.
    documents
        All documents, each once. Strategies take them in this order, which should be random unless there
        is a prior.
    k
        How many documents to find.
    prior
        The documents in the order of a ranker, best first; documents that it does not list come
        last.
    skip_implied
        Whether pairs are not asked if their answer follows from earlier answers. If they are asked, a
        contradicting answer is one of the judgments and changes nothing else.
    confidence
        The expected recall at which the run ends, above 0 and below 1; None for the strategy's own rule.
        Only for strategies that do not trust single answers.

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
        documents: Iterable[DocumentId],
        k: int,
        prior: Sequence[DocumentId] | None = None,
        skip_implied: bool = True,
        confidence: float | None = None,
    ) -> None:
        if not isinstance(k, int) or k < 1:
            raise UsageError(f"expected k of 1 or more, got {k!r}")
        chosen = strategy_named(strategy)
        check_confidence(confidence, chosen)
        self.k = k
        self.skip_implied = skip_implied
        self.confidence = confidence
        self.documents = RunEvidence(documents).implied_preferences.documents
        """All documents of the run, in the order of the caller."""
        order = _by_prior(self.documents, prior)
        options = {} if confidence is None else {"confidence": confidence}
        self._strategy = chosen(order, min(k, len(order)), prior is not None, **options)
        self._strategy.evidence = self._evidence = RunEvidence(self.documents)
        self._prior = prior
        self._comparisons = self._strategy.find_top_k()
        self._step: Question | JudgedTopK | None = None
        if self.trusts_answers:
            self._step = self._advance(None)

    @classmethod
    def replay(
        cls,
        strategy: str | type[Strategy],
        documents: Iterable[DocumentId],
        k: int,
        judgments: Iterable[Judgment],
        *,
        prior: Sequence[DocumentId] | None = None,
        skip_implied: bool = True,
        confidence: float | None = None,
    ) -> StrategyRun:
        """Return the run after these judgments; each must answer the current question, in either orientation.

        A strategy that does not trust single answers takes judgments of any pairs.

        Examples
        --------
        >>> run = StrategyRun.replay("heap", "abc", 1, [Judgment("a", "b", ">")])
        >>> run.step
        Question(a='c', b='a')
        """
        run = cls(strategy, documents, k, prior, skip_implied, confidence)
        for judgment in judgments:
            run.add(judgment)
        return run

    @property
    def strategy(self) -> str:
        """The strategy's name."""
        return self._strategy.name

    @property
    def trusts_answers(self) -> bool:
        """Whether one answer decides about a pair; if not, the run takes judgments of any pairs."""
        return self._strategy.trusts_answers

    @property
    def implied_preferences(self) -> ImpliedPreferences:
        """What the judgments imply."""
        return self._evidence.implied_preferences

    @property
    def step(self) -> Question | JudgedTopK:
        """The current question, or the finished top k."""
        if self._step is None:  # the judgments alone determine it, so it is made when it is needed
            self._comparisons = self._strategy.find_top_k()
            self._step = self._advance(None)
        return self._step

    @property
    def certainty(self) -> float | None:
        """The expected recall of the top k so far; None without a belief about it."""
        return self._strategy.certainty

    @property
    def memberships(self) -> dict[DocumentId, float] | None:
        """The probability of each document to be in the top k; None without a belief about it."""
        return self._strategy.memberships

    @property
    def best_so_far(self) -> JudgedTopK:
        """The probable top k by the judgments so far, or the finished one.

        Strategies that trust answers have none before the end.

        Examples
        --------
        >>> run = StrategyRun.replay("bayesian", "abcd", 2, [Judgment("d", "a", ">")])
        >>> run.best_so_far
        JudgedTopK(levels=(('d',), ('b',)), k=2, judged=1)
        """
        if self.trusts_answers and not self.finished:
            raise UsageError(
                f"strategy {self.strategy} knows its top k at the end; expected one that does not trust "
                "single answers, such as bayesian, for a probable top k"
            )
        return self._result([]) if not self.finished else self.step  # type: ignore[return-value]

    def questions(self, n: int) -> list[Question]:
        """Return up to n questions that may be answered at the same time, the current one first.

        Strategies that trust answers have one question at a time.

        Examples
        --------
        >>> StrategyRun("bayesian", "abcdef", k=2).questions(2)
        [Question(a='a', b='b'), Question(a='c', b='d')]
        """
        step = self.step
        if isinstance(step, JudgedTopK):
            return []
        if self.trusts_answers:
            return [step]
        return [Question(a, b) for a, b in self._strategy.next_pairs(n)]

    def best_of(self, size: int) -> tuple[DocumentId, ...]:
        """Return documents of which an assessor may choose the best; () at the end.

        The answer is added as one judgment for each of the others.

        Examples
        --------
        >>> StrategyRun("bayesian", "abcdef", k=2).best_of(4)
        ('a', 'b', 'c', 'd')
        """
        if self.trusts_answers:
            raise UsageError(
                f"strategy {self.strategy} asks about two documents at a time; expected one that does "
                "not trust single answers, such as bayesian, for the best of several"
            )
        if isinstance(self.step, JudgedTopK):
            return ()
        return tuple(self._strategy.next_set(size))

    @property
    def judgments(self) -> tuple[Judgment, ...]:
        """The judgments so far."""
        return tuple(self._evidence.judgments)

    @property
    def finished(self) -> bool:
        """Whether the top k is found."""
        return isinstance(self.step, JudgedTopK)

    @property
    def remaining(self) -> float:
        """How many judgments are still expected if there are no more ties; 0 at the end."""
        if self.finished:
            return 0.0
        rejected = self.implied_preferences.rejected_documents
        return max(1.0, self._strategy.remaining(rejected, self.skip_implied))

    def judge(
        self, answer: Answer, left: DocumentId | None = None, assessor: str | None = None
    ) -> Question | JudgedTopK:
        """Answer the current question; return the next one, or the top k.

        Parameters
        ----------
        answer
            The answer.
        left
            The document that was on the left, for strategies that measure a bias for one side.
        assessor
            Who answered, for strategies that measure how reliable each assessor is.
        """
        if isinstance(self.step, JudgedTopK):
            raise UsageError(f"the run is finished and takes no answer, got {answer!r}")
        question = self.step
        self._accept(Judgment(question.a, question.b, check_answer(answer), left, assessor))
        return self.step

    def add(self, judgment: Judgment) -> None:
        """Add a logged judgment, which must be of the current question if the strategy trusts answers."""
        self._accept(self._oriented(judgment) if self.trusts_answers else judgment)

    def _accept(self, judgment: Judgment) -> None:
        self._evidence.add(judgment)
        sign = self._sign(judgment.a, judgment.b) if self.trusts_answers else None
        self._step = None if sign is None else self._advance(sign)

    def undo(self, steps: int = 1) -> StrategyRun:
        """Return the run as it was some judgments ago."""
        if not 0 <= steps <= len(self._evidence.judgments):
            raise UsageError(
                f"there are {len(self._evidence.judgments)} judgments to undo, got {steps}"
            )
        remaining_judgments = self._evidence.judgments[: len(self._evidence.judgments) - steps]
        return StrategyRun.replay(
            type(self._strategy), self.documents, self.k, remaining_judgments,
            prior=self._prior, skip_implied=self.skip_implied, confidence=self.confidence,
        )  # fmt: skip

    def _advance(self, sign: int | None) -> Question | JudgedTopK:
        """Run the strategy up to the first question that only an assessor can answer."""
        try:
            a, b = next(self._comparisons) if sign is None else self._comparisons.send(sign)
            while not self._must_ask(a, b):
                a, b = self._comparisons.send(self._sign(a, b))
        except StopIteration as stop:
            return self._result(stop.value)
        return Question(a, b)

    def _must_ask(self, a: DocumentId, b: DocumentId) -> bool:
        if not self.trusts_answers:
            return True
        rejected = self.implied_preferences.rejected_documents
        if a in rejected or b in rejected:
            return False
        return not self.skip_implied or self.implied_preferences.answer(a, b) is None

    def _sign(self, a: DocumentId, b: DocumentId) -> int:
        """Return the implied answer of a pair as a number; after a contradiction the first answer."""
        answer = self.implied_preferences.answer(a, b)
        assert answer is not None
        return _SIGNS[answer]

    def _result(self, best: Sequence[DocumentId]) -> JudgedTopK:
        return JudgedTopK(self._strategy.levels(best), self.k, len(self._evidence.judgments))

    def _oriented(self, judgment: Judgment) -> Judgment:
        """Return a logged judgment of the current question in the question's orientation."""
        at = len(self._evidence.judgments) + 1
        if isinstance(self.step, JudgedTopK):
            raise DataError(
                f"the run is finished after {at - 1} judgments, but there is judgment {at} of "
                f"{judgment.a!r} and {judgment.b!r}"
            )
        if (judgment.b, judgment.a) == (self.step.a, self.step.b):
            judgment = judgment.flipped()
        if (judgment.a, judgment.b) != (self.step.a, self.step.b):
            raise DataError(
                f"judgment {at} must be of {self.step.a!r} and {self.step.b!r}, the current "
                f"question, got one of {judgment.a!r} and {judgment.b!r}"
            )
        return judgment


def check_confidence(confidence: float | None, strategy: str | type[Strategy]) -> None:
    """Raise if a run of a strategy cannot end at this confidence.

    Examples
    --------
    >>> check_confidence(0.9, "heap")
    Traceback (most recent call last):
    podium.errors.UsageError: expected no confidence for strategy heap, which trusts every answer; use one \
that does not, such as bayesian
    """
    if confidence is None:
        return
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise UsageError(f"expected a confidence above 0 and below 1, got {confidence!r}")
    if strategy_named(strategy).trusts_answers:
        raise UsageError(
            f"expected no confidence for strategy {strategy_named(strategy).name}, which trusts every "
            "answer; use one that does not, such as bayesian"
        )


def _by_prior(
    documents: Sequence[DocumentId], prior: Sequence[DocumentId] | None
) -> tuple[DocumentId, ...]:
    """Return the documents in the order of the prior; documents that it does not list come last."""
    if prior is None:
        return tuple(documents)
    judged, listed = set(documents), set()
    for document in prior:
        if document not in judged:
            raise DataError(f"the prior has {document!r}, which is not a document of the run")
        if document in listed:
            raise DataError(f"the prior has {document!r} twice; expected each document once")
        listed.add(document)
    return (*prior, *(document for document in documents if document not in listed))

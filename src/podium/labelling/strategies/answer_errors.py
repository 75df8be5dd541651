"""AnswerErrors: how often assessors err, fitted to answers while places are inferred from them.

An answer is right, or the assessor guesses: for a side with the assessor's own habit, or because the two
documents are close. Half of all guesses are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from podium.labelling.strategies.pair_answers import PairAnswers
from podium.typing import Floats

CAREFUL = np.array([15.0, 0.5, 0.5])
"""Answers that every assessor is taken to have given while no answers contradict each other: right ones, and
guesses for the left and the right."""
ERRING = np.array([6.0, 1.0, 1.0])
"""The same from the first contradiction on. Few answers show few errors, so a belief that starts from fewer
is surer than it is right."""
CLOSE_GUESSES = np.array([1.0, 1.0])
"""Answers about equal documents that all assessors are taken to have given: guesses, and others."""
CLOSENESS = 0.3
"""The difference in quality, in standard deviations, at which a guess is .6 times as likely as at none."""
RECENT = 50
"""The next answer errs as these last ones did."""
_MOST_SURE = 30.0
"""The largest log ratio of a pair's likelihoods."""


@dataclass(frozen=True, eq=False)
class AnswerErrors:
    """The sources of answers.

    Parameters
    ----------
    replies
        Per assessor the share of answers that are right, guesses for the left, guesses for the right.
    close
        The share of guesses in answers about equal documents, on top of those of `replies`.
    counts
        The counts that a fit starts from.
    """

    replies: Floats
    close: float
    counts: Floats

    @classmethod
    def before(cls, answers: PairAnswers) -> Self:
        """Return the errors that are expected before a fit."""
        errs = has_contradictions(answers)
        counts = ERRING if errs else CAREFUL
        close = CLOSE_GUESSES[0] / CLOSE_GUESSES.sum() if errs else 0.0
        return cls(np.tile(counts / counts.sum(), (answers.n_assessors, 1)), float(close), counts)

    def shares(self, answers: PairAnswers, closeness: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the probability of each answer as the right one, as a guess for a side, as a close guess."""
        right, left_guess, right_guess = self.replies[answers.assessor].T
        either = np.where(answers.side > 0, left_guess, right_guess)
        guess = np.where(answers.side == 0, (left_guess + right_guess) / 2, either)
        close = self.close * closeness[answers.pair]
        return right * (1 - close), guess * (1 - close), close / 2

    def likelihoods(self, answers: PairAnswers, closeness: Floats) -> tuple[Floats, Floats]:
        """Return the likelihoods of each pair's answers if its first or second group is better.

        The larger of the two is 1.
        """
        right, guess, close = self.shares(answers, closeness)
        lead = np.log1p(right / (guess + close))
        ratio = np.bincount(
            answers.pair, np.where(answers.is_first, lead, -lead), len(answers.first)
        ).clip(-_MOST_SURE, _MOST_SURE)
        return np.exp(np.minimum(ratio, 0)), np.exp(np.minimum(-ratio, 0))

    def fit(self, answers: PairAnswers, closeness: Floats, better: Floats) -> AnswerErrors:
        """Return the errors by these answers; `better` has the probability that a pair's first is better."""
        right, guess, close = self.shares(answers, closeness)
        total = right + guess + close
        of_pair = better[answers.pair]
        is_right = np.where(answers.is_first, of_pair, 1 - of_pair) * right / total
        is_close = (1 - is_right) * close / (guess + close)
        own = 1 - is_right - is_close
        left = own * (1 + answers.side) / 2
        counts = np.tile(self.counts, (len(self.replies), 1))
        for column, share in enumerate((is_right, left, own - left)):
            counts[:, column] += np.bincount(answers.assessor, share, len(self.replies))
        replies = counts / counts.sum(axis=1, keepdims=True)
        if self.close == 0:
            return AnswerErrors(replies, 0.0, self.counts)
        equal = CLOSE_GUESSES.sum() + closeness[answers.pair].sum()
        close_share = min(1.0, float((CLOSE_GUESSES[0] + is_close.sum()) / equal))
        return AnswerErrors(replies, close_share, self.counts)

    def rate(self, answers: PairAnswers, closeness: Floats) -> float:
        """Return the probability that the next answer is wrong."""
        if not len(answers.pair):
            return float(self.replies[:, 1:].sum(axis=1).mean() / 2)
        close = self.close * closeness[answers.pair]
        guesses = self.replies[answers.assessor, 1:].sum(axis=1)
        return float(((guesses * (1 - close) + close) / 2)[-RECENT:].mean())


def has_contradictions(answers: PairAnswers) -> bool:
    """Return whether no order of the documents agrees with all answers.

    Examples
    --------
    >>> from podium.labelling.judgments import Judgment
    >>> from podium.labelling.strategies.pair_answers import collect_answers
    >>> circle = [Judgment("a", "b", ">"), Judgment("b", "c", ">"), Judgment("c", "a", ">")]
    >>> has_contradictions(collect_answers("abc", circle)), has_contradictions(collect_answers("abc", []))
    (True, False)
    """
    n = len(answers.tied)
    one, two = answers.first[answers.pair], answers.second[answers.pair]
    better, worse = np.where(answers.is_first, [one, two], [two, one])
    wins = csr_array((np.ones(len(one)), (better, worse)), shape=(n, n))
    circles, _ = connected_components(wins, connection="strong")
    return bool(circles < n)

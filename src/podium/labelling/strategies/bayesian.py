"""Bayesian: ask what tells most about the top k, and stop when it is probably right."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium import kernels
from podium.labelling.judgments import DocumentId
from podium.labelling.strategies.evidence import RunEvidence
from podium.labelling.strategies.pair_answers import PairAnswers, collect_answers
from podium.labelling.strategies.place_belief import (
    PlaceBelief,
    cell_edges,
    infer_places,
    memberships,
)
from podium.labelling.strategies.strategy import Comparisons, Strategy
from podium.labelling.strategies.tournament import Tournament
from podium.typing import Floats, Rows

ENOUGH_RECALL = 0.92
"""The expected recall of the top k at which a run with contradicting answers ends."""
ENOUGH_ORDER = 0.62
"""The mean expected recall within the top k (of its first tenth, third and so on) at that moment."""
ORDER_WEIGHT = 0.1
"""The weight of information about the order within the top k."""
MAX_CANDIDATES = 64
"""The number of documents among which the next pair is sought: those whose membership is least sure."""
SURELY_WORSE = 0.9
"""The probability of being worse than a rejected document at which a document is rejected too."""
LEAST_INFORMATION = 0.01
"""If the best question tells fewer bits, a run ends: then only very few documents are in doubt."""
_DIGITS = 9  # scores are rounded, so that the last bits of another machine choose no other pair


class Bayesian(Strategy):
    """Keep a belief about each document's place; trust no single answer.

    The next question is the pair whose answer tells most about who is in the top k, and with a small
    weight about the order within it. A doubtful pair is asked again. The run ends when the expected
    recall is `ENOUGH_RECALL`. As long as no answer contradicts the others, it ends only when they imply
    the whole order of the top k. So answers without errors give the exact result. With a `confidence`,
    it ends as soon as the expected recall reaches that number.

    Error rates are fitted on the way: one per assessor, with a bias for one side. A prior is trusted
    as far as the answers agree with it.

    Examples
    --------
    >>> Bayesian.bound(100, 10)
    1530
    """

    name = "bayesian"
    trusts_answers = False

    def __init__(
        self,
        order: Sequence[DocumentId],
        k: int,
        prior: bool = False,
        confidence: float | None = None,
    ) -> None:
        super().__init__(order, k, prior, confidence)
        self._view: _View | None = None

    def find_top_k(self) -> Comparisons[list[DocumentId]]:
        """Yield one pair after the other until the top k is probably right."""
        while (pair := self._next_pair()) is not None:
            yield pair
        return [document for level in self.levels([]) for document in level]

    def levels(self, best: Sequence[DocumentId]) -> tuple[tuple[DocumentId, ...], ...]:
        """Return the probable top k by expected place; documents judged tied share a level."""
        view = self._current_view()
        order = view.implied_order if view.is_determined else view.probable_order
        return tuple(tuple(self.order[d] for d in view.answers.tied[g]) for g in order)

    @property
    def certainty(self) -> float:
        """The expected recall of the top k by the answers so far."""
        return self._current_view().recall

    @property
    def memberships(self) -> dict[DocumentId, float]:
        """The probability of each document to be in the top k; documents that are out have 0."""
        view, chances = self._current_view(), dict.fromkeys(self.order, 0.0)
        for group, chance in zip(view.alive.tolist(), view.members[0].tolist(), strict=True):
            chances.update((self.order[d], chance) for d in view.answers.tied[group])
        return chances

    def remaining(self, rejected_documents: Collection[DocumentId], skip_implied: bool) -> float:
        """Return the bits still missing, times the answers that a bit has cost so far.

        At first a bit costs 3 / (1 - h(e)) answers for an error rate of e, as in simulated runs.
        """
        view = self._current_view()
        start = _View(self.order, self.k, self.prior, RunEvidence(self.order), self.confidence)
        answers = len(self.evidence.judgments)
        gained = max(0.0, start.missing_bits - view.missing_bits)
        usual = 3.0 / max(0.05, 1 - float(_bits(view.belief.errors)))
        cost = (10 * usual + answers) / (10 + gained)
        room = self.bound(len(self.order), self.k, self.prior) - answers
        return min(room, cost * max(0.0, view.missing_bits - view.allowed_bits))

    def _current_view(self) -> _View:
        n_judgments = len(self.evidence.judgments)
        if self._view is None or self._view.n_judgments != n_judgments:
            self._view = _View(self.order, self.k, self.prior, self.evidence, self.confidence)
        return self._view

    def _next_pair(self) -> tuple[DocumentId, DocumentId] | None:
        return next(iter(self.next_pairs(1)), None)

    def next_pairs(self, n: int) -> list[tuple[DocumentId, DocumentId]]:
        """Return up to n pairs without common documents, the most informative first."""
        view, scores, candidates = self._scored_pairs()
        if scores is None:
            return []
        limit = self.bound(len(self.order), self.k, self.prior) - view.n_judgments
        pairs = choose_pairs(scores, min(n, limit))
        heads = [[view.head(int(candidates[i])) for i in pair] for pair in pairs]
        return [(a, b) for a, b in heads]

    def next_set(self, size: int) -> list[DocumentId]:
        """Return the most informative pair, and the documents whose pairs with the others tell most."""
        view, scores, candidates = self._scored_pairs()
        if scores is None:
            return []
        chosen = choose_set(scores, size)
        return [view.head(int(candidates[i])) for i in chosen]

    def _scored_pairs(self) -> tuple[_View, Floats | None, Rows]:
        """Return what each pair of candidates tells; None at the end of the run."""
        view = self._current_view()
        limit = self.bound(len(self.order), self.k, self.prior)
        if view.n_judgments < limit and len(view.alive) >= 2:
            if not view.is_sure:
                scores = view.score_pairs(view.candidates, view.cuts, view.weights)
                if scores.max() >= LEAST_INFORMATION:
                    return view, scores, view.candidates
            wants_order = self.confidence is None or not view.is_sure
            if wants_order and self.evidence.is_consistent and not view.is_determined:
                return view, view.score_open_pairs(), view.open_groups
        return view, None, view.candidates

    @staticmethod
    def _bound(n: int, k: int, prior: bool) -> int:
        # A limit for assessors who answer at random; ten times what answers without errors take.
        return 10 * Tournament.bound(n, k)


@dataclass(eq=False)
class _View:
    """The answers so far, and everything that follows from them."""

    order: tuple[DocumentId, ...]
    k: int
    prior: bool
    evidence: RunEvidence
    confidence: float | None = None

    def __post_init__(self) -> None:
        self.n_judgments = len(self.evidence.judgments)
        self._is_consistent = self.evidence.is_consistent
        self.answers: PairAnswers = collect_answers(self.order, self.evidence.judgments)
        n = len(self.order)
        self.belief: PlaceBelief = infer_places(self.answers, cell_edges(n, self.k), n, self.prior)
        self.alive = self._alive()
        self.sizes = np.array([len(self.answers.tied[g]) for g in self.alive], dtype=np.float64)
        self.beliefs = self.belief.beliefs[self.alive]

    def _alive(self) -> Rows:
        """Return the groups that are not rejected.

        Contradicting answers imply nothing, so then a document is also out if it is probably worse than
        one that was judged bad.
        """
        tied = self.answers.tied
        if self._is_consistent:
            out = self.evidence.implied_preferences.rejected_documents
        else:
            bad = (j for j in self.evidence.judgments if j.answer == "bad")
            out = {document for judgment in bad for document in (judgment.a, judgment.b)}
        is_out = np.array([any(self.order[d] in out for d in group) for group in tied])
        if not self._is_consistent and is_out.any():
            beliefs = self.belief.beliefs
            behind = np.cumsum(beliefs[:, ::-1], axis=1)[:, ::-1] - beliefs / 2
            worse = (behind[:, None] * beliefs[is_out]).sum(axis=2).max(axis=1)
            is_out |= worse > SURELY_WORSE
        return np.flatnonzero(~is_out)

    @cached_property
    def cuts(self) -> list[int]:
        """The cut k, and smaller ones for the order within the top k."""
        inner = {math.ceil(self.k * share) for share in (0.1, 0.3, 0.6)} - {self.k}
        return [self.k, *sorted(inner)]

    @cached_property
    def weights(self) -> Floats:
        """The weight of the information about each cut."""
        return np.array([1.0, *[ORDER_WEIGHT] * (len(self.cuts) - 1)])

    @cached_property
    def chances(self) -> Floats:
        """By cut, group and place: the probability of membership."""
        return memberships(self.beliefs, self.sizes, self.cuts)

    @cached_property
    def members(self) -> Floats:
        """By cut and group: the probability of membership, rounded.

        It is the mean of two: with documents as independent, and with as many members as there are
        places (more only if a tie goes across the cut). In simulations, the first is too low for probable
        members and the second too high.
        """
        alone = (self.beliefs * self.chances).sum(axis=2)
        sizes, most = self.sizes.astype(np.int64), int(self.sizes.max(initial=1))
        by_count = [
            kernels.members_by_count(members, sizes, cut, cut + most - 1)
            for members, cut in zip(alone, self.cuts, strict=True)
        ]
        return np.asarray(np.round((alone + by_count) / 2, _DIGITS))

    def _expected_recall(self, at: int) -> float:
        """Return the expected recall of the most probable members within a cut."""
        order = np.argsort(-self.members[at], kind="stable")
        before = np.cumsum(self.sizes[order]) - self.sizes[order]
        chosen = order[before < self.cuts[at]]
        if not len(chosen):
            return 1.0
        mass = float((self.sizes * self.members[at])[chosen].sum())
        return round(mass / float(self.sizes[chosen].sum()), _DIGITS)

    @cached_property
    def recall(self) -> float:
        """The expected recall of the probable top k."""
        return self._expected_recall(0)

    @cached_property
    def is_sure(self) -> bool:
        """Whether the top k and its order are probably right."""
        if self.confidence is not None:
            return self.recall >= self.confidence
        inner = [self._expected_recall(at) for at in range(1, len(self.cuts))]
        order = sum(inner) / len(inner) if inner else 1.0
        return self.recall >= ENOUGH_RECALL and order >= ENOUGH_ORDER

    @cached_property
    def missing_bits(self) -> float:
        """The entropy of all memberships, weighted as questions are."""
        return float(self.weights @ (_bits(self.members) * self.sizes).sum(axis=1))

    @property
    def allowed_bits(self) -> float:
        """About the entropy at which runs end."""
        return 0.6 * self.k * (1 - (self.confidence or ENOUGH_RECALL)) * 10

    @cached_property
    def candidates(self) -> Rows:
        """The places in `alive` of the documents whose membership is least sure."""
        doubt = np.round(self.weights @ (self.members * (1 - self.members)), _DIGITS)
        return np.sort(np.argsort(-doubt, kind="stable")[:MAX_CANDIDATES])

    def head(self, place: int) -> DocumentId:
        """Return the first document of a group, by its place in `alive`."""
        return self.order[self.answers.tied[int(self.alive[place])][0]]

    def score_pairs(
        self, candidates: Rows, cuts: list[int], weights: Floats, allowed: Rows | None = None
    ) -> Floats:
        """Return the rounded bits that each pair tells; -1 below the diagonal, and if not allowed."""
        chances = self.chances if cuts is self.cuts else memberships(self.beliefs, self.sizes, cuts)
        scores = self._scores(candidates, np.ascontiguousarray(chances[:, candidates]), weights)
        scores = np.round(scores, _DIGITS)
        scores[np.tril_indices(len(candidates))] = -1.0
        if allowed is not None:
            scores[~allowed.astype(bool)] = -1.0
        return scores

    def _scores(self, candidates: Rows, chances: Floats, weights: Floats) -> Floats:
        """Return the information of every pair of candidates."""
        beliefs, belief, answers = self.beliefs[candidates], self.belief, self.answers
        scores = kernels.pair_information(beliefs, chances, weights, belief.errors)
        place = np.full(len(answers.tied), -1)
        place[self.alive[candidates]] = np.arange(len(candidates))
        first, second = place[answers.first], place[answers.second]
        judged = np.flatnonzero((first >= 0) & (second >= 0))
        if len(judged):
            first, second = first[judged], second[judged]
            scores[first, second] = kernels.judged_pair_information(
                beliefs, np.ascontiguousarray(belief.messages[:, judged]), first, second,
                belief.less[judged], belief.more[judged], chances, weights, belief.errors,
            )  # fmt: skip
        return scores

    @cached_property
    def open_groups(self) -> Rows:
        """The places in `alive` of groups that fewer than k documents are implied to beat."""
        implied = self.evidence.implied_preferences
        heads = [self.order[self.answers.tied[g][0]] for g in self.alive]
        return np.array(
            [i for i, d in enumerate(heads) if implied.count_better(d) < self.k], dtype=np.int64
        )

    @cached_property
    def _open_pairs(self) -> Rows:
        """Which pairs of open groups no answer implies, as a matrix of 0 and 1."""
        implied = self.evidence.implied_preferences
        heads = [self.order[self.answers.tied[self.alive[i]][0]] for i in self.open_groups]
        return np.array(
            [[a != b and implied.answer(a, b) is None for b in heads] for a in heads],
            dtype=np.int64,
        ).reshape(len(heads), len(heads))

    @cached_property
    def is_determined(self) -> bool:
        """Whether the answers agree and imply the top k with its order."""
        return self._is_consistent and not self._open_pairs.any()

    def score_open_pairs(self) -> Floats:
        """Return the bits of the pairs that keep the answers from implying the top k."""
        cuts = list(range(1, self.k + 1))
        return self.score_pairs(
            self.open_groups, cuts, np.ones(len(cuts)), allowed=self._open_pairs
        )

    @property
    def implied_order(self) -> list[int]:
        """The groups of the implied top k, best first."""
        implied = self.evidence.implied_preferences
        groups = [int(self.alive[i]) for i in self.open_groups]
        return sorted(
            groups, key=lambda g: implied.count_better(self.order[self.answers.tied[g][0]])
        )

    @property
    def probable_order(self) -> list[int]:
        """The groups of the probable top k by expected place."""
        order = np.argsort(-self.members[0], kind="stable")
        before = np.cumsum(self.sizes[order]) - self.sizes[order]
        chosen = self.alive[order[before < self.k]]
        places = np.round(self.belief.places[chosen], _DIGITS)
        return [int(g) for g in chosen[np.lexsort((chosen, places))]]


def choose_pairs(scores: Floats, n: int) -> list[tuple[int, int]]:
    """Return up to n pairs without common places, the highest scores first; the first among equals.

    Examples
    --------
    >>> scores = np.array([[-1, 0.5, 0.9, 0.1], [-1, -1, 0.8, 0.3], [-1, -1, -1, 0.2], [-1, -1, -1, -1]])
    >>> choose_pairs(scores, 3)
    [(0, 2), (1, 3)]
    """
    left = scores.copy()
    pairs: list[tuple[int, int]] = []
    while len(pairs) < n:
        i, j = divmod(int(np.argmax(left)), len(left))
        if left[i, j] < (LEAST_INFORMATION if pairs else 0.0):
            break
        pairs.append((i, j))
        left[[i, j]] = left[:, [i, j]] = -1.0
    return pairs


def choose_set(scores: Floats, size: int) -> list[int]:
    """Return the pair with the highest score, then one by one the places that add most to it.

    No two of them make a pair with a score of -1. So if implied pairs have that score, every answer
    tells something new; then the set may be smaller.

    Examples
    --------
    >>> scores = np.array([[-1, 0.5, 0.9, 0.1], [-1, -1, 0.8, 0.3], [-1, -1, -1, 0.2], [-1, -1, -1, -1]])
    >>> choose_set(scores, 3)
    [0, 2, 1]
    >>> scores[1, 2] = -1
    >>> choose_set(scores, 3)
    [0, 2, 3]
    """
    both = np.maximum(scores, scores.T)
    chosen = list(divmod(int(np.argmax(scores)), len(scores)))
    while len(chosen) < size:
        gain = np.round(both[chosen].clip(0.0).sum(axis=0), _DIGITS)
        gain[(both[chosen] == -1.0).any(axis=0)] = -1.0
        best = int(np.argmax(gain))
        if gain[best] < 0:
            break
        chosen.append(best)
    return chosen


def _bits(p: Floats | float) -> Floats:
    """Return the entropy of a yes or no of probability p."""
    q = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-(q * np.log2(q) + (1 - q) * np.log2(1 - q)))

"""Ranked lists of a base ranker, and the scores that a method gives them under rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from podium.data import Groups, RankingData
from podium.metrics import RankedLists, evaluate_lists
from podium.postranking import (
    SCORE_DIGITS,
    BoundRule,
    Listing,
    NotTopK,
    PostRankingProblem,
    Rule,
    Settings,
    TopK,
)
from podium.typing import Floats, Ints
from podium_papers.rankopt.drawn_rules import NO_ROW, RuleCase, RuleDraw

MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5")

RuleWeights = tuple[float | None, float | None]
"""rho_t and rho_n."""


@dataclass(frozen=True, eq=False)
class ListsUnderRules:
    """Every query once for each draw of rules, with its documents in the order of a base ranker.

    Rows are places in a query's list, from 0. `lists` holds labels and the base ranker's scores.
    """

    lists: RankedLists
    draws: tuple[RuleDraw, ...]
    place: Ints
    """Row of the list for each row of the data."""

    @classmethod
    def of(
        cls, data: RankingData, scores: Floats, draws: int = 1, seed: int = 0
    ) -> ListsUnderRules:
        """Order documents by score, equal ones as in the data, and draw `draws` rules of each kind."""
        order = data.groups.order(scores)
        place = np.empty(len(data), dtype=np.int64)
        place[order] = data.groups.places
        lists = RankedLists(
            np.tile(data.y[order], draws), np.tile(scores[order], draws),
            Groups.from_sizes(np.tile(data.groups.sizes, draws)), np.tile(data.qids, draws),
        )  # fmt: skip
        return cls(lists, tuple(RuleDraw.of(data, seed, d) for d in range(draws)), place)

    def rows(self, case: RuleCase) -> tuple[Ints, Ints]:
        """Return the rows that each list's top-k rule and not-top-k rule name; `NO_ROW` without a rule."""
        drawn = [draw.rows(case) for draw in self.draws]
        top, rest = (np.concatenate(rows) for rows in zip(*drawn, strict=True))
        return self._list_rows(top), self._list_rows(rest)

    def _list_rows(self, rows: Ints) -> Ints:
        return np.where(rows == NO_ROW, NO_ROW, self.place[rows])

    def problems(
        self, case: RuleCase, settings: Settings, weights: RuleWeights = (None, None)
    ) -> dict[int, PostRankingProblem]:
        """Return the problems of the lists that have a rule, by number."""
        promote, demote = _rules(case, weights)
        top, rest = (rows.tolist() for rows in self.rows(case))
        offsets, scores = self.lists.groups.offsets.tolist(), self.lists.scores
        by_query = {}
        for q, (up, down) in enumerate(zip(top, rest, strict=True)):
            if up == NO_ROW and down == NO_ROW:
                continue
            n = offsets[q + 1] - offsets[q]
            bound = [
                BoundRule(rule, ((row,),), n)
                for rule, row in ((promote, up), (demote, down))
                if row != NO_ROW and rule is not None
            ]
            by_query[q] = PostRankingProblem(
                _listing(n), scores[offsets[q] : offsets[q + 1]], tuple(bound), settings.prior,
                settings.base, settings.pairs, settings.scale,
            )  # fmt: skip
        return by_query

    def solve(
        self, case: RuleCase, settings: Settings, weights: RuleWeights = (None, None)
    ) -> Floats:
        """Return new scores of all rows; lists without a rule keep the base ranker's order."""
        groups = self.lists.groups
        scores = -groups.places.astype(np.float64)
        problems = self.problems(case, settings, weights)
        if problems:
            rows = groups.take(list(problems))[1]
            solved = settings.method.solve(list(problems.values()))
            scores[rows] = np.round(np.concatenate([s.scores for s in solved]), SCORE_DIGITS)
        return scores

    def values(self, scores: Floats | None = None) -> dict[str, Floats]:
        """Return every measure of each query, averaged over draws, which are not independent queries."""
        lists = self.lists if scores is None else self.lists.with_scores(scores)
        evaluation = evaluate_lists(lists, MEASURES)
        shape = (len(self.draws), -1)
        return {m: evaluation[m].per_query.reshape(shape).mean(axis=0) for m in MEASURES}


def _rules(case: RuleCase, weights: RuleWeights) -> tuple[Rule | None, Rule | None]:
    """Return the rules of a case; each list binds them to its documents."""
    promote, demote = (1.0 if weight is None else weight for weight in weights)
    return (
        None if case.top is None else TopK("", case.top, weight=promote),
        None if case.rest is None else NotTopK("", case.rest, weight=demote),
    )


@cache
def _listing(n: int) -> Listing:
    return Listing(range(n), {})

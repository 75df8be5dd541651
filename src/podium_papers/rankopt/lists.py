"""Lists as a base ranker leaves them, and what a method makes of all of them at once under rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from podium.data import Groups, RankingData
from podium.metrics import Lists, evaluate_lists
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
from podium_papers.rankopt.rules import NONE, Draw, Floats, Ints, RuleCase

MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5")

Weights = tuple[float | None, float | None]
"""rho_t and rho_n."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Every query once for each draw of rules, its documents in the order of a base ranker.

    Rows are places in a query's list, from 0. `lists` has labels and the base ranker's scores.
    """

    lists: Lists
    draws: tuple[Draw, ...]
    place: Ints
    """Row of the data -> row of the list."""

    @classmethod
    def of(cls, data: RankingData, scores: Floats, draws: int = 1, seed: int = 0) -> Ranked:
        """Documents by score, of equal ones the first of the data; `draws` rules of each kind."""
        order = data.groups.order(scores)
        place = np.empty(len(data), dtype=np.int64)
        place[order] = data.groups.places
        lists = Lists(
            np.tile(data.y[order], draws), np.tile(scores[order], draws),
            Groups.from_sizes(np.tile(data.groups.sizes, draws)), np.tile(data.qids, draws),
        )  # fmt: skip
        return cls(lists, tuple(Draw.of(data, seed, d) for d in range(draws)), place)

    def rows(self, case: RuleCase) -> tuple[Ints, Ints]:
        """The row each list's top-k rule names, and its not-top-k rule; -1 where there is none."""
        drawn = [draw.rows(case) for draw in self.draws]
        top, rest = (np.concatenate(rows) for rows in zip(*drawn, strict=True))
        return self._placed(top), self._placed(rest)

    def _placed(self, rows: Ints) -> Ints:
        return np.where(rows == NONE, NONE, self.place[rows])

    def problems(
        self, case: RuleCase, settings: Settings, weights: Weights = (None, None)
    ) -> dict[int, PostRankingProblem]:
        """The lists that have a rule, by number."""
        promote, demote = _rules(case, weights)
        top, rest = (rows.tolist() for rows in self.rows(case))
        offsets, scores = self.lists.groups.offsets.tolist(), self.lists.scores
        by_query = {}
        for q, (up, down) in enumerate(zip(top, rest, strict=True)):
            if up == NONE and down == NONE:
                continue
            n = offsets[q + 1] - offsets[q]
            bound = [
                BoundRule(rule, ((row,),), n)
                for rule, row in ((promote, up), (demote, down))
                if row != NONE and rule is not None
            ]
            by_query[q] = PostRankingProblem(
                _listing(n), scores[offsets[q] : offsets[q + 1]], tuple(bound), settings.prior,
                settings.base, settings.pairs, settings.scale,
            )  # fmt: skip
        return by_query

    def solve(self, case: RuleCase, settings: Settings, weights: Weights = (None, None)) -> Floats:
        """New scores of all rows; lists without a rule keep the base ranker's order."""
        groups = self.lists.groups
        out = -groups.places.astype(np.float64)
        problems = self.problems(case, settings, weights)
        if problems:
            rows = groups.take(list(problems))[1]
            solved = settings.method.solve(list(problems.values()))
            out[rows] = np.round(np.concatenate([s.scores for s in solved]), SCORE_DIGITS)
        return out

    def values(self, scores: Floats | None = None) -> dict[str, Floats]:
        """Every measure of each query, the mean over its draws: they are not independent queries."""
        lists = self.lists if scores is None else self.lists.rescored(scores)
        evaluation = evaluate_lists(lists, MEASURES)
        shape = (len(self.draws), -1)
        return {m: evaluation[m].per_query.reshape(shape).mean(axis=0) for m in MEASURES}


def _rules(case: RuleCase, weights: Weights) -> tuple[Rule | None, Rule | None]:
    """The rules of a case; which document each names is said list by list."""
    promote, demote = (1.0 if weight is None else weight for weight in weights)
    return (
        None if case.top is None else TopK("", case.top, weight=promote),
        None if case.rest is None else NotTopK("", case.rest, weight=demote),
    )


@cache
def _listing(n: int) -> Listing:
    return Listing(range(n), {})

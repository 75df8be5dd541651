"""Example lists (Figure 8 of the paper): one in which rules help, and one in which the rule is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from podium.metrics import evaluate_lists
from podium.postranking import Settings
from podium.typing import Floats
from podium_papers.rankopt.claims import BASE, HEURISTICS, STUDY_CASE, ExampleList
from podium_papers.rankopt.drawn_rules import NO_ROW, RuleCase
from podium_papers.rankopt.lists_under_rules import ListsUnderRules, RuleWeights

EXAMPLE_METHODS = (*HEURISTICS, "uniform", "margin")
EXAMPLE_LENGTHS = range(8, 17)
"""Numbers of documents that fit into the figure."""


def example_lists(
    test: ListsUnderRules,
    contenders: Mapping[str, Settings],
    chosen: Mapping[tuple[RuleCase, str], RuleWeights],
) -> Iterator[ExampleList]:
    """Yield the first list of each kind.

    In a *helpful* one the document to promote is relevant and not in the top k, and RankOpt (margin) is
    ahead of Moderate, Conservative and Proportional in NDCG@5. In a *wrong* one the document to promote
    is not relevant, and RankOpt is ahead of Radical and Moderate.
    """
    top, rest = test.rows(STUDY_CASE)
    solved = {
        m: test.solve(STUDY_CASE, contenders[m], chosen[STUDY_CASE, m]) for m in EXAMPLE_METHODS
    }
    value = {m: _ndcg(test, scores) for m, scores in solved.items()}
    groups, labels = test.lists.groups, test.lists.labels
    label = labels[groups.offsets[:-1] + np.maximum(top, 0)]
    suitable = (
        np.isin(groups.sizes, EXAMPLE_LENGTHS) & (top >= (STUDY_CASE.top or 0)) & (rest != NO_ROW)
    )

    def ahead(*others: str) -> Any:
        return np.all([value["margin"] > value[other] + 1e-9 for other in others], axis=0)

    kinds = {
        "helpful": suitable & (label > 0) & ahead("moderate", "conservative", "proportional"),
        "wrong": suitable & (label == 0) & ahead("radical", "moderate"),
    }
    for kind, examples_of_kind in kinds.items():
        for q in np.flatnonzero(examples_of_kind)[:1].tolist():
            rows = slice(groups.offsets[q], groups.offsets[q + 1])
            list_labels = labels[rows].astype(int).tolist()
            mark = {int(top[q]): "t", int(rest[q]): "n"}
            orders = {BASE: np.arange(len(list_labels))} | {
                m: np.argsort(-scores[rows], kind="stable") for m, scores in solved.items()
            }
            yield ExampleList("", kind, str(STUDY_CASE), str(test.lists.qids[q]), {
                m: tuple((list_labels[row], mark.get(row, "")) for row in order.tolist())
                for m, order in orders.items()
            })  # fmt: skip


def _ndcg(test: ListsUnderRules, scores: Floats) -> Floats:
    return evaluate_lists(test.lists.with_scores(scores), ["NDCG@5"])["NDCG@5"].per_query

"""Figure 8 of the paper: a list in which rules help, and one in which the rule itself is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from podium.metrics import evaluate_lists
from podium.postranking import Settings
from podium_papers.rankopt.claims import BASE, HEURISTICS, STUDY, Example
from podium_papers.rankopt.lists import Ranked, Weights
from podium_papers.rankopt.rules import NONE, Floats, RuleCase

SHOWN = (*HEURISTICS, "uniform", "margin")
LENGTHS = range(8, 17)
"""Of lists one can look at."""


def examples(
    test: Ranked, contenders: Mapping[str, Settings], chosen: Mapping[tuple[RuleCase, str], Weights]
) -> Iterator[Example]:
    """The first list of each kind.

    *helpful*: the document to promote is relevant and not in the top k, and RankOpt (margin) is ahead of
    Moderate, Conservative and Proportional in NDCG@5. *wrong*: the document to promote is not relevant,
    and RankOpt is ahead of Radical and Moderate.
    """
    top, rest = test.rows(STUDY)
    solved = {m: test.solve(STUDY, contenders[m], chosen[STUDY, m]) for m in SHOWN}
    value = {m: _ndcg(test, scores) for m, scores in solved.items()}
    groups, labels = test.lists.groups, test.lists.labels
    label = labels[groups.offsets[:-1] + np.maximum(top, 0)]
    seen = np.isin(groups.sizes, LENGTHS) & (top >= (STUDY.top or 0)) & (rest != NONE)

    def ahead(*others: str) -> Any:
        return np.all([value["margin"] > value[other] + 1e-9 for other in others], axis=0)

    kinds = {
        "helpful": seen & (label > 0) & ahead("moderate", "conservative", "proportional"),
        "wrong": seen & (label == 0) & ahead("radical", "moderate"),
    }
    for kind, examples_of_kind in kinds.items():
        for q in np.flatnonzero(examples_of_kind)[:1].tolist():
            rows = slice(groups.offsets[q], groups.offsets[q + 1])
            own = labels[rows].astype(int).tolist()
            mark = {int(top[q]): "t", int(rest[q]): "n"}
            orders = {BASE: np.arange(len(own))} | {
                m: np.argsort(-scores[rows], kind="stable") for m, scores in solved.items()
            }
            yield Example("", kind, str(STUDY), str(test.lists.qids[q]), {
                m: tuple((own[row], mark.get(row, "")) for row in order.tolist())
                for m, order in orders.items()
            })  # fmt: skip


def _ndcg(test: Ranked, scores: Floats) -> Floats:
    return evaluate_lists(test.lists.rescored(scores), ["NDCG@5"])["NDCG@5"].per_query

"""Printed tables 4 and 5 of the top-k paper: their rankers, measures and values.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
section 4.2.2.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Literal

NAMES = {
    "svm-map": "SVM-MAP",
    "ranksvm": "RankSVM",
    "focused-svm": "FocusedSVM",
    "adarank": "AdaRank",
    "rankboost": "RankBoost",
    "focused-boost": "FocusedBoost",
    "listnet": "ListNet",
    "ranknet": "RankNet",
    "focused-net": "FocusedNet",
    "topk-listmle": "Top-k ListMLE",
}
"""Rows: every ranker, and its name in the paper."""
FAMILIES = {
    "focused-svm": ("svm-map", "ranksvm"),
    "focused-boost": ("adarank", "rankboost"),
    "focused-net": ("listnet", "ranknet"),
}
"""Parents of each Focused ranker: the listwise and the pairwise one."""

TableKind = Literal["graded", "top-k"]

PAPER_K = 10
DEPTHS = range(1, PAPER_K + 1)
MEASURES: dict[TableKind, dict[str, str]] = {
    "graded": {**{f"NDCG@{j}": f"N@{j}" for j in DEPTHS}, "ERR(r_max='query')": "ERR"},
    "top-k": {**{f"kNDCG@{j}": f"κ-N@{j}" for j in DEPTHS}, "kERR": "κ-ERR"},
}
"""Columns: every measure, and its head in the table. Section 3.3 defines NDCG and ERR."""

TABLE_NUMBERS = {"MQ2007": 4, "TD2003": 5}
PAPER_GRADES = {"MQ2007": 3, "TD2003": 5}
"""Numbers of grades of the paper's own data sets. LETOR's TD2003 has two; the paper's own has more."""
PAPER_TRUTHS = {"MQ2007": "list", "TD2003": "judged"}
"""Names of their top-k truth: the orders of MQ2007-list, and those of the paper's assessors."""


@cache
def printed_tables() -> dict[tuple[str, TableKind], dict[str, tuple[float, ...]]]:
    """Return (data set, kind of truth) -> ranker -> its values in the order of `MEASURES`."""
    tables: dict[tuple[str, TableKind], dict[str, tuple[float, ...]]] = {}
    text = files("podium_papers.topk").joinpath("printed_tables.csv").read_text("utf-8")
    for data, kind, ranker, *values in list(csv.reader(text.splitlines()))[1:]:
        assert kind in MEASURES
        tables.setdefault((data, kind), {})[ranker] = tuple(map(float, values))
    return tables


def printed_value(data: str, kind: TableKind, ranker: str, measure: str) -> float:
    """Return a cell of Table 4 or 5.

    Examples
    --------
    >>> printed_value("MQ2007", "top-k", "focused-net", "kNDCG@10")
    0.6735
    """
    return printed_tables()[data, kind][ranker][list(MEASURES[kind]).index(measure)]


def is_papers_own(data: str, truth: str, k: int, grades: int) -> bool:
    """Whether a table prints values of this very data, so that a difference means something.

    Examples
    --------
    >>> is_papers_own("MQ2007", "list", 10, 3), is_papers_own("MQ2007", "random", 10, 3)
    (True, False)
    >>> is_papers_own("TD2003", "graded", 0, 2), is_papers_own("MQ2008", "graded", 0, 3)
    (False, False)
    """
    if PAPER_GRADES.get(data) != grades:
        return False
    return truth == "graded" or (truth == PAPER_TRUTHS[data] and k == PAPER_K)

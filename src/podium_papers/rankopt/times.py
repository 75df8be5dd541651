"""Times of post-ranking, beside Table 2 of the paper."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from podium.data import Fold
from podium.experiments import shorten_fold
from podium.postranking import NotTopK, TopK, postrank
from podium.rankers import LambdaMART
from podium_papers.markdown import table
from podium_papers.rankopt.claims import FORMS
from podium_papers.rankopt.drawn_rules import RuleCase
from podium_papers.rankopt.experiments import CONTENDERS, QUICK_QUERIES
from podium_papers.rankopt.lists_under_rules import ListsUnderRules

TABLE_2 = {"MQ2008": 4.24, "MQ2007": 6.85, "OHSUMED": 134.53, "TD2003": 70.06}
"""Milliseconds per query on the paper's laptop; TD2003 is its .Gov."""
Times = Mapping[str, Mapping[str, float]]
"""Data set -> contender -> milliseconds per list."""


def times(data: Mapping[str, Sequence[Fold]], quick: bool = False) -> dict[str, dict[str, float]]:
    """Time every data set in turn on one thread; run it on an idle machine."""
    with threadpool_limits(1):
        return {
            name: measure_times(
                [shorten_fold(fold, QUICK_QUERIES) for fold in folds[:1]] if quick else folds
            )
            for name, folds in data.items()
        }


def measure_times(folds: Sequence[Fold]) -> dict[str, float]:
    """Return milliseconds per list with top-5 and not-top-10: the method on all lists, `postrank` on each."""
    case, weights = RuleCase(5, 10), (10.0, 10.0)
    seconds: dict[str, list[float]] = {}
    for fold in folds:
        scores = (
            LambdaMART(loss="lambdarank", seed=0)
            .fit(fold.train, valid=fold.valid)
            .predict(fold.test)
        )
        ranked = ListsUnderRules.of(fold.test, scores)
        for form in FORMS:
            problems = list(ranked.problems(case, CONTENDERS[form], weights).values())
            if not problems:  # no list is long enough for a rule
                continue
            best = min(_seconds(CONTENDERS[form].method.solve, problems) for _ in range(5))
            seconds.setdefault(form, []).extend([1000 * best / len(problems)] * len(problems))
        top, rest = ranked.rows(case)
        for q, (_, rows) in enumerate(fold.test.queries()):
            if rest[q] >= 0:
                docs = list(range(rows.stop - rows.start))
                rules = [
                    TopK(int(top[q]), 5, weight=10),
                    NotTopK(int(rest[q]), 10, weight=10),
                ]
                base_scores = ranked.lists.scores[rows]
                spent = min(_seconds(postrank, docs, rules, base_scores) for _ in range(3))
                seconds.setdefault("postrank", []).append(1000 * spent)
    return {name: statistics.fmean(values) for name, values in seconds.items()}


def _seconds(call: Callable[..., object], *arguments: Any) -> float:
    started = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - started


def time_sections(times: Times, quick: bool = False) -> list[str]:
    """Return times beside Table 2, with ratios only for all of the paper's own data."""
    rows = []
    for data, milliseconds in times.items():
        printed = TABLE_2.get(data)
        cells = [
            _cell(milliseconds.get(name), None if quick else printed)
            for name in ("uniform", "margin", "postrank")
        ]
        rows.append([data, "" if printed is None else f"{printed:g}", *cells])
    return [
        "### Time",
        "",
        "The table has milliseconds per query with a top-5 and a not-top-10 rule, on one "
        "thread, beside the paper's Table 2 (a laptop of 2014). It has the method on the lists "
        "of a fold at once, and the whole call `postrank` on one list at a time, with reasons. "
        "Times are means over the test queries that are long enough for one of the rules (for "
        "`postrank`: for both).",
        "",
        *table(["", "Table 2", "uniform", "margin", "`postrank`"], rows),
        "",
    ]


def _cell(milliseconds: float | None, printed: float | None) -> str:
    if milliseconds is None:
        return ""
    return f"{milliseconds:.4f}" + ("" if printed is None else f" ({printed / milliseconds:,.0f}x)")

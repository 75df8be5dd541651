"""The tables of `benchmarks.quality_auto` in docs/results.md and docs/choosing.md, from the kept cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generated_problems import GENERATED
from benchmarks.quality_auto import (
    AUTO,
    CELLS,
    CONTENDERS,
    METRICS,
    SETS,
    SINGLE_FITS,
    StudyCell,
    fold_count,
)
from benchmarks.tuned_peers import PEERS, CatBoostPeer
from podium.metrics import bootstrap_interval
from podium.typing import Floats
from podium_papers.markdown import table

PAGE = Path(__file__).parents[1] / "docs" / "choosing.md"
BEGIN, END = "<!-- auto: begin -->\n", "<!-- auto: end -->"
LIGHTGBM_LOSSES = ("lambdarank", "xendcg")
Results = dict[str, dict[str, list[dict[str, Any]]]]
"""The results of each fold by problem and contender."""


def section() -> list[str]:
    """Return the section of docs/results.md."""
    return [
        "## auto beside tuned libraries",
        "",
        "Each contender has one thread and the same processor time per fold, so that other work on the "
        "machine does not matter. LightGBM, XGBoost and CatBoost are tuned by a seeded random search "
        "over their own settings (learning rate, size of trees, documents or weight per leaf, shares of "
        "features and of rows, l2; 2,000 trees with a patience of 50). NDCG@10 on the validation queries "
        "chooses. [`auto`](auto.md) gets the same training and validation queries, and has neither CatBoost "
        "nor XGBoost among its members. Its members learn from the queries of both, each fold of which is "
        "held out once; those of the libraries learn from the training queries.",
        "",
        "These are not fresh figures: the test queries of both sets were looked at before, while `auto` was "
        "built. A budget of ten minutes was not measured.",
        "",
        *_equal_time(),
        *_by_budget(),
        *_generated(),
        *_losses_and_bags(),
        *_combinations(),
    ]


def read_results(problems: Sequence[str], names: Sequence[str], seconds: float | None) -> Results:
    """Return the results of the contenders that are finished on all folds of all problems."""
    results: Results = {}
    for problem in problems:
        for name in names:
            folds = range(fold_count(problem))
            cells = [StudyCell(problem, fold, name, seconds).load() for fold in folds]
            results.setdefault(problem, {})[name] = [cell for cell in cells if cell is not None]
    finished = [
        name for name in names
        if all(len(results[problem][name]) == fold_count(problem) for problem in problems)
    ]  # fmt: skip
    return {problem: {name: own[name] for name in finished} for problem, own in results.items()}


def budgets() -> list[float]:
    """Return the budgets with results, the largest first."""
    return sorted((float(f.name[:-1]) for f in CELLS.glob("*[0-9]s")), reverse=True)


def whole_budget(
    problems: Sequence[str], needed: Sequence[str] = (AUTO, *PEERS)
) -> tuple[float, Results] | None:
    """Return the largest budget that the needed contenders have finished; None if there is none."""
    for seconds in budgets():
        results = read_results(problems, CONTENDERS, seconds)
        if set(needed) <= set(results[problems[0]]):
            return seconds, results
    return None


def _equal_time() -> list[str]:
    whole = whole_budget(SETS)
    if whole is None:
        return []
    seconds, results = whole
    return [
        f"{seconds:g} seconds per fold and contender, made by `python -m benchmarks.quality_auto "
        f"--seconds {seconds:g}` on {_date(results)}, on the five folds of MQ2008 (784 queries) and of "
        "OHSUMED (106). Means over test queries; differences are `auto` minus the contender, with a paired "
        "bootstrap interval of 95% over the queries of all folds. Trials: settings per fold, or fits of "
        "`auto`.",
        "",
        *comparison(results),
        "",
    ]


def comparison(results: Results) -> list[str]:
    """Return the table of contenders: metrics, and how far `auto` is ahead."""
    heads = ["contender", *(f"{p} {m}" for p in results for m in METRICS)]
    if len(results) > 1:
        heads += [f"{p} NDCG@10, auto ahead by" for p in results]
    heads += [f"pooled {m}, auto ahead by" for m in METRICS]
    lines = []
    for name in next(iter(results.values())):
        own = [cells[name] for cells in results.values()]
        auto = [cells[AUTO] for cells in results.values()]
        line = [name, *(f"{values([o], m).mean():.4f}" for o in own for m in METRICS)]
        if len(results) > 1:
            line += [_ahead(auto[i : i + 1], own[i : i + 1], "NDCG@10") for i in range(len(own))]
        line += [_ahead(auto, own, m) for m in METRICS]
        line.append(f"{np.mean([_trials(cell) for cells in own for cell in cells]):.0f}")
        lines.append(line)
    return table([*heads, "trials"], lines)


def _by_budget() -> list[str]:
    """Return how the contenders do with other budgets."""
    by_budget = {s: read_results(SETS, CONTENDERS, s) for s in reversed(budgets())}
    used = {s: results for s, results in by_budget.items() if results[SETS[0]]}
    if len(used) < 2:
        return []
    rows = []
    for name in [n for n in CONTENDERS if any(n in r[SETS[0]] for r in used.values())]:
        row = [name]
        for results in used.values():
            has = name in results[SETS[0]]
            pooled = [cells[name] for cells in results.values()] if has else []
            row.append(f"{values(pooled, 'NDCG@10').mean():.4f}" if has else "")
        rows.append(row)
    return [
        "NDCG@10 over the queries of both sets, by the budget. A larger budget of a peer continues the "
        "search of a smaller one. An empty field was not measured.",
        "",
        *table(["contender", *(f"{seconds:g} s" for seconds in used)], rows),
        "",
    ]


def _generated() -> list[str]:
    whole = whole_budget(list(GENERATED), (AUTO, CatBoostPeer.name))
    if whole is None:
        return []
    seconds, results = whole
    means = {p: {p: own} for p, own in results.items()}
    rows = []
    for problem, one in means.items():
        auto = [one[problem][AUTO]]
        for name in one[problem]:
            own = [one[problem][name]]
            row = [problem, name, f"{values(own, 'NDCG@10').mean():.4f}"]
            rows.append([*row, "" if name == AUTO else _ahead(auto, own, "NDCG@10")])
    return [
        f"Generated problems with {seconds:g} seconds (`python -m benchmarks.quality_auto --seconds "
        f"{seconds:g} --problems {' '.join(map(repr, GENERATED))}`) with 300 test "
        'queries each: "few queries" has 60 training queries, a linear truth and five grades; "heavy ties" '
        'has 200, features of three values and a bend in its truth; "web search" has 400, redundant '
        "features and a truth of thresholds and products. Settings of `auto` were chosen on problems of the "
        "last two kinds with other seeds.",
        "",
        *table(["problem", "contender", "NDCG@10", "auto ahead by"], rows),
        "",
    ]


def _losses_and_bags() -> list[str]:
    results = read_results(SETS, list(SINGLE_FITS), None)
    names = list(results[SETS[0]])
    if "catboost YetiRank" not in names:
        return []
    catboost = [results[problem]["catboost YetiRank"] for problem in SETS]
    rows = []
    for name in names:
        own = [results[problem][name] for problem in SETS]
        row = [name, *(f"{values([o], m).mean():.4f}" for o in own for m in METRICS)]
        is_peer = name == "catboost YetiRank"
        row += ["" if is_peer else _ahead(own, catboost, m) for m in METRICS]
        row += [
            _ahead(own, [results[p][loss] for p in SETS], "NDCG@10") for loss in LIGHTGBM_LOSSES
        ]
        row += [f"{np.mean([cell['used'] for cell in cells]):.2f}" for cells in own]
        rows.append(row)
    heads = ["trees", *(f"{p} {m}" for p in SETS for m in METRICS)]
    heads += [f"pooled {m} - CatBoost's" for m in METRICS]
    heads += [f"pooled NDCG@10 - {loss}'s" for loss in LIGHTGBM_LOSSES]
    heads += [f"{p} fit, s" for p in SETS]
    return [
        "### What losses and bags bring",
        "",
        "One fit with default settings, no tuning: `python -m benchmarks.quality_auto --fits`. Losses of "
        "`lambdamart` alone and in [8 bags](ensembles.md), and `catboost`. Seconds are processor time "
        "of one fit with one thread.",
        "",
        *table(heads, rows),
        "",
    ]


def _combinations() -> list[str]:
    whole = whole_budget(SETS)
    if whole is None:
        return []
    seconds, results = whole
    reports = [cell["report"] for cells in results.values() for cell in cells[AUTO]]
    gains_of: dict[str, list[float]] = {}
    for report in reports:
        single = next(c["value"] for c in report["combinations"] if c["name"] == "best single")
        for combination in report["combinations"]:
            gains_of.setdefault(combination["name"], []).append(combination["value"] - single)
    chosen = Counter(c["name"] for r in reports for c in r["combinations"] if c["is_chosen"])
    rows = [
        [
            name,
            f"{np.mean(gains):+.4f}",
            f"{min(gains):+.4f} to {max(gains):+.4f}",
            str(chosen[name]),
        ]
        for name, gains in gains_of.items()
    ]
    return [
        "### What the combination brings",
        "",
        f"From the reports of `auto` in the {len(reports)} folds above ({seconds:g} s): NDCG@10 of each way "
        "to combine the finalists by nested validation, minus that of the best finalist alone. These are "
        "training queries that neither the finalists' fits nor the weights saw.",
        "",
        *table(["combination", "mean gain", "range", "times chosen"], rows),
        "",
    ]


def values(cells_of_problems: Sequence[Sequence[dict[str, Any]]], metric: str) -> Floats:
    """Return the metric of each test query; each is tested once in the folds of its problem."""
    per_query = [cell["per_query"][metric] for cells in cells_of_problems for cell in cells]
    return np.asarray(np.concatenate(per_query))


def _ahead(own: Sequence[Any], other: Sequence[Any], metric: str) -> str:
    """Return the mean paired difference with its interval; empty for the same results."""
    gains = values(own, metric) - values(other, metric)
    if not gains.any():
        return ""
    interval = bootstrap_interval(gains)
    return f"{gains.mean():+.4f} ({interval.low:+.4f} to {interval.high:+.4f})"


def _trials(cell: dict[str, Any]) -> int:
    return int(cell["search"]["trials"] if "search" in cell else cell["report"]["fits"])


def _date(results: Results) -> str:
    dates = {cell["date"] for own in results.values() for cells in own.values() for cell in cells}
    return max(dates)


def insert_table(page: str) -> str:
    """Return docs/choosing.md with the measured table between its marks."""
    whole = whole_budget(SETS)
    if whole is None:
        return page
    before, rest = page.split(BEGIN)
    seconds, results = whole
    catboost = CatBoostPeer.name
    rows = []
    for name in results[SETS[0]]:
        own = [results[p][name] for p in SETS]
        auto = [results[p][AUTO] for p in SETS]
        row = [name, *(f"{values([o], 'NDCG@10').mean():.4f}" for o in own)]
        rows.append([*row, *(_ahead(auto, own, m) for m in METRICS)])
    heads = [
        "contender",
        *(f"{p} NDCG@10" for p in SETS),
        *(f"{m}, auto ahead by" for m in METRICS),
    ]
    text = [
        f"Made by `python -m benchmarks.quality_auto --seconds {seconds:g}`: {seconds:g} seconds of "
        "processor time per fold for each contender; differences over the queries of both sets, with "
        f"paired intervals of 95%. `auto` did not use {catboost.split()[0]}.",
        "",
        *table(heads, rows),
        "",
    ]
    return before + BEGIN + "\n".join(text) + END + rest.split(END)[1]


def write_tables() -> None:
    """Write the tables of both pages."""
    from benchmarks.quality import write_page

    write_page()
    PAGE.write_text(insert_table(PAGE.read_text()))

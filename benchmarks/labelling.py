"""Judging: the time to the next question, and how many questions strategies ask."""

from __future__ import annotations

import random
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Report, Row
from podium.labelling import (
    STRATEGIES,
    Assessor,
    Pool,
    PoolDocument,
    PoolQuery,
    Question,
    StrategyRun,
    make_judgments,
    make_tasks,
    simulate,
    statistics,
)  # fmt: skip
from podium.labelling.store import Store, StoreMember

N, K = 1000, 50
SECONDS = 5e-3
"""Within which the next question is to be there, however many judgments are behind it."""
TARGETS: dict[tuple[str, bool, float | None], float] = {
    ("tournament", True, None): 92, ("tournament", True, 0.6): 85, ("heap", True, None): 135,
    ("heap", False, None): 151.8 * 1.05,
}  # fmt: skip
"""Strategy, whether implied pairs are skipped, tau of the prior, and the mean number of judgments."""


def run(quick: bool = False) -> Report:
    """All figures of the subject."""
    n, k = (100, 10) if quick else (N, K)
    runs = 20 if quick else 1000
    report = Report("labelling", "Judging", {"documents": n, "places": k, "races": runs})
    for strategy in STRATEGIES:
        _steps(report, strategy, n, k)
    for strategy in STRATEGIES:
        for options in ({}, {"skip_implied": False}, {"prior_tau": 0.6}):
            _costs(report, strategy, runs, options)
    _statistics(report, 20 if quick else 1_200)
    report.notes.append(
        "The tau of a prior is with the true order; a prior of tau 0 takes the tournament "
        f"{simulate('tournament', 50, 10, prior_tau=0.0, runs=runs).mean:.1f} judgments."
    )
    return report


def _statistics(report: Report, n_queries: int) -> None:
    """All tables of the admin's page from a store of two assessors on each query."""
    documents = tuple(PoolDocument(f"d{i}", "text") for i in range(50))
    pool = Pool(
        tuple(PoolQuery(f"q{i}", f"query {i}", documents=documents) for i in range(n_queries))
    )
    plan = [(who, query.id, "preference") for query in pool for who in ("ann", "bob")]
    with (
        tempfile.TemporaryDirectory(prefix="podium-bench-") as folder,
        Store.open(f"{folder}/judgments.db") as store,
    ):
        store.add_pool(pool)
        store.add_members([StoreMember("ann"), StoreMember("bob")])
        store.add_tasks(make_tasks(plan, pool))
        events = make_judgments(store)
        name = f"statistics of {events:,} events"
        timing = report.race([Contender(name, lambda: statistics(store), 5)])[name]
    # A million of them are to take two seconds at most.
    report.rows.append(Row(name, timing.median, at_most=2.0 * events / 1e6))


def _steps(report: Report, strategy: str, n: int, k: int) -> None:
    """Every judgment of a whole run, from the answer to the next question and what remains."""
    documents = [f"d{i}" for i in random.Random(0).sample(range(n), n)]
    assessor = Assessor({document: int(document[1:]) for document in documents})
    run, seconds = StrategyRun(strategy, documents, k), []
    while isinstance(run.step, Question):
        answer = assessor.answer(run.step)
        start = time.perf_counter()
        run.judge(answer)
        _ = run.remaining
        seconds.append(time.perf_counter() - start)
    judgments = run.judgments
    median, slow = np.percentile(seconds, [50, 99])
    what = f"{strategy}, next question, {len(judgments):,} judgments"
    report.rows.append(Row(f"{what}, 99 of 100", float(slow), at_most=SECONDS))
    report.notes.append(f"{what}: the median is {median * 1e6:.0f} us.")
    name = f"{strategy}, {len(judgments):,} judgments replayed"
    replay = Contender(name, lambda: StrategyRun.replay(strategy, documents, k, judgments), 7)
    report.rows.append(Row(name, report.race([replay])[name].median))


def _costs(report: Report, strategy: str, runs: int, options: dict[str, Any]) -> None:
    """The mean number of judgments for the top 10 of 50."""
    found = simulate(strategy, 50, 10, runs=runs, **options)
    target = TARGETS.get((strategy, found.skip_implied, found.prior_tau))
    asked = "" if found.skip_implied else ", implied pairs too"
    prior = "" if found.prior_tau is None else f", prior of tau {found.prior_tau}"
    floor: dict[str, Any] = {}
    if not prior:  # with one there is less to be learned
        floor = {"floor": "lg(50! / 40!)", "floor_value": float(np.log2(np.arange(41, 51)).sum())}
    what = f"{strategy}, top 10 of 50{asked}{prior}"
    report.rows.append(Row(what, found.mean, unit="judgments", at_most=target, **floor))

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
MAX_SECONDS = 5e-3
"""Seconds allowed until the next question, after any number of judgments."""
MAX_SECONDS_OF_BELIEF = {100: 5e-3, 1000: 50e-3}
"""The same by number of documents, for a strategy that does not trust single answers."""
TARGETS: dict[tuple[str, bool, float | None], float] = {
    ("tournament", True, None): 92, ("tournament", True, 0.6): 85, ("heap", True, None): 135,
    ("heap", False, None): 151.8 * 1.05,
}  # fmt: skip
"""Largest mean number of judgments by strategy, whether implied pairs are skipped, and tau of the prior."""


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    n, k = (100, 10) if quick else (N, K)
    runs = 20 if quick else 1000
    report = Report("labelling", "Judging", {"documents": n, "places": k, "races": runs})
    for strategy in STRATEGIES:
        _measure_steps(report, strategy, n, k)
    if not quick:
        _measure_steps(report, "bayesian", 100, 10)
    for strategy in [name for name, strategy in STRATEGIES.items() if strategy.trusts_answers]:
        for options in ({}, {"skip_implied": False}, {"prior_tau": 0.6}):
            _count_judgments(report, strategy, runs, options)
    _measure_statistics(report, 20 if quick else 1_200)
    report.notes.append(
        "The tau of a prior is with the true order; a prior of tau 0 takes the tournament "
        f"{simulate('tournament', 50, 10, prior_tau=0.0, runs=runs).mean:.1f} judgments."
    )
    return report


def _measure_statistics(report: Report, n_queries: int) -> None:
    """Measure all tables of the admin's page, for a store with two assessors per query."""
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
        timing = report.time_in_turn([Contender(name, lambda: statistics(store), 5)])[name]
    # The target is two seconds for a million events.
    report.rows.append(Row(name, timing.median, at_most=2.0 * events / 1e6))


def _measure_steps(report: Report, strategy: str, n: int, k: int) -> None:
    """Measure every judgment of a run: from the answer to the next question and the remaining number."""
    documents = [f"d{i}" for i in random.Random(0).sample(range(n), n)]
    assessor = Assessor({document: int(document[1:]) for document in documents})
    run, seconds = StrategyRun(strategy, documents, k), []
    while isinstance(run.step, Question):
        answer = assessor.answer(run.step)
        start = time.perf_counter()
        run.judge(answer)
        _ = run.step, run.remaining
        seconds.append(time.perf_counter() - start)
    judgments = run.judgments
    median, slow = np.percentile(seconds, [50, 99])
    what = f"{strategy}, next question, {n:,} documents, {len(judgments):,} judgments"
    trusts = STRATEGIES[strategy].trusts_answers
    at_most = MAX_SECONDS if trusts else MAX_SECONDS_OF_BELIEF[n]
    report.rows.append(Row(f"{what}, 99 of 100", float(slow), at_most=at_most))
    report.notes.append(f"{what}: the median is {median * 1e6:.0f} us.")
    name = f"{strategy}, {len(judgments):,} judgments replayed"
    replay = Contender(name, lambda: StrategyRun.replay(strategy, documents, k, judgments), 7)
    report.rows.append(Row(name, report.time_in_turn([replay])[name].median))


def _count_judgments(report: Report, strategy: str, runs: int, options: dict[str, Any]) -> None:
    """Measure the mean number of judgments for the top 10 of 50."""
    simulation = simulate(strategy, 50, 10, runs=runs, **options)
    target = TARGETS.get((strategy, simulation.skip_implied, simulation.prior_tau))
    implied = "" if simulation.skip_implied else ", implied pairs too"
    prior = "" if simulation.prior_tau is None else f", prior of tau {simulation.prior_tau}"
    floor: dict[str, Any] = {}
    if not prior:  # a prior leaves less to be learned
        floor = {"floor": "lg(50! / 40!)", "floor_value": float(np.log2(np.arange(41, 51)).sum())}
    what = f"{strategy}, top 10 of 50{implied}{prior}"
    report.rows.append(Row(what, simulation.mean, unit="judgments", at_most=target, **floor))

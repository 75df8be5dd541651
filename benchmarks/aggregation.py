"""Aggregation: Kemeny's orders, supervised and exact, podium next to ranx's fusion."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Contender, Report, Row, floor_of, speedup
from podium.aggregation import Borda, Consensus, Kemeny, KemenyLocal, Rankings, SupervisedKemeny
from podium.data import Groups

Floats = NDArray[np.float64]

N_RANKERS, N_CANDIDATES, N_QUERIES = 25, 100, 50
EXACT_SECONDS = {20: 0.050, 30: 0.200}
"""Numbers of documents, and the median seconds allowed to prove an order optimal."""
N_EXACT = 100
MALLOWS_SPREAD = 0.95
"""Factor by which each further place from the true one is less likely, in Mallows-like rankings."""


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    rng = np.random.default_rng(0)
    n_queries, n_exact = (10, 5) if quick else (N_QUERIES, N_EXACT)
    setting = {
        "rankers": N_RANKERS, "candidates": N_CANDIDATES, "queries": n_queries,
        "exact orders of each kind": n_exact, "Mallows spread": MALLOWS_SPREAD,
    }  # fmt: skip
    report = Report("aggregation", "Aggregation", setting)
    _supervised(report, _rankings(mallows, N_CANDIDATES, n_queries, rng))
    for n, seconds in EXACT_SECONDS.items():
        for kind in (uniform, mallows):
            _exact(report, kind, [_rankings(kind, n, 1, rng) for _ in range(n_exact)], seconds)
    return report


def uniform(n: int, rng: np.random.Generator) -> Floats:
    """Draw random places: no two rankers agree more than by chance."""
    return rng.permutation(n) + 1.0


def mallows(n: int, rng: np.random.Generator) -> Floats:
    """Draw places around one order: a document is d places too high with weight MALLOWS_SPREAD^d."""
    order: list[int] = []
    for i in range(n):
        chances = MALLOWS_SPREAD ** np.arange(i, -1, -1.0)
        order.insert(rng.choice(i + 1, p=chances / chances.sum()), i)
    return np.argsort(order) + 1.0


def _rankings(kind: Callable[..., Floats], n: int, n_queries: int, rng: Any) -> Rankings:
    queries = [np.stack([kind(n, rng) for _ in range(N_RANKERS)], axis=1) for _ in range(n_queries)]
    return Rankings.from_places(Groups.from_sizes([n] * n_queries), np.concatenate(queries))


def _supervised(report: Report, rankings: Rankings) -> None:
    """Measure 25 rankers on 100 documents; the target is a millisecond per query."""
    n_queries = len(rankings.groups)
    one_query = Rankings(rankings.places[:N_CANDIDATES], Groups.from_sizes([N_CANDIDATES]))
    first, second = np.triu_indices(N_CANDIDATES, 1)
    ranx, runs = _ranx_runs(rankings)
    t = report.time_in_turn(
        [
            Contender("supervised Kemeny, one query", lambda: SupervisedKemeny()(one_query), 50),
            Contender("supervised Kemeny", lambda: SupervisedKemeny()(rankings)),
            Contender(
                "supervised Kemeny, literal", lambda: SupervisedKemeny(literal=True)(rankings)
            ),
            Contender("local search", lambda: KemenyLocal()(rankings)),
            Contender("Borda", lambda: Borda()(rankings)),
            Contender("pairs", lambda: one_query.places[first] < one_query.places[second], 50),
            Contender("ranx, condorcet", lambda: ranx.fuse(runs, norm=None, method="condorcet"), 3),
            Contender("ranx, bordafuse", lambda: ranx.fuse(runs, norm=None, method="bordafuse"), 3),
        ]
    )
    floor = floor_of(
        f"NumPy compares {N_RANKERS} x {len(first):,} pairs of places once", t["pairs"]
    )
    ours, single = t["supervised Kemeny"], t["supervised Kemeny, one query"]
    many = f"{n_queries} queries"
    report.rows += [
        Row("supervised Kemeny, 25 x 100, one query", single.median, at_most=1e-3, **floor),
        Row(
            f"supervised Kemeny, a query of {many}", ours.median / n_queries, at_most=1e-3, **floor
        ),
        Row(f"local search, a query of {many}", t["local search"].median / n_queries, **floor),
        speedup(f"supervised Kemeny, {many}", ours, t["ranx, condorcet"]),
        speedup(f"Borda, {many}", t["Borda"], t["ranx, bordafuse"]),
    ]
    report.notes += [
        "Rankings and ranx's runs are ready on both sides; every ranker ranks all candidates. ranx's "
        "condorcet sorts by the same majorities; its compilation is in the warm-up, not counted. "
        "Our times count the distance to the rankings that comes with the order.",
    ]


def _ranx_runs(rankings: Rankings) -> tuple[Any, list[Any]]:
    """Return ranx, and the rankings as its runs."""
    warnings.filterwarnings("ignore", module="numba|ranx")
    import ranx

    names = [f"d{i}" for i in range(N_CANDIDATES)]
    scores = -rankings.places.reshape(-1, N_CANDIDATES, rankings.n_rankers)
    runs = [
        ranx.Run(
            {
                f"q{q}": dict(zip(names, own[:, a].tolist(), strict=True))
                for q, own in enumerate(scores)
            }
        )
        for a in range(rankings.n_rankers)
    ]
    return ranx, runs


def _exact(
    report: Report, kind: Callable[..., Floats], problems: list[Rankings], seconds: float
) -> None:
    """Measure exact Kemeny; every repetition proves another order."""
    n, next_problem, results = problems[0].groups.n_rows, itertools.cycle(problems), []

    def prove() -> Consensus:
        results.append(Kemeny()(next(next_problem)))
        return results[-1]

    name = f"exact Kemeny, {n} documents, {kind.__name__}"
    timing = report.time_in_turn([Contender(name, prove, len(problems))])[name]
    proved = sum(bool(np.all(consensus.optimal)) for consensus in results)
    report.rows += [
        Row(f"{name}: median", timing.median, at_most=seconds),
        Row(f"{name}: maximum", max(timing.seconds)),
    ]
    report.notes.append(f"{name}: {proved} of {len(results)} proved optimal.")

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
EXACT = {20: 0.050, 30: 0.200}
"""Documents, and the seconds in which the median order is to be proved."""
N_EXACT = 100
SPREAD = 0.95
"""Of Mallows-like rankings: the weight of one more place from where a document belongs."""


def run(quick: bool = False) -> Report:
    """All figures of the subject."""
    rng = np.random.default_rng(0)
    n_queries, n_exact = (10, 5) if quick else (N_QUERIES, N_EXACT)
    setting = {
        "rankers": N_RANKERS, "candidates": N_CANDIDATES, "queries": n_queries,
        "exact orders of each kind": n_exact, "Mallows spread": SPREAD,
    }  # fmt: skip
    report = Report("aggregation", "Aggregation", setting)
    _supervised(report, _rankings(mallows, N_CANDIDATES, n_queries, rng))
    for n, seconds in EXACT.items():
        for kind in (uniform, mallows):
            _exact(report, kind, [_rankings(kind, n, 1, rng) for _ in range(n_exact)], seconds)
    return report


def uniform(n: int, rng: np.random.Generator) -> Floats:
    """Places at random: no two rankers agree more than by chance."""
    return rng.permutation(n) + 1.0


def mallows(n: int, rng: np.random.Generator) -> Floats:
    """Places around one order: each document d places too high with weight SPREAD^d."""
    order: list[int] = []
    for i in range(n):
        chances = SPREAD ** np.arange(i, -1, -1.0)
        order.insert(rng.choice(i + 1, p=chances / chances.sum()), i)
    return np.argsort(order) + 1.0


def _rankings(kind: Callable[..., Floats], n: int, n_queries: int, rng: Any) -> Rankings:
    queries = [np.stack([kind(n, rng) for _ in range(N_RANKERS)], axis=1) for _ in range(n_queries)]
    return Rankings.from_places(Groups.from_sizes([n] * n_queries), np.concatenate(queries))


def _supervised(report: Report, rankings: Rankings) -> None:
    """25 x 100: under a millisecond a query."""
    n_queries = len(rankings.groups)
    one = Rankings(rankings.places[:N_CANDIDATES], Groups.from_sizes([N_CANDIDATES]))
    above, below = np.triu_indices(N_CANDIDATES, 1)
    ranx, runs = _ranx_runs(rankings)
    t = report.race(
        [
            Contender("supervised Kemeny, one query", lambda: SupervisedKemeny()(one), 50),
            Contender("supervised Kemeny", lambda: SupervisedKemeny()(rankings)),
            Contender(
                "supervised Kemeny, literal", lambda: SupervisedKemeny(literal=True)(rankings)
            ),
            Contender("local search", lambda: KemenyLocal()(rankings)),
            Contender("Borda", lambda: Borda()(rankings)),
            Contender("pairs", lambda: one.places[above] < one.places[below], 50),
            Contender("ranx, condorcet", lambda: ranx.fuse(runs, norm=None, method="condorcet"), 3),
            Contender("ranx, bordafuse", lambda: ranx.fuse(runs, norm=None, method="bordafuse"), 3),
        ]
    )
    floor = floor_of(
        f"NumPy compares {N_RANKERS} x {len(above):,} pairs of places once", t["pairs"]
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
    """ranx, and the rankings as its runs."""
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
    report: Report, kind: Callable[..., Floats], drawn: list[Rankings], seconds: float
) -> None:
    """Every repetition proves another order."""
    n, turn, found = drawn[0].groups.n_rows, itertools.cycle(drawn), []

    def prove() -> Consensus:
        found.append(Kemeny()(next(turn)))
        return found[-1]

    name = f"exact Kemeny, {n} documents, {kind.__name__}"
    timing = report.race([Contender(name, prove, len(drawn))])[name]
    proved = sum(bool(np.all(consensus.optimal)) for consensus in found)
    report.rows += [
        Row(f"{name}: median", timing.median, at_most=seconds),
        Row(f"{name}: maximum", max(timing.seconds)),
    ]
    report.notes.append(f"{name}: {proved} of {len(found)} proved optimal.")

"""TopSlack: podium's cutting planes in blocks beside an n-slack cutting-plane method with clarabel."""

from __future__ import annotations

import itertools
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from benchmarks.measure import Contender, Report, floor_of, slowdown, speedup
from benchmarks.mq2008_fold import first_fold
from podium import RankingData, make_synthetic
from podium.optim import BlockProblem, block_cutting_planes
from podium.rankers import TopMargin, TopSlack
from podium.rankers.topslack import HeadProblem, HeadSVM, tie_order_weights

Floats = NDArray[np.float64]

TARGETS = {1.0: 20, 10.0: 10, 100.0: 1, 1000.0: 1}
"""Smallest speedup of one convex round, by C."""
EPS = 1e-3
MIN_VIOLATION = 1e-6
"""Least violation for which the peer adds a plane."""
QUERIES = (500, 1000, 2000, 4000)

_ONE_THREAD = ThreadpoolController()


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    fold = first_fold(quick)
    setting = {
        "data": fold.name, "queries": fold.train.n_queries, "documents": len(fold.train),
        "features": fold.train.n_features, "measure": "NDCG@10", "eps": EPS,
    }  # fmt: skip
    report = Report("topslack", "TopSlack and TopMargin", setting)
    for ranker in (TopSlack, TopMargin):
        for C, times in list(TARGETS.items())[: 1 if quick else None]:
            target = {"at_least": times} if ranker is TopSlack else {}
            _compare(report, fold.train, ranker(C=C), **target)
    report.notes += [
        "One convex round: the ideal rankings are held, their ties in ListNet's order. Both "
        f"sides start from w = 0. They end at a duality gap of {EPS:g} C of the same problem, "
        "with the same compiled search for violated rankings. The peer adds a plane for every "
        f"query that violates its own by more than {MIN_VIOLATION:g} in each pass and solves the "
        "programme over all planes with clarabel, an interior point method.",
    ]
    _doubling(report, quick)
    return report


def _compare(report: Report, train: RankingData, ranker: HeadSVM, **target: Any) -> None:
    problem = _round(ranker, train)
    what = f"{ranker.name}, one round, C = {ranker.C:g}"
    w = np.ones(train.n_features)
    name, one_pass = f"n-slack with clarabel, {ranker.name}, C = {ranker.C:g}", f"a pass, {what}"
    no_slack = np.zeros(len(problem.totals))
    timings = report.time_in_turn(
        [
            Contender(what, lambda: block_cutting_planes(problem, eps=EPS), 15),
            Contender(name, lambda: n_slack(problem, EPS), 5),
            Contender(one_pass, lambda: problem.losses(w, no_slack), 15),
        ]
    )
    solution, (value, gap) = block_cutting_planes(problem, eps=EPS), n_slack(problem, EPS)
    total = problem.totals.sum()
    assert solution.converged
    assert gap <= EPS * total
    assert abs(solution.value - value) <= EPS * total, "both solve the same problem"
    floor = floor_of("one pass over the queries", timings[one_pass])
    report.rows.append(speedup(what, timings[what], timings[name], **target, **floor))


def _round(ranker: HeadSVM, train: RankingData) -> BlockProblem:
    """Return the first convex problem of a fit."""
    problem = HeadProblem.from_ranker(ranker, train)
    return problem.convex_problem(problem.ideal(tie_order_weights(train, ranker.seed, None)))


def n_slack(problem: BlockProblem, eps: float) -> tuple[float, float]:
    """Minimise 1/2 |w|^2 + sum total_i xi_i with a row xi_i >= b + g.w for every plane so far."""
    m, d = len(problem.totals), problem.X.shape[1]
    target_gap, value, lower = eps * float(problem.totals.sum()), np.inf, -np.inf
    w, xi = np.zeros(d), np.zeros(m)
    blocks, slopes, offsets = [np.arange(m)], [np.zeros((m, d))], [np.zeros(m)]  # xi >= 0
    while value - lower > target_gap:
        losses, gradients = problem.losses(w, xi)
        value = min(value, problem.total(w, losses))
        if value - lower <= target_gap:
            break
        violated = np.flatnonzero(losses > xi + MIN_VIOLATION)
        blocks.append(violated)
        slopes.append(gradients[violated])
        offsets.append((losses - gradients @ w)[violated])
        w, xi, bound = _programme(problem.totals, *map(np.concatenate, (blocks, slopes, offsets)))
        lower = max(lower, bound)
    return value, value - lower


def _programme(
    totals: Floats, blocks: NDArray[np.int64], slopes: Floats, offsets: Floats
) -> tuple[Floats, Floats, float]:
    """Solve the programme; return w, xi, and the dual's value at clarabel's weights, made feasible."""
    m, (n, d) = len(totals), slopes.shape
    heights = sp.csc_matrix((np.full(n, -1.0), (np.arange(n), blocks)), shape=(n, m))
    A = sp.hstack([sp.csc_matrix(slopes), heights], format="csc")
    P = sp.diags(np.concatenate([np.ones(d), np.zeros(m)]), format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cost = np.concatenate([np.zeros(d), totals])
    cones = [clarabel.NonnegativeConeT(n)]
    solution = clarabel.DefaultSolver(P, cost, A, -offsets, cones, settings).solve()
    x, a = np.array(solution.x), np.maximum(solution.z, 0)
    sums = np.bincount(blocks, a, minlength=m)
    a *= (totals / np.where(sums > 0, sums, 1.0))[blocks]
    w = -slopes.T @ a
    return w, x[d:], float(offsets @ a - w @ w / 2)


def _doubling(report: Report, quick: bool) -> None:
    """Measure how time grows when the queries double."""
    counts = [n // 10 for n in QUERIES] if quick else QUERIES
    problems = {n: _round(TopSlack(C=10.0), make_synthetic(n, "mq2008", noise=1.0)) for n in counts}
    contenders = [
        Contender(f"{n:,} queries", lambda p=p: block_cutting_planes(p, eps=EPS))
        for n, p in problems.items()
    ]
    with _ONE_THREAD.limit(limits=1):
        timings = list(report.time_in_turn(contenders).values())
    for u, v in itertools.pairwise(timings):
        what = f"topslack, one round, C = 10, {v.name}"
        report.rows.append(slowdown(what, v, u, at_most=2.5))

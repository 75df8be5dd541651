"""TopSlack: podium's cutting planes in blocks next to an n-slack cutting plane method with clarabel."""

from __future__ import annotations

import itertools
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from benchmarks.fold import first_fold
from benchmarks.measure import Contender, Report, floor_of, slowdown, speedup
from podium import RankingData, make_synthetic
from podium.optim import BlockProblem, block_planes
from podium.rankers import TopMargin, TopSlack
from podium.rankers.topslack import HeadProblem, HeadSVM, first_order

Floats = NDArray[np.float64]

TARGETS = {1.0: 20, 10.0: 10, 100.0: 1, 1000.0: 1}
"""C, and how many times faster one convex round is to be."""
EPS = 1e-3
SMALL = 1e-6
"""A plane is added to the peer's problem where it is violated by more than this."""
QUERIES = (500, 1000, 2000, 4000)

_ONE_THREAD = ThreadpoolController()


def run(quick: bool = False) -> Report:
    """All figures of the subject."""
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
        "One convex round: the ideal rankings are held, their ties in ListNet's order. Both sides "
        f"start from w = 0 and end at a duality gap of {EPS:g} C of the same problem, with the same "
        "compiled search for violated rankings. The peer adds a plane for every query that "
        f"violates its own by more than {SMALL:g} in each pass and solves the programme over all "
        "planes with clarabel, an interior point method.",
    ]
    _doubling(report, quick)
    return report


def _compare(report: Report, train: RankingData, ranker: HeadSVM, **target: Any) -> None:
    problem = _round(ranker, train)
    what = f"{ranker.name}, one round, C = {ranker.C:g}"
    w = np.ones(train.n_features)
    name, one_pass = f"n-slack with clarabel, {ranker.name}, C = {ranker.C:g}", f"a pass, {what}"
    known = np.zeros(len(problem.totals))
    timings = report.race(
        [
            Contender(what, lambda: block_planes(problem, eps=EPS), 15),
            Contender(name, lambda: n_slack(problem, EPS), 5),
            Contender(one_pass, lambda: problem.look(w, known), 15),
        ]
    )
    found, (value, gap) = block_planes(problem, eps=EPS), n_slack(problem, EPS)
    total = problem.totals.sum()
    assert found.converged
    assert gap <= EPS * total
    assert abs(found.value - value) <= EPS * total, "both solve the same problem"
    floor = floor_of("one pass over the queries", timings[one_pass])
    report.rows.append(speedup(what, timings[what], timings[name], **target, **floor))


def _round(ranker: HeadSVM, train: RankingData) -> BlockProblem:
    """The first convex problem of a fit."""
    problem = HeadProblem.of(ranker, train)
    return problem.against(problem.ideal(first_order(train, ranker.seed, None)))


def n_slack(problem: BlockProblem, eps: float) -> tuple[float, float]:
    """min 1/2 |w|^2 + sum total_i xi_i with a row xi_i >= b + g.w for every plane so far."""
    m, d = len(problem.totals), problem.X.shape[1]
    asked, value, lower = eps * float(problem.totals.sum()), np.inf, -np.inf
    w, xi = np.zeros(d), np.zeros(m)
    blocks, slopes, offsets = [np.arange(m)], [np.zeros((m, d))], [np.zeros(m)]  # xi >= 0
    while value - lower > asked:
        losses, found = problem.look(w, xi)
        value = min(value, problem.total(w, losses))
        if value - lower <= asked:
            break
        violated = np.flatnonzero(losses > xi + SMALL)
        blocks.append(violated)
        slopes.append(found[violated])
        offsets.append((losses - found @ w)[violated])
        w, xi, bound = _programme(problem.totals, *map(np.concatenate, (blocks, slopes, offsets)))
        lower = max(lower, bound)
    return value, value - lower


def _programme(
    totals: Floats, blocks: NDArray[np.int64], slopes: Floats, offsets: Floats
) -> tuple[Floats, Floats, float]:
    """w, xi, and the dual's value at the weights that clarabel found, made feasible."""
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
    """Twice the queries: about twice the time."""
    counts = [n // 10 for n in QUERIES] if quick else QUERIES
    problems = {n: _round(TopSlack(C=10.0), make_synthetic(n, "mq2008", noise=1.0)) for n in counts}
    contenders = [
        Contender(f"{n:,} queries", lambda p=p: block_planes(p, eps=EPS))
        for n, p in problems.items()
    ]
    with _ONE_THREAD.limit(limits=1):
        timings = list(report.race(contenders).values())
    for u, v in itertools.pairwise(timings):
        what = f"topslack, one round, C = 10, {v.name}"
        report.rows.append(slowdown(what, v, u, at_most=2.5))

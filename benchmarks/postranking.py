"""Post-ranking: Bradley-Terry scores under soft rules, podium next to SciPy and a dense NumPy Newton."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import ThreadpoolController

from benchmarks.measure import Contender, Report, Row, slowdown, speedup
from benchmarks.mq2008_fold import first_fold
from benchmarks.rule_conditions import N_CALLS, measure_conditions
from podium import RankingData, kernels
from podium.postranking import (
    Apart,
    AtLeast,
    AtMost,
    Before,
    NotTopK,
    Pin,
    Rule,
    Together,
    TopK,
    postrank,
)
from podium.postranking.listing import Listing
from podium.postranking.methods.bradley_terry import kernel_arguments
from podium.postranking.methods.paper_descent import PaperObjective
from podium.postranking.methods.preferences import Preferences
from podium.postranking.methods.problem import Base, PostRankingProblem

Floats = NDArray[np.float64]

SIZES = (50, 100, 200, 500, 1000, 2000)
MAX_SECONDS = {
    ("uniform", 100): 70e-6, ("uniform", 1000): 0.6e-3, ("margin", 100): 150e-6, ("margin", 1000): 5e-3,
}  # fmt: skip
"""Largest seconds to solve a list, by base and number of documents."""
N_RULES, TOL, MAX_ITER = 5, 1e-6, 100
LISTS_PER_REPETITION = 20
"""Lists per repetition, so that the clock's own cost and cold caches do not count."""
PAPER_SECONDS = 4.24e-3
"""Seconds per query of MQ2008 in Wu et al., Table 2, on a laptop of 2.4 GHz."""

_ONE_THREAD = ThreadpoolController()


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    n_lists = 20 if quick else 1000
    setting = {"soft rules a list": N_RULES, "lists": n_lists, "gradient": TOL, "threads": 1}
    report = Report("postranking", "Post-ranking", setting)
    with _ONE_THREAD.limit(limits=1):
        for base in ("uniform", "margin"):
            _measure_kernel(report, base, n_lists)
        _measure_peers(report, 3 if quick else 20, 200 if quick else 1000)
        _measure_paper_case(report, first_fold(quick).train)
        _measure_soft_rules(report, n_lists)
        _measure_hard_rules(report, 20 if quick else 200)
        measure_conditions(report, 3 if quick else N_CALLS)
    return report


@dataclass(frozen=True)
class RuledLists:
    """Lists with random soft rules, as problems and as arguments of the kernel."""

    problems: list[PostRankingProblem]
    wishes: list[Preferences]
    kernel_arguments: list[tuple[Any, ...]]

    @classmethod
    def draw(cls, n: int, base: Base, count: int) -> RuledLists:
        """Draw top-k and not-top-k rules, k up to 10, weights from 0.1 to 100."""
        rng = np.random.default_rng(n)
        problems, wishes = [], []
        for _ in range(count):
            scores = np.sort(rng.normal(size=n))[::-1]
            problems.append(PostRankingProblem(Listing.of(range(n)), scores, (), base=base))
            wish = Preferences(n)
            for _ in range(N_RULES):
                send = wish.promote if rng.random() < 0.5 else wish.demote
                send((int(rng.integers(n)),), int(rng.integers(1, 11)), 10 ** rng.uniform(-1, 2))
            wishes.append(wish)
        arguments = [kernel_arguments([p], [w]) for p, w in zip(problems, wishes, strict=True)]
        return cls(problems, wishes, arguments)

    def solve(self) -> list[Any]:
        """Solve the lists, one call per list."""
        return [
            kernels.bradley_terry(*kernel_arguments, TOL, MAX_ITER)
            for kernel_arguments in self.kernel_arguments
        ]

    def dense(self) -> list[PaperObjective]:
        """Return the objectives with all pairs written out."""
        return [PaperObjective(p, w) for p, w in zip(self.problems, self.wishes, strict=True)]


def _measure_kernel(report: Report, base: Base, n_lists: int) -> None:
    """Measure the kernel alone at every size; each repetition has other lists."""
    solved: list[Any] = []
    contenders = []
    for n in SIZES:
        lists = RuledLists.draw(n, base, max(n_lists * 100 // max(n, 100), LISTS_PER_REPETITION))
        solve = functools.partial(_solve_one, solved)
        contenders.append(_in_turn(f"{base}, n = {n}", lists.kernel_arguments, solve))
    scores = np.linspace(-2, 2, max(SIZES))
    contenders += [
        _in_turn(f"exp of {n:,}, {base}", [scores[:n]] * LISTS_PER_REPETITION, np.exp, 50)
        for n in SIZES
    ]
    timings = report.time_in_turn(contenders)
    assert all(norm[0] <= TOL for _, _, norm, _ in solved)
    for n in SIZES:
        exp = timings[f"exp of {n:,}, {base}"].median / LISTS_PER_REPETITION
        floor = {"floor": "NumPy exponentiates the scores once", "floor_value": exp}
        what, seconds = f"solve, {base} base, {n:,} documents", MAX_SECONDS.get((base, n))
        each = timings[f"{base}, n = {n}"].median / LISTS_PER_REPETITION
        report.rows.append(Row(what, each, at_most=seconds, **floor))
    for m, n in itertools.pairwise(SIZES):
        u, v = timings[f"{base}, n = {m}"], timings[f"{base}, n = {n}"]
        what = f"solve, {base} base, {LISTS_PER_REPETITION} lists of {n:,} documents after {m:,}"
        report.rows.append(slowdown(what, v, u))
    short, long = (timings[f"{base}, n = {n}"].median for n in (SIZES[0], SIZES[-1]))
    grown = np.log(long / short) / np.log(SIZES[-1] / SIZES[0])
    report.notes.append(f"{base} base: from 50 to 2,000 documents time grows as n^{grown:.2f}.")


def _solve_one(results: list[Any], kernel_arguments: tuple[Any, ...]) -> None:
    """Solve one list."""
    results.append(kernels.bradley_terry(*kernel_arguments, TOL, MAX_ITER))


def _in_turn(
    name: str, items: Sequence[Any], run: Callable[[Any], object], repeats: int | None = None
) -> Contender:
    """BUNCH items per repetition, each time the next ones."""
    turn = itertools.cycle(items)

    def run_some() -> None:
        for item in itertools.islice(turn, LISTS_PER_REPETITION):
            run(item)

    return Contender(name, run_some, repeats or len(items) // LISTS_PER_REPETITION)


def _measure_peers(report: Report, n_lists: int, longest: int) -> None:
    """Measure podium and its peers on the same lists, to the same optimum."""
    for base, n in itertools.product(("uniform", "margin"), (100, longest)):
        count = n_lists if n == 100 else max(n_lists // 10, 1)
        lists = RuledLists.draw(n, base, count)
        dense = lists.dense()
        what = f"{base} base, {n:,} documents"
        ours = f"solve, {what}, {count} lists"
        lbfgs, newton = f"SciPy L-BFGS-B, {what}", f"NumPy Newton, {what}"
        slow = 5 if n == 100 else 3
        timings = report.time_in_turn(
            [
                Contender(ours, lists.solve, 15),
                Contender(lbfgs, lambda f=dense: [lbfgs_of(own) for own in f], slow),
                Contender(newton, lambda f=dense: [newton_of(own) for own in f], slow),
            ]
        )
        for own, (s, *_) in zip(dense, lists.solve(), strict=True):
            for peer in (lbfgs_of, newton_of):
                assert np.abs(s - peer(own)).max() <= 1e-5, "all find the same scores"
        small = n == 100
        report.rows += [
            speedup(ours, timings[ours], timings[lbfgs], at_least=30 if small else None),
            speedup(ours, timings[ours], timings[newton], at_least=12 if small else None),
        ]
    report.notes.append(
        "Peers have all pairs as one matrix of weights, ready before the clock starts, and end at the "
        "same gradient; for f they take one logarithm, for f and its gradient one exponential a pair."
    )


def lbfgs_of(f: PaperObjective) -> Floats:
    """Minimise by SciPy's quasi-Newton method."""
    total, wins = f.A + f.A.T, f.A.sum(axis=1)

    def value_and_gradient(s: Floats) -> tuple[float, Floats]:
        sigma = expit(np.subtract.outer(s, s))
        spring = f.Q @ s
        value = -np.sum(f.A * np.log(sigma)) + s @ spring / 2
        return value, (total * sigma).sum(axis=1) - wins + spring

    options = {"ftol": 0, "gtol": TOL, "maxiter": 10_000, "maxfun": 10_000}
    results = minimize(
        value_and_gradient, np.zeros(len(f.A)), jac=True, method="L-BFGS-B", options=options
    )
    result: Floats = results.x
    return result


def newton_of(f: PaperObjective) -> Floats:
    """Minimise by Newton's method with LAPACK; steps are halved until f falls."""
    total, wins, s = f.A + f.A.T, f.A.sum(axis=1), np.zeros(len(f.A))
    while True:
        sigma = expit(np.subtract.outer(s, s))
        gradient = (total * sigma).sum(axis=1) - wins + f.Q @ s
        if np.abs(gradient).max() <= TOL:
            return s
        curve = total * (sigma * (1 - sigma))
        hessian = f.Q - curve
        hessian.flat[:: len(s) + 1] += curve.sum(axis=1)
        step = np.linalg.solve(hessian, -gradient)
        value, t = f.value(s), 1.0
        while t > 1e-3 and f.value(s + t * step) > value:
            t /= 2
        s = s + t * step


def _measure_paper_case(report: Report, train: RankingData) -> None:
    """Measure Table 2: a top-5 and a not-top-10 rule per query, all queries in one call."""
    rng = np.random.default_rng(0)
    problems, wishes = [], []
    for rows in train.groups.slices():
        labels = np.asarray(train.y)[rows]
        order = np.argsort(-np.asarray(train.X[rows, 0]).ravel(), kind="stable")
        scores = np.asarray(train.X[rows, 0]).ravel()[order]
        n, perfect = len(order), np.argsort(-labels[order], kind="stable")
        wish = Preferences(n)
        if n > 5:
            wish.promote((int(rng.choice(perfect[:5])),), 5, 10.0)
        if n > 10:
            wish.demote((int(rng.choice(perfect[10:])),), 10, 10.0)
        problems.append(PostRankingProblem(Listing.of(range(n)), scores, ()))
        wishes.append(wish)
    arguments = kernel_arguments(problems, wishes)
    name = f"{len(problems)} queries, top-5 and not-top-10"
    timing = report.time_in_turn(
        [Contender(name, lambda: kernels.bradley_terry(*arguments, TOL, MAX_ITER), 31)]
    )[name]
    each = timing.median / len(problems)
    peer = {
        "peer": "Wu et al., Table 2",
        "theirs": PAPER_SECONDS,
        "ratio": PAPER_SECONDS / each,
        "says": "faster",
    }
    report.rows.append(Row("a query of MQ2008, top-5 and not-top-10", each, at_least=100, **peer))
    report.notes.append(
        "The paper's 4.24 ms a query are of its own laptop (2.4 GHz); base scores here are one feature."
    )


def _measure_soft_rules(report: Report, n_lists: int) -> None:
    """Measure the whole call with soft rules: rules in, order and reasons out."""
    _measure_calls(report, "5 soft rules", 100, n_lists, _soft_rules, 0.3e-3)


def _measure_hard_rules(report: Report, n_lists: int) -> None:
    """Measure the whole call with hard rules."""
    kinds = {"top-k and not-top-k": _top_10_rules, "of all kinds": _rules_of_all_kinds}
    for (n, seconds), (kind, rules_of) in itertools.product(
        ((100, 1e-3), (1000, 10e-3)), kinds.items()
    ):
        _measure_calls(report, f"5 hard rules {kind}", n, n_lists, rules_of, seconds)
    report.notes.append(
        f"Hard rules: {n_lists} lists. Those of all kinds are drawn so that one random order meets them all."
    )


def _soft_rules(n: int, rng: np.random.Generator) -> list[Rule]:
    docs = rng.choice(n, N_RULES, replace=False).tolist()
    return [
        (TopK if rng.random() < 0.5 else NotTopK)(
            doc, int(rng.integers(1, 11)), weight=10 ** rng.uniform(-1, 2)
        )
        for doc in docs
    ]


def _top_10_rules(n: int, rng: np.random.Generator) -> list[Rule]:
    """Draw top-10 and not-top-10 rules, which never conflict."""
    docs = rng.choice(n, N_RULES, replace=False).tolist()
    return [(TopK if rng.random() < 0.5 else NotTopK)(doc, 10, hard=True) for doc in docs]


def _rules_of_all_kinds(n: int, rng: np.random.Generator) -> list[Rule]:
    """Draw rules of all kinds that one random order meets."""
    order = rng.permutation(n).tolist()
    place = {doc: at for at, doc in enumerate(order, start=1)}

    def draw_rule() -> Rule:
        a, b, *group = rng.choice(n, 6, replace=False).tolist()
        first, second = sorted((a, b), key=place.__getitem__)
        k, start = int(rng.integers(1, min(n, 21))), int(rng.integers(n - 3))
        inside = sum(place[doc] <= k for doc in group)
        gap = min(abs(place[x] - place[y]) for x, y in itertools.combinations(group, 2)) - 1
        rules: list[Rule] = [
            TopK(first, max(place[first], k), hard=True),
            NotTopK(second, min(place[second] - 1, k) or 1, hard=True)
            if place[second] > 1
            else Pin(second, 1, hard=True),
            Pin(a, place[a], hard=True),
            Before(first, second, hard=True),
            Together(order[start : start + 3], hard=True),
            Apart(group, max(gap, 1), hard=True) if gap > 0 else Before(first, second, hard=True),
            AtMost(group, inside, k, hard=True),
            AtLeast(group, max(inside, 1), k if inside else n, hard=True),
        ]
        return rules[int(rng.integers(len(rules)))]

    return [draw_rule() for _ in range(N_RULES)]


def _measure_calls(
    report: Report,
    what: str,
    n: int,
    n_lists: int,
    rules_of: Callable[[int, np.random.Generator], Sequence[Rule]],
    at_most: float,
) -> None:
    """Time whole calls, one list after the other; the first ones warm up."""
    rng = np.random.default_rng(0)
    docs, seconds = list(range(n)), []
    for rules in [rules_of(n, rng) for _ in range(LISTS_PER_REPETITION + n_lists)]:
        start = time.perf_counter()
        postrank(docs, rules)
        seconds.append(time.perf_counter() - start)
    low, median, high = np.percentile(seconds[LISTS_PER_REPETITION:], [25, 50, 75])
    name = f"postrank, {n:,} documents, {what}"
    report.rows.append(Row(name, float(median), at_most=at_most))
    mean = np.mean(seconds[LISTS_PER_REPETITION:])
    report.notes.append(
        f"{name}: half of the calls take {low * 1e3:.2f} to {high * 1e3:.2f} ms, "
        f"the mean is {mean * 1e3:.2f} ms."
    )

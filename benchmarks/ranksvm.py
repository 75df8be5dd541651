"""RankSVM: podium next to scikit-learn's LinearSVC on explicit pairs, and the cost of long lists."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC
from threadpoolctl import ThreadpoolController

from benchmarks.measure import Contender, Report, floor_of, slowdown, speedup
from benchmarks.mq2008_fold import first_fold
from podium import RankingData
from podium.losses import BoundLoss, PairHinge
from podium.rankers import RankSVM

Floats = NDArray[np.float64]

COSTS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
RELATIVE_DISTANCE = 1e-4
"""Largest distance from the optimum, relative to its value, for both sides."""
TOLERANCES = tuple(digit * 10.0**e for e in range(1, -9, -1) for digit in (5, 2, 1))
"""Tolerances, loosest first; each side gets the first one that is close to the optimum."""
LENGTHS = (500, 1000, 2000, 4000)
N_QUERIES = 50

_ONE_THREAD = ThreadpoolController()


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    fold = first_fold(quick)
    train, pairs = fold.train, Pairs.of(fold.train)
    setting = {
        "data": fold.name, "queries": train.n_queries, "documents": len(train),
        "features": train.n_features, "pairs": len(pairs.signs),
    }  # fmt: skip
    report = Report("ranksvm", "RankSVM", setting)
    for C in COSTS[1:4:2] if quick else COSTS:
        _compare(report, train, pairs, C, 2, at_least=7)
    for C in COSTS[2:3] if quick else COSTS:
        _compare(report, train, pairs, C, 1)
    report.notes += [
        "Both sides minimise 1/2 |w|^2 + C sum over pairs of max(0, 1 - margin)^p, p = 2 for the "
        "squared hinge. Each gets the loosest tolerance of 5, 2, 1 times a power of ten that comes "
        f"within {RELATIVE_DISTANCE:g} of the optimum (found before the clock starts); LinearSVC, without "
        "intercept, also the faster of its two solvers. Its time counts the making of the pairs.",
        "podium's data is ready, as in a search for C; its fingerprint, kept with the model, is made "
        "once for each data set, in the warm-up.",
    ]
    _doubling(report, quick)
    return report


@dataclass(frozen=True, eq=False)
class Pairs:
    """Differences of features, one row per pair; every other pair is turned around."""

    Z: Floats
    signs: Floats

    @classmethod
    def of(cls, data: RankingData) -> Pairs:
        """Make all pairs of a query with different labels, as users of LinearSVC do."""
        ranker = [_pairs_of(data.y[rows], rows.start) for rows in data.groups.slices()]
        better, worse = np.concatenate(ranker, axis=1)
        Z = data.X[better]
        Z -= data.X[worse]
        signs = np.ones(len(Z))
        signs[::2] = -1  # a classifier needs two classes
        Z[::2] *= -1
        return cls(Z, signs)

    def objective(self, w: Floats, C: float, power: int) -> float:
        """Return the objective that both sides minimise."""
        missing = np.maximum(0, 1 - self.signs * (self.Z @ w))
        return float(0.5 * w @ w + C * np.sum(missing**power))


def _pairs_of(labels: Floats, start: int) -> NDArray[np.int64]:
    return np.stack(np.nonzero(labels[:, None] > labels)) + start


def _compare(
    report: Report, train: RankingData, pairs: Pairs, C: float, power: int, **target: Any
) -> None:
    """Measure the times until both sides are close to the optimum."""
    optimum = pairs.objective(_ours(train, C, power, 1e-9 if power == 2 else 1e-6), C, power)

    def is_close(w: Floats) -> bool:
        return pairs.objective(w, C, power) <= (1 + RELATIVE_DISTANCE) * optimum

    loss = "squared hinge" if power == 2 else "hinge"
    solvers = (True, False) if power == 2 else (True,)
    tol = _loosest_tolerance(lambda t: _ours(train, C, power, t), is_close)
    w, g = np.ones(train.n_features), np.ones(len(train))
    ours, passes = f"{loss}, C = {C:g}, tolerance {tol:g}", f"X @ w and X.T @ g, {loss}, C = {C:g}"
    theirs = [_their_contender(train, pairs, C, power, dual, is_close) for dual in solvers]
    timings = report.time_in_turn(
        [
            Contender(ours, lambda: _ours(train, C, power, tol), 15),
            Contender(passes, lambda: (train.X @ w, train.X.T @ g), 15),
            *theirs,
        ]
    )
    fastest = min((timings[c.name] for c in theirs), key=lambda timing: timing.median)
    floor = floor_of("X @ w and X.T @ g once", timings[passes])
    report.rows.append(speedup(ours, timings[ours], fastest, **target, **floor))


def _ours(train: RankingData, C: float, power: int, tol: float) -> Floats:
    ranker = RankSVM(C=C, power=2, tol=tol) if power == 2 else RankSVM(C=C, power=1, eps=tol)
    weights: Floats = ranker.fit(train).model_.weights  # type: ignore[attr-defined]
    return weights


def _their_contender(
    train: RankingData,
    pairs: Pairs,
    C: float,
    power: int,
    dual: bool,
    is_close: Callable[[Floats], bool],
) -> Contender:
    tol = _loosest_tolerance(lambda t: _theirs(pairs, C, power, dual, t), is_close)
    solver = "dual" if dual else "primal"
    return Contender(
        f"LinearSVC, {solver}, C = {C:g}, power {power}, tolerance {tol:g}",
        lambda: _theirs(Pairs.of(train), C, power, dual, tol),
        5,
    )


def _theirs(pairs: Pairs, C: float, power: int, dual: bool, tol: float) -> Floats:
    loss = "squared_hinge" if power == 2 else "hinge"
    machine = LinearSVC(
        C=C, loss=loss, dual=dual, tol=tol, fit_intercept=False, max_iter=100_000, random_state=0
    )
    weights: Floats = machine.fit(pairs.Z, pairs.signs).coef_[0]
    return weights


def _loosest_tolerance(fit: Callable[[float], Floats], is_close: Callable[[Floats], bool]) -> float:
    """Return the loosest tolerance that is close to the optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return next(tol for tol in TOLERANCES if is_close(fit(tol)))


def _doubling(report: Report, quick: bool) -> None:
    """Measure how the time of value and gradient grows when the documents per query double."""
    lengths = [n // 10 for n in LENGTHS] if quick else LENGTHS
    for grades in (5, None):
        labels = "all labels different" if grades is None else f"{grades} grades"
        contenders = [_pass(n, grades, f"{n:,} documents a query, {labels}") for n in lengths]
        contenders.append(_sorting(lengths[-1], labels))
        with _ONE_THREAD.limit(limits=1):
            *timings, sort = report.time_in_turn(contenders).values()
        for u, v in itertools.pairwise(timings):
            floor = floor_of("NumPy's argsort", sort) if v is timings[-1] else {}
            what = f"value and gradient of the hinge, {v.name}"
            report.rows.append(slowdown(what, v, u, at_most=2.3, **floor))
    report.notes.append(
        f"Value and gradient of the squared hinge as functions of the scores: {N_QUERIES} queries, "
        "one thread, the sort by score counted."
    )


def _pass(n_docs: int, grades: int | None, name: str) -> Contender:
    rng = np.random.default_rng(n_docs)
    n = N_QUERIES * n_docs
    labels = rng.permutation(n) if grades is None else rng.integers(grades, size=n)
    qid = np.repeat(np.arange(N_QUERIES), n_docs)
    bound = PairHinge().bind(RankingData.from_arrays(np.zeros((n, 1)), labels, qid=qid))
    scores = _alternately(rng.standard_normal(n), rng.standard_normal(n))
    return Contender(name, lambda: _call(bound, scores), 9)


def _call(bound: BoundLoss, scores: Iterator[Floats]) -> object:
    return bound(next(scores))


def _alternately(*arrays: Floats) -> Iterator[Floats]:
    """Return scores that change at every call, because a loss reuses the order of its last scores."""
    return itertools.cycle(arrays)


def _sorting(n_docs: int, labels: str) -> Contender:
    scores = np.random.default_rng(0).standard_normal((N_QUERIES, n_docs))
    name = f"NumPy's argsort of {n_docs:,} documents a query, {labels}"
    return Contender(name, lambda: np.argsort(-scores, axis=1), 9)

"""The rankers on large data: a pass of each loss, a round of boosting, scores, and LambdaMART."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from benchmarks.fold import Fold, first_fold
from benchmarks.measure import Contender, Report, Row, Timing, floor_of, slowdown, speedup
from podium import RankingData, kernels
from podium.losses import (
    FocusedLoss,
    LambdaRankLoss,
    ListMLELoss,
    ListNetLoss,
    Loss,
    PairHinge,
    PairLogistic,
    TopkListMLELoss,
)
from podium.optim import LinearProblem
from podium.rankers import LambdaMART, RankSVM
from podium.rankers.boosted import Round, adarank, rankboost
from podium.rankers.objective import Objective

Floats = NDArray[np.float64]

PASSES: tuple[tuple[Loss, float | None], ...] = (
    (ListNetLoss(), 2),
    (ListMLELoss(), 2),
    (TopkListMLELoss(), 2),
    (PairLogistic(), 6),
    (FocusedLoss(), 6),
    (PairHinge(), None),
    (LambdaRankLoss(), None),
)
"""Losses, and how many times both products with X a pass may take."""
N_TREES, QUICK_TREES = 200, 10
N_CALLS = 100
"""Small predictions are timed by the hundred."""


def run(quick: bool = False) -> Report:
    """All figures of the subject."""
    large = Large.draw(60, 20, 30) if quick else Large.draw(10_000, 120, 136)
    fold = first_fold(quick)
    report = Report("rankers", "Rankers", large.setting | {"small data": fold.name})
    once = _passes(report, large)
    _predictions(report, large, fold, once)
    _boosting(report, large, once)
    del large
    gc.collect()
    _trees(report, fold, QUICK_TREES if quick else N_TREES)
    return report


@dataclass(frozen=True, eq=False)
class Large:
    """Standard normal features in lists of one length, five grades that lean on a linear truth."""

    data: RankingData
    weights: tuple[Floats, Floats]

    @classmethod
    def draw(cls, n_queries: int, n_docs: int, n_features: int, seed: int = 0) -> Large:
        """The same every time."""
        rng = np.random.default_rng(seed)
        n = n_queries * n_docs
        X = rng.standard_normal((n, n_features))
        w = rng.standard_normal((3, n_features)) / np.sqrt(n_features)
        utility = X @ w[0] + rng.standard_normal(n)
        labels = np.searchsorted(np.quantile(utility, (0.5, 0.75, 0.9, 0.97)), utility)
        qid = np.repeat(np.arange(n_queries), n_docs)
        return cls(RankingData.from_arrays(X, labels, qid=qid), (w[1], w[2]))

    @property
    def setting(self) -> dict[str, Any]:
        """In words."""
        data = self.data
        return {
            "queries": data.n_queries,
            "documents": len(data),
            "features": data.n_features,
            "bytes of the features": data.X.nbytes,
        }

    def alternate(self) -> Iterator[Floats]:
        """Weights that change at every call: a loss keeps the order of the scores it saw last."""
        return itertools.cycle(self.weights)


def _passes(report: Report, large: Large) -> Timing:
    """Values and gradients of each loss next to both products with X; the time to read X once."""
    X, w, g = large.data.X, large.weights[0], np.random.default_rng(1).random(len(large.data))
    both, ours = "X @ w and X.T @ g (NumPy)", "X @ w and X.T @ g (podium)"
    contenders = [
        Contender("read X", lambda: _read(X)),
        Contender(both, lambda: (X @ w, X.T @ g)),
        Contender("X @ w", lambda: X @ w),
        Contender("X.T @ g", lambda: X.T @ g),
        Contender(ours, lambda: (kernels.matvec(X, w), kernels.rmatvec(X, g))),
        Contender("kernels.matvec", lambda: kernels.matvec(X, w)),
        Contender("kernels.rmatvec", lambda: kernels.rmatvec(X, g)),
        *(_pass(large, loss) for loss, _ in PASSES),
    ]
    t = report.race(contenders)
    once, twice = _reading(t["read X"], X), _reading(t["read X"], X, times=2)
    report.rows += [
        slowdown(f"value and gradient, {loss.name}", t[loss.name], t[both], at_most=most, **twice)
        for loss, most in PASSES
    ]
    report.rows += [
        slowdown("both products with X", t[ours], t[both], **twice),
        slowdown("X w", t["kernels.matvec"], t["X @ w"], **once),
        slowdown("X' g", t["kernels.rmatvec"], t["X.T @ g"], **once),
    ]
    report.notes.append(
        "A pass is the objective and its gradient with respect to the weights: X w, the loss's values "
        "and gradient for the scores, X' g. podium's products add in a fixed order, so that the "
        "number of threads does not change a bit; NumPy's (BLAS) do not."
    )
    return t["read X"]


def _pass(large: Large, loss: Loss) -> Contender:
    problem = LinearProblem(large.data.X, Objective.of(loss, large.data))
    weights = large.alternate()
    return Contender(loss.name, lambda: problem(next(weights)), 5)


def _read(X: NDArray[Any]) -> object:
    """Every byte once, by all cores: the inner product of both halves."""
    flat = X.reshape(-1)
    half = len(flat) // 2
    return flat[:half] @ flat[half : 2 * half]


def _reading(read: Timing, X: NDArray[Any], times: int = 1) -> dict[str, Any]:
    """The floor of what cannot do without all of X."""
    often = "twice" if times == 2 else "once"
    return {
        "floor": f"read {X.nbytes / 1e6:,.0f} MB {often}, at {X.nbytes / read.median / 1e9:.1f} GB/s",
        "floor_value": times * read.median,
    }


def _predictions(report: Report, large: Large, fold: Fold, read: Timing) -> None:
    """Scores of a linear model next to the bare product."""
    rows = large.data.subset(range(min(50, large.data.n_queries)))
    for data, start, calls in ((large.data, rows, 1), (fold.train, fold.train, N_CALLS)):
        ranker, X = RankSVM().fit(start), data.X
        w: Floats = ranker.model_.weights  # type: ignore[attr-defined]
        size = f"{len(data):,} documents" + ("" if calls == 1 else f", {calls} times")
        names = f"predict, {size}", f"X @ w, {size}"
        t = report.race(
            [
                Contender(names[0], _repeated(lambda r=ranker, d=data: r.predict(d), calls), 15),
                Contender(names[1], _repeated(lambda X=X, w=w: X @ w, calls), 15),
            ]
        )
        floor = _reading(read, X) if data is large.data else {}
        report.rows.append(speedup(names[0], t[names[0]], t[names[1]], at_least=0.9, **floor))
    report.notes.append(
        "predict at the speed of X @ w: at least 0.9 of it. It also checks the features' number and "
        "that every score is finite. Below some milliseconds of work podium stays on one thread, "
        "where BLAS takes both: on a busy machine waiting for the other costs far more than it saves."
    )


def _repeated(call: Callable[[], object], times: int) -> Callable[[], object]:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def _boosting(report: Report, large: Large, read: Timing) -> None:
    """Rounds after the first, which has bins or a table to make."""
    data = large.data
    labels, scores = data.y, data.X[:, 0].reshape(data.n_queries, -1)
    rounds = {"rankboost": rankboost(data, n_rounds=100), "adarank": adarank(data, n_rounds=100)}
    sorting = "NumPy's argsort of each query"
    t = report.race(
        [
            *(Contender(name, _next_of(found)) for name, found in rounds.items()),
            Contender(sorting, lambda: np.argsort(-scores, axis=1)),
        ]
    )
    n_bytes = data.X.size + labels.nbytes  # a byte for each feature, and a number
    floors = {
        "rankboost": {
            "floor": f"read {n_bytes / 1e6:,.0f} MB once",
            "floor_value": read.median * n_bytes / data.X.nbytes,
        },
        "adarank": floor_of(sorting, t[sorting]),
    }
    report.rows += [
        Row(f"{name}, one round", t[name].median, at_most=1, **floors[name]) for name in rounds
    ]
    report.notes.append(
        f"rankboost's first round took {t['rankboost'].warm_up:.1f} s, the bins included (at most "
        f"256 a feature); adarank's {t['adarank'].warm_up:.1f} s, the table of each feature's MAP "
        "in each query included."
    )


def _next_of(rounds: Iterator[Round]) -> Callable[[], Round]:
    return lambda: next(rounds)


def _trees(report: Report, fold: Fold, n_trees: int) -> None:
    """LambdaMART next to LightGBM with its parameters, early stopping in neither."""
    ranker = LambdaMART(trees=n_trees, patience=n_trees)
    pairwise = LambdaMART(loss="ranknet", trees=n_trees, patience=n_trees)
    t = report.race(
        [
            Contender("lambdamart", lambda: ranker.fit(fold.train, valid=fold.valid), 5),
            Contender("lambdamart, ranknet", lambda: pairwise.fit(fold.train, valid=fold.valid), 5),
            Contender("lightgbm.train", lambda: _lightgbm(fold, ranker), 5),
        ]
    )
    trees = f"{n_trees} trees, {len(fold.train):,} documents"
    report.rows += [
        slowdown(f"lambdamart, {trees}", t["lambdamart"], t["lightgbm.train"]),
        slowdown(
            f"lambdamart(loss='ranknet'), {trees}", t["lambdamart, ranknet"], t["lightgbm.train"]
        ),
    ]
    report.notes.append(
        "lightgbm.train: the same parameters, rounds and thread, lambdarank and its own NDCG@10 on "
        "training and validation queries after every round. podium measures its own NDCG@10 there, "
        "under the metric's conventions; ranknet is a loss of podium's as a custom objective."
    )


def _lightgbm(fold: Fold, ranker: LambdaMART) -> object:
    parameters = {
        "objective": "lambdarank", "metric": "ndcg", "eval_at": [10],
        "lambdarank_truncation_level": ranker.k + 3, "learning_rate": ranker.learning_rate,
        "num_leaves": ranker.leaves, "min_data_in_leaf": ranker.min_leaf, "num_threads": 1,
        "deterministic": True, "force_row_wise": True, "verbosity": -1,
    }  # fmt: skip
    train, valid = (
        lightgbm.Dataset(data.X, data.y, group=data.groups.sizes, params=parameters)
        for data in (fold.train, fold.valid)
    )
    return lightgbm.train(
        parameters, train, ranker.trees, valid_sets=[train, valid.set_reference(train)]
    )

"""The rankers on large data: a pass of each loss, a round of boosting, scores, and LambdaMART."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from benchmarks import memory
from benchmarks.measure import (
    Contender,
    Report,
    Row,
    Timing,
    counts_processor_time,
    floor_of,
    slowdown,
    speedup,
)
from benchmarks.mq2008_fold import TrainingFold, first_fold
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
from podium.metrics import parse
from podium.metrics.repeated_metric import RepeatedMetric
from podium.optim import LinearProblem
from podium.rankers import (
    FocusedNet,
    FocusedSVM,
    LambdaMART,
    ListMLE,
    ListNet,
    Ranker,
    RankNet,
    RankSVM,
    TopkListMLE,
)
from podium.rankers.boosted.adarank import adarank
from podium.rankers.boosted.rankboost import rankboost
from podium.rankers.boosted.rounds import Round
from podium.rankers.lightgbm_rounds import kept_scores
from podium.rankers.training_objective import TrainingObjective
from podium.rankers.tree_model import thread_count

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
"""Losses, and the largest ratio of a pass to both products with X."""
FITS: tuple[Ranker, ...] = (
    RankSVM(), RankNet(), ListNet(), ListMLE(), TopkListMLE(), FocusedNet(),
)  # fmt: skip
"""Linear rankers whose whole fit is measured beside the passes that it takes."""
PRODUCTS = {"matvec": 1, "rmatvec": 1, "rmatvec_by_query": 1} | {
    name: 2 for name in kernels.KERNELS if name.endswith("_pass")
}
"""The kernels that read X, and how many products with X each of them computes."""
PRODUCTS_ONCE = "X @ w and X.T @ g"
_POOLS = ThreadpoolController()  # made once: to find the libraries takes milliseconds
N_TREES, QUICK_TREES = 200, 10
N_LARGE_TREES, QUICK_LARGE_TREES = 20, 3
N_CALLS = 100
"""Small predictions are timed a hundred at a time."""


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    large = LargeProblem.draw(60, 20, 30) if quick else LargeProblem.draw(10_000, 120, 136)
    fold = first_fold(quick)
    report = Report("rankers", "Rankers", large.setting | {"small data": fold.name})
    once = _passes(report, large)
    _predictions(report, large, fold, once)
    _boosting(report, large, once)
    _fits(report, large)
    _focused_svm(report, large)
    _large_trees(report, large, QUICK_LARGE_TREES if quick else N_LARGE_TREES)
    del large
    gc.collect()
    _trees(report, fold, QUICK_TREES if quick else N_TREES)
    return report


@dataclass(frozen=True, eq=False)
class LargeProblem:
    """Standard normal features in lists of one length, with five grades of a noisy linear utility."""

    data: RankingData
    weights: tuple[Floats, Floats]

    @classmethod
    def draw(cls, n_queries: int, n_docs: int, n_features: int, seed: int = 0) -> LargeProblem:
        """Draw the problem; the same seed gives the same data."""
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
        """Sizes for the report."""
        data = self.data
        return {
            "queries": data.n_queries,
            "documents": len(data),
            "features": data.n_features,
            "bytes of the features": data.X.nbytes,
        }

    def alternate(self) -> Iterator[Floats]:
        """Return weights that change at every call, because a loss reuses the order of its last scores."""
        return itertools.cycle(self.weights)


def _passes(report: Report, large: LargeProblem) -> Timing:
    """Measure each loss beside both products with X; return the time to read X once."""
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
    t = report.time_in_turn(contenders)
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
        "A pass is the objective and its gradient with respect to the weights: X w, the loss's "
        "values and gradient for the scores, X' g. The products of podium add in a fixed order, "
        "so that the number of threads does not change a bit. NumPy's (BLAS) do not."
    )
    return t["read X"]


def _pass(large: LargeProblem, loss: Loss) -> Contender:
    problem = LinearProblem(large.data.X, TrainingObjective.from_loss(loss, large.data))
    weights = large.alternate()
    return Contender(loss.name, lambda: problem(next(weights)), 5)


def _read(X: NDArray[Any]) -> object:
    """Read every byte once on all cores: the inner product of both halves."""
    flat = X.reshape(-1)
    half = len(flat) // 2
    return flat[:half] @ flat[half : 2 * half]


def _reading(read: Timing, X: NDArray[Any], times: int = 1) -> dict[str, Any]:
    """Return the floor of work that needs all of X."""
    often = "twice" if times == 2 else "once"
    return {
        "floor": f"read {X.nbytes / 1e6:,.0f} MB {often}, at {X.nbytes / read.median / 1e9:.1f} GB/s",
        "floor_value": times * read.median,
    }


def _predictions(report: Report, large: LargeProblem, fold: TrainingFold, read: Timing) -> None:
    """Measure scores of a linear model beside the bare product."""
    rows = large.data.subset(range(min(50, large.data.n_queries)))
    for data, start, calls in ((large.data, rows, 1), (fold.train, fold.train, N_CALLS)):
        ranker, X = RankSVM().fit(start), data.X
        w: Floats = ranker.model_.weights  # type: ignore[attr-defined]
        size = f"{len(data):,} documents" + ("" if calls == 1 else f", {calls} times")
        names = f"predict, {size}", f"X @ w, {size}"
        t = report.time_in_turn(
            [
                Contender(names[0], _repeated(lambda r=ranker, d=data: r.predict(d), calls), 15),
                Contender(names[1], _repeated(lambda X=X, w=w: X @ w, calls), 15),
            ]
        )
        floor = _reading(read, X) if data is large.data else {}
        report.rows.append(speedup(names[0], t[names[0]], t[names[1]], at_least=0.9, **floor))
    report.notes.append(
        "predict at the speed of X @ w: at least 0.9 of it. It also checks the number of "
        "features, and that every score is finite. For less than some milliseconds of work, "
        "podium stays on one thread and BLAS uses both. On a busy machine, waiting for the "
        "other thread costs far more than it saves."
    )


def _repeated(call: Callable[[], object], times: int) -> Callable[[], object]:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def _boosting(report: Report, large: LargeProblem, read: Timing) -> None:
    """Measure rounds after the first, which also makes bins or a table."""
    data = large.data
    labels, scores = data.y, data.X[:, 0].reshape(data.n_queries, -1)
    rounds = {"rankboost": rankboost(data, n_rounds=100), "adarank": adarank(data, n_rounds=100)}
    sorting = "NumPy's argsort of each query"
    t = report.time_in_turn(
        [
            *(Contender(name, _next_of(round_iterator)) for name, round_iterator in rounds.items()),
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


def _fits(report: Report, large: LargeProblem) -> None:
    """Measure whole fits on two threads and one, beside their products with X, and their memory."""
    data, single = large.data, _single_precision(large.data)
    w, g = large.weights[0], np.random.default_rng(1).random(len(data))

    def products() -> None:
        kernels.rmatvec(data.X, g)
        kernels.matvec(data.X, w)

    threads = (1,) if counts_processor_time() else (2, 1)
    for ranker in FITS:
        passes = _count_passes(ranker, data)
        fit = partial(_fit_anew, ranker, data)
        t = report.time_in_turn(
            [
                c
                for n in threads
                for c in (_on(n, ranker.name, fit, 3), _on(n, PRODUCTS_ONCE, products, 5))
            ]
        )
        fits = {n: t[_named(ranker.name, n)] for n in threads}
        report.rows += [
            _fit_row(ranker, fits[n], t[_named(PRODUCTS_ONCE, n)], passes, n) for n in threads
        ]
        if 2 in fits:
            what = f"whole fit on two threads, {ranker.name}"
            report.rows.append(speedup(what, fits[2], fits[1], at_least=1.7))
        report.rows += [_memory_row(ranker, data), _memory_row(ranker, single)]
    report.notes.append(
        "A whole fit starts from data that no other fit has prepared. Its products with X are counted, and "
        "timed by themselves in the same run, on as many threads. Memory is what a fit adds to the process "
        "at its peak, after a fit to ten queries has loaded the code."
    )


def _single_precision(data: RankingData) -> RankingData:
    """Return the same documents with features in float32."""
    qid = data.groups.spread(data.qids)
    return RankingData.from_arrays(data.X.astype(np.float32), data.y, qid=qid)


def _memory_row(ranker: Ranker, data: RankingData) -> Row:
    n_bytes = _fit_memory(ranker, data)
    return Row(
        f"memory of a fit, {ranker.name}, {data.X.dtype}", n_bytes / 1e6, unit="MB", at_most=0.1,
        ratio=n_bytes / data.X.nbytes, says="the features",
    )  # fmt: skip


def _fit_memory(ranker: Ranker, data: RankingData) -> int:
    """Return by how many bytes a fit makes the process grow, to data that has nothing prepared."""
    _fit_anew(ranker, data.subset(range(10)))
    fresh, anew = data.with_labels(data.y), clone(ranker)
    gc.collect()
    memory.reset_peak()
    before = memory.resident("VmRSS")
    anew.fit(fresh)
    return memory.resident("VmHWM") - before


def _fit_row(ranker: Ranker, fit: Timing, once: Timing, passes: float, threads: int) -> Row:
    """Return the row of a whole fit beside its passes, which are also its floor."""
    theirs = passes * once.median
    return Row(
        f"whole fit, {_named(ranker.name, threads)}", fit.median, peer=f"{PRODUCTS_ONCE}, as often",
        theirs=theirs, ratio=fit.median / theirs, says="the time", at_most=1.3,
        floor=f"{passes:g} passes of {once.median * 1e3:.1f} ms", floor_value=theirs,
    )  # fmt: skip


def _named(name: str, threads: int) -> str:
    return f"{name} on {threads} thread{'s' * (threads > 1)}"


def _on(threads: int, name: str, run: Callable[[], object], repeats: int) -> Contender:
    """Return a contender that runs on this many threads."""

    def limited() -> object:
        with _POOLS.limit(limits=threads):
            return run()

    return Contender(_named(name, threads), limited, repeats)


def _focused_svm(report: Report, large: LargeProblem) -> None:
    """Measure FocusedSVM to a proved gap of a thousandth beside RankSVM to the same gap, and as it is."""
    rankers = FocusedSVM(eps=1e-3), RankSVM(power=1, eps=1e-3), RankSVM()
    names = ["focused-svm, eps = 0.001", "ranksvm, power = 1, eps = 0.001", "ranksvm"]
    contenders = [
        Contender(name, partial(_fit_anew, ranker, large.data), 3)
        for name, ranker in zip(names, rankers, strict=True)
    ]
    t = report.time_in_turn(contenders)
    focused, hinge, squared = (t[name] for name in names)
    report.rows += [
        slowdown(f"whole fit, {names[0]}, equal gap", focused, hinge, at_most=5),
        slowdown(f"whole fit, {names[0]}, squared hinge", focused, squared),
    ]
    report.notes.append(
        "focused-svm and ranksvm with power = 1 stop at a proved gap of a thousandth of their objective. "
        "ranksvm with its own settings minimises a squared hinge to a small gradient, by Newton's method: "
        "another loss, which takes fewer passes and proves no gap."
    )


def _fit_anew(ranker: Ranker, data: RankingData) -> object:
    """Fit to data that has nothing prepared."""
    return clone(ranker).fit(data.with_labels(data.y))


def _count_passes(ranker: Ranker, data: RankingData) -> float:
    """Return how many pairs of products with X a fit takes."""
    n_products = 0

    def counted(name: str) -> Callable[..., Any]:
        product = getattr(kernels, name)

        def count(*arguments: Any, **more: Any) -> Any:
            nonlocal n_products
            starts_at_zero = name.endswith("_pass") and not arguments[1].any()  # X w is known
            n_products += PRODUCTS[name] - starts_at_zero
            return product(*arguments, **more)

        return count

    products = {name: counted(name) for name in PRODUCTS}
    with mock.patch.multiple(kernels, **products):
        _fit_anew(ranker, data)
    return n_products / 2


def _large_trees(report: Report, large: LargeProblem, n_trees: int) -> None:
    """Measure LambdaMART beside LightGBM on large data, data sets and validation counted."""
    n_valid = large.data.n_queries // 6
    parts = range(n_valid, large.data.n_queries), range(n_valid)
    train, valid = (large.data.subset(list(part)) for part in parts)
    _compare_trees(report, TrainingFold("large data", train, valid), n_trees, repeats=3)


def _next_of(rounds: Iterator[Round]) -> Callable[[], Round]:
    return lambda: next(rounds)


def _trees(report: Report, fold: TrainingFold, n_trees: int) -> None:
    """Measure LambdaMART beside LightGBM with the same parameters and no early stopping."""
    ranker = _compare_trees(report, fold, n_trees, repeats=5)
    pairwise = LambdaMART(loss="ranknet", trees=n_trees, patience=n_trees, threads=_tree_threads())
    t = report.time_in_turn(
        [
            Contender("lambdamart, ranknet", lambda: pairwise.fit(fold.train, valid=fold.valid), 5),
            Contender("lightgbm.train", lambda: _lightgbm(fold, ranker), 5),
        ]
    )
    trees = f"{n_trees} trees, {len(fold.train):,} documents"
    report.rows += [
        slowdown(
            f"lambdamart(loss='ranknet'), {trees}", t["lambdamart, ranknet"], t["lightgbm.train"]
        ),
    ]
    report.notes.append(
        "lightgbm.train: the same parameters, rounds and thread, lambdarank and its own NDCG@10 on "
        "training and validation queries after every round. podium measures its own NDCG@10 there, "
        "under the metric's conventions; ranknet is a loss of podium's as a custom objective."
    )


def _compare_trees(report: Report, fold: TrainingFold, n_trees: int, repeats: int) -> LambdaMART:
    """Measure LambdaMART beside LightGBM: the building of data sets and both metrics are counted."""
    ranker = LambdaMART(loss="lambdarank", trees=n_trees, patience=n_trees, threads=_tree_threads())
    size = f"{n_trees} trees, {len(fold.train):,} documents"
    names = f"lambdamart, {size}", f"lightgbm.train, {size}"
    t = report.time_in_turn(
        [
            Contender(names[0], lambda: ranker.fit(fold.train, valid=fold.valid), repeats),
            Contender(names[1], lambda: _lightgbm(fold, ranker), repeats),
        ]
    )
    report.rows.append(slowdown(names[0], *map(t.get, names), at_most=1.05))
    _compare_metrics(report, fold, ranker)
    _compare_without_validation(report, fold, ranker, repeats)
    return ranker


def _compare_metrics(report: Report, fold: TrainingFold, ranker: LambdaMART) -> None:
    """Measure the metric of a round by itself: NDCG@10 of scores that LightGBM keeps, beside its own."""
    podiums, theirs = (_after_three_rounds(fold, ranker, metric) for metric in ("none", "ndcg"))
    measure = RepeatedMetric(fold.valid, parse("NDCG@10").averaging_ties())
    size = f"{len(fold.valid):,} documents, {N_CALLS} times"
    names = f"validation metric of lambdamart, {size}", f"validation metric of LightGBM, {size}"
    calls = (lambda: measure(kept_scores(podiums.eval_valid))), theirs.eval_valid
    t = report.time_in_turn(
        [Contender(name, _repeated(call, N_CALLS)) for name, call in zip(names, calls, strict=True)]
    )
    report.rows.append(slowdown(names[0], *map(t.get, names), at_most=1))


def _after_three_rounds(fold: TrainingFold, ranker: LambdaMART, metric: str) -> Any:
    parameters = _lightgbm_parameters(fold.train, ranker) | {"metric": metric, "eval_at": [10]}
    train, valid = _lightgbm_data(fold, parameters)
    booster = lightgbm.Booster(parameters, train).add_valid(valid, "valid")
    for _ in range(3):
        booster.update()
    return booster


def _compare_without_validation(
    report: Report, fold: TrainingFold, ranker: LambdaMART, repeats: int
) -> None:
    """Measure both without validation data: podium holds out a fifth, LightGBM trains on all."""
    size = f"{ranker.trees} trees, {len(fold.train):,} documents, no validation data"
    names = f"lambdamart, {size}", f"lightgbm.train, {size}"
    t = report.time_in_turn(
        [
            Contender(names[0], lambda: ranker.fit(fold.train), repeats),
            Contender(names[1], lambda: _lightgbm_alone(fold.train, ranker), repeats),
        ]
    )
    report.rows.append(slowdown(names[0], *map(t.get, names), at_most=1.05))


def _tree_threads() -> int:
    """Return the threads of LambdaMART; 0 if it chooses by the size of the data."""
    return 1 if counts_processor_time() else 0


def _lightgbm(fold: TrainingFold, ranker: LambdaMART) -> object:
    parameters = _lightgbm_parameters(fold.train, ranker) | {"metric": "ndcg", "eval_at": [10]}
    train, valid = _lightgbm_data(fold, parameters)
    return lightgbm.train(parameters, train, ranker.trees, valid_sets=[train, valid])


def _lightgbm_data(fold: TrainingFold, parameters: dict[str, Any]) -> tuple[Any, Any]:
    """Return LightGBM's data sets of training and validation queries."""
    train, valid = (
        lightgbm.Dataset(data.X, data.y, group=data.groups.sizes, params=parameters)
        for data in (fold.train, fold.valid)
    )
    return train, valid.set_reference(train)


def _lightgbm_alone(data: RankingData, ranker: LambdaMART) -> object:
    parameters = _lightgbm_parameters(data, ranker) | {"metric": "none"}
    train = lightgbm.Dataset(data.X, data.y, group=data.groups.sizes, params=parameters)
    return lightgbm.train(parameters, train, ranker.trees)


def _lightgbm_parameters(data: RankingData, ranker: LambdaMART) -> dict[str, Any]:
    return {
        "objective": "lambdarank", "lambdarank_truncation_level": ranker.k + 3,
        "learning_rate": ranker.learning_rate, "num_leaves": ranker.leaves,
        "min_data_in_leaf": ranker.min_leaf,
        "num_threads": ranker.threads or thread_count(data.X.size),
        "deterministic": True, "force_row_wise": True, "verbosity": -1,
    }  # fmt: skip

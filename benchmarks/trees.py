"""Scores of tree models: the kernel beside LightGBM's predict and onnxruntime, on one thread and on all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import lightgbm
import numpy as np
import onnxruntime
from threadpoolctl import threadpool_limits

from benchmarks.measure import Contender, Report, Row, Timing, speedup
from podium import export_model
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.lightgbm_checks import trees_alone
from podium.rankers.tree_model import Trees
from podium.typing import Singles

N_FEATURES, N_LEAVES = 136, 31
N_TREES, QUICK_TREES = 500, 20
LISTS = {1: 2000, 100: 200, 1_000: 20}
"""Documents of a list, and how often it is scored in one repetition."""
TARGETS = {1: (None, 1), 100: (8, 4), 1_000: (8, 4)}
"""Times faster than LightGBM and than onnxruntime, at least."""


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    n_trees, n_many = (QUICK_TREES, 2_000) if quick else (N_TREES, 100_000)
    rows = np.random.default_rng(1).standard_normal((n_many, N_FEATURES)).astype(np.float32)
    booster = train_booster(n_trees)
    model = Trees(trees_alone(booster.model_to_string()), N_FEATURES)
    setting = {"trees": n_trees, "leaves": N_LEAVES, "features": N_FEATURES, "rows": "float32"}
    report = Report("trees", "Scores of trees", setting)
    _lists(report, model, booster, rows, quick)
    _many_rows(report, model, booster, rows)
    report.notes.append(
        "The scores are equal to LightGBM's raw scores, to the bit; onnxruntime computes in "
        "float32. The floor is the number of nodes on all paths, as deep as each tree's deepest "
        "leaf, at the rate of the longest list. The rest is the cost of the call."
    )
    return report


def train_booster(n_trees: int) -> lightgbm.Booster:
    """Train a model on generated data."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, N_FEATURES))
    utility = X[:, :10] @ rng.standard_normal(10) + np.sin(3 * X[:, 10]) * X[:, 11]
    y = np.digitize(utility, np.quantile(utility, (0.5, 0.75, 0.9, 0.97)))
    parameters = {"objective": "lambdarank", "num_leaves": N_LEAVES, "verbosity": -1}
    return lightgbm.train(parameters, lightgbm.Dataset(X, y, group=[100] * 200), n_trees)


def _lists(
    report: Report, model: Trees, booster: lightgbm.Booster, rows: Singles, quick: bool
) -> None:
    """Measure lists as search asks for them, on one thread."""
    session = _onnx_session(model)
    (argument,) = (value.name for value in session.get_inputs())
    steps = int(model.arrays.depths.sum())
    timings: dict[int, dict[str, Timing]] = {}
    with threadpool_limits(1):
        for n, calls in LISTS.items():
            X = np.ascontiguousarray(rows[:n])
            assert model.predict(X).tobytes() == booster.predict(X, raw_score=True).tobytes()
            times = max(1, calls // 100) if quick else calls
            timings[n] = report.time_in_turn(
                [
                    Contender(f"podium, {n:,}", _repeated(partial(model.predict, X), times)),
                    Contender(
                        f"LightGBM, {n:,}",
                        _repeated(
                            partial(booster.predict, X, raw_score=True, num_threads=1), times
                        ),
                    ),
                    Contender(
                        f"onnxruntime, {n:,}",
                        _repeated(partial(session.run, None, {argument: X}), times),
                    ),
                ]
            )
    longest = max(LISTS)
    rate = timings[longest][f"podium, {longest:,}"].median / (
        longest * (max(1, LISTS[longest] // 100) if quick else LISTS[longest])
    )
    for n, calls in LISTS.items():
        times = max(1, calls // 100) if quick else calls
        ours = timings[n][f"podium, {n:,}"]
        floor = {"floor": f"{n * steps * times:,} nodes", "floor_value": n * times * rate}
        for peer, target in zip(("LightGBM", "onnxruntime"), TARGETS[n], strict=True):
            what = f"{n:,} document{'s' * (n > 1)}, {times:,} times, one thread"
            theirs = timings[n][f"{peer}, {n:,}"]
            report.rows.append(speedup(what, ours, theirs, at_least=target, **floor))


def _many_rows(report: Report, model: Trees, booster: lightgbm.Booster, rows: Singles) -> None:
    """Measure many rows on all cores."""
    names = f"podium, {len(rows):,} rows", f"LightGBM, {len(rows):,} rows"
    t = report.time_in_turn(
        [
            Contender(names[0], lambda: model.predict(rows), 5),
            Contender(names[1], lambda: booster.predict(rows, raw_score=True), 5),
        ]
    )
    what = f"{len(rows):,} documents, all cores"
    report.rows.append(speedup(what, t[names[0]], t[names[1]], at_least=4))
    report.rows.append(Row("bytes of a model's nodes", model.arrays.nodes.nbytes, unit="bytes"))


def _onnx_session(model: Trees) -> onnxruntime.InferenceSession:
    exported = export_model(ImportedRanker.from_model(model, "a benchmark"), "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(exported.content, options)


def _repeated(call: Callable[[], object], times: int) -> Callable[[], object]:
    def run() -> None:
        for _ in range(times):
            call()

    return run

"""Rankers of the top-k paper: ten, chosen on validation queries and measured on test queries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.data import Fold
from podium.errors import NotConvergedWarning
from podium.experiments import Contestant, Grid
from podium.metrics import evaluate
from podium.rankers import Ranker, tune
from podium.registry import make_ranker
from podium_papers.topk.printed_tables import FAMILIES, MEASURES, NAMES, TableKind

CHOICE_METRIC: dict[TableKind, str] = {"graded": "NDCG@10", "top-k": "kNDCG@10"}
"""Metric by which validation chooses."""
BETAS = tuple(i / 20 for i in range(21))
"""Values of beta in the paper."""
QUICK_BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)
QUICK_BOOSTING_ROUNDS = 100
CURVE_MEASURES: dict[TableKind, tuple[str, ...]] = {
    "graded": ("NDCG@5", "NDCG@10", "ERR(r_max='query')"),
    "top-k": ("kNDCG@5", "kNDCG@10", "kERR"),
}
"""Measures of Figures 1 and 2."""


@dataclass(frozen=True)
class TopkTestResult:
    """Values of a ranker on the test queries of a fold by measure, and its settings.

    `reason` says why its fit stopped too early; it is empty if it did not. For a Focused ranker, `curves`
    holds the mean for each beta by measure.
    """

    ranker: str
    values: Mapping[str, tuple[float, ...]]
    settings: str
    reason: str
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def contestants(
    kind: TableKind, k: int, *, quick: bool = False, seed: int = 0
) -> dict[str, Contestant]:
    """Return the ten rankers with the settings that validation chooses from.

    Each has its own grid. RankSVM and SVM-MAP have C; ListNet, RankNet and top-k ListMLE have l2 (and the
    iteration); RankBoost has the number of thresholds; Focused rankers have beta. AdaRank uses features
    upwards only, as in its paper. On top-k truth its measure is MAP or NDCG@10.

    Examples
    --------
    >>> rankers = contestants("top-k", 5, quick=True)
    >>> rankers["focused-net"].ranker.k, rankers["focused-net"].grid["beta"]
    (5, (0.0, 0.25, 0.5, 0.75, 1.0))
    """
    parameters_of: dict[str, dict[str, Any]] = {name: {} for name in NAMES}
    parameters_of["adarank"] = {"reverse": False}
    for name in (*FAMILIES, "topk-listmle"):
        parameters_of[name] = {"k": k}
    # The saved results were measured with this gap, which is larger than today's default.
    parameters_of["focused-svm"]["eps"] = 1e-3
    parameters_of["focused-boost"]["shrinkage"] = 0.1  # so were they with these steps
    rankers = {}
    for name, settings in parameters_of.items():
        ranker = make_ranker(name, **settings)
        parameters = ranker.get_params(deep=False)
        if "seed" in parameters:
            ranker.set_params(seed=seed)
        if quick and "rounds" in parameters:
            ranker.set_params(rounds=QUICK_BOOSTING_ROUNDS)
        grid = {} if quick else dict(ranker.grid)
        if name in FAMILIES:
            grid = {"beta": QUICK_BETAS if quick else BETAS}
        elif name == "adarank" and kind == "top-k" and not quick:
            grid = {"measure": ("MAP", "NDCG@10")}
        rankers[name] = Contestant(name, ranker, grid)
    return rankers


def run_fold(
    fold: Fold, kind: TableKind, rankers: Mapping[str, Contestant]
) -> list[TopkTestResult]:
    """Run every ranker on one fold."""
    # The results say which fits stopped early.
    with warnings.catch_warnings(action="ignore", category=NotConvergedWarning):
        return [_test(fold, kind, contestant) for contestant in rankers.values()]


def _test(fold: Fold, kind: TableKind, contestant: Contestant) -> TopkTestResult:
    """Choose on validation, measure on test; measure each beta if there are several."""
    betas = contestant.grid.get("beta", ())
    grids: list[Grid] = [{"beta": (beta,)} for beta in betas] or [contestant.grid]
    tunings = [
        tune(contestant.ranker, fold.train, fold.valid, CHOICE_METRIC[kind], grid) for grid in grids
    ]
    best = max(tunings, key=lambda tuning: tuning.value)  # of equal ones the first
    curves: dict[str, tuple[float, ...]] = {}
    if betas:
        drawn_values = [_measure(tuning.ranker, fold, CURVE_MEASURES[kind]) for tuning in tunings]
        curves = {
            m: tuple(float(np.mean(values[m])) for values in drawn_values)
            for m in CURVE_MEASURES[kind]
        }
    reason = "" if best.ranker.converged_ else best.ranker.stopped_
    settings = ", ".join(f"{name}={value}" for name, value in best.settings.items())
    values = _measure(best.ranker, fold, list(MEASURES[kind]))
    return TopkTestResult(contestant.label, values, settings, reason, curves)


def _measure(ranker: Ranker, fold: Fold, measures: Sequence[str]) -> dict[str, tuple[float, ...]]:
    result = evaluate(fold.test, ranker.predict(fold.test), list(measures))
    return {m: tuple(result[m].per_query.tolist()) for m in measures}

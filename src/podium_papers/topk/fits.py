"""The top-k paper's ten rankers, each chosen on validation queries and measured on test queries."""

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
from podium_papers.topk.tables import FAMILIES, MEASURES, NAMES, Kind

CHOICE: dict[Kind, str] = {"graded": "NDCG@10", "top-k": "kNDCG@10"}
"""By which validation chooses."""
BETAS = tuple(i / 20 for i in range(21))
"""The paper's."""
QUICK_BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)
QUICK_ROUNDS = 100
"""Of boosting."""
DRAWN: dict[Kind, tuple[str, ...]] = {
    "graded": ("NDCG@5", "NDCG@10", "ERR(r_max='query')"),
    "top-k": ("kNDCG@5", "kNDCG@10", "kERR"),
}
"""The measures of Figures 1 and 2."""


@dataclass(frozen=True)
class TopkTestResult:
    """A ranker on the test queries of a fold: a value for each query by measure, and how it was made.

    `reason` is why its fit stopped, where that was too early; `curves` has, of a Focused ranker, a mean
    for each beta by measure.
    """

    ranker: str
    values: Mapping[str, tuple[float, ...]]
    settings: str
    reason: str
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def contestants(kind: Kind, k: int, *, quick: bool = False, seed: int = 0) -> dict[str, Contestant]:
    """The ten rankers, and the settings that validation chooses from.

    Each has its own grid: RankSVM and SVM-MAP C, ListNet, RankNet and top-k ListMLE l2 (and the
    iteration), RankBoost the number of thresholds, Focused rankers beta. AdaRank counts features upwards
    only, as in its paper, and on top-k truth may be driven by NDCG@10 as well as by MAP.

    Examples
    --------
    >>> found = contestants("top-k", 5, quick=True)
    >>> found["focused-net"].ranker.k, found["focused-net"].grid["beta"]
    (5, (0.0, 0.25, 0.5, 0.75, 1.0))
    """
    grids: dict[str, dict[str, Any]] = {name: {} for name in NAMES}
    grids["adarank"] = {"reverse": False}
    for name in (*FAMILIES, "topk-listmle"):
        grids[name] = {"k": k}
    # The kept results were measured with this gap, which is coarser than today's default.
    grids["focused-svm"]["eps"] = 1e-3
    out = {}
    for name, settings in grids.items():
        ranker = make_ranker(name, **settings)
        parameters = ranker.get_params(deep=False)
        if "seed" in parameters:
            ranker.set_params(seed=seed)
        if quick and "rounds" in parameters:
            ranker.set_params(rounds=QUICK_ROUNDS)
        grid = {} if quick else dict(ranker.grid)
        if name in FAMILIES:
            grid = {"beta": QUICK_BETAS if quick else BETAS}
        elif name == "adarank" and kind == "top-k" and not quick:
            grid = {"measure": ("MAP", "NDCG@10")}
        out[name] = Contestant(name, ranker, grid)
    return out


def run_fold(fold: Fold, kind: Kind, rankers: Mapping[str, Contestant]) -> list[TopkTestResult]:
    """Every ranker on one fold."""
    # Fits that stop early are told in the results.
    with warnings.catch_warnings(action="ignore", category=NotConvergedWarning):
        return [_tested(fold, kind, contestant) for contestant in rankers.values()]


def _tested(fold: Fold, kind: Kind, contestant: Contestant) -> TopkTestResult:
    """Chosen on validation, measured on test; with a beta, measured along it as well."""
    betas = contestant.grid.get("beta", ())
    grids: list[Grid] = [{"beta": (beta,)} for beta in betas] or [contestant.grid]
    tunings = [
        tune(contestant.ranker, fold.train, fold.valid, CHOICE[kind], grid) for grid in grids
    ]
    best = max(tunings, key=lambda tuning: tuning.value)  # of equal ones the first
    curves: dict[str, tuple[float, ...]] = {}
    if betas:
        drawn_values = [_values(tuning.ranker, fold, DRAWN[kind]) for tuning in tunings]
        curves = {m: tuple(float(np.mean(own[m])) for own in drawn_values) for m in DRAWN[kind]}
    reason = "" if best.ranker.converged_ else best.ranker.stopped_
    settings = ", ".join(f"{name}={value}" for name, value in best.settings.items())
    values = _values(best.ranker, fold, list(MEASURES[kind]))
    return TopkTestResult(contestant.label, values, settings, reason, curves)


def _values(ranker: Ranker, fold: Fold, measures: Sequence[str]) -> dict[str, tuple[float, ...]]:
    result = evaluate(fold.test, ranker.predict(fold.test), list(measures))
    return {m: tuple(result[m].per_query.tolist()) for m in measures}

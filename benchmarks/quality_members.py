"""Which trees make good members of `auto`: ``python -m benchmarks.quality_members [--docs]``.

Each setting is fitted without each of three folds; the mean of the three models scores test queries of
generated problems. A setting counts alone, and as a fourth member beside three others. It takes about 6
minutes on one core; finished results are kept, so that an interrupted run continues. --docs only writes the
table in docs/results.md.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import podium
from benchmarks.generated_problems import MEMBER_PROBLEMS
from benchmarks.quality import HERE, options_of, write_page
from podium.data import Fold, RankingData, concatenate
from podium.data.atomic_files import atomic_path
from podium.ensemble.auto.fold_fits import fit_fold
from podium.ensemble.auto.query_folds import query_folds
from podium.metrics import parse
from podium.rankers import CatBoostTrees, LambdaMART, ListNet, RankBoost, Ranker
from podium.typing import Floats
from podium_papers.markdown import table

RESULTS = HERE / "results" / "quality_members.json"
METRIC = "NDCG@10"
SEED = 5
N_FOLDS = 3
CATBOOST, MEAN = "catboost, one fit", "the mean of the three"


def _trees(loss: str, leaves: int = 15, **more: Any) -> Callable[[int], Ranker]:
    """Return a maker of trees for so many documents; leaves of small data must be small."""
    l2 = {"yetiloss": 5.0, "xendcg": 10.0}.get(loss, 0.0)
    return lambda n: LambdaMART(
        loss=loss, leaves=leaves, l2=l2, learning_rate=0.1, min_leaf=min(20, max(1, n // 50)), **more
    )  # fmt: skip


BASE = ("yetiloss, 15 leaves", "xendcg, 15 leaves", "yetiloss, half of the features")
"""The members that a setting joins."""
MEMBERS: dict[str, Callable[[int], Ranker]] = {
    BASE[0]: _trees("yetiloss"),
    BASE[1]: _trees("xendcg"),
    BASE[2]: _trees("yetiloss", feature_fraction=0.5),
    "lambdarank, 15 leaves": _trees("lambdarank"),
    "yetiloss, 31 leaves, half of the features": _trees("yetiloss", 31, feature_fraction=0.5),
    "yetiloss, 31 leaves, random thresholds": _trees("yetiloss", 31, random_thresholds=True),
    "yetiloss, 63 leaves, random thresholds": _trees("yetiloss", 63, random_thresholds=True),
    "xendcg, 31 leaves, random thresholds": _trees("xendcg", 31, random_thresholds=True),
    "yetiloss, 31 leaves, a fifth of the features per split": _trees(
        "yetiloss", 31, node_feature_fraction=0.2
    ),
    "yetiloss, features also standardised in each query": _trees("yetiloss", feature_fraction=0.5),
    "listnet": lambda n: ListNet(),
    "rankboost": lambda n: RankBoost(),
}
STANDARDISED = "yetiloss, features also standardised in each query"


def add_standardised(data: RankingData) -> RankingData:
    """Return the data with each feature twice: as it is, and standardised within the query."""
    groups = data.groups
    X = np.asarray(data.X, dtype=np.float64)
    sizes = groups.sizes[:, None]
    centered = X - groups.spread(groups.reduce(np.add, X) / sizes)
    spread = np.sqrt(groups.spread(groups.reduce(np.add, centered**2) / sizes))
    z = np.where(spread > 1e-12, centered / np.maximum(spread, 1e-12), 0.0)
    names = [*data.names(), *(f"{name} in its query" for name in data.names())]
    return data.with_features(np.hstack([X, z]), names)


def measure_problem(problem: str) -> dict[str, dict[str, float]]:
    """Return what each setting brings on a problem, by its name."""
    fold = MEMBER_PROBLEMS[problem].fold(SEED)
    base = [fit_member(name, fold) for name in BASE]
    first, joined = (
        _per_query(fold.test, scores) for scores in (base[0].scores, sum(m.scores for m in base))
    )
    catboost = fit_catboost(fold)
    results = {CATBOOST: _differences(_per_query(fold.test, catboost.scores) - first)}
    results[CATBOOST] |= {"seconds": catboost.seconds}
    results[MEAN] = _differences(joined - first) | {"seconds": sum(m.seconds for m in base)}
    for name in MEMBERS:
        member = base[BASE.index(name)] if name in BASE else fit_member(name, fold)
        alone = _differences(_per_query(fold.test, member.scores) - first)
        results[name] = alone | {"seconds": member.seconds}
        if name not in BASE:
            with_it = sum(m.scores for m in base) + member.scores
            gain = _differences(_per_query(fold.test, with_it) - joined)
            results[name] |= {f"joined {key}": value for key, value in gain.items()}
        print(f"{problem}: {name}, {member.seconds:.1f} s", flush=True)
    return {
        name: {key: round(value, 6) for key, value in own.items()} for name, own in results.items()
    }


@dataclass(frozen=True)
class TestScores:
    """Scores of the test documents, and the processor time that they took."""

    scores: Floats
    seconds: float


def fit_member(name: str, fold: Fold) -> TestScores:
    """Return the mean of the fold models' standardised test scores."""
    train, test = concatenate([fold.train, _renamed(fold.valid)]), fold.test
    if name == STANDARDISED:
        train, test = add_standardised(train), add_standardised(test)
    folds = query_folds(train, N_FOLDS, 0)
    scores, started = np.zeros(len(test)), time.process_time()
    for number in range(N_FOLDS):
        fit = fit_fold(MEMBERS[name](len(train)), train, folds == number, None, parse(METRIC))
        assert fit.model is not None
        own = fit.model.scores(test.X, test.groups)
        scores += (own - fit.offset) / fit.scale / N_FOLDS
    return TestScores(scores, time.process_time() - started)


def fit_catboost(fold: Fold) -> TestScores:
    """Return the test scores of CatBoost with its defaults, stopped by the validation queries."""
    started = time.process_time()
    scores = CatBoostTrees(threads=1).fit(fold.train, valid=fold.valid).predict(fold.test)
    return TestScores(scores, time.process_time() - started)


def _renamed(data: RankingData) -> RankingData:
    """Return the data with query ids that no training query has."""
    ids = np.array([f"valid {qid}" for qid in data.qids.tolist()], dtype=object)
    return replace(data, qids=ids)


def _per_query(test: RankingData, scores: Floats) -> Floats:
    return np.asarray(podium.evaluate(test, scores, [METRIC])[METRIC].per_query)


def _differences(values: Floats) -> dict[str, float]:
    """Return the mean of paired differences and its standard error."""
    return {"mean": values.mean(), "error": values.std(ddof=1) / len(values) ** 0.5}


def measure_missing() -> None:
    """Measure the problems without a result, and keep each as soon as it is there."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for problem in MEMBER_PROBLEMS:
        if problem not in results:
            with warnings.catch_warnings(action="ignore"):
                results[problem] = measure_problem(problem)
            with atomic_path(RESULTS) as path:
                Path(path).write_text(json.dumps(results, indent=1) + "\n")


def section() -> list[str]:
    """Return the section of docs/results.md."""
    if not RESULTS.exists():
        return []
    results = json.loads(RESULTS.read_text())
    heads = ["member", f"alone, minus {BASE[0]}", "worst problem", "joined to the three, gain",
             "worst problem", "seconds"]  # fmt: skip
    rows = []
    for name in (CATBOOST, MEAN, *MEMBERS):
        own = {problem: cells[name] for problem, cells in results.items()}
        is_first = name == BASE[0]
        row = [name, *(["", ""] if is_first else _summary(own, ""))]
        row += _summary(own, "joined ") if "joined mean" in next(iter(own.values())) else ["", ""]
        rows.append([*row, f"{np.mean([cell['seconds'] for cell in own.values()]):.1f}"])
    return [
        "### Which trees make good members",
        "",
        f"Made by `python -m benchmarks.quality_members` on {len(results)} generated problems "
        f"({', '.join(results)}). A member is the mean of {N_FOLDS} models, each fitted without one fold of "
        f"the training queries. The three: {'; '.join(BASE)}. Differences in {METRIC} on test queries, with "
        "95% intervals; each problem counts the same. Seconds are processor time, means over the problems.",
        "",
        *table(heads, rows),
        "",
    ]


def _summary(own: dict[str, dict[str, float]], prefix: str) -> list[str]:
    """Return the mean difference with its interval, and the worst problem."""
    means = {problem: cell[f"{prefix}mean"] for problem, cell in own.items()}
    errors = np.array([cell[f"{prefix}error"] for cell in own.values()])
    mean, half = np.mean(list(means.values())), 1.96 * np.sqrt((errors**2).sum()) / len(errors)
    worst = min(means, key=lambda problem: means[problem])
    return [
        f"{mean:+.4f} ({mean - half:+.4f} to {mean + half:+.4f})", f"{means[worst]:+.4f}, {worst}"
    ]  # fmt: skip


def main() -> None:
    """Measure what is missing and write the page."""
    options = options_of("quality_members", __doc__)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if not options.docs:
        with threadpool_limits(1):
            measure_missing()
    write_page()


if __name__ == "__main__":
    main()

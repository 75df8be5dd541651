"""Experiments of the CFBRS paper, and those that the paper could not run.

Ahmad, Doja, Ahmad, Compositional feature subset based ranking system (CFBRS) for learning to rank
with user feedback.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from joblib import delayed

from podium.data import Fold, Path_, check_seed
from podium.errors import DataError, NotConvergedWarning, UsageError
from podium.experiments import (
    CheckpointStore,
    ProgressCallback,
    cache_key,
    data_fingerprint,
    run_or_load,
    shorten_fold,
)
from podium.rankers import RANKERS, Ranker, tune
from podium_papers.cfbrs.claims import CfbrsChoice, CfbrsReproduction
from podium_papers.cfbrs.ensembles import ENSEMBLES, SHARED, CfbrsTestResult, evaluate_ensembles
from podium_papers.cfbrs.feedback_loop import FEEDBACK_BATCHES, FeedbackLoop, run_loop
from podium_papers.cfbrs.fitted_blocks import METRIC, FittedBlocks
from podium_papers.cfbrs.table_1 import (
    FIGURE_3_ROUNDS,
    NEAREST_SETTINGS,
    RoundCurve,
    Table1Row,
    round_curves,
    table_rows,
)
from podium_papers.cfbrs.user_classes import (
    CLASS_FEATURES,
    LEARNING_CASES,
    ClassFeatures,
    PopulationRun,
    population_scores,
    run_case,
)
from podium_papers.cfbrs.variance_study import REDRAWS, DrawSpread, measure_spreads
from podium_papers.comparisons import RankerScores, compare, mean_scores

BASES = ("ranksvm", "ranknet")
"""The paper's base learners; the first serves the variance study."""
MIN_BLOCK = 5
POPULATION_SEEDS, LOOP_SEEDS = (0, 1, 2, 3), (0, 1)
"""Seeds of the draws of the population; the feedback loop runs on the first of them."""
CLASS_RANKER_PAIRS = (
    ("pooled", "shared"), ("own", "shared"), ("plain", "shared"),
    ("own", "plain"), ("pooled", "plain"), ("own", "pooled"),
)  # fmt: skip
"""Rankers of the population that are compared with each other."""
QUICK_QUERIES = 20


class CfbrsFoldResult(NamedTuple):
    """Results of one fold with one base."""

    rows: list[Table1Row]
    nearest: list[Table1Row]
    curves: list[RoundCurve]
    test_results: dict[str, CfbrsTestResult]
    spreads: list[DrawSpread]
    settings: str
    reason: str


def reproduce(
    folds: Sequence[Fold],
    *,
    data: str = "",
    bases: Sequence[str] = BASES,
    min_block: int = MIN_BLOCK,
    class_features: ClassFeatures = CLASS_FEATURES,
    seeds: Sequence[int] = POPULATION_SEEDS,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
    seed: int = 0,
) -> CfbrsReproduction:
    """Run Table 1, Figures 2 and 3, ensembles, the variance study, user classes and the feedback loop.

    The base's settings are chosen on a fold's validation queries with all features (the shared-feature
    model). Its blocks have the same settings. The population and the loop use the first fold.

    Parameters
    ----------
    folds
        Folds of LETOR's MQ2008, or others with as many features as `class_features` uses.
    data
        Name of the data set.
    bases
        Names of the rankers that are fitted on blocks.
    min_block
        Features of the smallest block. Table 1 goes from it to the number of features.
    class_features
        The features that each class of users looks at.
    seeds
        Seeds of the draws of the population.
    quick
        Use a few queries, draws and rounds. That shows that the code works; the results mean nothing.
    n_jobs, keep, callback
        As in `podium_papers.toprank.reproduce`.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=30, n_features=6, seed=0), 3)
    >>> result = reproduce(
    ...     folds, bases=["ranksvm"], min_block=2, class_features={"a": (0, 3), "b": (3, 6)}, quick=True
    ... )
    >>> [(row.min_block, row.sizes) for row in result.table[:3]]
    [(2, (2, 2, 2)), (3, (3, 3)), (4, (6,))]
    """
    if not bases or not seeds or not folds:
        raise UsageError("expected a base, a seed and a fold or more, got none")
    check_seed(seed)
    n_features, needed = folds[0].train.n_features, max(end for _, end in class_features.values())
    if n_features < needed:
        raise DataError(f"expected {needed} features, which users look at, got {n_features}")
    used = [shorten_fold(fold, QUICK_QUERIES) if quick else fold for fold in folds]
    population_draws = seeds[:1] if quick else seeds
    tasks = _plan(used, bases, min_block, class_features, population_draws, quick, seed)
    store: CheckpointStore[CfbrsCheckpoint] = CheckpointStore(keep, CfbrsCheckpoint)
    key = [data_fingerprint({"": used}), bases, min_block, class_features, population_draws]
    checkpoints = run_or_load(tasks, store, cache_key([*key, quick, seed]), n_jobs, callback)
    results = {name: checkpoint.result for name, checkpoint in checkpoints.items()}
    return _assemble(results, tuple(bases), data, n_features, min_block, quick, seed)


def _plan(
    folds: Sequence[Fold], bases: Sequence[str], min_block: int, class_features: ClassFeatures,
    draws: Sequence[int], quick: bool, seed: int,
) -> dict[str, Any]:  # fmt: skip
    """Return every piece of work by name."""
    calls: dict[str, Any] = {}
    for base in bases:
        for number, fold in enumerate(folds, start=1):
            calls[f"{base}, fold {number}"] = delayed(run_fold)(
                fold, base, number, min_block, quick=quick, variance=base == bases[0], seed=seed
            )
    population = {"min_block": min_block, "class_features": class_features}
    for case in LEARNING_CASES:
        for draw in draws:
            calls[f"{case.name}, draw {draw}"] = delayed(run_case)(
                folds[0], draw, case, **population
            )
    batches = 4 if quick else FEEDBACK_BATCHES
    for draw in draws[: len(LOOP_SEEDS)]:
        calls[f"feedback in batches, draw {draw}"] = delayed(run_loop)(
            folds[0], draw, batches=batches, **population
        )
    return {name: delayed(_make_checkpoint)(*call) for name, call in calls.items()}


@dataclass(frozen=True)
class CfbrsCheckpoint:
    """Result of one piece of work, in the field of its kind; the other fields are None.

    No field has a default, so that a file with other fields is not taken for an empty checkpoint.
    """

    fold_result: CfbrsFoldResult | None
    run: PopulationRun | None
    loop: FeedbackLoop | None

    @property
    def result(self) -> CfbrsFoldResult | PopulationRun | FeedbackLoop | None:
        """The result, of whatever kind."""
        return self.fold_result or self.run or self.loop


def _make_checkpoint(function: Callable[..., Any], args: Any, kwargs: Any) -> CfbrsCheckpoint:
    result = function(*args, **kwargs)
    kinds = {CfbrsFoldResult: "fold_result", PopulationRun: "run", FeedbackLoop: "loop"}
    fields: dict[str, Any] = dict.fromkeys(kinds.values())
    return CfbrsCheckpoint(**fields | {kinds[type(result)]: result})


def run_fold(
    fold: Fold, base: str, number: int, min_block: int, *, quick: bool = False,
    variance: bool = True, seed: int = 0,
) -> CfbrsFoldResult:  # fmt: skip
    """Measure everything on one fold with one base, whose blocks are fitted once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # the results say so
        ranker = _tune(base, fold, seed)
    blocks = FittedBlocks.fit(fold, ranker, min_block)
    return CfbrsFoldResult(
        list(table_rows(blocks, base, number, min_block)),
        nearest_rows(fold, base, min_block) if number == 1 else [],
        round_curves(blocks, base, number, min_block, 3 if quick else FIGURE_3_ROUNDS),
        dict(evaluate_ensembles(blocks, min_block)),
        measure_spreads(blocks, number, min_block, redraws(quick)) if variance else [],
        repr(ranker),
        blocks.reason,
    )


def redraws(quick: bool) -> int:
    """Return the number of ensembles that the variance study draws."""
    return 3 if quick else REDRAWS


def nearest_rows(fold: Fold, base: str, min_block: int) -> list[Table1Row]:
    """Return Table 1 on the first fold, with the settings that come nearest to the printed values."""
    ranker = RANKERS[base]().set_params(**NEAREST_SETTINGS.get(base, {}))
    blocks = FittedBlocks.fit(fold, ranker, min_block, "first")
    return list(table_rows(blocks, base, 1, min_block))


def _tune(base: str, fold: Fold, seed: int) -> Ranker:
    ranker = RANKERS[base]()
    if "seed" in ranker.get_params(deep=False):
        ranker.set_params(seed=seed)
    return tune(ranker, fold.train, fold.valid, METRIC).ranker


def _assemble(
    results: Mapping[str, Any], bases: tuple[str, ...], data: str, n_features: int, min_block: int,
    quick: bool, seed: int,
) -> CfbrsReproduction:  # fmt: skip
    """Join the results of all pieces and add the tests."""
    by_base = {
        base: [
            v
            for k, v in results.items()
            if isinstance(v, CfbrsFoldResult) and k.startswith(f"{base},")
        ]
        for base in bases
    }
    folds = [fold for folds_of_base in by_base.values() for fold in folds_of_base]
    ensembles = [
        _join_folds(base, name, [fold.test_results[name] for fold in folds_of_base])
        for base, folds_of_base in by_base.items()
        for name in ENSEMBLES
    ]
    runs = {
        case.name: [
            v
            for k, v in results.items()
            if isinstance(v, PopulationRun) and k[: k.rfind(", draw")] == case.name
        ]
        for case in LEARNING_CASES
    }
    class_scores = [s for case_runs in runs.values() for run in case_runs for s in run.class_scores]
    class_rankers = [
        s for case, case_runs in runs.items() for s in population_scores(case, case_runs)
    ]
    pairs = [(name, SHARED) for name in ENSEMBLES if name != SHARED]
    return CfbrsReproduction(
        data, n_features, min_block, redraws(quick), quick, seed,
        table=tuple(row for fold in folds for row in fold.rows),
        nearest=tuple(row for fold in folds for row in fold.nearest),
        curves=tuple(curve for fold in folds for curve in fold.curves),
        ensembles=mean_scores(ensembles, [METRIC]),
        tests=compare(ensembles, pairs, [METRIC], seed=seed),
        chosen=tuple(_choices(by_base)),
        variance=tuple(spread for fold in folds for spread in fold.spreads),
        personal=tuple(class_scores),
        personal_tests=compare(class_rankers, CLASS_RANKER_PAIRS, [METRIC], seed=seed),
        loops=tuple(v for v in results.values() if isinstance(v, FeedbackLoop)),
    )  # fmt: skip


def _join_folds(base: str, name: str, test_results: Sequence[CfbrsTestResult]) -> RankerScores:
    """Join the folds of an ensemble, query by query."""
    values = tuple(value for result in test_results for value in result.values)
    return RankerScores(base, "", name, {METRIC: values}, {}, {})


def _choices(by_base: Mapping[str, Sequence[CfbrsFoldResult]]) -> list[CfbrsChoice]:
    choices = []
    for base, folds in by_base.items():
        choices.append(CfbrsChoice(base, "base", tuple(fold.settings for fold in folds)))
        choices.append(CfbrsChoice(base, "unfinished", tuple(fold.reason for fold in folds)))
        for name in folds[0].test_results:
            settings = tuple(fold.test_results[name].settings for fold in folds)
            if any(settings):
                choices.append(CfbrsChoice(base, name, settings))
    return choices

"""Experiments of the post-ranking paper: the contenders, and how their weights are chosen.

Wu, Xu, Li, Jiang, Ranking optimization with constraints, CIKM 2014, section 5.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import delayed

from podium.data import Fold, Path_, check_seed
from podium.errors import UsageError
from podium.experiments import (
    CheckpointStore,
    ProgressCallback,
    cache_key,
    data_fingerprint,
    run_or_load,
    shorten_fold,
)
from podium.postranking import METHODS, PaperDescent, Settings
from podium.rankers import LambdaMART, tune
from podium.typing import Floats
from podium_papers.comparisons import RankerScores
from podium_papers.rankopt.claims import (
    BASE,
    FORMS,
    HEURISTICS,
    PRINTED,
    RULE_COMBINATIONS,
    STUDIED_METHODS,
    STUDY_CASE,
    STUDY_CASES,
    TUNED_FORMS,
    WEIGHT_GRID,
    WIDE_WEIGHT_GRID,
    ExampleList,
    RankOptReproduction,
    weight_case,
)
from podium_papers.rankopt.convergence import (
    Convergence,
    count_converged,
    join_counts,
)
from podium_papers.rankopt.drawn_rules import RuleCase
from podium_papers.rankopt.example_lists import example_lists
from podium_papers.rankopt.lists_under_rules import MEASURES, ListsUnderRules, RuleWeights

DRAWS = 5
QUICK_QUERIES = 20
QUICK_WEIGHT_GRID = (1.0, 30.0)
WEAK_PRIOR = 1e-4
"""Prior so weak that it hardly changes the scores of the printed pairs."""

CONTENDERS: dict[str, Settings] = {
    **{name: Settings(method=METHODS[name]()) for name in HEURISTICS},
    **{
        f"{name}-violated": Settings(method=METHODS[name](when="violated"))  # type: ignore[call-arg]
        for name in HEURISTICS
    },
    "algorithm-1": Settings(prior=0.0, pairs="printed", scale="pair", method=PaperDescent()),
    "printed": Settings(prior=WEAK_PRIOR, pairs="printed", scale="pair"),
    "uniform": Settings(),
    "margin": Settings(base="margin"),
}
"""Every method that post-ranks; the base ranker does not."""


def reproduce(
    data: Mapping[str, Sequence[Fold]],
    *,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
    seed: int = 0,
) -> RankOptReproduction:
    """Post-rank LambdaMART's lists under rules drawn from perfect rankings, on the folds of LETOR.

    Every query has a top-k rule (k = 1, 3, 5) and a not-top-k rule (k = 5, 10). Their documents are
    drawn five times from a perfect ranking with random ties. A rule of k >= n is skipped for every
    method. LambdaMART's leaves and trees are chosen by NDCG@10 of the validation queries. rho_t and rho_n
    are chosen for each fold and case by the mean of NDCG@1, @3 and @5 of the post-ranked validation
    queries, which have rules of their own. They go from 0.1 to 100 (the printed forms: from 1 to 3000);
    of equal ones the larger is taken. Algorithm 1 takes hundreds of times as long, so its weights are
    chosen on one draw. Test queries serve only the final measurement.

    Parameters
    ----------
    data
        Name of the data set -> its folds.
    quick
        Use a few queries of each part, one draw, a small grid and no studies. That shows that the code
        works; the results mean nothing.
    n_jobs, keep, callback
        As in `podium_papers.toprank.reproduce`.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=30, n_docs=8, seed=0), 3)
    >>> result = reproduce({"generated": folds}, quick=True)
    >>> len(result.scores_of("generated", "top-3, not-top-5", "margin").values["NDCG@1"])
    30
    """
    check_seed(seed)
    folds = {
        name: [shorten_fold(fold, QUICK_QUERIES) if quick else fold for fold in data_folds]
        for name, data_folds in data.items()
    }
    work = {
        f"{name}, fold {number}": (name, delayed(run_fold)(fold, quick=quick, seed=seed))
        for name, data_folds in folds.items()
        for number, fold in enumerate(data_folds, start=1)
    }
    if not work:
        raise UsageError("expected at least one data set, got none")
    store: CheckpointStore[RankOptFoldResult] = CheckpointStore(keep, RankOptFoldResult)
    keys = {
        name: cache_key([content, quick, seed]) for name, content in data_fingerprint(folds).items()
    }
    results = run_or_load(
        {text: task for text, (_, task) in work.items()},
        store,
        {text: keys[name] for text, (name, _) in work.items()},
        n_jobs,
        callback,
    )
    by_data = {name: [results[t] for t, (n, _) in work.items() if n == name] for name in data}
    return _assemble(by_data, quick, seed)


def _assemble(
    by_data: Mapping[str, Sequence[RankOptFoldResult]], quick: bool, seed: int
) -> RankOptReproduction:
    """Join the folds of each data set."""
    convergence = (
        join_counts(name, [fold.convergence for fold in folds]) for name, folds in by_data.items()
    )
    return RankOptReproduction(
        quick,
        seed,
        tuple(scores for name, folds in by_data.items() for scores in _join_folds(name, folds)),
        tuple(
            example for name, folds in by_data.items() for example in _first_examples(name, folds)
        ),
        tuple(count for counts in convergence for count in counts),
    )


@dataclass(frozen=True)
class RankOptTestResult:
    """Values of one contender in one case on the test queries of one fold."""

    mode: str
    ranker: str
    values: Mapping[str, tuple[float, ...]]
    settings: str


@dataclass(frozen=True)
class RankOptFoldResult:
    """Results of one fold."""

    tested: tuple[RankOptTestResult, ...]
    examples: tuple[ExampleList, ...]
    convergence: tuple[Convergence, ...]


def run_fold(fold: Fold, *, quick: bool = False, seed: int = 0) -> RankOptFoldResult:
    """Run every contender in every case on one fold: choose weights on validation, measure on test."""
    grid, draws = (QUICK_WEIGHT_GRID, 1) if quick else (WEIGHT_GRID, DRAWS)
    leaves = {"leaves": (7,)} if quick else {"leaves": (7, 15, 31)}
    base = tune(LambdaMART(loss="lambdarank", seed=seed), fold.train, fold.valid, "NDCG@10", leaves)
    ranked = [(part, base.ranker.predict(part)) for part in (fold.valid, fold.test)]
    valid, test = (ListsUnderRules.of(*scores_of_part, draws, seed) for scores_of_part in ranked)
    once = ListsUnderRules.of(*ranked[0], 1, seed)
    tested = [_test_result("", BASE, test.values(), f"leaves={base.settings['leaves']}")]
    chosen: dict[tuple[RuleCase, str], RuleWeights] = {}
    for case in RULE_COMBINATIONS if quick else (*RULE_COMBINATIONS, *STUDY_CASES):
        for name in CONTENDERS if case in RULE_COMBINATIONS else STUDIED_METHODS:
            settings = CONTENDERS[name]
            choice_lists = once if name == "algorithm-1" else valid
            options = WIDE_WEIGHT_GRID if name in PRINTED and not quick else grid
            weights = (
                choose(choice_lists, case, settings, options)
                if name in TUNED_FORMS
                else (None, None)
            )
            chosen[case, name] = weights
            values = test.values(test.solve(case, settings, weights))
            tested.append(_test_result(str(case), name, values, _describe(weights)))
    if not quick:
        for form in FORMS:
            tested += _sensitivity(test, form, chosen[STUDY_CASE, form])
    counts = count_converged(ListsUnderRules.of(*ranked[1], 1, seed), seed)
    return RankOptFoldResult(tuple(tested), tuple(example_lists(test, CONTENDERS, chosen)), counts)


def choose(
    valid: ListsUnderRules, case: RuleCase, settings: Settings, grid: Sequence[float] = WEIGHT_GRID
) -> RuleWeights:
    """Choose rho_t and rho_n by the mean of the measures on validation queries; of equal ones the larger."""
    options = itertools.product(
        (None,) if case.top is None else grid, (None,) if case.rest is None else grid
    )
    return max(
        options,
        key=lambda w: (round(_mean(valid.values(valid.solve(case, settings, w))), 9), _size(w)),
    )


def _mean(values: Mapping[str, Floats]) -> float:
    return float(np.mean([values[m].mean() for m in MEASURES]))


def _size(weights: RuleWeights) -> tuple[float, ...]:
    return tuple(weight or 0.0 for weight in weights)


def _sensitivity(
    test: ListsUnderRules, form: str, chosen: RuleWeights
) -> Iterable[RankOptTestResult]:
    """Yield Figure 11: one weight along the grid, the other as chosen."""
    for weight, value in itertools.product(("rho_t", "rho_n"), WEIGHT_GRID):
        weights = (value, chosen[1]) if weight == "rho_t" else (chosen[0], value)
        values = test.values(test.solve(STUDY_CASE, CONTENDERS[form], weights))
        yield _test_result(weight_case(weight, value), form, values, _describe(weights))


def _test_result(
    mode: str, name: str, values: Mapping[str, Floats], settings: str
) -> RankOptTestResult:
    return RankOptTestResult(
        mode, name, {m: tuple(v.tolist()) for m, v in values.items()}, settings
    )


def _describe(weights: RuleWeights) -> str:
    named_weights = zip(("rho_t", "rho_n"), weights, strict=True)
    return ", ".join(f"{name}={value:g}" for name, value in named_weights if value is not None)


def _join_folds(data: str, cells: Sequence[RankOptFoldResult]) -> Iterable[RankerScores]:
    """Join the folds of a data set, query by query."""
    for results in zip(*(cell.tested for cell in cells), strict=True):
        values = {m: tuple(v for t in results for v in t.values[m]) for m in MEASURES}
        settings = {"chosen": tuple(t.settings for t in results)}
        yield RankerScores(data, results[0].mode, results[0].ranker, values, settings, {})


def _first_examples(data: str, cells: Sequence[RankOptFoldResult]) -> Iterable[ExampleList]:
    """Return the first example of each kind."""
    kinds: dict[str, ExampleList] = {}
    for cell in cells:
        for example in cell.examples:
            kinds.setdefault(example.kind, replace(example, data=data))
    return kinds.values()

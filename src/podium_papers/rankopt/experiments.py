"""The experiments of Ranking optimization with constraints run anew: who post-ranks, chosen how.

Wu, Xu, Li, Jiang, Ranking optimization with constraints, CIKM 2014, section 5.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

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
    shortened,
)
from podium.postranking import METHODS, PaperDescent, Settings
from podium.rankers import LambdaMART, tune
from podium_papers.outcomes import RankerOutcome
from podium_papers.rankopt.claims import (
    BASE,
    COMBINATIONS,
    FORMS,
    GRID,
    HEURISTICS,
    PRINTED,
    STUDIED,
    STUDIES,
    STUDY,
    TUNED,
    WIDE,
    Example,
    RankOptReproduction,
    along,
)
from podium_papers.rankopt.convergence import (
    Convergence,
    count_converged,
    joined_counts,
)
from podium_papers.rankopt.examples import examples
from podium_papers.rankopt.lists import MEASURES, Ranked, Weights
from podium_papers.rankopt.rules import Floats, RuleCase

DRAWS = 5
QUICK_QUERIES = 20
QUICK_GRID = (1.0, 30.0)
TINY = 1e-4
"""A prior so weak that the printed pairs show what they come to without one."""

CONTENDERS: dict[str, Settings] = {
    **{name: Settings(method=METHODS[name]()) for name in HEURISTICS},
    **{
        f"{name}-violated": Settings(method=METHODS[name](when="violated"))  # type: ignore[call-arg]
        for name in HEURISTICS
    },
    "algorithm-1": Settings(prior=0.0, pairs="printed", scale="pair", method=PaperDescent()),
    "printed": Settings(prior=TINY, pairs="printed", scale="pair"),
    "uniform": Settings(),
    "margin": Settings(base="margin"),
}
"""Everyone who post-ranks, but for the base ranker, who does not."""


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

    Every query has a top-k rule (k = 1, 3, 5) and a not-top-k rule (k = 5, 10), a document each drawn
    from a perfect ranking with ties at random, five times over; a rule of k >= n is skipped for
    everybody. LambdaMART's leaves and trees are chosen by NDCG@10 of the validation queries, rho_t and
    rho_n of each fold and case by the mean of NDCG@1, @3 and @5 of the post-ranked validation queries
    under rules of their own, from 0.1 to 100 (the printed forms: from 1 to 3000), of equal ones the larger.
    Algorithm 1, which takes hundreds of times as long, has one draw of them for that. Test queries
    are looked at once.

    Parameters
    ----------
    data
        Name of the data set -> its folds.
    quick
        A few queries of each part, one draw, a small grid and no studies: to see that it works, not
        what comes out.
    n_jobs
        Processes; the result does not depend on it.
    keep
        A folder for the pieces of work that are done: a run that was ended goes on with the others.
    callback
        Called after each fold.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=30, n_docs=8, seed=0), 3)
    >>> found = reproduce({"generated": folds}, quick=True)
    >>> len(found.outcome("generated", "top-3, not-top-5", "margin").values["NDCG@1"])
    30
    """
    check_seed(seed)
    folds = {
        n: [shortened(f, QUICK_QUERIES) if quick else f for f in own] for n, own in data.items()
    }
    work = {
        f"{name}, fold {number}": (name, delayed(run_fold)(fold, quick=quick, seed=seed))
        for name, own in folds.items()
        for number, fold in enumerate(own, start=1)
    }
    if not work:
        raise UsageError("expected at least one data set, got none")
    store: CheckpointStore[RankOptFoldResult] = CheckpointStore(
        None if keep is None else Path(keep), RankOptFoldResult
    )
    prints = {name: cache_key([own, quick, seed]) for name, own in data_fingerprint(folds).items()}
    results = run_or_load(
        {text: task for text, (_, task) in work.items()},
        store,
        {text: prints[name] for text, (name, _) in work.items()},
        n_jobs,
        callback,
    )
    cells = {n: [results[text] for text, (own, _) in work.items() if own == n] for n in data}
    return RankOptReproduction(
        quick,
        seed,
        tuple(outcome for name, own in cells.items() for outcome in _outcomes(name, own)),
        tuple(e for name, own in cells.items() for e in _first_examples(name, own)),
        tuple(
            count
            for name, own in cells.items()
            for count in joined_counts(name, [cell.convergence for cell in own])
        ),
    )


@dataclass(frozen=True)
class RankOptTestResult:
    """What one contender came to in one case on the test queries of one fold."""

    mode: str
    ranker: str
    values: Mapping[str, tuple[float, ...]]
    settings: str


@dataclass(frozen=True)
class RankOptFoldResult:
    """One fold."""

    tested: tuple[RankOptTestResult, ...]
    examples: tuple[Example, ...]
    convergence: tuple[Convergence, ...]


def run_fold(fold: Fold, *, quick: bool = False, seed: int = 0) -> RankOptFoldResult:
    """Every contender in every case on one fold: chosen on validation, measured on test."""
    grid, draws = (QUICK_GRID, 1) if quick else (GRID, DRAWS)
    leaves = {"leaves": (7,)} if quick else {"leaves": (7, 15, 31)}
    base = tune(LambdaMART(seed=seed), fold.train, fold.valid, "NDCG@10", leaves)
    ranked = [(part, base.ranker.predict(part)) for part in (fold.valid, fold.test)]
    valid, test = (Ranked.of(*own, draws, seed) for own in ranked)
    once = Ranked.of(*ranked[0], 1, seed)
    tested = [_tested("", BASE, test.values(), f"leaves={base.settings['leaves']}")]
    chosen: dict[tuple[RuleCase, str], Weights] = {}
    for case in COMBINATIONS if quick else (*COMBINATIONS, *STUDIES):
        for name in CONTENDERS if case in COMBINATIONS else STUDIED:
            settings = CONTENDERS[name]
            own = once if name == "algorithm-1" else valid
            options = WIDE if name in PRINTED and not quick else grid
            weights = choose(own, case, settings, options) if name in TUNED else (None, None)
            chosen[case, name] = weights
            values = test.values(test.solve(case, settings, weights))
            tested.append(_tested(str(case), name, values, _described(weights)))
    if not quick:
        for form in FORMS:
            tested += _sensitivity(test, form, chosen[STUDY, form])
    counts = count_converged(Ranked.of(*ranked[1], 1, seed), seed)
    return RankOptFoldResult(tuple(tested), tuple(examples(test, CONTENDERS, chosen)), counts)


def choose(
    valid: Ranked, case: RuleCase, settings: Settings, grid: Sequence[float] = GRID
) -> Weights:
    """rho_t and rho_n by the mean of the measures on validation queries; of equal ones the larger."""
    options = itertools.product(
        (None,) if case.top is None else grid, (None,) if case.rest is None else grid
    )
    return max(
        options,
        key=lambda w: (round(_mean(valid.values(valid.solve(case, settings, w))), 9), _size(w)),
    )


def _mean(values: Mapping[str, Floats]) -> float:
    return float(np.mean([values[m].mean() for m in MEASURES]))


def _size(weights: Weights) -> tuple[float, ...]:
    return tuple(weight or 0.0 for weight in weights)


def _sensitivity(test: Ranked, form: str, chosen: Weights) -> Iterable[RankOptTestResult]:
    """Figure 11: one weight along the grid, the other as it was chosen."""
    for weight, value in itertools.product(("rho_t", "rho_n"), GRID):
        weights = (value, chosen[1]) if weight == "rho_t" else (chosen[0], value)
        values = test.values(test.solve(STUDY, CONTENDERS[form], weights))
        yield _tested(along(weight, value), form, values, _described(weights))


def _tested(mode: str, name: str, values: Mapping[str, Floats], settings: str) -> RankOptTestResult:
    return RankOptTestResult(
        mode, name, {m: tuple(v.tolist()) for m, v in values.items()}, settings
    )


def _described(weights: Weights) -> str:
    named_weights = zip(("rho_t", "rho_n"), weights, strict=True)
    return ", ".join(f"{name}={value:g}" for name, value in named_weights if value is not None)


def _outcomes(data: str, cells: Sequence[RankOptFoldResult]) -> Iterable[RankerOutcome]:
    """The folds of a data set put together, query by query."""
    for own in zip(*(cell.tested for cell in cells), strict=True):
        values = {m: tuple(v for t in own for v in t.values[m]) for m in MEASURES}
        settings = {"chosen": tuple(t.settings for t in own)}
        yield RankerOutcome(data, own[0].mode, own[0].ranker, values, settings, {})


def _first_examples(data: str, cells: Sequence[RankOptFoldResult]) -> Iterable[Example]:
    """The first example of each kind."""
    kinds: dict[str, Example] = {}
    for cell in cells:
        for example in cell.examples:
            kinds.setdefault(example.kind, replace(example, data=data))
    return kinds.values()

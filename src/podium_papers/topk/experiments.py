"""Tables 4 and 5 and Figures 1 and 2 of the top-k paper run anew: who learns from which truth.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import delayed

from podium.data import Fold, Path_, check_seed, draw_truth
from podium.errors import UnknownNameError, UsageError
from podium.experiments import CheckpointStore, ProgressCallback, cache_key, run_or_load, shortened
from podium_papers.outcomes import RankerOutcome
from podium_papers.topk.claims import BetaCurve, TopkReproduction, TruthCase, made_case
from podium_papers.topk.fits import (
    BETAS,
    CHOICE,
    DRAWN,
    QUICK_BETAS,
    TopkTestResult,
    contestants,
    run_fold,
)
from podium_papers.topk.tables import FAMILIES, MEASURES, NAMES, PAPER_K, Kind

KS = (PAPER_K, 5, 3)
"""The paper's k, and smaller ones: where lists are short, the first 10 leave no rest to rank above."""
DRAWS = 5
QUICK_QUERIES = 15
RANDOM = "random"

Truths = Mapping[str, Sequence[Fold] | None]


def reproduce(
    data: Mapping[str, Sequence[Fold]],
    *,
    truths: Mapping[str, Truths] | None = None,
    ks: Sequence[int] | None = None,
    draws: int | None = None,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
    seed: int = 0,
) -> TopkReproduction:
    """The paper's ten rankers on graded labels and on top-k truth, and Focused rankers along beta.

    Settings are chosen on a fold's validation queries, by NDCG@10 on graded labels and by kNDCG@10 on
    top-k truth; test queries are looked at once. On top-k truth other rankers than the top-k ones learn
    from y = k + 1 - place; on graded labels top-k rankers learn from an order drawn from the grades.

    Parameters
    ----------
    data
        Name -> folds with graded labels.
    truths
        Name of a data set -> name of a truth -> the same folds, labelled by a finer order than grades
        (`topk_data.consensus_folds`, `topk_data.listed_folds`), whose first k places are the truth. None
        instead of folds, and what a data set has that is not named: a random order that agrees with the
        grades.
    ks
        10, 5 and 3, unless given; if quick, 10.
    draws
        Of the random order: 5, unless given; if quick, 1. A query's value is its mean over them.
    quick
        A few queries and settings: to see that it works, not what comes out.
    n_jobs
        Processes; the result does not depend on it.
    keep
        A folder for the folds that are done: a run that was ended goes on with the others. Those of
        other data, settings or versions are done anew.
    callback
        Called after each fold that was done.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=12, n_docs=12, n_features=4, seed=0), 3)
    >>> found = reproduce({"generated": folds}, quick=True)
    >>> [case.title for case in found.cases]
    ['graded labels', 'random truth, k = 10']
    >>> found.case("generated", "random").difference("ranksvm", "kERR") is None
    True
    """
    check_seed(seed)
    _check(data, truths or {})
    depths = tuple(ks or (KS[:1] if quick else KS))
    n_draws = (1 if quick else DRAWS) if draws is None else draws
    if n_draws < 1 or min(depths) < 1:
        raise UsageError(f"expected draws and every k of 1 or more, got {n_draws} and {depths}")
    plan = [
        _Case(
            name, truth, k, _grades(folds), _orders(folds, truth, problem_truths, k, n_draws, seed)
        )
        for name, folds, problem_truths in _given(data, truths or {}, quick)
        for truth, k in [("graded", 0), *((truth, k) for truth in problem_truths for k in depths)]
    ]
    tested = _run(plan, quick, n_jobs, None if keep is None else Path(keep), callback, seed)
    betas = QUICK_BETAS if quick else BETAS
    cases = tuple(_assembled(case, tested, betas, seed) for case in plan)
    return TopkReproduction(quick, seed, n_draws, cases)


def _check(data: Mapping[str, Sequence[Fold]], truths: Mapping[str, Truths]) -> None:
    if not data:
        raise UsageError("expected at least one data set, got none")
    for name, data_truths in truths.items():
        if name not in data:
            raise UnknownNameError("data set with a truth", name, data)
        for truth, folds in data_truths.items():
            if folds is not None and len(folds) != len(data[name]):
                raise UsageError(
                    f"expected {len(data[name])} folds of {truth} truth of {name}, got {len(folds)}"
                )


def _given(
    data: Mapping[str, Sequence[Fold]], truths: Mapping[str, Truths], quick: bool
) -> Iterator[tuple[str, Sequence[Fold], Truths]]:
    """Name, folds and truths of each data set; if quick, the first queries of each part."""

    def cut(folds: Sequence[Fold]) -> Sequence[Fold]:
        return [shortened(fold, QUICK_QUERIES) for fold in folds] if quick else folds

    for name, folds in data.items():
        data_truths = truths.get(name) or {RANDOM: None}
        yield name, cut(folds), {t: None if f is None else cut(f) for t, f in data_truths.items()}


def _grades(folds: Sequence[Fold]) -> int:
    return len(np.unique(np.concatenate([part.y for fold in folds for part in fold])))


def _orders(
    folds: Sequence[Fold], truth: str, data_truths: Truths, k: int, draws: int, seed: int
) -> list[list[Fold]]:
    """The folds with this truth; of a random one as often as it is drawn."""
    if truth == "graded":
        return [list(folds)]
    finer = data_truths[truth]
    seeds = [seed] if finer is not None else range(seed, seed + draws)
    return [
        [Fold(*(draw_truth(part, k, s) for part in fold)) for fold in finer or folds] for s in seeds
    ]


@dataclass(frozen=True)
class _Case:
    """A half of a table to be made: its folds, draw by draw."""

    data: str
    truth: str
    k: int
    grades: int
    draws: list[list[Fold]]

    @property
    def kind(self) -> Kind:
        return "graded" if self.truth == "graded" else "top-k"

    def pieces(self) -> Iterator[tuple[str, Fold]]:
        """Every fold of every draw, by name."""
        for draw, folds in enumerate(self.draws):
            for number, fold in enumerate(folds):
                yield self.piece(draw, number), fold

    def piece(self, draw: int, number: int) -> str:
        what = self.truth if self.kind == "graded" else f"{self.truth} truth, k = {self.k}"
        which = f", draw {draw + 1}" if len(self.draws) > 1 else ""
        return f"{self.data}, {what}{which}, fold {number + 1}"


def _run(
    plan: Iterable[_Case], quick: bool, n_jobs: int, folder: Path | None, callback: ProgressCallback | None,
    seed: int,
) -> dict[str, list[TopkTestResult]]:  # fmt: skip
    """Every fold side by side, kept as it is done."""
    store: CheckpointStore[list[TopkTestResult]] = CheckpointStore(folder, list[TopkTestResult])
    work, prints = {}, {}
    for case in plan:
        rankers = contestants(case.kind, case.k or PAPER_K, quick=quick, seed=seed)
        identities = [ranker.told() for ranker in rankers.values()]
        for name, fold in case.pieces():
            work[name] = delayed(run_fold)(fold, case.kind, rankers)
            prints[name] = cache_key([[part.fingerprint for part in fold], identities])
    return run_or_load(work, store, prints, n_jobs, callback)


def _assembled(
    case: _Case, tested: Mapping[str, list[TopkTestResult]], betas: tuple[float, ...], seed: int
) -> TruthCase:
    """The folds of a case put together, query by query, and the tests made of them."""
    draws = [
        [{t.ranker: t for t in tested[case.piece(draw, number)]} for number in range(len(folds))]
        for draw, folds in enumerate(case.draws)
    ]
    outcomes = [
        _outcome(case, name, [[fold[name] for fold in folds] for folds in draws]) for name in NAMES
    ]
    curves = [
        BetaCurve(
            name, measure, betas, _along([f[name] for folds in draws for f in folds], measure)
        )
        for name in FAMILIES
        for measure in DRAWN[case.kind]
    ]
    return made_case(case.truth, case.k, case.grades, outcomes, curves, seed)


def _outcome(case: _Case, ranker: str, draws: Sequence[Sequence[TopkTestResult]]) -> RankerOutcome:
    """A query's value is its mean over the draws: they are not independent queries."""
    values = {
        m: tuple(np.mean([[v for t in own for v in t.values[m]] for own in draws], axis=0).tolist())
        for m in MEASURES[case.kind]
    }
    results = [t for own in draws for t in own]
    metric = CHOICE[case.kind]
    settings = {metric: tuple(t.settings for t in results)}
    unfinished = {metric: tuple(t.reason for t in results if t.reason)}
    return RankerOutcome(case.data, case.truth, ranker, values, settings, unfinished)


def _along(folds: Sequence[TopkTestResult], measure: str) -> tuple[float, ...]:
    """The mean over all test queries for each beta."""
    queries = [len(tested.values[measure]) for tested in folds]
    means = np.average([tested.curves[measure] for tested in folds], axis=0, weights=queries)
    return tuple(means.tolist())

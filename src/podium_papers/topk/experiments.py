"""Experiments of the top-k paper, Tables 4 and 5 and Figures 1 and 2: rankers on graded and top-k truth.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import delayed

from podium.data import Fold, Path_, check_seed, draw_truth
from podium.errors import UnknownNameError, UsageError
from podium.experiments import (
    CheckpointStore,
    ProgressCallback,
    cache_key,
    run_or_load,
    shorten_fold,
)
from podium_papers.comparisons import RankerScores
from podium_papers.topk.claims import BetaCurve, TopkReproduction, TruthCase, make_case
from podium_papers.topk.printed_tables import FAMILIES, MEASURES, NAMES, PAPER_K, TableKind
from podium_papers.topk.rankers import (
    BETAS,
    CHOICE_METRIC,
    CURVE_MEASURES,
    QUICK_BETAS,
    TopkTestResult,
    contestants,
    run_fold,
)

KS = (PAPER_K, 5, 3)
"""The paper's k, and smaller ones: the first 10 places of a short list leave no rest."""
DRAWS = 5
QUICK_QUERIES = 15
RANDOM = "random"

Truths = Mapping[str, Sequence[Fold] | None]
"""Name of a truth -> folds with finer orders than grades; None means a random order."""


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
    """Run the paper's ten rankers on graded labels and on top-k truth, and Focused rankers along beta.

    Settings are chosen on a fold's validation queries, by NDCG@10 on graded labels and by kNDCG@10 on
    top-k truth. Test queries serve only the final measurement. On top-k truth, rankers that are no top-k
    rankers learn from y = k + 1 - place. On graded labels, top-k rankers learn from an order that is
    drawn from the grades.

    Parameters
    ----------
    data
        Names and folds with graded labels.
    truths
        For each data set, names of truths and the same folds, labelled by a finer order than grades
        (`total_orders.consensus_folds`, `data_sets.listed_folds`). The first k places are the truth.
        None instead of folds means a random order that agrees with the grades. So does a data set
        without an entry.
    ks
        Depths of the top-k truth; by default 10, 5 and 3, or 10 if quick.
    draws
        Number of random orders; by default 5, or 1 if quick. A query's value is its mean over them.
    quick
        Use a few queries and settings. That shows that the code works; the results mean nothing.
    n_jobs, keep, callback
        As in `podium_papers.toprank.reproduce`.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=12, n_docs=12, n_features=4, seed=0), 3)
    >>> result = reproduce({"generated": folds}, quick=True)
    >>> [case.title for case in result.cases]
    ['graded labels', 'random truth, k = 10']
    >>> result.case("generated", "random").difference("ranksvm", "kERR") is None
    True
    """
    check_seed(seed)
    _check(data, truths or {})
    depths = tuple(ks or (KS[:1] if quick else KS))
    n_draws = (1 if quick else DRAWS) if draws is None else draws
    if n_draws < 1 or min(depths) < 1:
        raise UsageError(f"expected draws and every k of 1 or more, got {n_draws} and {depths}")
    plan = [
        _PlannedCase(
            name,
            truth,
            k,
            _count_grades(folds),
            _draw_orders(folds, truth, problem_truths, k, n_draws, seed),
        )
        for name, folds, problem_truths in _shortened_problems(data, truths or {}, quick)
        for truth, k in [("graded", 0), *((truth, k) for truth in problem_truths for k in depths)]
    ]
    results = _run(plan, quick, n_jobs, keep, callback, seed)
    betas = QUICK_BETAS if quick else BETAS
    cases = tuple(_assemble(case, results, betas, seed) for case in plan)
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


def _shortened_problems(
    data: Mapping[str, Sequence[Fold]], truths: Mapping[str, Truths], quick: bool
) -> Iterator[tuple[str, Sequence[Fold], Truths]]:
    """Yield name, folds and truths of each data set; if quick, only the first queries of each part."""

    def shorten(folds: Sequence[Fold]) -> Sequence[Fold]:
        return [shorten_fold(fold, QUICK_QUERIES) for fold in folds] if quick else folds

    for name, folds in data.items():
        data_truths = truths.get(name) or {RANDOM: None}
        yield (
            name,
            shorten(folds),
            {t: None if f is None else shorten(f) for t, f in data_truths.items()},
        )


def _count_grades(folds: Sequence[Fold]) -> int:
    return len(np.unique(np.concatenate([part.y for fold in folds for part in fold])))


def _draw_orders(
    folds: Sequence[Fold], truth: str, data_truths: Truths, k: int, draws: int, seed: int
) -> list[list[Fold]]:
    """Return the folds with this truth, once for each draw of a random order."""
    if truth == "graded":
        return [list(folds)]
    finer = data_truths[truth]
    seeds = [seed] if finer is not None else range(seed, seed + draws)
    return [
        [Fold(*(draw_truth(part, k, s) for part in fold)) for fold in finer or folds] for s in seeds
    ]


@dataclass(frozen=True)
class _PlannedCase:
    """One half of a table before it is run: its folds, draw by draw."""

    data: str
    truth: str
    k: int
    grades: int
    draws: list[list[Fold]]

    @property
    def kind(self) -> TableKind:
        return "graded" if self.truth == "graded" else "top-k"

    def pieces(self) -> Iterator[tuple[str, Fold]]:
        """Yield every fold of every draw, by name."""
        for draw, folds in enumerate(self.draws):
            for number, fold in enumerate(folds):
                yield self.piece_name(draw, number), fold

    def piece_name(self, draw: int, number: int) -> str:
        truth = self.truth if self.kind == "graded" else f"{self.truth} truth, k = {self.k}"
        draw_text = f", draw {draw + 1}" if len(self.draws) > 1 else ""
        return f"{self.data}, {truth}{draw_text}, fold {number + 1}"


def _run(
    plan: Iterable[_PlannedCase], quick: bool, n_jobs: int, folder: Path_ | None,
    callback: ProgressCallback | None, seed: int,
) -> dict[str, list[TopkTestResult]]:  # fmt: skip
    """Run every fold, several at a time, and keep each result when it is done."""
    store: CheckpointStore[list[TopkTestResult]] = CheckpointStore(folder, list[TopkTestResult])
    calls, keys = {}, {}
    for case in plan:
        rankers = contestants(case.kind, case.k or PAPER_K, quick=quick, seed=seed)
        identities = [ranker.fingerprint_inputs() for ranker in rankers.values()]
        for name, fold in case.pieces():
            calls[name] = delayed(run_fold)(fold, case.kind, rankers)
            keys[name] = cache_key([[part.fingerprint for part in fold], identities])
    return run_or_load(calls, store, keys, n_jobs, callback)


def _assemble(
    case: _PlannedCase,
    results: Mapping[str, list[TopkTestResult]],
    betas: tuple[float, ...],
    seed: int,
) -> TruthCase:
    """Join the folds of a case, query by query, and add the tests."""
    draws = [
        [
            {t.ranker: t for t in results[case.piece_name(draw, number)]}
            for number in range(len(folds))
        ]
        for draw, folds in enumerate(case.draws)
    ]
    ranker_scores = [
        _join_folds(case, name, [[fold[name] for fold in folds] for folds in draws])
        for name in NAMES
    ]
    curves = [
        BetaCurve(
            name, measure, betas, _beta_means([f[name] for folds in draws for f in folds], measure)
        )
        for name in FAMILIES
        for measure in CURVE_MEASURES[case.kind]
    ]
    return make_case(case.truth, case.k, case.grades, ranker_scores, curves, seed)


def _join_folds(
    case: _PlannedCase, ranker: str, draws: Sequence[Sequence[TopkTestResult]]
) -> RankerScores:
    """Join folds and draws; a query's value is its mean over draws, which are not independent queries."""
    values = {
        m: tuple(
            np.mean([[v for t in folds for v in t.values[m]] for folds in draws], axis=0).tolist()
        )
        for m in MEASURES[case.kind]
    }
    results = [t for folds in draws for t in folds]
    metric = CHOICE_METRIC[case.kind]
    settings = {metric: tuple(t.settings for t in results)}
    unfinished = {metric: tuple(t.reason for t in results if t.reason)}
    return RankerScores(case.data, case.truth, ranker, values, settings, unfinished)


def _beta_means(folds: Sequence[TopkTestResult], measure: str) -> tuple[float, ...]:
    """Return the mean over all test queries for each beta."""
    queries = [len(result.values[measure]) for result in folds]
    means = np.average([result.curves[measure] for result in folds], axis=0, weights=queries)
    return tuple(means.tolist())

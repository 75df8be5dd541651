"""The experiments of the CFBRS paper run anew, and those it could not run.

Ahmad, Doja, Ahmad, Compositional feature subset based ranking system (CFBRS) for learning to rank
with user feedback.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
    shortened,
)
from podium.rankers import RANKERS, Ranker, tune
from podium_papers.cfbrs.blocks import METRIC, Bank
from podium_papers.cfbrs.claims import CfbrsChoice, CfbrsReproduction
from podium_papers.cfbrs.ensembles import ENSEMBLES, SHARED, CfbrsTestResult, ensembles
from podium_papers.cfbrs.loop import BATCHES, Loop, run_loop
from podium_papers.cfbrs.population import CASES, OWNED, SimulatedRun, outcome, run_case
from podium_papers.cfbrs.table import NEAREST, ROUNDS, RoundCurve, Row, curves, table_rows
from podium_papers.cfbrs.variance import REDRAWS, DrawSpread, spreads
from podium_papers.outcomes import RankerOutcome, compare, scores

BASES = ("ranksvm", "ranknet")
"""The paper's base learners; the variance is studied with the first."""
MIN_BLOCK = 5
SEEDS, LOOP_SEEDS = (0, 1, 2, 3), (0, 1)
"""Draws of the population."""
PAIRS = (
    ("pooled", "shared"), ("own", "shared"), ("plain", "shared"),
    ("own", "plain"), ("pooled", "plain"), ("own", "pooled"),
)  # fmt: skip
"""Rankers of the population that are compared."""
QUICK_QUERIES = 20


class Folded(NamedTuple):
    """What one fold and base came to."""

    rows: list[Row]
    nearest: list[Row]
    curves: list[RoundCurve]
    tested: dict[str, CfbrsTestResult]
    spreads: list[DrawSpread]
    settings: str
    reason: str


def reproduce(
    folds: Sequence[Fold],
    *,
    data: str = "",
    bases: Sequence[str] = BASES,
    min_block: int = MIN_BLOCK,
    owned: Mapping[str, tuple[int, int]] = OWNED,
    seeds: Sequence[int] = SEEDS,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: ProgressCallback | None = None,
    seed: int = 0,
) -> CfbrsReproduction:
    """Table 1, Figures 2 and 3, the exhaustive ensemble, the variance study, classes and feedback.

    The base's settings are chosen on a fold's validation queries with all features (the shared-feature
    model), and hold for its blocks. The population and the loop are on the first fold.

    Parameters
    ----------
    folds
        Those of LETOR's MQ2008, or others with as many features as `owned` speaks of.
    data
        Their name.
    bases
        Rankers of blocks, by name.
    min_block
        The smallest block: Table 1 goes from it to the number of features.
    owned
        Class of users -> the features that it looks at.
    seeds
        Draws of the population.
    quick
        A few queries, draws and rounds: to see that it works, not what comes out.
    n_jobs
        Processes; the result does not depend on it.
    keep
        A folder for the pieces of work that are done: a run that was ended goes on with the others.
    callback
        Called after each piece of work.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=30, n_features=6, seed=0), 3)
    >>> found = reproduce(
    ...     folds, bases=["ranksvm"], min_block=2, owned={"a": (0, 3), "b": (3, 6)}, quick=True
    ... )
    >>> [(row.min_block, row.sizes) for row in found.table[:3]]
    [(2, (2, 2, 2)), (3, (3, 3)), (4, (6,))]
    """
    if not bases or not seeds or not folds:
        raise UsageError("expected a base, a seed and a fold or more, got none")
    check_seed(seed)
    n_features, needed = folds[0].train.n_features, max(end for _, end in owned.values())
    if n_features < needed:
        raise DataError(f"expected {needed} features, which users look at, got {n_features}")
    used = [shortened(fold, QUICK_QUERIES) if quick else fold for fold in folds]
    drawn, looped = (seeds[:1], seeds[:1]) if quick else (seeds, seeds[: len(LOOP_SEEDS)])
    work: dict[str, Any] = {}
    for base in bases:
        for number, fold in enumerate(used, start=1):
            work[f"{base}, fold {number}"] = delayed(run_fold)(
                fold, base, number, min_block, quick=quick, variance=base == bases[0], seed=seed
            )
    for case in CASES:
        for draw in drawn:
            work[f"{case.name}, draw {draw}"] = delayed(run_case)(
                used[0], draw, case, min_block=min_block, owned=owned
            )
    for draw in looped:
        work[f"feedback in batches, draw {draw}"] = delayed(run_loop)(
            used[0], draw, batches=4 if quick else BATCHES, min_block=min_block, owned=owned
        )
    store: CheckpointStore[CfbrsCheckpoint] = CheckpointStore(
        None if keep is None else Path(keep), CfbrsCheckpoint
    )
    checkpoints = run_or_load(
        {name: delayed(_piece)(*task) for name, task in work.items()},
        store,
        cache_key([data_fingerprint({"": used}), bases, min_block, owned, drawn, quick, seed]),
        n_jobs,
        callback,
    )
    whole = {name: piece.whole for name, piece in checkpoints.items()}
    return _assembled(whole, tuple(bases), data, n_features, min_block, quick, seed)


@dataclass(frozen=True)
class CfbrsCheckpoint:
    """One piece of work, of one of the three kinds."""

    folded: Folded | None = None
    run: SimulatedRun | None = None
    loop: Loop | None = None

    @property
    def whole(self) -> Folded | SimulatedRun | Loop | None:
        """What is in it."""
        return self.folded or self.run or self.loop


def _piece(function: Callable[..., Any], args: Any, kwargs: Any) -> CfbrsCheckpoint:
    result = function(*args, **kwargs)
    kinds = {Folded: "folded", SimulatedRun: "run", Loop: "loop"}
    return CfbrsCheckpoint(**{kinds[type(result)]: result})


def run_fold(
    fold: Fold, base: str, number: int, min_block: int, *, quick: bool = False,
    variance: bool = True, seed: int = 0,
) -> Folded:  # fmt: skip
    """All that is measured of one fold with one base: its blocks are fitted once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # told in the results
        ranker = _tuned(base, fold, seed)
    bank = Bank.fit(fold, ranker, min_block)
    return Folded(
        list(table_rows(bank, base, number, min_block)),
        nearest_rows(fold, base, min_block) if number == 1 else [],
        curves(bank, base, number, min_block, 3 if quick else ROUNDS),
        dict(ensembles(bank, min_block)),
        spreads(bank, number, min_block, redraws(quick)) if variance else [],
        repr(ranker),
        bank.reason,
    )


def redraws(quick: bool) -> int:
    """Ensembles drawn for the variance study."""
    return 3 if quick else REDRAWS


def nearest_rows(fold: Fold, base: str, min_block: int) -> list[Row]:
    """Table 1 on the first fold, with the settings that come nearest to the printed one."""
    ranker = RANKERS[base]().set_params(**NEAREST.get(base, {}))
    bank = Bank.fit(fold, ranker, min_block, "first")
    return list(table_rows(bank, base, 1, min_block))


def _tuned(base: str, fold: Fold, seed: int) -> Ranker:
    ranker = RANKERS[base]()
    if "seed" in ranker.get_params(deep=False):
        ranker.set_params(seed=seed)
    return tune(ranker, fold.train, fold.valid, METRIC).ranker


def _assembled(
    results: Mapping[str, Any], bases: tuple[str, ...], data: str, n_features: int, min_block: int,
    quick: bool, seed: int,
) -> CfbrsReproduction:  # fmt: skip
    """The pieces put together, with tests."""
    by_base = {
        base: [v for k, v in results.items() if isinstance(v, Folded) and k.startswith(f"{base},")]
        for base in bases
    }
    folded = [one for own in by_base.values() for one in own]
    outcomes = [
        _outcome(base, name, [one.tested[name] for one in own])
        for base, own in by_base.items()
        for name in ENSEMBLES
    ]
    runs = {
        case.name: [
            v
            for k, v in results.items()
            if isinstance(v, SimulatedRun) and k[: k.rfind(", draw")] == case.name
        ]
        for case in CASES
    }
    personal = [one for own in runs.values() for run in own for one in run.found]
    personal_outcomes = [one for case, own in runs.items() for one in outcome(case, own)]
    pairs = [(name, SHARED) for name in ENSEMBLES if name != SHARED]
    return CfbrsReproduction(
        data, n_features, min_block, redraws(quick), quick, seed,
        table=tuple(row for one in folded for row in one.rows),
        nearest=tuple(row for one in folded for row in one.nearest),
        curves=tuple(curve for one in folded for curve in one.curves),
        ensembles=scores(outcomes, [METRIC]),
        tests=compare(outcomes, pairs, [METRIC], seed=seed),
        chosen=tuple(_chosen(by_base)),
        variance=tuple(spread for one in folded for spread in one.spreads),
        personal=tuple(personal),
        personal_tests=compare(personal_outcomes, PAIRS, [METRIC], seed=seed),
        loops=tuple(v for v in results.values() if isinstance(v, Loop)),
    )  # fmt: skip


def _outcome(base: str, name: str, tested: Sequence[CfbrsTestResult]) -> RankerOutcome:
    """An ensemble's folds put together, query by query."""
    values = tuple(v for one in tested for v in one.values)
    return RankerOutcome(base, "", name, {METRIC: values}, {}, {})


def _chosen(by_base: Mapping[str, Sequence[Folded]]) -> list[CfbrsChoice]:
    out = []
    for base, own in by_base.items():
        out.append(CfbrsChoice(base, "base", tuple(one.settings for one in own)))
        out.append(CfbrsChoice(base, "unfinished", tuple(one.reason for one in own)))
        for name in own[0].tested:
            settings = tuple(one.tested[name].settings for one in own)
            if any(settings):
                out.append(CfbrsChoice(base, name, settings))
    return out

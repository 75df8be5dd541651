"""Figures 2 to 4 of the TopRank paper run anew: who is trained on what, and chosen how.

Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 4.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from joblib import delayed

from podium.data import Fold, RankingData, check_seed
from podium.data.files import Path_
from podium.ensemble import Reranked, TopRank
from podium.errors import NotConvergedWarning, UnknownNameError, UsageError
from podium.experiments.folds import data_fingerprint, shortened
from podium.experiments.papers.outcomes import Outcome
from podium.experiments.papers.toprank.claims import MODES, NAMES, Mode, Reproduction
from podium.experiments.pieces import Shelf, Told, finished, made_of
from podium.metrics import evaluate
from podium.rankers import RANKERS, Ranker, TopMargin, tune
from podium.rankers.models import Model
from podium.rankers.topslack import PAPER_PATH

BASELINES = ("regression", "ranksvm", "listnet", "topk-listmle")
"""Those that are the same in both modes."""

REPORTED = {"P@10": ("P@1", "P@3", "P@10"), "NDCG@10": ("NDCG@1", "NDCG@3", "NDCG@10", "MAP")}
"""What rankers are trained for (equations 12 and 13) -> what is reported of them."""
QUICK_QUERIES = 20


def reproduce(
    data: Mapping[str, Sequence[Fold]],
    *,
    modes: Sequence[Mode] = MODES,
    quick: bool = False,
    n_jobs: int = 1,
    keep: Path_ | None = None,
    callback: Told | None = None,
    seed: int = 0,
) -> Reproduction:
    """Train and test the paper's seven rankers on the folds of LETOR.

    Every choice is made on a fold's validation queries: by P@10 where precision is reported, by
    NDCG@10 where NDCG is (MAP is reported of the latter). ``"paper"``: TopSlack with the paper's
    search and TopMargin, both for the first 10 places with C from 1e-5 to 1e5, and
    ``TopRank(mode="paper")``; ``"best"``: the same rankers with Podium's own grids and ``TopRank()``.
    Regression, Ranking SVM, ListNet and top-10 ListMLE are the same in both.

    Parameters
    ----------
    data
        Name of the data set -> its folds.
    modes
        "paper", "best" or both.
    quick
        A few queries of each part and no grids: to see that it works, not what comes out.
    n_jobs
        Processes; the result does not depend on it.
    keep
        A folder for the pieces of work that are done: a run that was ended goes on with the others.
    callback
        Called after each fold and metric.

    Examples
    --------
    >>> from podium.data import kfold, make_synthetic
    >>> folds = kfold(make_synthetic(n_queries=60, n_docs=12, seed=0), 5)
    >>> found = reproduce({"generated": folds}, modes=["paper"], quick=True)
    >>> [claim.text for claim in found.claims("paper")][:1]
    ['TopSlack is better than TopMargin at most points']
    >>> found.figure(3, "paper").rankers
    ('topslack', 'toprank')
    """
    asked = _modes(modes)
    check_seed(seed)
    folds = {
        n: [shortened(f, QUICK_QUERIES) if quick else f for f in own] for n, own in data.items()
    }
    work = {
        (name, number, metric): delayed(kept_fold)(fold, metric, asked, not quick, seed)
        for name, own in folds.items()
        for number, fold in enumerate(own, start=1)
        for metric in REPORTED
    }
    if not work:
        raise UsageError("expected at least one data set, got none")
    told = {
        f"{name}, fold {number}, {metric}": key for key in work for name, number, metric in [key]
    }
    shelf: Shelf[Kept] = Shelf(None if keep is None else Path(keep), Kept)
    # Each data set has its own: another one beside it changes none of its pieces.
    prints = {n: made_of([own, asked, quick, seed]) for n, own in data_fingerprint(folds).items()}
    found = finished(
        {text: work[key] for text, key in told.items()},
        shelf,
        {text: prints[name] for text, (name, _, _) in told.items()},
        n_jobs,
        callback,
    )
    cells = {told[text]: {(mode, name): t for mode, name, t in own} for text, own in found.items()}
    outcomes = tuple(
        _outcome(name, mode, ranker, cells) for name in data for mode in asked for ranker in NAMES
    )
    return Reproduction(asked, quick, seed, outcomes)


def _modes(modes: Sequence[Mode]) -> tuple[Mode, ...]:
    for mode in modes:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    return tuple(dict.fromkeys(modes))


class Fitted(NamedTuple):
    """A model, how it was made, and why its fit stopped, where that was too early."""

    model: Model
    settings: str
    reason: str


class Tested(NamedTuple):
    """What a model came to on the test queries, by measure."""

    values: dict[str, list[float]]
    settings: str
    reason: str


Cell = dict[tuple[Mode, str], Tested]
Kept = list[tuple[Mode, str, Tested]]
"""The same in values that JSON has."""


def run_fold(
    fold: Fold, metric: str, modes: Sequence[Mode] = MODES, *, tuned: bool = True, seed: int = 0
) -> Cell:
    """Every ranker of every mode on one fold: chosen on validation, measured on test."""
    fitted = fit_rankers(fold.train, fold.valid, metric, modes, tuned=tuned, seed=seed)
    # A ranker that both modes have is measured once.
    tested = {id(found): _tested(found, fold.test, metric) for found in fitted.values()}
    return {key: tested[id(found)] for key, found in fitted.items()}


def kept_fold(fold: Fold, metric: str, modes: Sequence[Mode], tuned: bool, seed: int) -> Kept:
    """`run_fold`, as it is kept."""
    cell = run_fold(fold, metric, modes, tuned=tuned, seed=seed)
    return [(mode, ranker, tested) for (mode, ranker), tested in cell.items()]


def fit_rankers(
    train: RankingData,
    valid: RankingData,
    metric: str,
    modes: Sequence[Mode] = MODES,
    *,
    tuned: bool = True,
    seed: int = 0,
) -> dict[tuple[Mode, str], Fitted]:
    """(mode, ranker) -> its model, settings chosen on the validation queries.

    TopRank fits TopSlack and voters on its way, as they would be tuned alone: those are taken.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # told in the results
        votes = {
            mode: TopRank(mode=mode, metric=metric, tuned=tuned, seed=seed).fit(train, valid=valid)
            for mode in modes
        }
        known = {
            (mode, m.name): Fitted(m.model, m.settings, m.reason)
            for mode, vote in votes.items()
            for m in vote.model_.members  # type: ignore[attr-defined]
        }
        shared = {name: found for (_, name), found in known.items() if name in BASELINES}
        for name in BASELINES:
            if name not in shared:
                shared[name] = _tuned(RANKERS[name](), train, valid, metric, tuned, seed)
        out: dict[tuple[Mode, str], Fitted] = {}
        for mode, vote in votes.items():
            margin, grid = _margin(mode, metric)
            out |= {(mode, name): found for name, found in shared.items()}
            out[mode, "topmargin"] = _tuned(margin, train, valid, metric, tuned, seed, grid)
            out[mode, "topslack"] = known[mode, "topslack"]
            out[mode, "toprank"] = Fitted(vote.model_, _described(vote.model_), vote.stopped_)
    return out


def _margin(mode: Mode, metric: str) -> tuple[Ranker, Mapping[str, Sequence[Any]]]:
    """TopMargin with what TopRank's base has in this mode."""
    if mode == "paper":
        return TopMargin(measure=metric), {"C": PAPER_PATH}
    return TopMargin(), TopMargin.grid


def _tuned(
    ranker: Ranker,
    train: RankingData,
    valid: RankingData,
    metric: str,
    tuned: bool,
    seed: int,
    grid: Mapping[str, Sequence[Any]] | None = None,
) -> Fitted:
    if "seed" in ranker.get_params(deep=False):
        ranker.set_params(seed=seed)
    found = tune(ranker, train, valid, metric, grid if tuned else {}).ranker
    return Fitted(found.model_, repr(found), "" if found.converged_ else found.stopped_)


def _described(model: Model) -> str:
    """The vote as the results keep it, t and depth first."""
    assert isinstance(model, Reranked)
    votes = ", ".join(f"{model.members[a].name} {model.weights[a]:.3f}" for a in model.voters)
    return f"t={model.t}, depth={model.depth}; votes: {votes}"


def _tested(found: Fitted, test: RankingData, metric: str) -> Tested:
    result = evaluate(test, found.model.scores(test.X, test.groups), REPORTED[metric])
    values = {m: result[m].per_query.tolist() for m in REPORTED[metric]}
    return Tested(values, found.settings, found.reason)


def _outcome(
    name: str, mode: Mode, ranker: str, cells: Mapping[tuple[str, int, str], Cell]
) -> Outcome:
    """A ranker's folds put together, query by query."""
    values, settings, unfinished = {}, {}, {}
    for metric, measures in REPORTED.items():
        own = [c[mode, ranker] for (d, _, m), c in cells.items() if (d, m) == (name, metric)]
        settings[metric] = tuple(t.settings for t in own)
        unfinished[metric] = tuple(t.reason for t in own if t.reason)
        for measure in measures:
            values[measure] = tuple(v for t in own for v in t.values[measure])
    return Outcome(name, mode, ranker, values, settings, unfinished)

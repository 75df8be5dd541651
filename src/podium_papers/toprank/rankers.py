"""Rankers of the TopRank paper on one fold: fitted, chosen on validation, measured on test.

Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 4.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from podium.data import Fold, RankingData
from podium.ensemble import RerankedModel, TopRank
from podium.errors import NotConvergedWarning, NothingLearnedWarning
from podium.metrics import evaluate
from podium.rankers import PAPER_C_VALUES, RANKERS, Model, Ranker, TopMargin, TopSlack, tune
from podium_papers.toprank.claims import MODES, WEAK_BASES, Mode

BASELINES = ("regression", "ranksvm", "listnet", "topk-listmle")
"""Rankers that are the same in both modes."""

REPORTED_MEASURES = {
    "P@10": ("P@1", "P@3", "P@10"),
    "NDCG@10": ("NDCG@1", "NDCG@3", "NDCG@10", "MAP"),
}
"""Metric of the training (equations 12 and 13) -> the measures that are reported."""


class TopRankFit(NamedTuple):
    """A model, its settings, and why its fit stopped too early; empty if it did not."""

    model: Model
    settings: str
    reason: str


class TopRankTestResult(NamedTuple):
    """Values of a model on the test queries, by measure."""

    values: dict[str, list[float]]
    settings: str
    reason: str


FoldResults = dict[tuple[Mode, str], TopRankTestResult]
TopRankCheckpoint = list[tuple[Mode, str, TopRankTestResult]]
"""Fold results as a list, which JSON can hold."""


def run_fold(
    fold: Fold, metric: str, modes: Sequence[Mode] = MODES, *, tuned: bool = True, seed: int = 0
) -> FoldResults:
    """Run every ranker of every mode on one fold: choose on validation, measure on test."""
    fitted = fit_rankers(fold.train, fold.valid, metric, modes, tuned=tuned, seed=seed)
    # Both modes share some rankers, which are measured once.
    tested = {id(fit): _test(fit, fold.test, metric) for fit in fitted.values()}
    return {key: tested[id(fit)] for key, fit in fitted.items()}


def run_fold_checkpoint(
    fold: Fold, metric: str, modes: Sequence[Mode], tuned: bool, seed: int
) -> TopRankCheckpoint:
    """Return the results of `run_fold` as a checkpoint."""
    results = run_fold(fold, metric, modes, tuned=tuned, seed=seed)
    return [(mode, ranker, tested) for (mode, ranker), tested in results.items()]


def run_weak_bases(fold: Fold, metric: str, tuned: bool, seed: int) -> TopRankCheckpoint:
    """Run TopSlack with the mean ideal, and the paper's vote over it, on one fold.

    `ideal="cut"` is the convex reading of the paper, and ranks badly where many documents are relevant.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # the results say so
        warnings.simplefilter("ignore", NothingLearnedWarning)
        fitted: dict[str, TopRankFit] = {}
        for name, (oracle, vote_name) in WEAK_BASES.items():
            slack = TopSlack(oracle=oracle, measure=metric, ideal="cut")
            grid = {"C": PAPER_C_VALUES} if tuned else {}
            base = tune(slack, fold.train, fold.valid, metric, grid).ranker
            vote = TopRank(mode="paper", base=base, metric=metric, tuned=tuned, seed=seed)
            vote.fit(fold.train, valid=fold.valid)
            reason = "" if base.converged_ else base.stopped_
            fitted[name] = TopRankFit(base.model_, repr(base), reason)
            fitted[vote_name] = TopRankFit(vote.model_, _describe(vote.model_), vote.stopped_)
    return [("paper", name, _test(fit, fold.test, metric)) for name, fit in fitted.items()]


def fit_rankers(
    train: RankingData,
    valid: RankingData,
    metric: str,
    modes: Sequence[Mode] = MODES,
    *,
    tuned: bool = True,
    seed: int = 0,
) -> dict[tuple[Mode, str], TopRankFit]:
    """Return by mode and ranker the model whose settings are chosen on the validation queries.

    TopRank fits TopSlack and its voters as they would be tuned alone, so these fits are used.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # the results say so
        warnings.simplefilter("ignore", NothingLearnedWarning)
        votes = {
            mode: TopRank(mode=mode, metric=metric, tuned=tuned, seed=seed).fit(train, valid=valid)
            for mode in modes
        }
        fits = {
            (mode, m.name): TopRankFit(m.model, m.settings, m.reason)
            for mode, vote in votes.items()
            for m in vote.model_.members  # type: ignore[attr-defined]
        }
        shared = {name: fit for (_, name), fit in fits.items() if name in BASELINES}
        for name in BASELINES:
            if name not in shared:
                shared[name] = _tune(RANKERS[name](), train, valid, metric, tuned, seed)
        out: dict[tuple[Mode, str], TopRankFit] = {}
        for mode, vote in votes.items():
            margin, grid = _topmargin(mode, metric)
            out |= {(mode, name): fit for name, fit in shared.items()}
            out[mode, "topmargin"] = _tune(margin, train, valid, metric, tuned, seed, grid)
            out[mode, "topslack"] = fits[mode, "topslack"]
            out[mode, "toprank"] = TopRankFit(vote.model_, _describe(vote.model_), vote.stopped_)
    return out


def _topmargin(mode: Mode, metric: str) -> tuple[Ranker, Mapping[str, Sequence[Any]]]:
    """Return TopMargin and its grid, with the settings of TopRank's base in this mode."""
    if mode == "paper":
        return TopMargin(measure=metric), {"C": PAPER_C_VALUES}
    return TopMargin(), TopMargin.grid


def _tune(
    ranker: Ranker,
    train: RankingData,
    valid: RankingData,
    metric: str,
    tuned: bool,
    seed: int,
    grid: Mapping[str, Sequence[Any]] | None = None,
) -> TopRankFit:
    if "seed" in ranker.get_params(deep=False):
        ranker.set_params(seed=seed)
    best = tune(ranker, train, valid, metric, grid if tuned else {}).ranker
    return TopRankFit(best.model_, repr(best), "" if best.converged_ else best.stopped_)


def _describe(model: Model) -> str:
    """Describe the vote for the results, t and depth first."""
    assert isinstance(model, RerankedModel)
    votes = ", ".join(f"{model.members[a].name} {model.weights[a]:.3f}" for a in model.voters)
    return f"t={model.t}, depth={model.depth}; votes: {votes}"


def _test(fit: TopRankFit, test: RankingData, metric: str) -> TopRankTestResult:
    result = evaluate(test, fit.model.scores(test.X, test.groups), REPORTED_MEASURES[metric])
    values = {m: result[m].per_query.tolist() for m in REPORTED_MEASURES[metric]}
    return TopRankTestResult(values, fit.settings, fit.reason)

"""The TopRank paper's rankers on one fold: fitted, chosen on validation, measured on test.

Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 4.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from podium.data import Fold, RankingData
from podium.ensemble import Reranked, TopRank
from podium.errors import NotConvergedWarning
from podium.experiments.papers.toprank.claims import MODES, WEAK_BASES, Mode
from podium.metrics import evaluate
from podium.rankers import RANKERS, Ranker, TopMargin, TopSlack, tune
from podium.rankers.models import Model
from podium.rankers.topslack import PAPER_PATH

BASELINES = ("regression", "ranksvm", "listnet", "topk-listmle")
"""Those that are the same in both modes."""

REPORTED = {"P@10": ("P@1", "P@3", "P@10"), "NDCG@10": ("NDCG@1", "NDCG@3", "NDCG@10", "MAP")}
"""What rankers are trained for (equations 12 and 13) -> what is reported of them."""


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
    tested = {id(model): _tested(model, fold.test, metric) for model in fitted.values()}
    return {key: tested[id(model)] for key, model in fitted.items()}


def kept_fold(fold: Fold, metric: str, modes: Sequence[Mode], tuned: bool, seed: int) -> Kept:
    """`run_fold`, as it is kept."""
    cell = run_fold(fold, metric, modes, tuned=tuned, seed=seed)
    return [(mode, ranker, tested) for (mode, ranker), tested in cell.items()]


def weak_fold(fold: Fold, metric: str, tuned: bool, seed: int) -> Kept:
    """Return what TopSlack with the mean ideal, and the paper's vote over it, come to on one fold.

    `ideal="cut"` is the convex reading of the paper, and ranks badly where many documents are relevant.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # told in the results
        fitted: dict[str, Fitted] = {}
        for name, (oracle, vote_name) in WEAK_BASES.items():
            slack = TopSlack(oracle=oracle, measure=metric, ideal="cut")
            grid = {"C": PAPER_PATH} if tuned else {}
            base = tune(slack, fold.train, fold.valid, metric, grid).ranker
            vote = TopRank(mode="paper", base=base, metric=metric, tuned=tuned, seed=seed)
            vote.fit(fold.train, valid=fold.valid)
            reason = "" if base.converged_ else base.stopped_
            fitted[name] = Fitted(base.model_, repr(base), reason)
            fitted[vote_name] = Fitted(vote.model_, _described(vote.model_), vote.stopped_)
    return [("paper", name, _tested(own, fold.test, metric)) for name, own in fitted.items()]


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
        members = {
            (mode, m.name): Fitted(m.model, m.settings, m.reason)
            for mode, vote in votes.items()
            for m in vote.model_.members  # type: ignore[attr-defined]
        }
        shared = {name: member for (_, name), member in members.items() if name in BASELINES}
        for name in BASELINES:
            if name not in shared:
                shared[name] = _tuned(RANKERS[name](), train, valid, metric, tuned, seed)
        out: dict[tuple[Mode, str], Fitted] = {}
        for mode, vote in votes.items():
            margin, grid = _margin(mode, metric)
            out |= {(mode, name): member for name, member in shared.items()}
            out[mode, "topmargin"] = _tuned(margin, train, valid, metric, tuned, seed, grid)
            out[mode, "topslack"] = members[mode, "topslack"]
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
    best = tune(ranker, train, valid, metric, grid if tuned else {}).ranker
    return Fitted(best.model_, repr(best), "" if best.converged_ else best.stopped_)


def _described(model: Model) -> str:
    """The vote as the results keep it, t and depth first."""
    assert isinstance(model, Reranked)
    votes = ", ".join(f"{model.members[a].name} {model.weights[a]:.3f}" for a in model.voters)
    return f"t={model.t}, depth={model.depth}; votes: {votes}"


def _tested(fitted: Fitted, test: RankingData, metric: str) -> Tested:
    result = evaluate(test, fitted.model.scores(test.X, test.groups), REPORTED[metric])
    values = {m: result[m].per_query.tolist() for m in REPORTED[metric]}
    return Tested(values, fitted.settings, fitted.reason)

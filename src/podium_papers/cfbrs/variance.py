"""What controls the variance of a sampled ensemble: the claim of the CFBRS paper's abstract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.ensemble import Evidence, Trial, choose_temperature, means, softened
from podium.feedback import SimulatedFeedback
from podium_papers.cfbrs.blocks import CHOOSE, Bank, Floats, mean

DRAWN, REDRAWS = 20, 30
"""Compositions of an ensemble, and ensembles drawn."""


@dataclass(frozen=True)
class Setting:
    """How an ensemble is drawn and weighed; all but one knob as in the plain one.

    `decay` makes the chance of k blocks proportional to decay^k (stratified draws); `feedback` is the
    variance of simulated feedback, None: uniform.
    """

    knob: str
    name: str
    compositions: int = DRAWN
    sampling: str = "uniform"
    decay: float | None = None
    feedback: float | None = None
    weights: str = "size"


PLAIN = Setting("plain", "20 compositions, uniform sampling, uniform feedback, weights by size")
SETTINGS = (
    PLAIN,
    Setting("number", "5 compositions", compositions=5),
    Setting("number", "100 compositions", compositions=100),
    Setting("selection", "stratified sampling", sampling="stratified"),
    Setting("selection", "stratified, few blocks likely", sampling="stratified", decay=0.25),
    Setting("selection", "stratified, many blocks likely", sampling="stratified", decay=4.0),
    Setting("feedback", "simulated feedback, variance 0", feedback=0.0),
    Setting("feedback", "simulated feedback, variance 0.01", feedback=0.01),
    Setting("feedback", "simulated feedback, variance 0.1", feedback=0.1),
    Setting("feedback", "simulated feedback, variance 1", feedback=1.0),
    Setting("weights", "block weights by validation", weights="validation"),
)


@dataclass(frozen=True)
class DrawSpread:
    """Ensembles of one setting drawn anew many times, on the test queries of one fold.

    Parameters
    ----------
    quality, quality_sd
        Mean and standard deviation of NDCG@10 over the draws.
    place_sd
        Standard deviation of a document's place over the draws: the root of the mean variance.
    member_sd
        Standard deviation of NDCG@10 among the compositions of an ensemble, in the mean over draws.
    member_gap
        NDCG@10 of the ensemble less the mean of its compositions', in the mean over draws.
    """

    setting: str
    knob: str
    fold: int
    quality: float
    quality_sd: float
    place_sd: float
    member_sd: float
    member_gap: float


def spreads(
    bank: Bank,
    fold: int,
    smallest: int,
    redraws: int = REDRAWS,
    settings: Sequence[Setting] = SETTINGS,
) -> list[DrawSpread]:
    """The variance study on one fold."""
    members: dict[tuple[int, ...], float] = {}
    return [_spread(bank, fold, smallest, redraws, setting, members) for setting in settings]


def _spread(
    bank: Bank, fold: int, smallest: int, redraws: int, setting: Setting,
    members: dict[tuple[int, ...], float],
) -> DrawSpread:  # fmt: skip
    votes, groups = bank.votes("test"), bank.fold.test.groups
    weigh = _Weighing(bank, setting.weights)
    quality, places, sds, gaps = [], [], [], []
    for seed in range(redraws):
        plan, prior = bank.drawn(
            _feedback(setting, seed), **_drawing(bank, setting, smallest, seed)
        )
        scores = votes(weigh(prior))
        quality.append(mean(bank.per_query("test", scores)))
        places.append(groups.ranks(scores))
        own = []
        for _, sizes in plan.every():
            if sizes not in members:
                alone = bank.drawn(min_block=1, compositions=[sizes])[1]
                members[sizes] = mean(bank.per_query("test", votes(alone)))
            own.append(members[sizes])
        sds.append(float(np.std(own)))
        gaps.append(quality[-1] - mean(own))
    return DrawSpread(
        setting.name, setting.knob, fold, mean(quality), float(np.std(quality, ddof=1)),
        float(np.sqrt(np.mean(np.var(places, axis=0, ddof=1)))), mean(sds), mean(gaps),
    )  # fmt: skip


def _feedback(setting: Setting, seed: int) -> SimulatedFeedback | None:
    return None if setting.feedback is None else SimulatedFeedback(setting.feedback, seed)


def _drawing(bank: Bank, setting: Setting, smallest: int, seed: int) -> Mapping[str, Any]:
    most = bank.plan.n_features // smallest
    p = None if setting.decay is None else [setting.decay**k for k in range(1, most + 1)]
    return {
        "min_block": smallest, "compositions": setting.compositions, "sampling": setting.sampling,
        "probabilities": p, "seed": seed,
    }  # fmt: skip


class _Weighing:
    """Weights by size as they are, or by what blocks are worth on the validation queries."""

    def __init__(self, bank: Bank, weights: str) -> None:
        self.seen = Evidence.of(bank.fold.valid) if weights == "validation" else None
        if self.seen is not None:
            every = np.arange(len(bank.plan.blocks))
            data = self.seen.data
            scores = bank.composed.block_scores(data.X, data.groups, every)
            self.votes = bank.composed.how.votes(scores, data.groups)
            self.values = means(self.seen.gains(scores, CHOOSE), self.seen.alpha)
            self.trial = Trial(self.values, np.ones(data.n_queries, dtype=bool))

    def __call__(self, prior: Floats) -> Floats:
        if self.seen is None:
            return prior
        T = choose_temperature(prior, [self.trial], self.seen, self.votes, CHOOSE)
        return prior if not np.isfinite(T) else softened(prior, self.values, T)


@dataclass(frozen=True)
class Control:
    """How far a knob moves the variance of the ranking, against the plain setting.

    `ratio` is the place_sd of a setting divided by that of the plain one, in the mean over folds;
    `folds` in how many folds it lies on the same side of 1 as the mean.
    """

    setting: str
    knob: str
    ratio: float
    folds: int
    of: int

    @property
    def controls(self) -> bool:
        """In the same direction in all folds, and by a tenth or more."""
        return self.folds == self.of and abs(self.ratio - 1) >= 0.1


def controls(spreads: Sequence[DrawSpread]) -> tuple[Control, ...]:
    """Every setting against the plain one, fold by fold."""
    plain = {s.fold: s.place_sd for s in spreads if s.knob == PLAIN.knob}
    out = []
    for name, knob in dict.fromkeys((s.setting, s.knob) for s in spreads if s.knob != PLAIN.knob):
        ratios = [
            s.place_sd / plain[s.fold] if plain[s.fold] > 0 else 1.0
            for s in spreads
            if s.setting == name
        ]
        ratio = mean(ratios)
        agree = sum((r > 1) == (ratio > 1) for r in ratios)
        out.append(Control(name, knob, ratio, agree, len(ratios)))
    return tuple(out)

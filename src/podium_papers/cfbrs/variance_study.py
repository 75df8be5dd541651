"""Variance study: what controls the variance of a sampled ensemble, as the CFBRS paper's abstract claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.ensemble import (
    Evidence,
    TemperatureTrial,
    choose_temperature,
    mean_gains,
    tempered_weights,
)
from podium.feedback import SimulatedFeedback
from podium.typing import Floats
from podium_papers.cfbrs.fitted_blocks import CHOICE_METRIC, FittedBlocks, mean

ENSEMBLE_COMPOSITIONS, REDRAWS = 20, 30
"""Number of compositions in an ensemble, and of ensembles that are drawn."""


@dataclass(frozen=True)
class DrawSetting:
    """How an ensemble is drawn and weighted; all knobs but one are those of the plain setting.

    `decay` makes the chance of k blocks proportional to decay^k (stratified draws). `feedback` is the
    variance of simulated feedback; None means uniform feedback.
    """

    knob: str
    name: str
    compositions: int = ENSEMBLE_COMPOSITIONS
    sampling: str = "uniform"
    decay: float | None = None
    feedback: float | None = None
    weights: str = "size"


PLAIN_SETTING = DrawSetting(
    "plain", "20 compositions, uniform sampling, uniform feedback, weights by size"
)
DRAW_SETTINGS = (
    PLAIN_SETTING,
    DrawSetting("number", "5 compositions", compositions=5),
    DrawSetting("number", "100 compositions", compositions=100),
    DrawSetting("selection", "stratified sampling", sampling="stratified"),
    DrawSetting("selection", "stratified, few blocks likely", sampling="stratified", decay=0.25),
    DrawSetting("selection", "stratified, many blocks likely", sampling="stratified", decay=4.0),
    DrawSetting("feedback", "simulated feedback, variance 0", feedback=0.0),
    DrawSetting("feedback", "simulated feedback, variance 0.01", feedback=0.01),
    DrawSetting("feedback", "simulated feedback, variance 0.1", feedback=0.1),
    DrawSetting("feedback", "simulated feedback, variance 1", feedback=1.0),
    DrawSetting("weights", "block weights by validation", weights="validation"),
)


@dataclass(frozen=True)
class DrawSpread:
    """Spread of ensembles of one setting that are drawn many times, on the test queries of one fold.

    Parameters
    ----------
    quality, quality_sd
        Mean and standard deviation of NDCG@10 over the draws.
    place_sd
        Standard deviation of a document's place over the draws: the root of the mean variance.
    member_sd
        Standard deviation of NDCG@10 between the compositions of an ensemble, averaged over draws.
    member_gap
        NDCG@10 of the ensemble minus the mean of its compositions', averaged over draws.
    """

    setting: str
    knob: str
    fold: int
    quality: float
    quality_sd: float
    place_sd: float
    member_sd: float
    member_gap: float


def measure_spreads(
    blocks: FittedBlocks,
    fold: int,
    smallest: int,
    redraws: int = REDRAWS,
    settings: Sequence[DrawSetting] = DRAW_SETTINGS,
) -> list[DrawSpread]:
    """Run the variance study on one fold."""
    ndcg_of_composition: dict[tuple[int, ...], float] = {}
    return [
        _measure_spread(blocks, fold, smallest, redraws, setting, ndcg_of_composition)
        for setting in settings
    ]


def _measure_spread(
    blocks: FittedBlocks, fold: int, smallest: int, redraws: int, setting: DrawSetting,
    ndcg_of_composition: dict[tuple[int, ...], float],
) -> DrawSpread:  # fmt: skip
    votes, groups = blocks.votes("test"), blocks.fold.test.groups
    weigh = _BlockWeighing(blocks, setting.weights)
    quality, places, sds, gaps = [], [], [], []
    for seed in range(redraws):
        plan, prior = blocks.draw(
            _feedback(setting, seed), **_drawing_settings(blocks, setting, smallest, seed)
        )
        scores = votes(weigh(prior))
        quality.append(mean(blocks.per_query("test", scores)))
        places.append(groups.ranks(scores))
        members = []
        for _, sizes in plan.all_compositions():
            # Draws share compositions: each is measured once.
            if sizes not in ndcg_of_composition:
                weights = blocks.draw(min_block=1, compositions=[sizes])[1]
                ndcg_of_composition[sizes] = mean(blocks.per_query("test", votes(weights)))
            members.append(ndcg_of_composition[sizes])
        sds.append(float(np.std(members)))
        gaps.append(quality[-1] - mean(members))
    return DrawSpread(
        setting.name, setting.knob, fold, mean(quality), float(np.std(quality, ddof=1)),
        float(np.sqrt(np.mean(np.var(places, axis=0, ddof=1)))), mean(sds), mean(gaps),
    )  # fmt: skip


def _feedback(setting: DrawSetting, seed: int) -> SimulatedFeedback | None:
    return None if setting.feedback is None else SimulatedFeedback(setting.feedback, seed)


def _drawing_settings(
    blocks: FittedBlocks, setting: DrawSetting, smallest: int, seed: int
) -> Mapping[str, Any]:
    most = blocks.plan.n_features // smallest
    p = None if setting.decay is None else [setting.decay**k for k in range(1, most + 1)]
    return {
        "min_block": smallest, "compositions": setting.compositions, "sampling": setting.sampling,
        "probabilities": p, "seed": seed,
    }  # fmt: skip


class _BlockWeighing:
    """Weights of blocks by their size, or also by their NDCG on the validation queries."""

    def __init__(self, blocks: FittedBlocks, weights: str) -> None:
        self.evidence = Evidence.of(blocks.fold.valid) if weights == "validation" else None
        if self.evidence is not None:
            every = np.arange(len(blocks.plan.blocks))
            data = self.evidence.data
            scores = blocks.composed.block_scores(data.X, data.groups, every)
            self.votes = blocks.composed.combination.votes(scores, data.groups)
            self.values = mean_gains(
                self.evidence.gains(scores, CHOICE_METRIC), self.evidence.alpha
            )
            self.trial = TemperatureTrial(self.values, np.ones(data.n_queries, dtype=bool))

    def __call__(self, prior: Floats) -> Floats:
        if self.evidence is None:
            return prior
        T = choose_temperature(prior, [self.trial], self.evidence, self.votes, CHOICE_METRIC)
        return prior if not np.isfinite(T) else tempered_weights(prior, self.values, T)


@dataclass(frozen=True)
class KnobEffect:
    """Effect of a knob on the variance of the ranking, relative to the plain setting.

    `ratio` is the place_sd of a setting divided by that of the plain one, averaged over folds.
    `folds` counts the folds in which the ratio is on the same side of 1 as the mean.
    """

    setting: str
    knob: str
    ratio: float
    folds: int
    of: int

    @property
    def controls_variance(self) -> bool:
        """Whether the ratio is on one side of 1 in all folds, and a tenth or more away from it."""
        return self.folds == self.of and abs(self.ratio - 1) >= 0.1


def knob_effects(spreads: Sequence[DrawSpread]) -> tuple[KnobEffect, ...]:
    """Compare every setting with the plain one, fold by fold."""
    plain = {s.fold: s.place_sd for s in spreads if s.knob == PLAIN_SETTING.knob}
    out = []
    for name, knob in dict.fromkeys(
        (s.setting, s.knob) for s in spreads if s.knob != PLAIN_SETTING.knob
    ):
        ratios = [
            s.place_sd / plain[s.fold] if plain[s.fold] > 0 else 1.0
            for s in spreads
            if s.setting == name
        ]
        ratio = mean(ratios)
        agree = sum((r > 1) == (ratio > 1) for r in ratios)
        out.append(KnobEffect(name, knob, ratio, agree, len(ratios)))
    return tuple(out)

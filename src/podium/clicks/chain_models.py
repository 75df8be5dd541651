"""Models of users who go down the list and may stop: cascade, DCM, DBN. One EM step serves them all.

An examined document is followed by the next with probability `continuation`, unless it was clicked and the
user stops, with probability `stopping`. cascade: a click always stops (Craswell et al., WSDM 2008). DCM:
stopping depends on the rank (Guo et al., WSDM 2009). DBN: stopping is the satisfaction with the document
(Chapelle and Zhang, WWW 2009); simplified, users go on until they are satisfied (continuation 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.clicks.click_model import (
    ClickModel,
    FitSettings,
    FitSummary,
    RankStep,
    RankVisit,
    rank_steps,
)
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import PairValues
from podium.clicks.examination_models import summarise
from podium.clicks.fit_tables import (
    CLIP,
    SessionTable,
    log_prior,
    smooth_ratio,
    sums_by_code,
)
from podium.optim import EmMaximum, accelerated_em
from podium.typing import Floats, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainModel(ClickModel):
    """Users go down the list from the top.

    Parameters
    ----------
    continuation
        The probability of going on to the next document, unless a click stops the user.
    """

    continuation: float = 1.0

    def next_examination(
        self, step: RankStep, visit: RankVisit | None, last_click: Ints
    ) -> Floats | float:
        """Return P(E = 1): after a click by stopping, after a skip by Bayes' rule."""
        if visit is None:
            return 1.0
        chance = visit.examination * visit.attraction
        skipped = visit.examination - chance
        examined = np.divide(skipped, 1 - chance, out=np.zeros(len(chance)), where=chance < 1)
        return self.continuation * np.where(visit.clicked, 1 - visit.stopping, examined)

    def examination(self, sessions: ClickSessions) -> Floats:
        """Return P(E = 1) of each row: e_1 = 1, e_{r+1} = e_r continuation (1 - attraction stopping)."""
        goes_on = self.continuation * (
            1 - self.row_attraction(sessions) * self.row_stopping(sessions)
        )
        examined = np.ones(len(goes_on))
        for step in rank_steps(sessions.groups):
            if step.place:
                examined[step.rows] = examined[step.rows - 1] * goes_on[step.rows - 1]
        return examined

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Return the probability of going on."""
        return {"continuation": np.array([self.continuation])}


class CascadeModel(ChainModel):
    """Cascade: users read from the top and stop at the first click. A second click has probability 0."""

    name: ClassVar[str] = "cascade"

    def row_stopping(self, sessions: ClickSessions) -> Floats:
        """Return 1: a click always stops."""
        return np.ones(sessions.groups.n_rows)

    @classmethod
    def from_parameters(
        cls, attraction: PairValues, parameters: Mapping[str, Floats], summary: FitSummary | None
    ) -> Self:
        """Return the model with these parameters."""
        return cls(attraction=attraction, summary=summary)

    @classmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Count clicks per examination: up to the first click, or the whole list without a click."""
        earlier: Ints = np.cumsum(table.clicked) - table.clicked
        at_start = np.repeat(
            earlier[table.offsets[:-1][np.diff(table.offsets) > 0]],
            np.diff(table.offsets)[np.diff(table.offsets) > 0],
        )
        examined = table.row_weight * (earlier == at_start)
        mean = float((examined * table.clicked).sum() / max(examined.sum(), 1e-300))
        attraction = smooth_ratio(
            table.sum_by_pair(examined * table.clicked),
            table.sum_by_pair(examined),
            mean,
            settings.smoothing,
        )
        return cls(attraction=table.pair_values(attraction, mean))


@dataclass(frozen=True, eq=False, kw_only=True)
class DependentClickModel(ChainModel):
    """DCM: after a click, users stop with a probability that depends on the rank.

    Parameters
    ----------
    stopping
        P(stop | click) at ranks 1, 2, ...; longer lists have the last one.
    """

    name: ClassVar[str] = "dcm"
    stopping: Floats

    def row_stopping(self, sessions: ClickSessions) -> Floats:
        """Return P(stop | click) at the rank of each row."""
        return self.stopping[np.minimum(sessions.groups.places, len(self.stopping) - 1)]

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Return the probabilities of stopping."""
        return {"stopping": self.stopping}

    @classmethod
    def from_parameters(
        cls, attraction: PairValues, parameters: Mapping[str, Floats], summary: FitSummary | None
    ) -> Self:
        """Return the model with these parameters."""
        [stopping] = parameters.values()
        if stopping.ndim != 1 or len(stopping) == 0:
            raise ValueError("stopping that is not one number per rank")
        return cls(attraction=attraction, stopping=stopping, summary=summary)

    @classmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Fit by EM over sessions."""
        chain = _fit_chain(table, settings, by_rank=True, continuation=1.0)
        return cls(
            attraction=chain.attraction, stopping=chain.stopping, summary=chain.summary
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicBayesianModel(ChainModel):
    """DBN: after a click, users stop if the document satisfies them; else they go on, or give up.

    Parameters
    ----------
    satisfaction
        P(satisfied | click) of each pair of query and document.
    """

    name: ClassVar[str] = "dbn"
    satisfaction: PairValues

    def row_stopping(self, sessions: ClickSessions) -> Floats:
        """Return P(satisfied | click) of each row."""
        pairs, number = sessions.pairs
        return self.satisfaction.of(pairs)[number]

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Return satisfaction by pair, its default, and the probability of going on."""
        other = np.array([self.satisfaction.default, self.continuation])
        return {"satisfaction": self.satisfaction.values, "default_and_continuation": other}

    @classmethod
    def from_parameters(
        cls, attraction: PairValues, parameters: Mapping[str, Floats], summary: FitSummary | None
    ) -> Self:
        """Return the model with these parameters."""
        default, continuation = parameters["default_and_continuation"].tolist()
        values = parameters["satisfaction"]
        if values.shape != attraction.values.shape:
            raise ValueError("satisfaction that is not one number per pair")
        satisfaction = PairValues(attraction.pairs, values, default)
        return cls(
            attraction=attraction, satisfaction=satisfaction, continuation=continuation,
            summary=summary,
        )  # fmt: skip

    @classmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Fit by EM over sessions."""
        return cls.fit_continuation(table, settings, None)

    @classmethod
    def fit_continuation(
        cls, table: SessionTable, settings: FitSettings, continuation: float | None
    ) -> Self:
        """Fit by EM over sessions, with this probability of going on; None estimates it."""
        chain = _fit_chain(table, settings, by_rank=False, continuation=continuation)
        return cls(
            attraction=chain.attraction,
            satisfaction=PairValues(table.pairs, chain.stopping, 0.5),
            continuation=chain.continuation, summary=chain.summary,
        )  # fmt: skip


class SimplifiedBayesianModel(DynamicBayesianModel):
    """SDBN: the DBN whose users go on until a document satisfies them or the list ends."""

    name: ClassVar[str] = "sdbn"

    @classmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Fit by EM over sessions, with a continuation of 1."""
        return cls.fit_continuation(table, settings, 1.0)


@dataclass(frozen=True, eq=False)
class _FittedChain:
    attraction: PairValues
    stopping: Floats
    continuation: float
    summary: FitSummary


def _fit_chain(
    table: SessionTable, settings: FitSettings, *, by_rank: bool, continuation: float | None
) -> _FittedChain:
    """Maximise the likelihood of a chain; a continuation of None is estimated.

    The mean of the prior of attraction is clicks per expected examination. The first round, whose mean is the
    click rate, is there to estimate it.
    """
    n_pairs, mean, steps = len(table.pairs), max(table.click_rate, CLIP), 0
    chain = _ChainEm(table, settings.smoothing, by_rank, continuation)
    start = np.concatenate([np.full(n_pairs, mean), np.full(chain.n_stops + 1, 0.5)])
    for number in range(2):
        if number:
            mean = table.mean_attraction(float(chain.run(start)[0].sum()))
        maximum: EmMaximum = accelerated_em(
            partial(chain.step, mean), start, tolerance=settings.tolerance,
            max_steps=settings.max_steps, margin=CLIP,
        )  # fmt: skip
        start, steps = maximum.parameters, steps + maximum.steps
    attraction, stopping = start[:n_pairs], start[n_pairs:-1]
    prior = chain.prior(mean, attraction, stopping)
    summary = summarise(table, replace(maximum, steps=steps), prior)
    values = table.pair_values(attraction, mean)
    return _FittedChain(values, stopping, chain.goes_on(start), summary)


class _ChainEm:
    """The EM steps of a chain; parameters are attraction, stopping, continuation."""

    def __init__(
        self, table: SessionTable, smoothing: float, by_rank: bool, continuation: float | None
    ) -> None:
        self.table, self.smoothing, self.by_rank = table, smoothing, by_rank
        self.continuation = continuation
        self.n_stops = table.n_ranks if by_rank else len(table.pairs)
        clicked_weight = table.row_weight * table.clicked
        self.clicks = table.sum_by_pair(clicked_weight)
        codes = table.places if by_rank else table.pair
        self.stop_chances = sums_by_code(codes, clicked_weight, self.n_stops)

    def goes_on(self, parameters: Floats) -> float:
        """Return the probability of going on."""
        return float(parameters[-1]) if self.continuation is None else self.continuation

    def run(self, parameters: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Return expected examinations, stops and continuations, and the log-likelihood."""
        table, n_pairs = self.table, len(self.table.pairs)
        return kernels.click_chain_pass(
            table.pair, table.clicked, table.weight, table.offsets, table.query_offsets,
            parameters[:n_pairs].copy(), parameters[n_pairs:-1].copy(), self.goes_on(parameters),
            self.by_rank,
        )  # fmt: skip

    def step(self, mean: float, parameters: Floats) -> tuple[Floats, float]:
        """Return the parameters after a step with a prior of this mean, and the objective before it."""
        n_pairs, m = len(self.table.pairs), self.smoothing
        examined, stopped, went_on, value = self.run(parameters)
        value += self.prior(mean, parameters[:n_pairs], parameters[n_pairs:-1])
        return np.concatenate([
            smooth_ratio(self.clicks, examined, mean, m),
            smooth_ratio(stopped, self.stop_chances, 0.5, m),
            smooth_ratio(went_on[:1], went_on[1:], 0.5, 0.0),
        ]), value  # fmt: skip

    def prior(self, mean: float, attraction: Floats, stopping: Floats) -> float:
        """Return the log of the prior."""
        m = self.smoothing
        return log_prior(attraction, mean, m) + log_prior(stopping, 0.5, m)

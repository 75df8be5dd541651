"""ClickModel: what all click models share. One walk down the lists serves likelihood and simulation.

Chuklin, Markov and de Rijke, "Click Models for Web Search", Morgan & Claypool, 2015. A user examines a
document (E) and clicks it if it attracts (A): P(C = 1 | clicks so far) = P(E = 1 | clicks so far) P(A = 1).
The models differ in how examination goes on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import PairValues
from podium.clicks.fit_tables import SessionTable
from podium.data import Groups, check_seed
from podium.errors import UsageError
from podium.typing import Bools, Floats, Ints

LEAST_PROBABILITY = 1e-6
"""Likelihoods keep probabilities in [1e-6, 1 - 1e-6]: the cascade model allows no second click."""


@dataclass(frozen=True)
class FitSettings:
    """Settings of all fits.

    Parameters
    ----------
    smoothing
        How many examinations the mean of attraction (clicks per examination) counts as, in the estimate of
        each document.
    tolerance
        EM has converged if a round of steps improves the log-likelihood by a smaller share than this.
    max_steps
        The maximum number of EM steps.
    """

    smoothing: float = 1.0
    tolerance: float = 1e-7
    max_steps: int = 2000

    def __post_init__(self) -> None:
        if not (self.smoothing >= 0 and self.tolerance > 0 and self.max_steps >= 1):
            raise UsageError(
                "expected smoothing of 0 or more, a tolerance above 0 and max_steps of 1 or more, got "
                f"{self.smoothing}, {self.tolerance} and {self.max_steps}"
            )


@dataclass(frozen=True)
class FitSummary:
    """How a fit went; `log_likelihood` is that of the sessions of the fit."""

    sessions: int
    log_likelihood: float
    steps: int
    converged: bool


class RankStep(NamedTuple):
    """The rows of all lists at one place (from 0), and the sessions of these rows."""

    place: int
    sessions: Ints
    rows: Ints


class RankVisit(NamedTuple):
    """What happened at one place: P(E = 1 | clicks so far), P(A = 1), P(stop | click), the click."""

    examination: Floats
    attraction: Floats
    stopping: Floats
    clicked: Bools


ClickChooser = Callable[[RankStep, Floats], Bools]
"""A step and the probabilities of clicks at its rows -> the clicks."""


def rank_steps(groups: Groups) -> Iterator[RankStep]:
    """Yield the rows of all lists place by place, from the top."""
    sessions = np.arange(len(groups))
    for place in range(int(groups.sizes.max(initial=0))):
        sessions = sessions[groups.sizes[sessions] > place]
        yield RankStep(place, sessions, groups.offsets[sessions] + place)


def at_place(values: Floats, place: int) -> float:
    """Return the value of a place; places beyond the end have the last value."""
    return float(values[min(place, len(values) - 1)])


@dataclass(frozen=True, eq=False, kw_only=True)
class ClickModel(ABC):
    """A click model with its parameters: those of a fit, or the truth of a simulation.

    Parameters
    ----------
    attraction
        P(A = 1) of each pair of query and document.
    summary
        How the fit went; None for parameters that were chosen.
    """

    name: ClassVar[str] = ""
    attraction: PairValues
    summary: FitSummary | None = None

    @classmethod
    def fit(
        cls,
        sessions: ClickSessions,
        *,
        weight: Floats | None = None,
        settings: FitSettings | None = None,
    ) -> Self:
        """Return the model with the greatest likelihood of sessions; `weight` counts a session so often."""
        table = SessionTable.of(sessions, weight)
        model = cls.fit_table(table, FitSettings() if settings is None else settings)
        if model.summary is not None:
            return model
        # Counts are the exact maximum: one step, which always converges.
        order = np.argsort(sessions.query.codes, kind="stable")
        value = float((model.log_likelihood(sessions)[order] * table.weight).sum())
        return replace(model, summary=FitSummary(len(sessions), value, 1, True))

    @classmethod
    @abstractmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Return the model of a table of sessions; `fit` adds the summary of one that only counts."""

    @abstractmethod
    def next_examination(
        self, step: RankStep, visit: RankVisit | None, last_click: Ints
    ) -> Floats | float:
        """Return P(E = 1 | clicks so far) at a step.

        `visit` is what happened at the place before (None at the top), for the sessions of this step.
        `last_click` is the position of the last click of each session, 0 without a click.
        """

    @abstractmethod
    def examination(self, sessions: ClickSessions) -> Floats:
        """Return P(E = 1) of each row, whatever is clicked above."""

    @property
    def n_ranks(self) -> int | None:
        """The ranks whose examination the parameters describe; None if that is all ranks."""
        return None

    @abstractmethod
    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Return the parameters but for attraction, by name."""

    @classmethod
    @abstractmethod
    def from_parameters(
        cls, attraction: PairValues, parameters: Mapping[str, Floats], summary: FitSummary | None
    ) -> Self:
        """Return the model with these parameters; raises ValueError or KeyError for wrong ones."""

    def row_attraction(self, sessions: ClickSessions) -> Floats:
        """Return P(A = 1) of each row."""
        pairs, number = sessions.pairs
        return self.attraction.of(pairs)[number]

    def row_stopping(self, sessions: ClickSessions) -> Floats:
        """Return P(stop | click) of each row; 0 for models in which a click does not matter."""
        return np.zeros(sessions.groups.n_rows)

    def click_probabilities(self, sessions: ClickSessions) -> Floats:
        """Return P(C = 1) of each row, whatever is clicked above."""
        return self.examination(sessions) * self.row_attraction(sessions)

    def conditional_probabilities(self, sessions: ClickSessions) -> Floats:
        """Return P(C = 1 | clicks above) of each row."""
        return self._walk(sessions, lambda step, _: sessions.clicked[step.rows])[0]

    def log_likelihood(self, sessions: ClickSessions) -> Floats:
        """Return the log-likelihood of the clicks of each session."""
        sessions.require_sessions()
        chance = _log_chances(self.conditional_probabilities(sessions), sessions.clicked)
        return np.asarray(sessions.groups.reduce(np.add, chance))

    def perplexity(self, sessions: ClickSessions) -> Floats:
        """Return the perplexity at each position: 2^(-mean log2 P(C)); 1 is perfect, 2 is a coin.

        Dupret and Piwowarski, SIGIR 2008. P(C) does not depend on the clicks above.
        """
        sessions.require_sessions()
        chance = _log_chances(self.click_probabilities(sessions), sessions.clicked) / np.log(2)
        places = sessions.groups.places
        return np.asarray(2.0 ** (-np.bincount(places, chance) / np.bincount(places)))

    def draw_clicks(self, sessions: ClickSessions, seed: int | np.random.Generator) -> Bools:
        """Return a random click or none for each row of the lists, from the model."""
        if not isinstance(seed, np.random.Generator):
            check_seed(seed)
        rng = np.random.default_rng(seed)
        return self._walk(sessions, lambda _, chance: rng.random(len(chance)) < chance)[1]

    def _walk(self, sessions: ClickSessions, choose: ClickChooser) -> tuple[Floats, Bools]:
        """Go down all lists at once; return P(C = 1 | clicks above) and the clicks that `choose` made."""
        attraction, stopping = self.row_attraction(sessions), self.row_stopping(sessions)
        chances, clicked = np.zeros(len(attraction)), np.zeros(len(attraction), dtype=bool)
        examination, last_click = np.ones(len(sessions)), np.zeros(len(sessions), dtype=np.int64)
        for step in rank_steps(sessions.groups):
            here, rows_before = step.sessions, step.rows - 1
            visit = None
            if step.place:
                visit = RankVisit(
                    examination[here],
                    attraction[rows_before],
                    stopping[rows_before],
                    clicked[rows_before],
                )
            examination[here] = self.next_examination(step, visit, last_click[here])
            chances[step.rows] = examination[here] * attraction[step.rows]
            clicked[step.rows] = choose(step, chances[step.rows])
            last_click[here[clicked[step.rows]]] = step.place + 1
        return chances, clicked


def _log_chances(chance: Floats, clicked: Bools) -> Floats:
    bounded = np.clip(chance, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.log(np.where(clicked, bounded, 1 - bounded))

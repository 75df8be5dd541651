"""Models whose examination depends on ranks alone: click rates, position-based, user browsing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    at_place,
    rank_steps,
)
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import PairValues
from podium.clicks.fit_tables import (
    CLIP,
    CellTable,
    SessionTable,
    log_prior,
    smooth_ratio,
    sums_by_code,
)
from podium.optim import EmMaximum, accelerated_em
from podium.typing import Floats, Ints

MAX_RANKS = 50
"""The user browsing model has a number for so many ranks squared; deeper ranks have those of the last."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RankExaminationModel(ClickModel):
    """P(E = 1) is a number per rank; lists that are longer have the last one.

    Parameters
    ----------
    by_rank
        P(E = 1) at ranks 1, 2, ...
    """

    by_rank: Floats

    def next_examination(
        self, step: RankStep, visit: RankVisit | None, last_click: Ints
    ) -> Floats | float:
        """Return the examination at the rank."""
        return at_place(self.by_rank, step.place)

    def examination(self, sessions: ClickSessions) -> Floats:
        """Return P(E = 1) of each row, by its rank."""
        places = np.minimum(sessions.groups.places, len(self.by_rank) - 1)
        return np.asarray(self.by_rank[places])

    @property
    def n_ranks(self) -> int | None:
        """The number of ranks."""
        return len(self.by_rank)

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Return the examination by rank."""
        return {"by_rank": self.by_rank}

    @classmethod
    def from_parameters(
        cls, attraction: PairValues, parameters: Mapping[str, Floats], summary: FitSummary | None
    ) -> Self:
        """Return the model with these parameters."""
        [by_rank] = parameters.values()
        if by_rank.ndim != 1 or len(by_rank) == 0:
            raise ValueError("examination that is not one number per rank")
        return cls(attraction=attraction, by_rank=by_rank, summary=summary)


class RankClickRates(RankExaminationModel):
    """Click rates by rank: P(C = 1) depends on the rank alone (RCTR in Chuklin et al., section 3.1)."""

    name: ClassVar[str] = "rank-rates"

    @classmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Count clicks per impression at each rank."""
        impressions = sums_by_code(table.places, table.row_weight, table.n_ranks)
        clicks = sums_by_code(table.places, table.row_weight * table.clicked, table.n_ranks)
        return cls(
            attraction=PairValues.constant(1.0),
            by_rank=smooth_ratio(clicks, impressions, table.click_rate, 0.0),
        )


class DocumentClickRates(RankExaminationModel):
    """Click rates by document: P(C = 1) depends on query and document alone (DCTR, section 3.1)."""

    name: ClassVar[str] = "document-rates"

    @property
    def n_ranks(self) -> int | None:
        """None: every rank is examined."""
        return None

    @classmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Count clicks per impression of each pair of query and document."""
        impressions, clicks = table.row_weight, table.row_weight * table.clicked
        rates = smooth_ratio(
            table.sum_by_pair(clicks),
            table.sum_by_pair(impressions),
            table.click_rate,
            settings.smoothing,
        )
        return cls(attraction=table.pair_values(rates, table.click_rate), by_rank=np.ones(1))


class PositionBasedModel(RankExaminationModel):
    """PBM: a document is examined with the probability of its rank (Craswell et al., WSDM 2008).

    Only products of examination and attraction are observed. So a fit sets the examination of rank 1 to 1;
    that of another rank is above 1 if users prefer it.

    Examples
    --------
    >>> lists = [["a", "b"], ["b", "a"]] * 50
    >>> clicks = [["a"], ["a"]] * 15 + [["a"], []] * 15 + [[], []] * 20
    >>> model = PositionBasedModel.fit(ClickSessions.from_lists(["q"] * 100, lists, clicks))
    >>> model.propensities.round(1).tolist()      # a: 30 clicks of 50 at rank 1, 15 of 50 at rank 2
    [1.0, 0.5]
    """

    name: ClassVar[str] = "pbm"

    @property
    def propensities(self) -> Floats:
        """P(E = 1) at each rank over that at rank 1."""
        return np.asarray(self.by_rank / self.by_rank[0])

    @classmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Fit by EM over counts by pair and rank."""
        n_ranks = table.n_ranks
        cells = CellTable.of(table, table.places, n_ranks)
        attraction, by_rank, summary = _fit_cells(table, cells, n_ranks, settings)
        return cls(attraction=attraction, by_rank=by_rank, summary=summary)


@dataclass(frozen=True, eq=False, kw_only=True)
class UserBrowsingModel(ClickModel):
    """UBM: examination depends on the rank and on that of the last click (Dupret, Piwowarski, SIGIR 2008).

    Parameters
    ----------
    by_last_click
        P(E = 1) at rank r (row r - 1) if the last click is at rank l (column l; 0 without a click).
        A fit sets that at rank 1 to 1.
    """

    name: ClassVar[str] = "ubm"
    by_last_click: Floats

    def next_examination(
        self, step: RankStep, visit: RankVisit | None, last_click: Ints
    ) -> Floats | float:
        """Return the examination at the rank after this last click."""
        row = self.by_last_click[min(step.place, len(self.by_last_click) - 1)]
        return np.asarray(row[np.minimum(last_click, len(row) - 1)])

    def examination(self, sessions: ClickSessions) -> Floats:
        """Return P(E = 1) of each row: the mean over where the last click may be."""
        attraction = self.row_attraction(sessions)
        examined = np.zeros(len(attraction))
        chance = np.zeros(
            (len(sessions), sessions.depth + 1)
        )  # that the last click is at each rank
        chance[:, 0] = 1.0
        for step in rank_steps(sessions.groups):
            last = np.arange(step.place + 1)
            given_last = self.next_examination(step, None, last)
            before = chance[step.sessions, : step.place + 1]
            examined[step.rows] = np.einsum("sl,l->s", before, given_last)
            clicks = before * given_last * attraction[step.rows, None]
            chance[step.sessions, : step.place + 1] = before - clicks
            chance[step.sessions, step.place + 1] = clicks.sum(axis=1)
        return examined

    @property
    def n_ranks(self) -> int | None:
        """The number of ranks."""
        return len(self.by_last_click)

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Return the examination by rank and last click."""
        return {"by_last_click": self.by_last_click}

    @classmethod
    def from_parameters(
        cls, attraction: PairValues, parameters: Mapping[str, Floats], summary: FitSummary | None
    ) -> Self:
        """Return the model with these parameters."""
        [table] = parameters.values()
        if table.ndim != 2 or len(table) == 0 or table.shape[0] != table.shape[1]:
            raise ValueError("examination that is not a square table")
        return cls(attraction=attraction, by_last_click=table, summary=summary)

    @classmethod
    def fit_table(cls, table: SessionTable, settings: FitSettings) -> Self:
        """Fit by EM over counts by pair, rank and last click."""
        n_ranks = min(table.n_ranks, MAX_RANKS)
        rank, last_click = np.minimum([table.places, last_click_ranks(table)], n_ranks - 1)
        context = rank * n_ranks + last_click
        cells = CellTable.of(table, context, n_ranks * n_ranks)
        attraction, examination, summary = _fit_cells(table, cells, n_ranks * n_ranks, settings)
        return cls(
            attraction=attraction, by_last_click=examination.reshape(n_ranks, n_ranks),
            summary=summary,
        )  # fmt: skip


def last_click_ranks(table: SessionTable) -> Ints:
    """Return the rank of the last click above each row, 0 without one."""
    n = len(table.places)
    row = np.arange(n)
    last = np.maximum.accumulate(np.where(table.clicked, row, -1))
    last_before = np.concatenate([[-1], last[:-1]])[:n]
    start = row - table.places
    return np.where(last_before >= start, last_before - start + 1, 0)


def _fit_cells(
    table: SessionTable, cells: CellTable, n_contexts: int, settings: FitSettings
) -> tuple[PairValues, Floats, FitSummary]:
    """Maximise the likelihood of counts: attraction by pair, examination by context.

    A prior of attraction would bias examination. So examination is estimated without a prior, and attraction
    is smoothed afterwards.
    """
    n_pairs = len(table.pairs)
    first = _fit_examination(table, cells, n_contexts, settings)
    examination = first.parameters[n_pairs:]
    mean = table.mean_attraction(float((cells.impressions * examination[cells.context]).sum()))
    last = _fit_attraction(cells, first.parameters[:n_pairs], examination, mean, settings)
    whole = replace(
        last, converged=first.converged and last.converged, steps=first.steps + last.steps
    )
    prior = log_prior(last.parameters, mean, settings.smoothing)
    top = float(examination[0])  # only products are observed: rank 1 gets 1
    return (
        table.pair_values(last.parameters * top, mean * top), examination / top,
        summarise(table, whole, prior),
    )  # fmt: skip


def _fit_examination(
    table: SessionTable, cells: CellTable, n_contexts: int, settings: FitSettings
) -> EmMaximum:
    """Maximise over attraction and examination, without a prior."""
    n_pairs, rate = len(table.pairs), max(table.click_rate, CLIP)
    by_pair = cells.by_pair(cells.impressions)
    by_context = cells.by_context(cells.impressions, n_contexts)

    def step(parameters: Floats) -> tuple[Floats, float]:
        attraction, examination = parameters[:n_pairs].copy(), parameters[n_pairs:].copy()
        attracted, examined, value = kernels.click_cells_pass(
            cells.pair_offsets, cells.context, cells.impressions, cells.clicks, attraction, examination
        )  # fmt: skip
        return np.concatenate([
            smooth_ratio(attracted, by_pair, rate, 0.0), smooth_ratio(examined, by_context, 0.5, 0.0)
        ]), value  # fmt: skip

    # Examination starts at the click rates of contexts, so that EM need not find its shape.
    rates = smooth_ratio(cells.by_context(cells.clicks, n_contexts), by_context, rate, 1.0)
    start = np.concatenate([
        np.full(n_pairs, min(0.5, np.sqrt(rate))), np.clip(0.9 * rates / rates.max(), CLIP, 1 - CLIP)
    ])  # fmt: skip
    return accelerated_em(
        step, start, tolerance=settings.tolerance, max_steps=settings.max_steps, margin=CLIP
    )


def _fit_attraction(
    cells: CellTable, start: Floats, examination: Floats, mean: float, settings: FitSettings
) -> EmMaximum:
    """Maximise over attraction with this examination and the prior of this mean."""
    by_pair = cells.by_pair(cells.impressions)

    def step(attraction: Floats) -> tuple[Floats, float]:
        attracted, _, value = kernels.click_cells_pass(
            cells.pair_offsets, cells.context, cells.impressions, cells.clicks, attraction.copy(),
            examination.copy(),
        )  # fmt: skip
        value += log_prior(attraction, mean, settings.smoothing)
        return smooth_ratio(attracted, by_pair, mean, settings.smoothing), value

    return accelerated_em(
        step, start, tolerance=settings.tolerance, max_steps=settings.max_steps, margin=CLIP
    )


def summarise(table: SessionTable, maximum: EmMaximum, prior: float) -> FitSummary:
    """Return how EM went."""
    n_sessions = len(table.weight)
    return FitSummary(n_sessions, maximum.objective - prior, maximum.steps, maximum.converged)

"""Summary of the TopRank paper's results, for its page: means, tests and claims, no queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from podium_papers.bar_figures import BarFigure
from podium_papers.comparisons import MeanScore, PairedComparison, mean_scores
from podium_papers.toprank.approximation import PAPER_BOUND, Approximation, approximations
from podium_papers.toprank.claims import (
    FIGURE_MEASURES,
    FIGURES,
    BestCounts,
    TopRankClaim,
    TopRankReproduction,
    bar_figure,
)


@dataclass(frozen=True)
class ChosenFits:
    """Settings of the ranker of each fold, and fits that stopped early, by the metric of the training."""

    data: str
    ranker: str
    settings: Mapping[str, tuple[str, ...]]
    unfinished: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ModeSummary:
    """Summary of one set-up; `tests` holds the tests of each figure."""

    scores: tuple[MeanScore, ...]
    tests: Mapping[str, tuple[PairedComparison, ...]]
    claims: tuple[TopRankClaim, ...]
    standings: tuple[BestCounts, ...]
    fits: tuple[ChosenFits, ...]


@dataclass(frozen=True)
class TopRankSummary:
    """Summary of every set-up of a reproduction."""

    quick: bool
    seed: int
    modes: Mapping[str, ModeSummary]
    weak_scores: tuple[MeanScore, ...]
    weak_tests: tuple[PairedComparison, ...]
    """Tests of the paper's vote over TopSlack with ``ideal="cut"``."""
    approximations: tuple[Approximation, ...]
    """Distances of Supervised Kemeny's orders and the least ones."""

    @classmethod
    def of(cls, result: TopRankReproduction) -> Self:
        """Summarise a reproduction."""
        return cls(
            result.quick, result.seed, {mode: _summary(result, mode) for mode in result.modes},
            mean_scores(result.weak, FIGURE_MEASURES), result.weak_tests(), approximations(),
        )  # fmt: skip

    @property
    def claims(self) -> list[bool]:
        """Return for each claim of the paper, in each case, whether it holds."""
        verdicts = [claim.holds for mode in self.modes.values() for claim in mode.claims]
        return [*verdicts, all(order.ratio <= PAPER_BOUND for order in self.approximations)]

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets."""
        first = next(iter(self.modes.values()))
        return tuple(dict.fromkeys(score.data for score in first.scores))

    def figure(self, number: int, mode: str) -> BarFigure:
        """Return Figure 2, 3 or 4; its plot() draws it."""
        summary = self.modes[mode]
        return bar_figure(number, mode, summary.scores, summary.tests[str(number)])


def _summary(result: TopRankReproduction, mode: str) -> ModeSummary:
    return ModeSummary(
        result.scores(mode),
        {str(number): result.comparisons(mode, pairs) for number, pairs in FIGURES.items()},
        result.claims(mode),
        result.best_counts(mode),
        tuple(ChosenFits(o.data, o.ranker, o.settings, o.unfinished) for o in result.of(mode)),
    )

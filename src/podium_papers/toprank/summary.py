"""What the page of the TopRank paper is made of: means, tests and claims, no queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from podium_papers.figures import BarFigure
from podium_papers.outcomes import MeanScore, PairedComparison, scores
from podium_papers.records import from_json
from podium_papers.toprank.approximation import BOUND, Approximation, approximations
from podium_papers.toprank.claims import (
    FIGURES,
    POINTS,
    BestCounts,
    TopRankClaim,
    TopRankReproduction,
    bar_figure,
)


@dataclass(frozen=True)
class Fit:
    """The ranker of each fold, and fits that stopped early, by the metric they were trained for."""

    data: str
    ranker: str
    settings: Mapping[str, tuple[str, ...]]
    unfinished: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ModeSummary:
    """One set-up; `tests` are those of each figure."""

    scores: tuple[MeanScore, ...]
    tests: Mapping[str, tuple[PairedComparison, ...]]
    claims: tuple[TopRankClaim, ...]
    standings: tuple[BestCounts, ...]
    fits: tuple[Fit, ...]


@dataclass(frozen=True)
class TopRankSummary:
    """Every set-up of a reproduction."""

    quick: bool
    seed: int
    modes: Mapping[str, ModeSummary]
    weak_scores: tuple[MeanScore, ...]
    weak_tests: tuple[PairedComparison, ...]
    """TopSlack with ``ideal="cut"``, and the paper's vote over it."""
    approximations: tuple[Approximation, ...]
    """Supervised Kemeny's distance against the least, on instances made for it."""

    @classmethod
    def of(cls, result: TopRankReproduction) -> Self:
        """Of a reproduction."""
        return cls(
            result.quick, result.seed, {mode: _summary(result, mode) for mode in result.modes},
            scores(result.weak, POINTS), result.weak_tests(), approximations(),
        )  # fmt: skip

    @property
    def claims(self) -> list[bool]:
        """Return for each claim of the paper, in each case, whether it holds."""
        own = [claim.holds for mode in self.modes.values() for claim in mode.claims]
        return [*own, all(one.ratio <= BOUND for one in self.approximations)]

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets."""
        first = next(iter(self.modes.values()))
        return tuple(dict.fromkeys(score.data for score in first.scores))

    def figure(self, number: int, mode: str) -> BarFigure:
        """Figure 2, 3 or 4; call its plot()."""
        own = self.modes[mode]
        return bar_figure(number, mode, own.scores, own.tests[str(number)])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """What `to_dict` gave, before or after JSON."""
        return from_json(cls, content)


def _summary(result: TopRankReproduction, mode: str) -> ModeSummary:
    return ModeSummary(
        result.scores(mode),
        {str(number): result.comparisons(mode, pairs) for number, pairs in FIGURES.items()},
        result.claims(mode),
        result.standings(mode),
        tuple(Fit(o.data, o.ranker, o.settings, o.unfinished) for o in result.of(mode)),
    )

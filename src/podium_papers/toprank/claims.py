"""Claims of the TopRank paper about its Figures 2 to 4, and whether the tests support them.

Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from podium.errors import UnknownNameError, UsageError
from podium.experiments import PALETTE
from podium_papers.bar_figures import BarFigure
from podium_papers.comparisons import (
    EQUAL_DIGITS,
    MeanScore,
    PairedComparison,
    RankerScores,
    compare,
    mean_scores,
)

Mode = Literal["paper", "best"]
MODES: tuple[Mode, ...] = ("paper", "best")

NAMES = {
    "regression": "Regression",
    "ranksvm": "Ranking SVM",
    "listnet": "ListNet",
    "topk-listmle": "Top-10 ListMLE",
    "topmargin": "TopMargin",
    "topslack": "TopSlack",
    "toprank": "TopRank",
}
"""Every ranker, and its name in the paper."""
WEAK_BASES: dict[str, tuple[Literal["hull", "paper"], str]] = {
    "topslack-cut": ("hull", "toprank-cut"),
    "topslack-cut-paper": ("paper", "toprank-cut-paper"),
}
"""TopSlack with the mean ideal (``ideal="cut"``): its search, and the name of the vote over it."""
COLOURS = dict(zip(NAMES, PALETTE, strict=True))
"""The same ranker has the same colour in all figures."""

FIGURE_MEASURES = ("P@1", "P@3", "P@10", "NDCG@1", "NDCG@3", "NDCG@10")
"""The six measures of the figures; Podium adds MAP."""

NOT_TOP_K = ("regression", "ranksvm", "listnet", "topmargin")
"""Rankers of Figure 4 that the paper does not count as top-k rankers."""
FIGURES: dict[int, tuple[tuple[str, str], ...]] = {
    2: (("topslack", "topmargin"),),
    3: (("toprank", "topslack"),),
    4: tuple(("toprank", other) for other in (*NOT_TOP_K, "topk-listmle")),
}
"""Figure -> the pairs of rankers that it compares."""
MODE_TITLES = {"paper": "the paper's set-up", "best": "Podium's defaults"}


@dataclass(frozen=True)
class Assertion:
    """Assertion of the paper: `ranker` is better than `others` at most or all points, maybe significantly."""

    figure: int
    text: str
    ranker: str
    others: tuple[str, ...]
    share: Literal["most", "all"] = "all"
    significantly: bool = False


ASSERTIONS = (
    Assertion(2, "TopSlack is better than TopMargin at most points",
              "topslack", ("topmargin",), "most"),
    Assertion(3, "TopRank is better than TopSlack at all points", "toprank", ("topslack",)),
    Assertion(4, "TopRank is significantly better than all that are no top-k rankers, at all points",
              "toprank", NOT_TOP_K, significantly=True),
    Assertion(4, "Top-10 ListMLE is significantly better than all that are no top-k rankers, at all "
              "points", "topk-listmle", NOT_TOP_K, significantly=True),
    Assertion(4, "ListNet is significantly better than Regression and Ranking SVM at all points "
              "(said of OHSUMED)", "listnet", ("regression", "ranksvm"), significantly=True),
    Assertion(4, "TopRank is better than Top-10 ListMLE at most points",
              "toprank", ("topk-listmle",), "most"),
)  # fmt: skip


@dataclass(frozen=True)
class TopRankClaim:
    """Counts of an assertion of the paper on one data set.

    Of `points` comparisons (a measure and one of the others each) the ranker is better in `better`,
    significantly better in `above` and significantly worse in `below`.
    """

    figure: int
    text: str
    mode: str
    data: str
    points: int
    better: int
    above: int
    below: int
    holds: bool


@dataclass(frozen=True)
class BestCounts:
    """Number of the six measures at which TopRank is the best and second best of Figure 4's rankers."""

    mode: str
    data: str
    best: int
    second: int


@dataclass(frozen=True)
class TopRankReproduction:
    """Values of every ranker on every query, with the figures, tests and claims that follow."""

    modes: tuple[Mode, ...]
    quick: bool
    seed: int
    ranker_scores: tuple[RankerScores, ...]
    weak: tuple[RankerScores, ...] = ()
    """TopSlack with ``ideal="cut"`` and the paper's vote over it; empty without the paper's set-up."""

    def weak_tests(self) -> tuple[PairedComparison, ...]:
        """Test the vote against its weak base, separately from Figure 3, so its p-values do not change."""
        pairs = [(vote, base) for base, (_, vote) in WEAK_BASES.items()]
        return compare(self.weak, pairs, FIGURE_MEASURES, seed=self.seed)

    def of(self, mode: str) -> list[RankerScores]:
        """Return the rankers' scores of one mode."""
        if mode not in self.modes:
            raise UnknownNameError("mode of this reproduction", mode, self.modes)
        return [scores for scores in self.ranker_scores if scores.mode == mode]

    def scores(self, mode: str) -> tuple[MeanScore, ...]:
        """Return means of the six measures and MAP, and their standard errors."""
        return mean_scores(self.of(mode), (*FIGURE_MEASURES, "MAP"))

    def comparisons(
        self, mode: str, pairs: Sequence[tuple[str, str]]
    ) -> tuple[PairedComparison, ...]:
        """Test pairs of rankers in the six measures, corrected for all tests."""
        key = (mode, tuple(pairs))
        if key not in self._comparisons:
            self._comparisons[key] = compare(self.of(mode), pairs, FIGURE_MEASURES, seed=self.seed)
        return self._comparisons[key]

    @cached_property
    def _comparisons(
        self,
    ) -> dict[tuple[str, tuple[tuple[str, str], ...]], tuple[PairedComparison, ...]]:
        """Tests of earlier calls: a figure and several claims use the same."""
        return {}

    def figure(self, number: int, mode: str) -> BarFigure:
        """Return Figure 2, 3 or 4; its plot() draws it."""
        if number not in FIGURES:
            raise UsageError(f"expected figure 2, 3 or 4 of the TopRank paper, got {number!r}")
        tests = self.comparisons(mode, FIGURES[number])
        return bar_figure(number, mode, self.scores(mode), tests)

    def claims(self, mode: str) -> tuple[TopRankClaim, ...]:
        """Return every claim of the paper, data set by data set."""
        return tuple(
            claim for assertion in ASSERTIONS for claim in self._count_assertion(assertion, mode)
        )

    def _count_assertion(self, assertion: Assertion, mode: str) -> Iterator[TopRankClaim]:
        is_drawn = any(
            (assertion.ranker, other) in FIGURES[assertion.figure] for other in assertion.others
        )
        pairs = (
            FIGURES[assertion.figure]
            if is_drawn
            else [(assertion.ranker, o) for o in assertion.others]
        )
        tests = [c for c in self.comparisons(mode, pairs) if c.other in assertion.others]
        for data in dict.fromkeys(c.data for c in tests):
            data_tests = [c for c in tests if c.data == data]
            n_tests, better = len(data_tests), sum(c.sign > 0 for c in data_tests)
            n_above = sum(c.significant and c.sign > 0 for c in data_tests)
            n_below = sum(c.significant and c.sign < 0 for c in data_tests)
            reached = n_above if assertion.significantly else better
            holds = reached == n_tests if assertion.share == "all" else 2 * reached > n_tests
            yield TopRankClaim(
                assertion.figure,
                assertion.text,
                mode,
                data,
                n_tests,
                better,
                n_above,
                n_below,
                bool(holds),
            )

    def best_counts(self, mode: str) -> tuple[BestCounts, ...]:
        """Count the measures at which TopRank is best or second in Figure 4; equal rankers are not better."""
        means = {
            (s.data, s.ranker, s.measure): round(s.mean, EQUAL_DIGITS) for s in self.scores(mode)
        }
        rivals = [other for _, other in FIGURES[4]]

        def place(data: str, measure: str) -> int:
            toprank_mean = means[data, "toprank", measure]
            return 1 + sum(means[data, rival, measure] > toprank_mean for rival in rivals)

        places = {
            d: [place(d, m) for m in FIGURE_MEASURES] for d in dict.fromkeys(d for d, _, _ in means)
        }
        return tuple(
            BestCounts(mode, d, own_places.count(1), own_places.count(2))
            for d, own_places in places.items()
        )


def bar_figure(
    number: int, mode: str, means: Sequence[MeanScore], tests: Sequence[PairedComparison]
) -> BarFigure:
    """Return Figure 2, 3 or 4 of these means and tests."""
    rankers = {ranker for pair in FIGURES[number] for ranker in pair}
    return BarFigure(
        title=f"TopRank, Figure {number}, {MODE_TITLES[mode]}",
        names={ranker: name for ranker, name in NAMES.items() if ranker in rankers},
        measures=FIGURE_MEASURES,
        bars=tuple(s for s in means if s.ranker in rankers and s.measure in FIGURE_MEASURES),
        comparisons=tuple(tests),
        colours={ranker: colour for ranker, colour in COLOURS.items() if ranker in rankers},
    )

"""What the TopRank paper says of its Figures 2 to 4, and what the tests say of that.

Cheng, Sun, Xie, TopRank: a novel top-k ranking method based on rank aggregation, section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, Self

from podium.errors import UnknownNameError, UsageError
from podium.experiments import PALETTE
from podium_papers.figures import BarFigure
from podium_papers.outcomes import (
    DIGITS,
    MeanScore,
    PairedComparison,
    RankerOutcome,
    compare,
    scores,
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
"""Every ranker, and what the paper calls it."""
WEAK_BASES: dict[str, tuple[Literal["hull", "paper"], str]] = {
    "topslack-cut": ("hull", "toprank-cut"),
    "topslack-cut-paper": ("paper", "toprank-cut-paper"),
}
"""TopSlack with the mean ideal (``ideal="cut"``): its search, and the paper's vote over it."""
COLOURS = dict(zip(NAMES, PALETTE, strict=True))
"""The same ranker has the same colour in all figures."""

POINTS = ("P@1", "P@3", "P@10", "NDCG@1", "NDCG@3", "NDCG@10")
"""The six measures of the figures; MAP is ours."""

OTHERS = ("regression", "ranksvm", "listnet", "topmargin")
"""To the paper's text on Figure 4, those that are no top-k rankers."""
FIGURES: dict[int, tuple[tuple[str, str], ...]] = {
    2: (("topslack", "topmargin"),),
    3: (("toprank", "topslack"),),
    4: tuple(("toprank", other) for other in (*OTHERS, "topk-listmle")),
}
"""Figure -> the rankers it compares."""
TITLES = {"paper": "the paper's set-up", "best": "Podium's defaults"}


@dataclass(frozen=True)
class Assertion:
    """What the paper says: `ranker` is above `others`, at most or all points, significantly or not."""

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
              "toprank", OTHERS, significantly=True),
    Assertion(4, "Top-10 ListMLE is significantly better than all that are no top-k rankers, at all "
              "points", "topk-listmle", OTHERS, significantly=True),
    Assertion(4, "ListNet is significantly better than Regression and Ranking SVM at all points "
              "(said of OHSUMED)", "listnet", ("regression", "ranksvm"), significantly=True),
    Assertion(4, "TopRank is better than Top-10 ListMLE at most points",
              "toprank", ("topk-listmle",), "most"),
)  # fmt: skip


@dataclass(frozen=True)
class TopRankClaim:
    """An assertion of the paper on one data set, counted.

    Of `points` comparisons (a measure and one of the others each) the ranker is above in `better`,
    significantly above in `above` and significantly below in `below`.
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
    """At how many of the six measures TopRank is the best and second best of Figure 4's rankers."""

    mode: str
    data: str
    best: int
    second: int


@dataclass(frozen=True)
class TopRankReproduction:
    """What every ranker came to on every query, and the figures, tests and claims made of it."""

    modes: tuple[Mode, ...]
    quick: bool
    seed: int
    outcomes: tuple[RankerOutcome, ...]
    weak: tuple[RankerOutcome, ...] = ()
    """TopSlack with ``ideal="cut"`` and the paper's vote over it; only with the paper's set-up."""

    def weak_tests(self) -> tuple[PairedComparison, ...]:
        """Return the vote less its weak base: tests of their own, so that Figure 3 keeps its p-values."""
        pairs = [(vote, base) for base, (_, vote) in WEAK_BASES.items()]
        return compare(self.weak, pairs, POINTS, seed=self.seed)

    def of(self, mode: str) -> list[RankerOutcome]:
        """The outcomes of one mode."""
        if mode not in self.modes:
            raise UnknownNameError("mode of this reproduction", mode, self.modes)
        return [outcome for outcome in self.outcomes if outcome.mode == mode]

    def scores(self, mode: str) -> tuple[MeanScore, ...]:
        """Means of the six measures and MAP, and their standard errors."""
        return scores(self.of(mode), (*POINTS, "MAP"))

    def comparisons(
        self, mode: str, pairs: Sequence[tuple[str, str]]
    ) -> tuple[PairedComparison, ...]:
        """Paired tests in the six measures, corrected for all of them."""
        key = (mode, tuple(pairs))
        if key not in self._comparisons:
            self._comparisons[key] = compare(self.of(mode), pairs, POINTS, seed=self.seed)
        return self._comparisons[key]

    @cached_property
    def _comparisons(
        self,
    ) -> dict[tuple[str, tuple[tuple[str, str], ...]], tuple[PairedComparison, ...]]:
        """Those made so far: a figure and several claims have the same."""
        return {}

    def figure(self, number: int, mode: str) -> BarFigure:
        """Figure 2, 3 or 4; call its plot()."""
        if number not in FIGURES:
            raise UsageError(f"expected figure 2, 3 or 4 of the TopRank paper, got {number!r}")
        tests = self.comparisons(mode, FIGURES[number])
        return bar_figure(number, mode, self.scores(mode), tests)

    def claims(self, mode: str) -> tuple[TopRankClaim, ...]:
        """What the paper says, data set by data set."""
        return tuple(claim for assertion in ASSERTIONS for claim in self._counted(assertion, mode))

    def _counted(self, assertion: Assertion, mode: str) -> Iterator[TopRankClaim]:
        drawn = any(
            (assertion.ranker, other) in FIGURES[assertion.figure] for other in assertion.others
        )
        pairs = (
            FIGURES[assertion.figure]
            if drawn
            else [(assertion.ranker, o) for o in assertion.others]
        )
        tests = [c for c in self.comparisons(mode, pairs) if c.other in assertion.others]
        for data in dict.fromkeys(c.data for c in tests):
            here = [c for c in tests if c.data == data]
            better = sum(c.sign > 0 for c in here)
            above = sum(c.significant and c.sign > 0 for c in here)
            below = sum(c.significant and c.sign < 0 for c in here)
            reached = above if assertion.significantly else better
            holds = reached == len(here) if assertion.share == "all" else 2 * reached > len(here)
            yield TopRankClaim(
                assertion.figure,
                assertion.text,
                mode,
                data,
                len(here),
                better,
                above,
                below,
                bool(holds),
            )

    def standings(self, mode: str) -> tuple[BestCounts, ...]:
        """Where TopRank stands in Figure 4; who is equal to it is not above it."""
        means = {(s.data, s.ranker, s.measure): round(s.mean, DIGITS) for s in self.scores(mode)}
        rivals = [other for _, other in FIGURES[4]]

        def place(data: str, measure: str) -> int:
            own = means[data, "toprank", measure]
            return 1 + sum(means[data, rival, measure] > own for rival in rivals)

        places = {d: [place(d, m) for m in POINTS] for d in dict.fromkeys(d for d, _, _ in means)}
        return tuple(
            BestCounts(mode, d, own_places.count(1), own_places.count(2))
            for d, own_places in places.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What `to_dict` gave, before or after JSON."""
        outcomes, weak = (
            tuple(RankerOutcome.from_dict(outcome) for outcome in content[name])
            for name in ("outcomes", "weak")
        )
        return cls(tuple(content["modes"]), content["quick"], content["seed"], outcomes, weak)


def bar_figure(
    number: int, mode: str, means: Sequence[MeanScore], tests: Sequence[PairedComparison]
) -> BarFigure:
    """Figure 2, 3 or 4 of these means and tests."""
    shown = {ranker for pair in FIGURES[number] for ranker in pair}
    return BarFigure(
        title=f"TopRank, Figure {number}, {TITLES[mode]}",
        names={ranker: name for ranker, name in NAMES.items() if ranker in shown},
        measures=POINTS,
        bars=tuple(s for s in means if s.ranker in shown and s.measure in POINTS),
        comparisons=tuple(tests),
        colours={ranker: colour for ranker, colour in COLOURS.items() if ranker in shown},
    )

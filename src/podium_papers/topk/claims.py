"""What the top-k paper says of its Tables 4 and 5 and Figures 1 and 2, and what the tests say of that.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
sections 4.2.2 and 4.2.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from podium.errors import UsageError
from podium_papers.outcomes import (
    DIGITS,
    MeanScore,
    PairedComparison,
    RankerOutcome,
    compare,
    scores,
)
from podium_papers.records import from_json
from podium_papers.topk.tables import (
    FAMILIES,
    MEASURES,
    NAMES,
    PAPER_K,
    PRINTED,
    TABLES,
    Kind,
    is_papers_own,
    printed,
)

PARENTS = tuple((focused, parent) for focused, own in FAMILIES.items() for parent in own)
"""The comparisons that most claims are about."""
RIVAL = "topk-listmle"
RIVALS = tuple((focused, RIVAL) for focused in FAMILIES)
SMALL = 0.062
"""The widest curve of which the paper says that it varies little: (max - min) / mean."""


@dataclass(frozen=True)
class BetaCurve:
    """The mean of a measure on test queries for each beta."""

    ranker: str
    measure: str
    betas: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def inside(self) -> bool:
        """Whether it is highest between its ends, and nowhere as high at an end."""
        rounded = [round(value, DIGITS) for value in self.values]
        return max(rounded) > max(rounded[0], rounded[-1])

    @property
    def variation(self) -> float:
        """(max - min) / mean."""
        mean = sum(self.values) / len(self.values)
        return (max(self.values) - min(self.values)) / mean if mean else 0.0


@dataclass(frozen=True)
class TopkChoice:
    """What validation gave a ranker, fold by fold, and why fits of these stopped, where too early."""

    ranker: str
    settings: tuple[str, ...]
    unfinished: tuple[str, ...]


@dataclass(frozen=True)
class TruthCase:
    """The ten rankers on one data set with one truth: a half of Table 4 or 5.

    Parameters
    ----------
    truth, k
        "graded" and 0; or where the top-k truth is from ("random", "Borda", "list", ...), and its k.
    grades, queries
        How many grades the data set has, and how many test queries.
    scores, tests
        Of every measure: means over all test queries; paired t-tests of each Focused ranker against its
        parents, Holm's correction for all of these, and against top-k ListMLE likewise.
    """

    data: str
    truth: str
    k: int
    grades: int
    queries: int
    scores: tuple[MeanScore, ...]
    tests: tuple[PairedComparison, ...]
    curves: tuple[BetaCurve, ...]
    chosen: tuple[TopkChoice, ...]

    @property
    def kind(self) -> Kind:
        """Which half of the table."""
        return "graded" if self.truth == "graded" else "top-k"

    @property
    def title(self) -> str:
        """As tables name it."""
        return "graded labels" if self.kind == "graded" else f"{self.truth} truth, k = {self.k}"

    @property
    def own(self) -> bool:
        """Whether the paper prints values of this very data."""
        return is_papers_own(self.data, self.truth, self.k, self.grades)

    def mean(self, ranker: str, measure: str) -> float:
        """A cell of the table."""
        return next(s.mean for s in self.scores if (s.ranker, s.measure) == (ranker, measure))

    def difference(self, ranker: str, measure: str) -> float | None:
        """Less the printed value; None where the data is not the paper's own."""
        if not self.own:
            return None
        return self.mean(ranker, measure) - printed(self.data, self.kind, ranker, measure)

    def comparisons_of(self, ranker: str, other: str) -> list[PairedComparison]:
        """A Focused ranker less another one, measure by measure."""
        return [c for c in self.tests if (c.ranker, c.other) == (ranker, other)]

    def of(self, pairs: Sequence[tuple[str, str]]) -> list[PairedComparison]:
        """The tests of these pairs."""
        return [c for pair in pairs for c in self.comparisons_of(*pair)]


def made_case(
    truth: str, k: int, grades: int, outcomes: Sequence[RankerOutcome], curves: Sequence[BetaCurve] = (),
    seed: int = 0,
) -> TruthCase:  # fmt: skip
    """What the ten rankers came to, query by query -> means and tests."""
    measures = list(MEASURES["graded" if truth == "graded" else "top-k"])
    tests = [
        test for pairs in (PARENTS, RIVALS)
        for test in compare(outcomes, pairs, measures, method="t", seed=seed)
    ]  # fmt: skip
    chosen = tuple(
        TopkChoice(
            o.ranker,
            *(tuple(v for own in t.values() for v in own) for t in (o.settings, o.unfinished)),
        )
        for o in outcomes
    )
    return TruthCase(
        outcomes[0].data, truth, k, grades, len(outcomes[0].values[measures[0]]),
        scores(outcomes, measures), tuple(tests), tuple(curves), chosen,
    )  # fmt: skip


@dataclass(frozen=True)
class TopkClaim:
    """What the paper says, on which data with which truth, whether it holds there, and the numbers."""

    text: str
    data: str
    truth: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class TopkReproduction:
    """Tables 4 and 5 and Figures 1 and 2 on other data, case by case, and the claims made of them."""

    quick: bool
    seed: int
    draws: int
    """Random truths, over which a query's value is the mean."""
    cases: tuple[TruthCase, ...]

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets."""
        return tuple(dict.fromkeys(case.data for case in self.cases))

    def of(self, data: str) -> list[TruthCase]:
        """The cases of one data set, graded labels first."""
        return [case for case in self.cases if case.data == data]

    def case(self, data: str, truth: str = "graded", k: int = PAPER_K) -> TruthCase:
        """One case."""
        wanted = (data, truth, 0 if truth == "graded" else k)
        for case in self.cases:
            if (case.data, case.truth, case.k) == wanted:
                return case
        available = "; ".join(f"{case.data}, {case.title}" for case in self.cases)
        raise UsageError(f"expected one of {available}; got {data}, {truth}, k = {k}")

    def claims(self) -> tuple[TopkClaim, ...]:
        """What the paper says, case by case."""
        return tuple(claim for case in self.cases for claim in case_claims(case))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What `to_dict` gave, before or after JSON."""
        return from_json(cls, content)


COMPARABLE = "FocusedRank is comparable with its parents on graded labels"
BETTER = "FocusedRank is significantly better than its parents on top-k truth"
AHEAD_OF_PARENTS = (
    "FocusedRank is ahead of its parents on top-k truth, counted as the paper does: without a test, at no "
    "smaller share of points than in its own tables"
)
BEST = "under almost all measures the best ranker is a Focused one"
RIVALLED = "FocusedRank is comparable with top-k ListMLE"
AHEAD = "FocusedNet is better than top-k ListMLE under all measures (said of top-k MQ2007)"
RISES = "as beta grows, the ranking gets better up to a maximum inside, and then worse (all curves)"
STABLE = "the ranking varies little with beta (of the paper's curves, by 6.2% at most)"
CLAIMS = (COMPARABLE, BETTER, AHEAD_OF_PARENTS, BEST, RIVALLED, AHEAD, RISES, STABLE)
"""In the paper's order."""


def case_claims(case: TruthCase) -> Iterator[TopkClaim]:
    """Comparable: nowhere significantly below. Better, under all measures: at every single point."""

    def claim(text: str, holds: bool, numbers: str) -> TopkClaim:
        return TopkClaim(text, case.data, case.title, bool(holds), numbers)

    parents, rivals = case.of(PARENTS), case.of(RIVALS)
    if case.kind == "graded":
        yield claim(COMPARABLE, not _below(parents), counted(parents))
    else:
        yield claim(BETTER, len(_above(parents)) == len(parents), counted(parents))
        ahead = sum(c.sign > 0 for c in parents)
        yield claim(
            AHEAD_OF_PARENTS,
            ahead >= printed_share(case.kind) * len(parents),
            f"{ahead} of {len(parents)}",
        )
        first = [m for m in MEASURES[case.kind] if _winners(case, m) <= set(FAMILIES)]
        total = len(MEASURES[case.kind])
        yield claim(BEST, 2 * len(first) > total, f"{len(first)} of {total} measures")
    yield claim(RIVALLED, not _below(rivals), counted(rivals))
    if case.kind == "top-k":
        net = case.comparisons_of("focused-net", RIVAL)
        yield claim(AHEAD, all(c.sign > 0 for c in net), counted(net))
    if case.curves:
        inside = sum(curve.inside for curve in case.curves)
        total = len(case.curves)
        yield claim(RISES, inside == total, f"{inside} of {total} curves")
        widest = max(case.curves, key=lambda curve: curve.variation)
        yield claim(
            STABLE, widest.variation <= SMALL,
            f"{widest.variation:.1%} ({NAMES[widest.ranker]}, {MEASURES[case.kind][widest.measure]})",
        )  # fmt: skip


def _above(tests: Sequence[PairedComparison]) -> list[PairedComparison]:
    return [c for c in tests if c.significant and c.sign > 0]


def _below(tests: Sequence[PairedComparison]) -> list[PairedComparison]:
    return [c for c in tests if c.significant and c.sign < 0]


def _winners(case: TruthCase, measure: str) -> set[str]:
    means = {ranker: round(case.mean(ranker, measure), DIGITS) for ranker in NAMES}
    return {ranker for ranker, mean in means.items() if mean == max(means.values())}


def counted(tests: Sequence[PairedComparison]) -> str:
    """At how many points the ranker is ahead, and significantly ahead (+) and behind (-)."""
    better = sum(c.sign > 0 for c in tests)
    return f"{better} of {len(tests)} (+{len(_above(tests))}, -{len(_below(tests))})"


def printed_ahead(data: str, kind: Kind, pairs: Sequence[tuple[str, str]] = PARENTS) -> str:
    """The same count of the printed values, which come without tests."""
    ahead = _printed_signs(data, kind, pairs)
    return f"{sum(ahead)} of {len(ahead)}"


def printed_share(kind: Kind) -> float:
    """Return the share of points at which Focused rankers lead, in the less clear of the two tables.

    Examples
    --------
    >>> printed_share("top-k") == 60 / 66  # TD2003; on MQ2007 it is 65 of 66
    True
    """
    signs = [_printed_signs(data, kind, PARENTS) for data in TABLES]
    return min(sum(own) / len(own) for own in signs)


def _printed_signs(data: str, kind: Kind, pairs: Sequence[tuple[str, str]]) -> list[bool]:
    table = PRINTED[data, kind]
    return [a > b for r, o in pairs for a, b in zip(table[r], table[o], strict=True)]

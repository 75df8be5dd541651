"""Claims of the top-k paper about its tables and figures, and whether the tests support them.

Niu, Guo, Lan, Cheng, Top-k learning to rank: labeling, ranking and evaluation, SIGIR 2012,
sections 4.2.2 and 4.2.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from podium.errors import UsageError
from podium_papers.comparisons import (
    EQUAL_DIGITS,
    MeanScore,
    PairedComparison,
    RankerScores,
    compare,
    mean_scores,
)
from podium_papers.topk.printed_tables import (
    FAMILIES,
    MEASURES,
    NAMES,
    PAPER_K,
    TABLE_NUMBERS,
    TableKind,
    is_papers_own,
    printed_tables,
    printed_value,
)

PARENTS = tuple((focused, parent) for focused, parents in FAMILIES.items() for parent in parents)
"""Comparisons of Focused rankers with their parents, the subject of most claims."""
RIVAL = "topk-listmle"
RIVALS = tuple((focused, RIVAL) for focused in FAMILIES)
SMALL_VARIATION = 0.062
"""Largest (max - min) / mean of the curves that, to the paper, vary little."""


@dataclass(frozen=True)
class BetaCurve:
    """Mean of a measure on test queries for each beta."""

    ranker: str
    measure: str
    betas: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def peaks_inside(self) -> bool:
        """Whether the maximum is higher than both ends."""
        rounded = [round(value, EQUAL_DIGITS) for value in self.values]
        return max(rounded) > max(rounded[0], rounded[-1])

    @property
    def variation(self) -> float:
        """(max - min) / mean."""
        mean = sum(self.values) / len(self.values)
        return (max(self.values) - min(self.values)) / mean if mean else 0.0


@dataclass(frozen=True)
class TopkChoice:
    """Settings that validation chose for a ranker, fold by fold, and why fits stopped too early."""

    ranker: str
    settings: tuple[str, ...]
    unfinished: tuple[str, ...]


@dataclass(frozen=True)
class TruthCase:
    """The ten rankers on one data set with one truth: one half of Table 4 or 5.

    Parameters
    ----------
    truth, k
        "graded" and 0, or the origin of the top-k truth ("random", "Borda", "list", ...) and its k.
    grades, queries
        Number of grades of the data set, and of test queries.
    scores, tests
        For every measure, means over all test queries, and paired t-tests. Focused rankers are tested
        against their parents and, with a correction of their own, against top-k ListMLE.
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
    def kind(self) -> TableKind:
        """Half of the table that the case belongs to."""
        return "graded" if self.truth == "graded" else "top-k"

    @property
    def title(self) -> str:
        """Name in tables."""
        return "graded labels" if self.kind == "graded" else f"{self.truth} truth, k = {self.k}"

    @property
    def is_papers_own(self) -> bool:
        """Whether the paper prints values of this very data."""
        return is_papers_own(self.data, self.truth, self.k, self.grades)

    def mean(self, ranker: str, measure: str) -> float:
        """Return a cell of the table."""
        return next(s.mean for s in self.scores if (s.ranker, s.measure) == (ranker, measure))

    def difference(self, ranker: str, measure: str) -> float | None:
        """Return the difference from the printed value, or None if the data is not the paper's own."""
        if not self.is_papers_own:
            return None
        return self.mean(ranker, measure) - printed_value(self.data, self.kind, ranker, measure)

    def comparisons_of(self, ranker: str, other: str) -> list[PairedComparison]:
        """Return the tests of a Focused ranker minus another one, measure by measure."""
        return [c for c in self.tests if (c.ranker, c.other) == (ranker, other)]

    def of(self, pairs: Sequence[tuple[str, str]]) -> list[PairedComparison]:
        """Return the tests of these pairs."""
        return [c for pair in pairs for c in self.comparisons_of(*pair)]


def make_case(
    truth: str, k: int, grades: int, ranker_scores: Sequence[RankerScores], curves: Sequence[BetaCurve] = (),
    seed: int = 0,
) -> TruthCase:  # fmt: skip
    """Make a case of the ten rankers' scores, query by query."""
    measures = list(MEASURES["graded" if truth == "graded" else "top-k"])
    tests = [
        test for pairs in (PARENTS, RIVALS)
        for test in compare(ranker_scores, pairs, measures, method="t", seed=seed)
    ]  # fmt: skip
    chosen = tuple(
        TopkChoice(
            o.ranker,
            *(tuple(v for texts in t.values() for v in texts) for t in (o.settings, o.unfinished)),
        )
        for o in ranker_scores
    )
    return TruthCase(
        ranker_scores[0].data, truth, k, grades, len(ranker_scores[0].values[measures[0]]),
        mean_scores(ranker_scores, measures), tuple(tests), tuple(curves), chosen,
    )  # fmt: skip


@dataclass(frozen=True)
class TopkClaim:
    """A claim of the paper on one data set with one truth, whether it holds, and the numbers."""

    text: str
    data: str
    truth: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class TopkReproduction:
    """Tables 4 and 5 and Figures 1 and 2, case by case, with the claims that follow from them."""

    quick: bool
    seed: int
    draws: int
    """Number of random truths; a query's value is its mean over them."""
    cases: tuple[TruthCase, ...]

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets."""
        return tuple(dict.fromkeys(case.data for case in self.cases))

    def of(self, data: str) -> list[TruthCase]:
        """Return the cases of one data set, graded labels first."""
        return [case for case in self.cases if case.data == data]

    def case(self, data: str, truth: str = "graded", k: int = PAPER_K) -> TruthCase:
        """Return one case."""
        key = (data, truth, 0 if truth == "graded" else k)
        for case in self.cases:
            if (case.data, case.truth, case.k) == key:
                return case
        available = "; ".join(f"{case.data}, {case.title}" for case in self.cases)
        raise UsageError(f"expected one of {available}; got {data}, {truth}, k = {k}")

    def claims(self) -> tuple[TopkClaim, ...]:
        """Return every claim of the paper, case by case."""
        return tuple(claim for case in self.cases for claim in case_claims(case))


COMPARABLE_CLAIM = "FocusedRank is comparable with its parents on graded labels"
BETTER_CLAIM = "FocusedRank is significantly better than its parents on top-k truth"
AHEAD_OF_PARENTS_CLAIM = (
    "FocusedRank is ahead of its parents on top-k truth, counted as the paper does: without a test, at no "
    "smaller share of points than in its own tables"
)
BEST_CLAIM = "under almost all measures the best ranker is a Focused one"
RIVAL_CLAIM = "FocusedRank is comparable with top-k ListMLE"
AHEAD_OF_RIVAL_CLAIM = (
    "FocusedNet is better than top-k ListMLE under all measures (said of top-k MQ2007)"
)
RISING_CURVE_CLAIM = (
    "as beta grows, the ranking gets better up to a maximum inside, and then worse (all curves)"
)
STABLE_CURVE_CLAIM = "the ranking varies little with beta (of the paper's curves, by 6.2% at most)"
CLAIMS = (
    COMPARABLE_CLAIM,
    BETTER_CLAIM,
    AHEAD_OF_PARENTS_CLAIM,
    BEST_CLAIM,
    RIVAL_CLAIM,
    AHEAD_OF_RIVAL_CLAIM,
    RISING_CURVE_CLAIM,
    STABLE_CURVE_CLAIM,
)
"""Claims in the order of the paper."""


def case_claims(case: TruthCase) -> Iterator[TopkClaim]:
    """Yield the claims of one case.

    "Comparable" means significantly worse at no point. "Better" and "under all measures" mean better at
    every point.
    """

    def claim(text: str, holds: bool, numbers: str) -> TopkClaim:
        return TopkClaim(text, case.data, case.title, bool(holds), numbers)

    parents, rivals = case.of(PARENTS), case.of(RIVALS)
    if case.kind == "graded":
        yield claim(COMPARABLE_CLAIM, not _significantly_below(parents), count_text(parents))
    else:
        yield claim(
            BETTER_CLAIM, len(_significantly_above(parents)) == len(parents), count_text(parents)
        )
        ahead = sum(c.sign > 0 for c in parents)
        yield claim(
            AHEAD_OF_PARENTS_CLAIM,
            ahead >= printed_share(case.kind) * len(parents),
            f"{ahead} of {len(parents)}",
        )
        first = [m for m in MEASURES[case.kind] if _best_rankers(case, m) <= set(FAMILIES)]
        total = len(MEASURES[case.kind])
        yield claim(BEST_CLAIM, 2 * len(first) > total, f"{len(first)} of {total} measures")
    yield claim(RIVAL_CLAIM, not _significantly_below(rivals), count_text(rivals))
    if case.kind == "top-k":
        net = case.comparisons_of("focused-net", RIVAL)
        yield claim(AHEAD_OF_RIVAL_CLAIM, all(c.sign > 0 for c in net), count_text(net))
    if case.curves:
        peaks_inside = sum(curve.peaks_inside for curve in case.curves)
        total = len(case.curves)
        yield claim(RISING_CURVE_CLAIM, peaks_inside == total, f"{peaks_inside} of {total} curves")
        widest = max(case.curves, key=lambda curve: curve.variation)
        yield claim(
            STABLE_CURVE_CLAIM, widest.variation <= SMALL_VARIATION,
            f"{widest.variation:.1%} ({NAMES[widest.ranker]}, {MEASURES[case.kind][widest.measure]})",
        )  # fmt: skip


def _significantly_above(tests: Sequence[PairedComparison]) -> list[PairedComparison]:
    return [c for c in tests if c.significant and c.sign > 0]


def _significantly_below(tests: Sequence[PairedComparison]) -> list[PairedComparison]:
    return [c for c in tests if c.significant and c.sign < 0]


def _best_rankers(case: TruthCase, measure: str) -> set[str]:
    means = {ranker: round(case.mean(ranker, measure), EQUAL_DIGITS) for ranker in NAMES}
    return {ranker for ranker, mean in means.items() if mean == max(means.values())}


def count_text(tests: Sequence[PairedComparison]) -> str:
    """Return at how many points the ranker is ahead, and significantly ahead (+) and behind (-)."""
    better = sum(c.sign > 0 for c in tests)
    n_above, n_below = len(_significantly_above(tests)), len(_significantly_below(tests))
    return f"{better} of {len(tests)} (+{n_above}, -{n_below})"


def printed_ahead(data: str, kind: TableKind, pairs: Sequence[tuple[str, str]] = PARENTS) -> str:
    """Return the same count for the printed values, which come without tests."""
    ahead = _printed_signs(data, kind, pairs)
    return f"{sum(ahead)} of {len(ahead)}"


def printed_share(kind: TableKind) -> float:
    """Return the share of points at which Focused rankers lead, in the less clear of the two tables.

    Examples
    --------
    >>> printed_share("top-k") == 60 / 66  # TD2003; on MQ2007 it is 65 of 66
    True
    """
    signs = [_printed_signs(data, kind, PARENTS) for data in TABLE_NUMBERS]
    return min(sum(fold_signs) / len(fold_signs) for fold_signs in signs)


def _printed_signs(data: str, kind: TableKind, pairs: Sequence[tuple[str, str]]) -> list[bool]:
    table = printed_tables()[data, kind]
    return [a > b for r, o in pairs for a, b in zip(table[r], table[o], strict=True)]

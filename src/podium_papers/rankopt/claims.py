"""Claims of the post-ranking paper about its Figures 3 to 11, and whether the tests support them.

Wu, Xu, Li, Jiang, Ranking optimization with constraints, CIKM 2014, sections 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from podium.errors import UsageError
from podium_papers.comparisons import (
    MeanScore,
    PairedComparison,
    RankerScores,
    compare,
    mean_scores,
)
from podium_papers.rankopt.convergence import Convergence
from podium_papers.rankopt.drawn_rules import RuleCase
from podium_papers.rankopt.lists_under_rules import MEASURES

BASE = "lambdamart"
HEURISTICS = ("radical", "moderate", "conservative", "proportional")
IF_VIOLATED = tuple(f"{name}-violated" for name in HEURISTICS)
BASELINE_MODES = {"always": HEURISTICS, "violated": IF_VIOLATED}
"""Baselines that always move documents, as printed, and those that do so only if a rule is violated."""
FORMS = ("margin", "uniform")
PRINTED = ("algorithm-1", "printed")
TUNED_FORMS = (*PRINTED, *FORMS)
"""The paper's method in four forms, whose weights are chosen."""
STUDIED_METHODS = (*HEURISTICS, *IF_VIOLATED, *FORMS)

NAMES = {
    BASE: "LambdaMART",
    **{name: name.capitalize() for name in HEURISTICS},
    **{f"{name}-violated": f"{name.capitalize()} if violated" for name in HEURISTICS},
    "algorithm-1": "Algorithm 1",
    "printed": "Printed pairs",
    "uniform": "RankOpt (uniform)",
    "margin": "RankOpt (margin)",
}

RULE_COMBINATIONS = tuple(RuleCase(top, rest) for top in (1, 3, 5) for rest in (5, 10))
REPORTED_CASES = (RuleCase(3, 5), RuleCase(3, 10), RuleCase(5, 10))
"""Combinations that the paper shows."""
WEIGHT_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
WIDE_WEIGHT_GRID = (1.0, 10.0, 100.0, 1000.0, 3000.0)
"""Weights for the printed forms, which need larger ones to keep a rule against the original order."""
STUDY_CASE = RuleCase(3, 5)
"""Case in which wrong rules and weights are studied."""
WRONG_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
DEPTHS = tuple(range(1, 11))
RULE_TYPES = {"top-5": RuleCase(5, None), "not-top-10": RuleCase(None, 10), "both": RuleCase(5, 10)}
STUDY_CASES = tuple(
    dict.fromkeys(
        [
            *(RuleCase(k, None) for k in DEPTHS),
            *(RuleCase(None, k) for k in DEPTHS),
            *(RuleCase(STUDY_CASE.top, STUDY_CASE.rest, share) for share in WRONG_SHARES if share),
        ]
    )
)
EQUAL_NDCG = 0.001
"""Means that differ by no more count as equally good."""
SIMILAR_NDCG = 0.01
"""Means that differ by no more count as similar, as on the paper's bars."""

PAPER_EXCEPTIONS = {
    "MQ2008": {("top-5, not-top-10", "proportional", "NDCG@5")},
    "OHSUMED": {
        (str(case), "radical", measure)
        for case in (RuleCase(3, 5), RuleCase(3, 10))
        for measure in ("NDCG@3", "NDCG@5")
    },
}
"""Comparisons that are not significant in the paper itself."""


def weight_case(weight: str, value: float) -> str:
    """Return the name of the case in which one weight is set and the other is as chosen."""
    return f"{STUDY_CASE}, {weight} = {value:g}"


@dataclass(frozen=True)
class RankOptClaim:
    """A claim of the paper about one form of its method on one data set, and the numbers (`found`).

    `form` is empty if the claim is not about the method, `when` if it is not about the baselines.
    """

    figure: str
    text: str
    data: str
    form: str
    when: str
    holds: bool
    found: str


@dataclass(frozen=True)
class ExampleList:
    """Figure 8: one list before and after rules, as label and mark (t, n or nothing) of each document."""

    data: str
    kind: str
    case: str
    query: str
    rankings: Mapping[str, tuple[tuple[int, str], ...]]


@dataclass(frozen=True)
class RankOptReproduction:
    """Values of every method on every query in every case, with the tests and claims that follow."""

    quick: bool
    seed: int
    ranker_scores: tuple[RankerScores, ...]
    examples: tuple[ExampleList, ...]
    convergence: tuple[Convergence, ...] = ()

    @cached_property
    def data(self) -> tuple[str, ...]:
        """Data sets."""
        return tuple(dict.fromkeys(o.data for o in self.ranker_scores))

    @cached_property
    def _scores_by_key(self) -> dict[tuple[str, str, str], RankerScores]:
        return {(o.data, o.mode, o.ranker): o for o in self.ranker_scores}

    def scores_of(self, data: str, case: str, method: str) -> RankerScores:
        """Return the scores of one method in one case on one data set; the base ranker has no rules."""
        key = (data, "" if method == BASE else case, method)
        if key not in self._scores_by_key:
            raise UsageError(f"expected data, case and method of this reproduction, got {key}")
        return self._scores_by_key[key]

    def mean(self, data: str, case: str, method: str, measure: str) -> float:
        """Return the mean over queries."""
        return float(np.mean(self.scores_of(data, case, method).values[measure]))

    def _select(self, case: str, methods: Sequence[str]) -> list[RankerScores]:
        keys = [(d, "" if m == BASE else case, m) for d in self.data for m in methods]
        return [self._scores_by_key[key] for key in keys if key in self._scores_by_key]

    def comparisons(
        self, case: str, form: str, when: str = "always"
    ) -> tuple[PairedComparison, ...]:
        """Test a form against the base ranker and the baselines; correct for the tests of all data sets."""
        key = (case, form, when)
        if key not in self._comparisons:
            others = (BASE, *BASELINE_MODES[when])
            pairs = [(form, other) for other in others]
            self._comparisons[key] = compare(
                self._select(case, (form, *others)), pairs, MEASURES, method="t"
            )
        return self._comparisons[key]

    def compare_rule_types(
        self, form: str
    ) -> tuple[tuple[MeanScore, ...], tuple[PairedComparison, ...]]:
        """Return Figure 10: means without rules, with either and with both, and tests of both."""
        by_rule_type = [
            replace(scores, ranker=kind, mode="")
            for data in self.data
            for kind, scores in (
                ("none", self.scores_of(data, "", BASE)),
                *(
                    (kind, self.scores_of(data, str(case), form))
                    for kind, case in RULE_TYPES.items()
                ),
            )
        ]
        pairs = [("both", kind) for kind in ("none", "not-top-10", "top-5")]
        return mean_scores(by_rule_type, MEASURES), compare(
            by_rule_type, pairs, MEASURES, method="t"
        )

    def means(self) -> dict[str, tuple[MeanScore, ...]]:
        """Return by case the means and standard errors of all methods; the base ranker's case is empty."""
        cases = dict.fromkeys(o.mode for o in self.ranker_scores)
        return {
            c: mean_scores([o for o in self.ranker_scores if o.mode == c], MEASURES) for c in cases
        }

    def claims(self) -> tuple[RankOptClaim, ...]:
        """Return every claim of the paper, data set by data set."""
        study = (self.data[0], str(STUDY_CASE))
        forms = [form for form in TUNED_FORMS if (*study, form) in self._scores_by_key]
        claims: list[RankOptClaim] = []
        for form in forms:
            claims += self._base_claims(form)
            claims += self._baseline_claims(form)
            claims += self._top_1_claims(form)
        claims += self._similarity_claims(forms)
        if not self.quick:
            claims += [c for form in FORMS for c in self._study_claims(form)]
            claims += self._radical_claims()
        return (*claims, *convergence_claims(self.convergence))

    def _base_claims(self, form: str) -> Iterator[RankOptClaim]:
        text = "RankOpt is better than LambdaMART, significantly"
        for data in self.data:
            tests = self._tests(data, form, "always", lambda c: c.other == BASE)
            n_above, counts = _count_tests([c for _, c in tests])
            yield RankOptClaim("3-6", text, data, form, "", n_above == len(tests), counts)

    def _baseline_claims(self, form: str) -> Iterator[RankOptClaim]:
        for when in BASELINE_MODES:
            for data in self.data:
                tests = self._tests(data, form, when, lambda c: c.other != BASE)
                _, counts = _count_tests([c for _, c in tests])
                better = all(c.sign > 0 for _, c in tests)
                yield RankOptClaim("3-6", "RankOpt is better than all four baselines", data, form, when,
                            better, counts)  # fmt: skip
                rest = [
                    c
                    for case, c in tests
                    if (case, c.other.removesuffix("-violated"), c.measure)
                    not in PAPER_EXCEPTIONS.get(data, set())
                ]
                n_above, counts = _count_tests(rest)
                text = "and significantly, except where the paper says otherwise"
                yield RankOptClaim("3-6", text, data, form, when, n_above == len(rest), counts)

    def _tests(
        self, data: str, form: str, when: str, selects: Callable[[PairedComparison], bool]
    ) -> list[tuple[str, PairedComparison]]:
        """Return the tests of the combinations that the paper shows."""
        return [
            (str(case), c)
            for case in REPORTED_CASES
            for c in self.comparisons(str(case), form, when)
            if c.data == data and selects(c)
        ]

    @cached_property
    def _comparisons(self) -> dict[tuple[str, str, str], tuple[PairedComparison, ...]]:
        return {}

    def _top_1_claims(self, form: str) -> Iterator[RankOptClaim]:
        text = "With a top-1 rule RankOpt is as good as the baselines (NDCG@1)"
        for data in self.data:
            gaps = [
                self.mean(data, str(case), form, "NDCG@1")
                - self.mean(data, str(case), other, "NDCG@1")
                for case in RULE_COMBINATIONS
                if case.top == 1
                for other in HEURISTICS
            ]
            widest = max(gaps, key=abs)
            yield RankOptClaim("3-6", text, data, form, "always", abs(widest) <= EQUAL_NDCG,
                        f"{widest:+.4f} at most")  # fmt: skip

    def _similarity_claims(self, forms: Sequence[str]) -> Iterator[RankOptClaim]:
        text = "Results of top-3, not-top-5 and of top-3, not-top-10 are very similar"
        for form in forms:
            for data in self.data:
                gaps = [
                    self.mean(data, str(RuleCase(3, 10)), form, m)
                    - self.mean(data, str(STUDY_CASE), form, m)
                    for m in MEASURES
                ]
                widest = max(gaps, key=abs)
                holds = abs(widest) <= SIMILAR_NDCG
                yield RankOptClaim("3-6", text, data, form, "", holds, f"{widest:+.4f} at most")

    def _study_claims(self, form: str) -> Iterator[RankOptClaim]:
        for data in self.data:
            yield from self._depth_claims(data, form)
            yield from self._type_claims(data, form)
            yield from self._weight_claims(data, form)
            yield from self._wrong_rule_claims(data, form)

    def _depth_claims(self, data: str, form: str) -> Iterator[RankOptClaim]:
        for figure, kind, cases in (
            ("9a", "top-k", [RuleCase(k, None) for k in DEPTHS]),
            ("9b", "not-top-k", [RuleCase(None, k) for k in DEPTHS]),
        ):
            for when, others in BASELINE_MODES.items():
                gaps = [
                    self.mean(data, str(case), form, "NDCG@1")
                    - max(self.mean(data, str(case), other, "NDCG@1") for other in others)
                    for case in cases
                ]
                good = sum(gap >= -EQUAL_NDCG for gap in gaps)
                numbers = f"{good} of {len(gaps)} values of k, least {min(gaps):+.4f}"
                yield RankOptClaim(figure, f"RankOpt is better than or as good as all four baselines for all "
                            f"k of the {kind} rule", data, form, when, good == len(gaps),
                            numbers)  # fmt: skip
        means = [self.mean(data, str(RuleCase(None, k)), form, "NDCG@1") for k in DEPTHS]
        peak = DEPTHS[int(np.argmax(means))]
        yield RankOptClaim("9b", "RankOpt is at its best around k = 5 of the not-top-k rule", data, form, "",
                    4 <= peak <= 6, f"best at k = {peak}")  # fmt: skip

    def _type_claims(self, data: str, form: str) -> Iterator[RankOptClaim]:
        means = {
            name: [self.mean(data, str(case), form, m) for m in MEASURES]
            for name, case in RULE_TYPES.items()
        }
        none = [self.mean(data, "", BASE, m) for m in MEASURES]
        for text, high, low in (
            ("A top-5 rule alone improves the ranking", means["top-5"], none),
            ("A not-top-10 rule alone improves the ranking", means["not-top-10"], none),
            ("Both rules are better than the top-5 rule alone", means["both"], means["top-5"]),
            ("The top-5 rule is worth more than the not-top-10 rule", means["top-5"],
             means["not-top-10"]),
        ):  # fmt: skip
            gaps = np.subtract(high, low)
            numbers = ", ".join(f"{gap:+.4f}" for gap in gaps)
            yield RankOptClaim("10", text, data, form, "", bool((gaps > 0).all()), numbers)

    def _weight_claims(self, data: str, form: str) -> Iterator[RankOptClaim]:
        for weight in ("rho_t", "rho_n"):
            spreads = [
                float(
                    np.ptp([self.mean(data, weight_case(weight, v), form, m) for v in WEIGHT_GRID])
                )
                for m in MEASURES
            ]
            numbers = ", ".join(f"{spread:.4f}" for spread in spreads) + " from worst to best"
            yield RankOptClaim("11", f"RankOpt is not sensitive to {weight}", data, form, "",
                        max(spreads) <= SIMILAR_NDCG, numbers)  # fmt: skip

    def _wrong_rule_claims(self, data: str, form: str) -> Iterator[RankOptClaim]:
        text = "RankOpt loses less by wrong rules than Radical (the paper shows one list)"
        for when in BASELINE_MODES:
            radical = BASELINE_MODES[when][0]
            gaps = [
                np.mean([self.mean(data, case, form, m) - self.mean(data, case, radical, m)
                         for m in MEASURES])
                for case in wrong_cases()
            ]  # fmt: skip
            numbers = ", ".join(f"{gap:+.4f}" for gap in gaps) + f" at {wrong_shares_text()} wrong"
            yield RankOptClaim(
                "8b", text, data, form, when, all(gap > 0 for gap in gaps[1:]), numbers
            )

    def _radical_claims(self) -> Iterator[RankOptClaim]:
        text = "Radical hurts the base ranking when k of the top-k rule is large (k = 10, NDCG@1)"
        for data in self.data:
            for when in BASELINE_MODES:
                gap = self.mean(data, "top-10", BASELINE_MODES[when][0], "NDCG@1") - self.mean(
                    data, "", BASE, "NDCG@1"
                )
                yield RankOptClaim("9a", text, data, "", when, gap < 0, f"{gap:+.4f}")


def wrong_cases() -> list[str]:
    """Return the cases of the study of wrong rules."""
    return [str(RuleCase(STUDY_CASE.top, STUDY_CASE.rest, share)) for share in WRONG_SHARES]


def wrong_shares_text() -> str:
    """Return their shares of wrong rules as text."""
    return ", ".join(f"{share:.0%}" for share in WRONG_SHARES)


def _count_tests(tests: Sequence[PairedComparison]) -> tuple[int, str]:
    """Count the tests that are significantly positive; return the count, and all counts as text."""
    better = sum(c.sign > 0 for c in tests)
    n_above = sum(c.significant and c.sign > 0 for c in tests)
    n_below = sum(c.significant and c.sign < 0 for c in tests)
    return n_above, f"{better} of {len(tests)} (+{n_above}, -{n_below})"


CONVERGENCE_CLAIM = (
    "For most queries the algorithm converges within 10 iterations (top-5 and not-top-10 rules)"
)


def convergence_claims(counts: Sequence[Convergence]) -> Iterator[RankOptClaim]:
    """Yield whether most lists have converged after 10 steps, by Algorithm 1 and by Podium's method."""
    for data in dict.fromkeys(c.data for c in counts):
        data_counts = [c for c in counts if c.data == data]
        descent = [
            f"rho = {c.rho:g}: "
            + ", ".join(f"gradient {tol} on {done}" for tol, done in c.within.items())
            + f" of {c.lists} lists; f has a minimum on {c.with_minimum}, and {c.settled} have their "
            "order of 50 steps"
            for c in data_counts
        ]
        widest = [max(c.within.values()) for c in data_counts]
        most = all(2 * done > c.lists for done, c in zip(widest, data_counts, strict=True))
        yield RankOptClaim(
            "Table 2", CONVERGENCE_CLAIM, data, "algorithm-1", "", most, "; ".join(descent)
        )
        newton = [
            f"rho = {c.rho:g}: gradient 1e-8 on {c.newton} of {c.lists} lists" for c in data_counts
        ]
        fast = all(2 * c.newton > c.lists for c in data_counts)
        yield RankOptClaim(
            "Table 2", CONVERGENCE_CLAIM, data, "uniform", "", fast, "; ".join(newton)
        )

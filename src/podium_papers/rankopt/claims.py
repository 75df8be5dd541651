"""What the paper says of its Figures 3 to 11, and what the tests say of that.

Wu, Xu, Li, Jiang, Ranking optimization with constraints, CIKM 2014, sections 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from podium.errors import UsageError
from podium_papers.outcomes import MeanScore, PairedComparison, RankerOutcome, compare, scores
from podium_papers.rankopt.convergence import Convergence
from podium_papers.rankopt.lists import MEASURES
from podium_papers.rankopt.rules import RuleCase

BASE = "lambdamart"
HEURISTICS = ("radical", "moderate", "conservative", "proportional")
VIOLATED = tuple(f"{name}-violated" for name in HEURISTICS)
WHENS = {"always": HEURISTICS, "violated": VIOLATED}
"""The baselines as printed, and moving only what violates its rule."""
FORMS = ("margin", "uniform")
PRINTED = ("algorithm-1", "printed")
TUNED = (*PRINTED, *FORMS)
"""Those with weights to choose: the paper's method in four forms."""
STUDIED = (*HEURISTICS, *VIOLATED, *FORMS)

NAMES = {
    BASE: "LambdaMART",
    **{name: name.capitalize() for name in HEURISTICS},
    **{f"{name}-violated": f"{name.capitalize()} if violated" for name in HEURISTICS},
    "algorithm-1": "Algorithm 1",
    "printed": "Printed pairs",
    "uniform": "RankOpt (uniform)",
    "margin": "RankOpt (margin)",
}

COMBINATIONS = tuple(RuleCase(top, rest) for top in (1, 3, 5) for rest in (5, 10))
REPORTED = (RuleCase(3, 5), RuleCase(3, 10), RuleCase(5, 10))
"""The combinations the paper shows."""
GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
WIDE = (1.0, 10.0, 100.0, 1000.0, 3000.0)
"""For the printed forms, which want more: nothing but weights holds a rule against their start."""
STUDY = RuleCase(3, 5)
"""Where wrong rules and weights are studied."""
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
DEPTHS = tuple(range(1, 11))
TYPES = {"top-5": RuleCase(5, None), "not-top-10": RuleCase(None, 10), "both": RuleCase(5, 10)}
STUDIES = tuple(
    dict.fromkeys(
        [
            *(RuleCase(k, None) for k in DEPTHS),
            *(RuleCase(None, k) for k in DEPTHS),
            *(RuleCase(STUDY.top, STUDY.rest, share) for share in SHARES if share),
        ]
    )
)
TOLERANCE = 0.001
SPREAD = 0.01
"""Means that differ by less the paper would call similar, on its bars."""

EXCEPT = {
    "MQ2008": {("top-5, not-top-10", "proportional", "NDCG@5")},
    "OHSUMED": {
        (str(case), "radical", measure)
        for case in (RuleCase(3, 5), RuleCase(3, 10))
        for measure in ("NDCG@3", "NDCG@5")
    },
}
"""Where the paper itself finds no significance."""


def along(weight: str, value: float) -> str:
    """The name of the case in which one weight is set and the other is as chosen."""
    return f"{STUDY}, {weight} = {value:g}"


@dataclass(frozen=True)
class RankOptClaim:
    """Something the paper says, of one form of its method on one data set, and what we find.

    `form` is empty where the claim is not about the method, `when` where not about the baselines.
    """

    figure: str
    text: str
    data: str
    form: str
    when: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Example:
    """Figure 8: one list before and after, as label and mark (t, n or nothing) of each document."""

    data: str
    kind: str
    case: str
    query: str
    rankings: Mapping[str, tuple[tuple[int, str], ...]]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """As `asdict` and JSON give it."""
        rankings = {m: tuple((d[0], d[1]) for d in r) for m, r in content["rankings"].items()}
        return cls(**{**content, "rankings": rankings})


@dataclass(frozen=True)
class RankOptReproduction:
    """What every method came to on every query in every case, and the tests and claims made of it."""

    quick: bool
    seed: int
    outcomes: tuple[RankerOutcome, ...]
    examples: tuple[Example, ...]
    convergence: tuple[Convergence, ...] = ()

    @cached_property
    def data(self) -> tuple[str, ...]:
        """The data sets."""
        return tuple(dict.fromkeys(o.data for o in self.outcomes))

    @cached_property
    def _found(self) -> dict[tuple[str, str, str], RankerOutcome]:
        return {(o.data, o.mode, o.ranker): o for o in self.outcomes}

    def outcome(self, data: str, case: str, method: str) -> RankerOutcome:
        """One method in one case on one data set; the base ranker has no rules."""
        key = (data, "" if method == BASE else case, method)
        if key not in self._found:
            raise UsageError(f"expected an outcome of this reproduction, got {key}")
        return self._found[key]

    def mean(self, data: str, case: str, method: str, measure: str) -> float:
        """The mean over queries."""
        return float(np.mean(self.outcome(data, case, method).values[measure]))

    def _of(self, case: str, methods: Sequence[str]) -> list[RankerOutcome]:
        keys = [(d, "" if m == BASE else case, m) for d in self.data for m in methods]
        return [self._found[key] for key in keys if key in self._found]

    def comparisons(
        self, case: str, form: str, when: str = "always"
    ) -> tuple[PairedComparison, ...]:
        """Paired t-tests of a form against the base ranker and the baselines, all data, corrected."""
        others = (BASE, *WHENS[when])
        pairs = [(form, other) for other in others]
        return compare(self._of(case, (form, *others)), pairs, MEASURES, method="t")

    def types(self, form: str) -> tuple[tuple[MeanScore, ...], tuple[PairedComparison, ...]]:
        """Figure 10: means without rules, with either and with both, and tests of both against them."""
        outcomes = [
            replace(own, ranker=kind, mode="")
            for data in self.data
            for kind, own in (
                ("none", self.outcome(data, "", BASE)),
                *((kind, self.outcome(data, str(case), form)) for kind, case in TYPES.items()),
            )
        ]
        pairs = [("both", kind) for kind in ("none", "not-top-10", "top-5")]
        return scores(outcomes, MEASURES), compare(outcomes, pairs, MEASURES, method="t")

    def means(self) -> dict[str, tuple[MeanScore, ...]]:
        """Case -> means and standard errors of all methods in it; no case for the base ranker."""
        cases = dict.fromkeys(o.mode for o in self.outcomes)
        return {c: scores([o for o in self.outcomes if o.mode == c], MEASURES) for c in cases}

    def claims(self) -> tuple[RankOptClaim, ...]:
        """What the paper says, data set by data set."""
        forms = [form for form in TUNED if (self.data[0], str(STUDY), form) in self._found]
        every = [
            claim
            for form in forms
            for claim in (*self._over_base(form), *self._over_baselines(form), *self._equal(form))
        ]
        every += self._similar(forms)
        if not self.quick:
            every += [c for form in FORMS for c in self._studies(form)]
            every += self._radical()
        return (*every, *convergence_claims(self.convergence))

    def _over_base(self, form: str) -> Iterator[RankOptClaim]:
        text = "RankOpt is better than LambdaMART, significantly"
        for data in self.data:
            tests = self._tests(data, form, "always", lambda c: c.other == BASE)
            above, counts = _counted([c for _, c in tests])
            yield RankOptClaim("3-6", text, data, form, "", above == len(tests), counts)

    def _over_baselines(self, form: str) -> Iterator[RankOptClaim]:
        for when in WHENS:
            for data in self.data:
                tests = self._tests(data, form, when, lambda c: c.other != BASE)
                _, counts = _counted([c for _, c in tests])
                better = all(c.sign > 0 for _, c in tests)
                yield RankOptClaim("3-6", "RankOpt is better than all four baselines", data, form, when,
                            better, counts)  # fmt: skip
                rest = [
                    c
                    for case, c in tests
                    if (case, c.other.removesuffix("-violated"), c.measure)
                    not in EXCEPT.get(data, set())
                ]
                above, counts = _counted(rest)
                text = "and significantly, but where the paper says otherwise"
                yield RankOptClaim("3-6", text, data, form, when, above == len(rest), counts)

    def _tests(
        self, data: str, form: str, when: str, wanted: Callable[[PairedComparison], bool]
    ) -> list[tuple[str, PairedComparison]]:
        """The tests of the combinations that the paper shows."""
        return [
            (str(case), c)
            for case in REPORTED
            for c in self._compared(str(case), form, when)
            if c.data == data and wanted(c)
        ]

    def _compared(self, case: str, form: str, when: str) -> tuple[PairedComparison, ...]:
        key = (case, form, when)
        if key not in self._comparisons:
            self._comparisons[key] = self.comparisons(*key)
        return self._comparisons[key]

    @cached_property
    def _comparisons(self) -> dict[tuple[str, str, str], tuple[PairedComparison, ...]]:
        return {}

    def _equal(self, form: str) -> Iterator[RankOptClaim]:
        text = "With a top-1 rule RankOpt is as good as the baselines (NDCG@1)"
        for data in self.data:
            gaps = [
                self.mean(data, str(case), form, "NDCG@1")
                - self.mean(data, str(case), other, "NDCG@1")
                for case in COMBINATIONS
                if case.top == 1
                for other in HEURISTICS
            ]
            far = max(gaps, key=abs)
            yield RankOptClaim("3-6", text, data, form, "always", abs(far) <= TOLERANCE,
                        f"{far:+.4f} at most")  # fmt: skip

    def _similar(self, forms: Sequence[str]) -> Iterator[RankOptClaim]:
        text = "Results of top-3, not-top-5 and of top-3, not-top-10 are very similar"
        for form in forms:
            for data in self.data:
                gaps = [
                    self.mean(data, str(RuleCase(3, 10)), form, m)
                    - self.mean(data, str(STUDY), form, m)
                    for m in MEASURES
                ]
                far = max(gaps, key=abs)
                yield RankOptClaim(
                    "3-6", text, data, form, "", abs(far) <= SPREAD, f"{far:+.4f} at most"
                )

    def _studies(self, form: str) -> Iterator[RankOptClaim]:
        for data in self.data:
            yield from self._depths(data, form)
            yield from self._types(data, form)
            yield from self._weights(data, form)
            yield from self._wrong(data, form)

    def _depths(self, data: str, form: str) -> Iterator[RankOptClaim]:
        for figure, kind, cases in (
            ("9a", "top-k", [RuleCase(k, None) for k in DEPTHS]),
            ("9b", "not-top-k", [RuleCase(None, k) for k in DEPTHS]),
        ):
            for when, others in WHENS.items():
                gaps = [
                    self.mean(data, str(case), form, "NDCG@1")
                    - max(self.mean(data, str(case), other, "NDCG@1") for other in others)
                    for case in cases
                ]
                good = sum(gap >= -TOLERANCE for gap in gaps)
                outcome = f"{good} of {len(gaps)} values of k, least {min(gaps):+.4f}"
                yield RankOptClaim(figure, f"RankOpt is better than or as good as all four baselines for all "
                            f"k of the {kind} rule", data, form, when, good == len(gaps),
                            outcome)  # fmt: skip
        means = [self.mean(data, str(RuleCase(None, k)), form, "NDCG@1") for k in DEPTHS]
        peak = DEPTHS[int(np.argmax(means))]
        yield RankOptClaim("9b", "RankOpt is at its best around k = 5 of the not-top-k rule", data, form, "",
                    4 <= peak <= 6, f"best at k = {peak}")  # fmt: skip

    def _types(self, data: str, form: str) -> Iterator[RankOptClaim]:
        means = {
            name: [self.mean(data, str(case), form, m) for m in MEASURES]
            for name, case in TYPES.items()
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
            outcome = ", ".join(f"{gap:+.4f}" for gap in gaps)
            yield RankOptClaim("10", text, data, form, "", bool((gaps > 0).all()), outcome)

    def _weights(self, data: str, form: str) -> Iterator[RankOptClaim]:
        for weight in ("rho_t", "rho_n"):
            spreads = [
                float(np.ptp([self.mean(data, along(weight, v), form, m) for v in GRID]))
                for m in MEASURES
            ]
            outcome = ", ".join(f"{spread:.4f}" for spread in spreads) + " from worst to best"
            yield RankOptClaim("11", f"RankOpt is not sensitive to {weight}", data, form, "",
                        max(spreads) <= SPREAD, outcome)  # fmt: skip

    def _wrong(self, data: str, form: str) -> Iterator[RankOptClaim]:
        text = "RankOpt stands wrong rules better than Radical (the paper shows one list)"
        for when in WHENS:
            radical = WHENS[when][0]
            gaps = [
                np.mean([self.mean(data, case, form, m) - self.mean(data, case, radical, m)
                         for m in MEASURES])
                for case in wrong_cases()
            ]  # fmt: skip
            outcome = ", ".join(f"{gap:+.4f}" for gap in gaps) + f" at {shares()} wrong"
            yield RankOptClaim(
                "8b", text, data, form, when, all(gap > 0 for gap in gaps[1:]), outcome
            )

    def _radical(self) -> Iterator[RankOptClaim]:
        text = "Radical hurts the base ranking when k of the top-k rule is large (k = 10, NDCG@1)"
        for data in self.data:
            for when in WHENS:
                gap = self.mean(data, "top-10", WHENS[when][0], "NDCG@1") - self.mean(
                    data, "", BASE, "NDCG@1"
                )
                yield RankOptClaim("9a", text, data, "", when, gap < 0, f"{gap:+.4f}")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What `to_dict` gave, before or after JSON."""
        return cls(
            content["quick"],
            content["seed"],
            tuple(RankerOutcome.from_dict(outcome) for outcome in content["outcomes"]),
            tuple(Example.from_dict(example) for example in content["examples"]),
            tuple(Convergence(**counts) for counts in content["convergence"]),
        )


def wrong_cases() -> list[str]:
    """The cases of the study of wrong rules."""
    return [str(RuleCase(STUDY.top, STUDY.rest, share)) for share in SHARES]


def shares() -> str:
    """Their shares of wrong rules."""
    return ", ".join(f"{share:.0%}" for share in SHARES)


def _counted(tests: Sequence[PairedComparison]) -> tuple[int, str]:
    """How many are significantly above, and that in words."""
    better = sum(c.sign > 0 for c in tests)
    above = sum(c.significant and c.sign > 0 for c in tests)
    below = sum(c.significant and c.sign < 0 for c in tests)
    return above, f"{better} of {len(tests)} (+{above}, -{below})"


CONVERGES = (
    "For most queries the algorithm converges within 10 iterations (top-5 and not-top-10 rules)"
)


def convergence_claims(counts: Sequence[Convergence]) -> Iterator[RankOptClaim]:
    """Yield whether most lists are done after 10 steps: Algorithm 1 at the widest tolerance, and ours."""
    for data in dict.fromkeys(one.data for one in counts):
        own = [one for one in counts if one.data == data]
        descent = [
            f"rho = {c.rho:g}: {joined_tolerances(c)} of {c.lists} lists; f has a minimum on "
            f"{c.with_minimum}, and {c.settled} have their order of 50 steps"
            for c in own
        ]
        widest = [max(c.within.values()) for c in own]
        most = all(2 * done > c.lists for done, c in zip(widest, own, strict=True))
        yield RankOptClaim("Table 2", CONVERGES, data, "algorithm-1", "", most, "; ".join(descent))
        newton = [f"rho = {c.rho:g}: gradient 1e-8 on {c.newton} of {c.lists} lists" for c in own]
        fast = all(2 * c.newton > c.lists for c in own)
        yield RankOptClaim("Table 2", CONVERGES, data, "uniform", "", fast, "; ".join(newton))


def joined_tolerances(counts: Convergence) -> str:
    """Return how many lists are within each tolerance."""
    return ", ".join(f"gradient {tol} on {done}" for tol, done in counts.within.items())

"""Summary of the post-ranking paper's results, for its page: means, tests and claims, no queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any, Self

from podium_papers.comparisons import MeanScore, PairedComparison
from podium_papers.rankopt.claims import (
    BASELINE_MODES,
    RULE_COMBINATIONS,
    TUNED_FORMS,
    ExampleList,
    RankOptClaim,
    RankOptReproduction,
)
from podium_papers.rankopt.convergence import Convergence
from podium_papers.rankopt.drawn_rules import RuleCase

KEPT_DIGITS = 6
"""Decimals of means, errors and p-values."""
MeanScores = tuple[MeanScore, ...]
PairedComparisons = tuple[PairedComparison, ...]


@dataclass(frozen=True)
class RankOptSummary:
    """Means by case; tests by case, form and baselines; chosen weights by form, case and data.

    `types` and `type_tests` are Figure 10. A quick run has no studies and leaves them empty.
    """

    quick: bool
    seed: int
    means: Mapping[str, MeanScores]
    tests: Mapping[str, Mapping[str, Mapping[str, PairedComparisons]]]
    types: MeanScores
    type_tests: PairedComparisons
    chosen: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]]
    claims: tuple[RankOptClaim, ...]
    examples: tuple[ExampleList, ...]
    convergence: tuple[Convergence, ...]

    @classmethod
    def of(cls, result: RankOptReproduction) -> Self:
        """Summarise a reproduction."""
        types, type_tests = ((), ()) if result.quick else result.compare_rule_types("margin")
        return cls(
            result.quick,
            result.seed,
            {case: _rounded_scores(scores) for case, scores in result.means().items()},
            {
                str(case): {
                    form: {
                        when: _rounded_tests(result.comparisons(str(case), form, when))
                        for when in BASELINE_MODES
                    }
                    for form in TUNED_FORMS
                }
                for case in RULE_COMBINATIONS
            },
            _rounded_scores(types),
            _rounded_tests(type_tests),
            {
                form: {
                    str(case): {
                        data: result.scores_of(data, str(case), form).settings["chosen"]
                        for data in result.data
                    }
                    for case in RULE_COMBINATIONS
                }
                for form in TUNED_FORMS
            },
            result.claims(),
            result.examples,
            result.convergence,
        )

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets."""
        return tuple(dict.fromkeys(score.data for score in self.means[""]))

    def comparisons_of(self, case: RuleCase, form: str, when: str) -> PairedComparisons:
        """Return the tests of a form against the base ranker and the baselines."""
        return self.tests[str(case)][form][when]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the many scores and tests are rows."""
        content = asdict(replace(self, means={}, tests={}, types=(), type_tests=()))
        return content | {
            "means": {case: _rows(scores) for case, scores in self.means.items()},
            "tests": {
                case: {
                    form: {when: _rows(tests) for when, tests in by_when.items()}
                    for form, by_when in forms.items()
                }
                for case, forms in self.tests.items()
            },
            "types": _rows(self.types),
            "type_tests": _rows(self.type_tests),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the value that `to_dict` turned into plain values, before or after JSON."""
        return cls(
            content["quick"],
            content["seed"],
            {case: _scores(rows) for case, rows in content["means"].items()},
            {
                case: {
                    form: {when: _comparisons(rows) for when, rows in by_when.items()}
                    for form, by_when in forms.items()
                }
                for case, forms in content["tests"].items()
            },
            _scores(content["types"]),
            _comparisons(content["type_tests"]),
            {
                form: {
                    case: {data: tuple(weights) for data, weights in by_data.items()}
                    for case, by_data in cases.items()
                }
                for form, cases in content["chosen"].items()
            },
            tuple(RankOptClaim(**claim) for claim in content["claims"]),
            tuple(ExampleList.from_dict(example) for example in content["examples"]),
            tuple(Convergence(**counts) for counts in content["convergence"]),
        )


def _rounded_scores(scores: Iterable[MeanScore]) -> MeanScores:
    return tuple(
        replace(s, mean=round(s.mean, KEPT_DIGITS), error=round(s.error, KEPT_DIGITS))
        for s in scores
    )


def _rounded_tests(tests: Iterable[PairedComparison]) -> PairedComparisons:
    rounded = ("difference", "error", "p_value", "adjusted")
    return tuple(
        replace(t, **{f: round(getattr(t, f), KEPT_DIGITS) for f in rounded}) for t in tests
    )


def _rows(values: Iterable[Any]) -> list[list[Any]]:
    return [list(astuple(value)) for value in values]


def _scores(rows: Iterable[Iterable[Any]]) -> MeanScores:
    return tuple(MeanScore(*row) for row in rows)


def _comparisons(rows: Iterable[Iterable[Any]]) -> PairedComparisons:
    return tuple(PairedComparison(*row) for row in rows)

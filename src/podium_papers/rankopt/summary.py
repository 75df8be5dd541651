"""What the page of the post-ranking paper is made of: means, tests and claims, no queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any, Self

from podium_papers.outcomes import MeanScore, PairedComparison
from podium_papers.rankopt.claims import (
    COMBINATIONS,
    TUNED,
    WHENS,
    Example,
    RankOptClaim,
    RankOptReproduction,
)
from podium_papers.rankopt.convergence import Convergence
from podium_papers.rankopt.rules import RuleCase

DIGITS = 6
"""Kept of means, errors and p-values."""
Scores = tuple[MeanScore, ...]
Tests = tuple[PairedComparison, ...]


@dataclass(frozen=True)
class RankOptSummary:
    """Means by case, tests by case, form and baselines, the weights chosen by form, case and data.

    `types` and `type_tests` are Figure 10; without the studies (a quick run) they are empty.
    """

    quick: bool
    seed: int
    means: Mapping[str, Scores]
    tests: Mapping[str, Mapping[str, Mapping[str, Tests]]]
    types: Scores
    type_tests: Tests
    chosen: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]]
    claims: tuple[RankOptClaim, ...]
    examples: tuple[Example, ...]
    convergence: tuple[Convergence, ...]

    @classmethod
    def of(cls, result: RankOptReproduction) -> Self:
        """Of a reproduction."""
        types, type_tests = ((), ()) if result.quick else result.types("margin")
        return cls(
            result.quick,
            result.seed,
            {case: _rounded_scores(own) for case, own in result.means().items()},
            {
                str(case): {
                    form: {
                        when: _rounded_tests(result.comparisons(str(case), form, when))
                        for when in WHENS
                    }
                    for form in TUNED
                }
                for case in COMBINATIONS
            },
            _rounded_scores(types),
            _rounded_tests(type_tests),
            {
                form: {
                    str(case): {
                        data: result.outcome(data, str(case), form).settings["chosen"]
                        for data in result.data
                    }
                    for case in COMBINATIONS
                }
                for form in TUNED
            },
            result.claims(),
            result.examples,
            result.convergence,
        )

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets."""
        return tuple(dict.fromkeys(score.data for score in self.means[""]))

    def compared(self, case: RuleCase, form: str, when: str) -> Tests:
        """The tests of a form against the base ranker and the baselines."""
        return self.tests[str(case)][form][when]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: scores and tests as rows, which are many."""
        content = asdict(replace(self, means={}, tests={}, types=(), type_tests=()))
        return content | {
            "means": {case: _rows(own) for case, own in self.means.items()},
            "tests": {
                case: {
                    form: {when: _rows(own) for when, own in by_when.items()}
                    for form, by_when in forms.items()
                }
                for case, forms in self.tests.items()
            },
            "types": _rows(self.types),
            "type_tests": _rows(self.type_tests),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What `to_dict` gave, before or after JSON."""
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
                    case: {data: tuple(own) for data, own in by_data.items()}
                    for case, by_data in cases.items()
                }
                for form, cases in content["chosen"].items()
            },
            tuple(RankOptClaim(**claim) for claim in content["claims"]),
            tuple(Example.from_dict(example) for example in content["examples"]),
            tuple(Convergence(**counts) for counts in content["convergence"]),
        )


def _rounded_scores(scores: Iterable[MeanScore]) -> Scores:
    return tuple(
        replace(s, mean=round(s.mean, DIGITS), error=round(s.error, DIGITS)) for s in scores
    )


def _rounded_tests(tests: Iterable[PairedComparison]) -> Tests:
    rounded = ("difference", "error", "p_value", "adjusted")
    return tuple(replace(t, **{f: round(getattr(t, f), DIGITS) for f in rounded}) for t in tests)


def _rows(values: Iterable[Any]) -> list[list[Any]]:
    return [list(astuple(value)) for value in values]


def _scores(rows: Iterable[Iterable[Any]]) -> Scores:
    return tuple(MeanScore(*row) for row in rows)


def _comparisons(rows: Iterable[Iterable[Any]]) -> Tests:
    return tuple(PairedComparison(*row) for row in rows)

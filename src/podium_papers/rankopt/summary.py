"""Summary of the post-ranking paper's results, for its page: means, tests and claims, no queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, asdict, astuple, dataclass, fields, replace
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


ROW_KINDS = {
    "means": MeanScore,
    "tests": PairedComparison,
    "types": MeanScore,
    "type_tests": PairedComparison,
}
"""Fields that a file has as rows, because they are many."""


def pack_summary(summary: RankOptSummary) -> dict[str, Any]:
    """Return plain values for JSON; the many scores and tests are rows."""
    content = asdict(replace(summary, means={}, tests={}, types=(), type_tests=()))
    return content | {name: _pack(getattr(summary, name)) for name in ROW_KINDS}


def unpack_summary(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `pack_summary` with objects in place of rows."""
    rows = {name: _unpack(content[name], fields(kind)) for name, kind in ROW_KINDS.items()}
    return {**content, **rows}


def _pack(values: Any) -> Any:
    if isinstance(values, Mapping):
        return {key: _pack(value) for key, value in values.items()}
    return [list(astuple(value)) for value in values]


def _unpack(rows: Any, columns: Sequence[Field[Any]]) -> Any:
    if isinstance(rows, Mapping):
        return {key: _unpack(value, columns) for key, value in rows.items()}
    names = [column.name for column in columns]
    return [dict(zip(names, row, strict=True)) for row in rows]

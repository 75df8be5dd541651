"""Claims of the CFBRS paper, and whether the numbers support them.

Ahmad, Doja, Ahmad, Compositional feature subset based ranking system (CFBRS) for learning to rank
with user feedback.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.ensemble import Compositions
from podium.feedback import FACTORS, N_POSITIVE
from podium_papers.cfbrs.feedback_loop import FeedbackLoop, loop_figure
from podium_papers.cfbrs.table_1 import (
    PRINTED_BAGGING,
    PRINTED_SHARED,
    PRINTED_TABLE_1,
    RoundCurve,
    Table1Row,
    blocks_means,
    figure_2,
    figure_3,
    fold_means,
)
from podium_papers.cfbrs.user_classes import CLASS_FEATURES, ClassScores
from podium_papers.cfbrs.variance_study import DrawSpread, KnobEffect, knob_effects
from podium_papers.comparisons import MeanScore, PairedComparison
from podium_papers.curve_figures import LineFigure

PAPER_DATA = "MQ2008"
"""The paper's data set."""
TARGET_NDCG_GAIN = 0.15
"""The lead over the shared model that class rankings should have, on the grades of their class."""
POPULATION_NOTE = (
    f"on a generated population: {len(CLASS_FEATURES)} classes, each grading by features of its own"
)
"""Data behind the claims about users; their lines on the page say so."""
CLOSE_NDCG = 0.015
"""Distance from a printed value, which has two digits, that counts as equal."""


@dataclass(frozen=True)
class CfbrsClaim:
    """A claim of the paper, whether it holds, and the numbers."""

    text: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class Nearness:
    """Number of printed values that are reached, and the mean distance from all of them."""

    n_close: int
    n_values: int
    mean_gap: float


@dataclass(frozen=True)
class CfbrsChoice:
    """Settings that validation chose for a base or an ensemble in each fold, and fits that stopped early."""

    base: str
    name: str
    settings: tuple[str, ...]


@dataclass(frozen=True)
class CfbrsReproduction:
    """Everything that was measured, with the figures and claims that follow from it."""

    data: str
    """Name of the data set; "MQ2008" is the paper's own."""
    n_features: int
    min_block: int
    redraws: int
    """Number of ensembles that the variance study draws."""
    quick: bool
    seed: int
    table: tuple[Table1Row, ...]
    """Table 1, fold by fold."""
    nearest: tuple[Table1Row, ...]
    """Table 1 on the first fold with the settings that come nearest to the printed values."""
    curves: tuple[RoundCurve, ...]
    """Figure 3, fold by fold."""
    ensembles: tuple[MeanScore, ...]
    """NDCG@10 over all test queries by base (`data`) and ensemble (`ranker`)."""
    tests: tuple[PairedComparison, ...]
    """Paired tests of each ensemble against the shared model, with Holm's correction for all of them."""
    chosen: tuple[CfbrsChoice, ...]
    variance: tuple[DrawSpread, ...]
    """Variance study, fold by fold."""
    personal: tuple[ClassScores, ...]
    """Rankers of the population of classes, draw by draw."""
    personal_tests: tuple[PairedComparison, ...]
    """Paired tests of these rankers by case (`data`)."""
    loops: tuple[FeedbackLoop, ...]
    """Feedback in batches."""

    @property
    def is_papers_own(self) -> bool:
        """Whether this is all of the paper's own data, so that printed values can be compared."""
        return self.data == PAPER_DATA and not self.quick

    @property
    def bases(self) -> tuple[str, ...]:
        """Base learners."""
        return tuple(dict.fromkeys(row.base for row in self.table))

    @property
    def cases(self) -> tuple[str, ...]:
        """Data that the population's rankers learn from."""
        return tuple(dict.fromkeys(p.case for p in self.personal))

    def quality(self, base: str, ensemble: str) -> float:
        """Return NDCG@10 of an ensemble over all test queries."""
        return next(s.mean for s in self.ensembles if (s.data, s.ranker) == (base, ensemble))

    def test(self, base: str, ensemble: str) -> PairedComparison:
        """Return the test of an ensemble against the shared model."""
        return next(c for c in self.tests if (c.data, c.ranker) == (base, ensemble))

    def class_mean(self, case: str, ranker: str) -> float:
        """Return the mean over classes and draws."""
        means = [p.mean for p in self.personal if (p.case, p.ranker) == (case, ranker)]
        return float(np.mean(means))

    def class_test(self, case: str, ranker: str, other: str) -> PairedComparison:
        """Return the test of one ranker of the population against another."""
        key = (case, ranker, other)
        return next(c for c in self.personal_tests if (c.data, c.ranker, c.other) == key)

    def knob_effects(self) -> tuple[KnobEffect, ...]:
        """Return the effects on the variance of a sampled ensemble."""
        return knob_effects(self.variance)

    def figures(self) -> dict[str, LineFigure]:
        """Return every figure by its name."""
        figures_by_name = {}
        for base in self.bases:
            figures_by_name[f"2-{base}"] = figure_2(self.table, base)
            figures_by_name[f"3-{base}"] = figure_3(self.table, self.curves, base)
        return {**figures_by_name, "loop": loop_figure(self.loops)}

    def nearness(self, base: str) -> Nearness:
        """Return how near the nearest reading is to the printed values; each composition counts once."""
        rows = {row.sizes: row for row in reversed(self.nearest) if row.base == base}
        gaps = [
            abs(value - printed)
            for row in rows.values()
            if row.min_block - self.min_block < len(PRINTED_TABLE_1)
            for value, printed in zip(
                row.blocks, PRINTED_TABLE_1[row.min_block - self.min_block], strict=True
            )
        ]
        return Nearness(sum(gap <= CLOSE_NDCG for gap in gaps), len(gaps), float(np.mean(gaps)))

    def claims(self) -> tuple[CfbrsClaim, ...]:
        """Return every claim of the paper."""
        return (
            *_count_claims(),
            _factor_claim(),
            *self._table_claims(),
            self._upper_bound_claim(),
            *self._ensemble_claims(),
            self._variance_claim(),
            *self._personal_claims(),
            self._loop_claim(),
        )

    def _table_claims(self) -> Iterator[CfbrsClaim]:
        means = {
            base: np.mean(list(blocks_means(self.nearest, base).values()), axis=0)
            for base in self.bases
        }
        columns = np.mean(PRINTED_TABLE_1, axis=0)
        yield CfbrsClaim(
            "bagging of the first compositions gives NDCG@10 .45, .49 and .44 on training, "
            "validation and test",
            any((np.abs(m - PRINTED_BAGGING) <= CLOSE_NDCG).all() for m in means.values()),
            "it is described as an average of Table 1's columns, which is no ensemble, and whose means "
            f"are {_join_values(columns)} as printed; in the nearest reading "
            + "; ".join(f"{base} {_join_values(m)}" for base, m in means.items()),
        )
        shared = {b: blocks_means(self.nearest, b)[self.n_features] for b in self.bases}
        yield CfbrsClaim(
            "the shared-feature model, printed beside the test column, gives NDCG@10 .48",
            PRINTED_TABLE_1[-1][2] == PRINTED_SHARED,
            f"its own row of Table 1 has {_join_values(PRINTED_TABLE_1[-1], 2)}: .48 is its value on "
            "training, not on test; in the nearest reading "
            + "; ".join(f"{base} {_join_values(values)}" for base, values in shared.items()),
        )
        counts = {base: self._count_above_shared(base) for base in self.bases}
        yield CfbrsClaim(
            "compositions fit better than the shared-feature model (their combined ranking, test, "
            "five folds)",
            all(2 * n_better > n for n_better, n in counts.values()),
            "first compositions of more than one block that are above it: "
            + "; ".join(f"{base} {n_better} of {n}" for base, (n_better, n) in counts.items()),
        )

    def _upper_bound_claim(self) -> CfbrsClaim:
        """Return whether the mean of the blocks bounds what they reach together."""
        several = [row for row in self.table if len(row.sizes) > 1]
        gains = np.array([np.subtract(row.combined, row.blocks) for row in several])
        n_higher = (gains > 1e-9).sum(axis=0)
        return CfbrsClaim(
            "the average of its blocks' NDCG@10 is an upper bound on the NDCG@10 of a composition "
            "(plain mean, as in Table 1)",
            bool(n_higher.sum() == 0),
            f"the combined ranking is above it in {n_higher[0]}, {n_higher[1]} and {n_higher[2]} of "
            f"{len(several)} cases (first compositions of several blocks, by base and fold) on "
            f"training, validation and test queries, by {_join_values(gains.mean(axis=0))} in the mean and "
            f"up to {_join_values(gains.max(axis=0))}",
        )

    def _count_above_shared(self, base: str) -> tuple[int, int]:
        """Count first compositions of several blocks: those better than the shared model on test, and all."""
        *rows, shared = fold_means(self.table, base).values()
        several = [row for row in rows if row != shared]
        return sum(row[2] > shared[2] + 1e-9 for row in several), len(several)

    def _ensemble_claims(self) -> Iterator[CfbrsClaim]:
        for text, name in (
            ("the ensemble is better than the shared-feature model (bagging)", "first"),
            ("the ensemble is better than the shared-feature model (boosting)", "first-boosting"),
            ("using all compositions is better than the shared-feature model", "all"),
        ):
            tests = [self.test(base, name) for base in self.bases]
            yield CfbrsClaim(
                text, all(t.sign > 0 and t.significant for t in tests), _differences(tests)
            )

    def _variance_claim(self) -> CfbrsClaim:
        effects = self.knob_effects()
        knobs = {
            knob: max((c for c in effects if c.knob == knob), key=lambda c: abs(c.ratio - 1))
            for knob in ("selection", "feedback", "weights")
        }
        return CfbrsClaim(
            "the variance of the predicted ranking can be controlled by the probability of "
            "selection, the feedback and the weights of subsets",
            all(c.controls_variance for c in knobs.values()),
            "standard deviation of a document's place between draws, against the plain setting: "
            + "; ".join(
                f"{knob} x{c.ratio:.2f} ({c.setting}, {c.folds} of {c.of} folds)"
                for knob, c in knobs.items()
            ),
        )

    def _personal_claims(self) -> Iterator[CfbrsClaim]:
        for ranker, text in (("pooled", "pooled blocks"), ("own", "class-trained blocks")):
            tests = [self.class_test(case, ranker, "shared") for case in self.cases]
            yield CfbrsClaim(
                "the model gives better NDCG for subsets of the users, personalised rankings "
                f"({text}; {POPULATION_NOTE})",
                all(t.sign > 0 and t.significant for t in tests),
                _differences(tests),
            )

    def _loop_claim(self) -> CfbrsClaim:
        gains = [
            f"draw {loop.seed}: {loop.test[0]:.3f} to {loop.test[loop.stopped or -1]:.3f} "
            + (f"after {loop.stopped} batches" if loop.stopped else "and not converged")
            for loop in self.loops
        ]
        return CfbrsClaim(
            f"learning is repeated as feedback arrives until NDCG converges ({POPULATION_NOTE})",
            all(loop.stopped > 0 and loop.test[loop.stopped] > loop.test[0] for loop in self.loops),
            "; ".join(gains),
        )


def _count_claims() -> Iterator[CfbrsClaim]:
    counts = [Compositions(46, m).count for m in (1, 5, 10, 20)]
    yield CfbrsClaim(
        "46 features have 2^45 compositions; 51,320, 265 and 8 with blocks of 5, 10 and 20 or more",
        counts == [2**45, 51_320, 265, 8],
        ", ".join(f"{n:,}" for n in counts),
    )
    five = Compositions(5).count
    yield CfbrsClaim("5 features have 15 compositions", five == 15, f"{five}: one was left out")


def _factor_claim() -> CfbrsClaim:
    positive, negative = FACTORS[:N_POSITIVE], FACTORS[N_POSITIVE:]
    return CfbrsClaim(
        "user feedback is composed of seven factors",
        len(FACTORS) == 7,
        f"the introduction says seven; the problem statement and Definition 4 say {len(FACTORS)}, and the "
        f"definition lists them: {', '.join(positive)} for a list, {', '.join(negative)} against it. "
        "Copying, which the text names too, is none of these. Podium has those of the definition",
    )


def _join_values(values: Any, digits: int = 3) -> str:
    return ", ".join(f"{v:.{digits}f}" for v in values)


def _differences(tests: list[PairedComparison]) -> str:
    return "; ".join(f"{t.data} {t.difference:+.4f} (p = {t.adjusted:.3f})" for t in tests)

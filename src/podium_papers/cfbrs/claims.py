"""What the CFBRS paper says, and what the numbers say of that.

Ahmad, Doja, Ahmad, Compositional feature subset based ranking system (CFBRS) for learning to rank
with user feedback.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from podium.ensemble import Compositions
from podium.feedback import FACTORS, N_POSITIVE
from podium_papers.cfbrs.loop import Loop, loop_figure
from podium_papers.cfbrs.population import OWNED, Personal
from podium_papers.cfbrs.table import (
    PRINTED,
    PRINTED_BAGGING,
    PRINTED_SHARED,
    RoundCurve,
    Row,
    blocks_means,
    figure_2,
    figure_3,
    fold_means,
)
from podium_papers.cfbrs.variance import Control, DrawSpread, controls
from podium_papers.curves import LineFigure
from podium_papers.outcomes import MeanScore, PairedComparison
from podium_papers.records import from_json

OWN = "MQ2008"
"""The paper's data set."""
TARGET = 0.15
"""By how much class rankings are to beat the shared model on their own class's grades."""
GENERATED = f"on a generated population: {len(OWNED)} classes, each grading by features of its own"
"""What the claims on users are measured on; it stands in the claims' own lines."""
CLOSE = 0.015
"""Printed values have two digits: this near is the same but for the learner's settings."""


@dataclass(frozen=True)
class CfbrsClaim:
    """What the paper says, whether it holds, and the numbers."""

    text: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class Nearness:
    """How many of the printed values are met, and the mean distance from them."""

    met: int
    of: int
    gap: float


@dataclass(frozen=True)
class CfbrsChoice:
    """What a base or an ensemble was given by validation in each fold, and fits that stopped early."""

    base: str
    name: str
    settings: tuple[str, ...]


@dataclass(frozen=True)
class CfbrsReproduction:
    """Everything that was measured, and the figures and claims made of it.

    Parameters
    ----------
    data
        The name of the data set; "MQ2008" is the paper's own.
    redraws
        Ensembles drawn for the variance study.
    table, curves
        Table 1 and Figure 3, fold by fold.
    nearest
        Table 1 on the first fold with the settings that come nearest to the printed values.
    ensembles, tests
        NDCG@10 over all test queries by base (`data`) and ensemble (`ranker`), and paired tests of each
        against the shared model, by Holm's correction for all of them.
    variance
        The variance study, fold by fold.
    personal, personal_tests
        The population of classes, draw by draw, and paired tests by case (`data`).
    loops
        Feedback in batches.
    """

    data: str
    n_features: int
    min_block: int
    redraws: int
    quick: bool
    seed: int
    table: tuple[Row, ...]
    nearest: tuple[Row, ...]
    curves: tuple[RoundCurve, ...]
    ensembles: tuple[MeanScore, ...]
    tests: tuple[PairedComparison, ...]
    chosen: tuple[CfbrsChoice, ...]
    variance: tuple[DrawSpread, ...]
    personal: tuple[Personal, ...]
    personal_tests: tuple[PairedComparison, ...]
    loops: tuple[Loop, ...]

    @property
    def own(self) -> bool:
        """Whether this is the whole of the paper's own data: then printed values may be compared with."""
        return self.data == OWN and not self.quick

    @property
    def bases(self) -> tuple[str, ...]:
        """The base learners."""
        return tuple(dict.fromkeys(row.base for row in self.table))

    @property
    def cases(self) -> tuple[str, ...]:
        """What the population's rankers learn from."""
        return tuple(dict.fromkeys(p.case for p in self.personal))

    def quality(self, base: str, ensemble: str) -> float:
        """NDCG@10 of an ensemble over all test queries."""
        return next(s.mean for s in self.ensembles if (s.data, s.ranker) == (base, ensemble))

    def test(self, base: str, ensemble: str) -> PairedComparison:
        """An ensemble against the shared model."""
        return next(c for c in self.tests if (c.data, c.ranker) == (base, ensemble))

    def personal_mean(self, case: str, ranker: str) -> float:
        """Over classes and draws."""
        own = [p.mean for p in self.personal if (p.case, p.ranker) == (case, ranker)]
        return float(np.mean(own))

    def personal_test(self, case: str, ranker: str, other: str) -> PairedComparison:
        """One ranker of the population against another."""
        wanted = (case, ranker, other)
        return next(c for c in self.personal_tests if (c.data, c.ranker, c.other) == wanted)

    def controls(self) -> tuple[Control, ...]:
        """What moves the variance of a sampled ensemble."""
        return controls(self.variance)

    def figures(self) -> dict[str, LineFigure]:
        """Every figure by its name."""
        drawn = {}
        for base in self.bases:
            drawn[f"2-{base}"] = figure_2(self.table, base)
            drawn[f"3-{base}"] = figure_3(self.table, self.curves, base)
        return {**drawn, "loop": loop_figure(self.loops)}

    def near(self, base: str) -> Nearness:
        """How near the nearest reading comes to the printed values, each composition counted once."""
        rows = {row.sizes: row for row in reversed(self.nearest) if row.base == base}
        gaps = [
            abs(value - printed)
            for row in rows.values()
            if row.min_block - self.min_block < len(PRINTED)
            for value, printed in zip(
                row.blocks, PRINTED[row.min_block - self.min_block], strict=True
            )
        ]
        return Nearness(sum(gap <= CLOSE for gap in gaps), len(gaps), float(np.mean(gaps)))

    def claims(self) -> tuple[CfbrsClaim, ...]:
        """What the paper says, one after the other."""
        return (
            *_counts(),
            _factor_claim(),
            *self._table_claims(),
            self._bound_claim(),
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
        columns = np.mean(PRINTED, axis=0)
        yield CfbrsClaim(
            "bagging of the first compositions gives NDCG@10 .45, .49 and .44 on training, "
            "validation and test",
            any((np.abs(m - PRINTED_BAGGING) <= CLOSE).all() for m in means.values()),
            "it is spoken of as an average of Table 1's columns, which is no ensemble, and whose means "
            f"are {_listed(columns)} as printed; in the nearest reading "
            + "; ".join(f"{base} {_listed(m)}" for base, m in means.items()),
        )
        shared = {b: blocks_means(self.nearest, b)[self.n_features] for b in self.bases}
        yield CfbrsClaim(
            "the shared-feature model, printed beside the test column, gives NDCG@10 .48",
            PRINTED[-1][2] == PRINTED_SHARED,
            f"its own row of Table 1 has {_listed(PRINTED[-1], 2)}: .48 is its value on training, not "
            "on test; in the nearest reading "
            + "; ".join(f"{base} {_listed(values)}" for base, values in shared.items()),
        )
        counts = {base: self._above_shared(base) for base in self.bases}
        yield CfbrsClaim(
            "compositions fit better than the shared-feature model (their combined ranking, test, "
            "five folds)",
            all(2 * above > of for above, of in counts.values()),
            "first compositions of more than one block that are above it: "
            + "; ".join(f"{base} {above} of {of}" for base, (above, of) in counts.items()),
        )

    def _bound_claim(self) -> CfbrsClaim:
        """Return whether the mean of the blocks bounds what they reach together."""
        several = [row for row in self.table if len(row.sizes) > 1]
        gains = np.array([np.subtract(row.combined, row.blocks) for row in several])
        above = (gains > 1e-9).sum(axis=0)
        return CfbrsClaim(
            "the average of its blocks' NDCG@10 is an upper bound on the NDCG@10 of a composition "
            "(plain mean, as in Table 1)",
            bool(above.sum() == 0),
            f"the combined ranking is above it in {above[0]}, {above[1]} and {above[2]} of "
            f"{len(several)} cases (first compositions of several blocks, by base and fold) on "
            f"training, validation and test queries, by {_listed(gains.mean(axis=0))} in the mean and up "
            f"to {_listed(gains.max(axis=0))}",
        )

    def _above_shared(self, base: str) -> tuple[int, int]:
        """Of the first compositions of several blocks, those whose test NDCG is above one block's."""
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
        controls = self.controls()
        knobs = {
            knob: max((c for c in controls if c.knob == knob), key=lambda c: abs(c.ratio - 1))
            for knob in ("selection", "feedback", "weights")
        }
        return CfbrsClaim(
            "the variance of the predicted ranking can be controlled by the probability of "
            "selection, the feedback and the weights of subsets",
            all(c.controls for c in knobs.values()),
            "standard deviation of a document's place between draws, against the plain setting: "
            + "; ".join(
                f"{knob} x{c.ratio:.2f} ({c.setting}, {c.folds} of {c.of} folds)"
                for knob, c in knobs.items()
            ),
        )

    def _personal_claims(self) -> Iterator[CfbrsClaim]:
        for ranker, text in (("pooled", "pooled blocks"), ("own", "class-trained blocks")):
            tests = [self.personal_test(case, ranker, "shared") for case in self.cases]
            yield CfbrsClaim(
                "the model gives better NDCG for subsets of the users, personalised rankings "
                f"({text}; {GENERATED})",
                all(t.sign > 0 and t.significant for t in tests),
                _differences(tests),
            )

    def _loop_claim(self) -> CfbrsClaim:
        gains = [
            f"draw {one.seed}: {one.test[0]:.3f} to {one.test[one.stopped or -1]:.3f} "
            + (f"after {one.stopped} batches" if one.stopped else "and not converged")
            for one in self.loops
        ]
        return CfbrsClaim(
            f"learning is repeated as feedback arrives until NDCG converges ({GENERATED})",
            all(one.stopped > 0 and one.test[one.stopped] > one.test[0] for one in self.loops),
            "; ".join(gains),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """What `to_dict` gave, before or after JSON."""
        return from_json(cls, content)


def _counts() -> Iterator[CfbrsClaim]:
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


def _listed(values: Any, digits: int = 3) -> str:
    return ", ".join(f"{v:.{digits}f}" for v in values)


def _differences(tests: list[PairedComparison]) -> str:
    return "; ".join(f"{t.data} {t.difference:+.4f} (p = {t.adjusted:.3f})" for t in tests)

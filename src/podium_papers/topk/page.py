"""Page of the top-k paper: claims, Tables 4 and 5 beside the printed ones, and curves of beta."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podium.experiments import save_figure
from podium_papers.curve_figures import CurveFigure, Panel
from podium_papers.markdown import capitalise, difference, join_names, table, verdict
from podium_papers.topk.claims import (
    CLAIMS,
    PARENTS,
    RIVALS,
    TopkClaim,
    TopkReproduction,
    TruthCase,
    printed_ahead,
    printed_share,
)
from podium_papers.topk.printed_tables import (
    FAMILIES,
    MEASURES,
    NAMES,
    PAPER_K,
    TABLE_NUMBERS,
    TableKind,
    printed_tables,
    printed_value,
)
from podium_papers.topk.rankers import CURVE_MEASURES

TESTED_COLUMNS = (0, 4, 9, 10)
"""Columns whose tests are on the page: N@1, N@5, N@10, ERR."""
COLOURS = {"@5": "#56B4E9", "@10": "#0072B2", "ERR": "#D55E00"}
CURVES = {"@5": "NDCG@5, κ-NDCG@5", "@10": "NDCG@10, κ-NDCG@10", "ERR": "ERR, κ-ERR"}
KINDS: dict[TableKind, str] = {"graded": "graded labels", "top-k": "top-k truth"}


def sections(result: TopkReproduction) -> list[str]:
    """Return the page in Markdown, without its head."""
    return [
        "The paper has MQ2007, whose top-k truth is the order of MQ2007-list, and fifty queries "
        "of TD2003, which its own assessors graded and ordered again. For this data, printed "
        "values stand beside ours with their difference. All printed values are below. Other "
        "data sets replace those that are missing. Top-k truth is the first k places of a total "
        f"order that agrees with the grades. The orders are random ({_draws(result)}). If there "
        "are other rankings of the documents, their Borda consensus breaks ties instead. A list "
        "of k documents or fewer has no rest below the top.",
        "",
        "Settings are chosen on the validation queries, by NDCG@10 on graded labels and by "
        f"κ-NDCG@10 on top-k truth, beta from 0 to 1 by {_step(result)}; test queries are used "
        "once. NDCG is the bare one (see [conventions](conventions.md)). As in the paper, the "
        "top of the scale of ERR and κ-ERR is the largest label of a query. They have 1/rank "
        "instead of the printed 1/n.",
        "",
        *claims(result),
        *(line for data in result.data for line in tables(result, data)),
        *smaller_k(result),
        *as_printed(),
        *curves(result),
    ]


def draw(result: TopkReproduction, folder: Path) -> None:
    """Write every figure as SVG."""
    for name, figure in figures(result).items():
        save_figure(figure.plot(), folder / f"topk-{name}.svg")


def _draws(result: TopkReproduction) -> str:
    if result.draws == 1:
        return "one draw"
    return f"{result.draws} draws; a query's value is its mean over them"


def _step(result: TopkReproduction) -> str:
    betas = result.cases[0].curves[0].betas
    return f"{betas[1] - betas[0]:g}"


def claims(result: TopkReproduction) -> list[str]:
    """Return which of the claims hold, case by case."""
    claim_of = {(c.text, c.data, c.truth): c for c in result.claims()}
    texts = [text for text in CLAIMS if any(key[0] == text for key in claim_of)]
    rows = []
    for case in result.cases:
        case_claims = [claim_of.get((text, case.data, case.title)) for text in texts]
        cells = ["" if c is None else f"{verdict(c.holds)}: {c.numbers}" for c in case_claims]
        rows.append([f"{case.data}, {case.title}", *cells])
    ahead = {
        kind: join_names([f"{printed_ahead(data, kind)} on {data}" for data in TABLE_NUMBERS])
        for kind in KINDS
    }
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"{number}. *{capitalise(text)}*: {_verdict_summary(_claims_of(result, text))}."
            for number, text in enumerate(texts, start=1)
        ),
        "",
        "A point compares a Focused ranker with one of its two parents, or with top-k ListMLE, "
        "by one of the eleven measures. The parents are SVM-MAP and RankSVM, AdaRank and "
        "RankBoost, ListNet and RankNet. The table counts the points at which it is ahead. "
        "Brackets count the points at which it is significantly ahead (+) and significantly "
        "behind (-): p < 0.05 in a two-sided paired t-test over queries. Holm's correction "
        "covers all points of a case with parents, or all with ListMLE. Significantly better: "
        "at every point; comparable: significantly behind at none; almost all: more than half. "
        "Counted like this, claim 2 is stricter than the paper, whose own tables are not ahead "
        "at every point. Claim 3 counts as the paper does, without a test. It requires "
        f"{printed_share('top-k'):.0%} of the points, as many as in the paper's own Table 5. A "
        "curve rises and falls if its maximum is above both ends. It varies by (max - min) / "
        "mean (the paper has the variance of the mean). The paper names no test. In its printed "
        f"values the Focused rankers are ahead of their parents at {ahead['top-k']} with top-k "
        f"truth, and at {ahead['graded']} with graded labels.",
        "",
        *table(["claim", *(f"{number}." for number in range(1, len(texts) + 1))], rows),
        "",
    ]


def _claims_of(result: TopkReproduction, text: str) -> list[TopkClaim]:
    return [claim for claim in result.claims() if claim.text == text]


def _verdict_summary(claims_of_text: Sequence[TopkClaim]) -> str:
    n_cases, n_holds = len(claims_of_text), sum(claim.holds for claim in claims_of_text)
    if n_cases == 1:
        return verdict(n_holds == 1)
    if n_holds == 0:
        return f"{verdict(False)} in any of {n_cases} cases"
    return f"{verdict(True)} in {n_holds} of {n_cases} cases"


def tables(result: TopkReproduction, data: str) -> list[str]:
    """Return a data set's halves of a table, with the tests of its Focused rankers."""
    cases = [case for case in result.of(data) if case.k in (0, PAPER_K)]
    lines = [f"### {data} ({cases[0].queries:,} queries)", ""]
    for case in cases:
        names = MEASURES[case.kind]
        compared = case.is_papers_own and not result.quick
        rows = [[name, *(_cell(case, r, m, compared) for m in names)] for r, name in NAMES.items()]
        lines += [*table([capitalise(case.title), *names.values()], rows), ""]
        if compared:
            lines += [
                f"In brackets: as Table {TABLE_NUMBERS[data]} prints it, and ours less that.",
                "",
            ]
        lines += [*tests(case), *_unfinished(case)]
    return lines


def _cell(case: TruthCase, ranker: str, measure: str, compared: bool) -> str:
    text = f"{case.mean(ranker, measure):.4f}"
    less = case.difference(ranker, measure)
    if less is None or not compared:
        return text
    return f"{text} ({printed_value(case.data, case.kind, ranker, measure):.4f}, {less:+.4f})"


def tests(case: TruthCase) -> list[str]:
    """Return differences and their p-values, in four of the measures."""
    names = MEASURES[case.kind]
    measures = [list(names)[i] for i in TESTED_COLUMNS]
    rows = []
    for ranker, other in (*PARENTS, *RIVALS):
        comparison_of = {c.measure: c for c in case.comparisons_of(ranker, other)}
        rows.append(
            [f"{NAMES[ranker]} - {NAMES[other]}", *(difference(comparison_of[m]) for m in measures)]
        )
    heads = [f"{capitalise(case.title)}: difference (p)", *(names[m] for m in measures)]
    return [*table(heads, rows), ""]


def _unfinished(case: TruthCase) -> list[str]:
    """Return which chosen fits had stopped too early."""
    early = {c.ranker: len(c.unfinished) for c in case.chosen if c.unfinished}
    if not early:
        return []
    counts = join_names([f"{n} of {NAMES[ranker]}" for ranker, n in early.items()])
    return [f"Chosen fits that stopped before they were optimal: {counts}.", ""]


def smaller_k(result: TopkReproduction) -> list[str]:
    """Return every k that is not the paper's, in two measures."""
    cases = [case for case in result.cases if case.k not in (0, PAPER_K)]
    if not cases:
        return []
    lines = ["### Smaller k", ""]
    for measure in ("kNDCG@10", "kERR"):
        heads = [f"{case.data}, {case.truth}, k = {case.k}" for case in cases]
        rows = [
            [name, *(f"{case.mean(ranker, measure):.4f}" for case in cases)]
            for ranker, name in NAMES.items()
        ]
        lines += [*table([MEASURES["top-k"][measure], *heads], rows), ""]
    return lines


def as_printed() -> list[str]:
    """Return Tables 4 and 5 as the paper prints them."""
    lines = ["### As printed", ""]
    for (data, kind), values_of in printed_tables().items():
        head = f"Table {TABLE_NUMBERS[data]}: {data}, {KINDS[kind]}"
        rows = [
            [NAMES[ranker], *(f"{v:.4f}" for v in values)] for ranker, values in values_of.items()
        ]
        lines += [*table([head, *MEASURES[kind].values()], rows), ""]
    return lines


def curves(result: TopkReproduction) -> list[str]:
    """Return Figures 1 and 2 on this data."""
    lines = ["### Figures 1 and 2: the balance factor", ""]
    for name, figure in figures(result).items():
        lines += [f"![{figure.title}](figures/topk-{name}.svg)", ""]
    return [
        *lines,
        "Means over all test queries for each beta: 0 is the pairwise term alone, 1 the listwise one. The "
        "scales of the panels differ.",
        "",
    ]


def figures(result: TopkReproduction) -> dict[str, CurveFigure]:
    """Return a figure for each data set: one row of panels per truth, one column per Focused ranker."""
    out = {}
    for number, data in enumerate(result.data, start=1):
        panels = tuple(
            _panel(case, ranker)
            for case in result.of(data)
            if case.k in (0, PAPER_K)
            for ranker in FAMILIES
        )
        title = f"FocusedRank along beta on {data} (Figures 1 and 2 of the paper)"
        out[f"beta-{number}"] = CurveFigure(
            title, "mean over queries", CURVES, COLOURS, panels, columns=len(FAMILIES)
        )
    return out


def _panel(case: TruthCase, ranker: str) -> Panel:
    curve_of = {c.measure: c for c in case.curves if c.ranker == ranker}
    drawn = dict(zip(CURVES, CURVE_MEASURES[case.kind], strict=True))
    return Panel(
        f"{NAMES[ranker]}, {case.title}",
        "beta",
        next(iter(curve_of.values())).betas,
        {curve: curve_of[measure].values for curve, measure in drawn.items()},
        ticks=(0.0, 0.25, 0.5, 0.75, 1.0),
    )

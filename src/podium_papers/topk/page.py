"""The page of the top-k paper: Tables 4 and 5 beside the printed ones, curves of beta, claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podium.experiments import save_figure
from podium_papers.curves import CurveFigure, Panel
from podium_papers.markdown import capital, difference, joined, table, verdict
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
from podium_papers.topk.fits import DRAWN
from podium_papers.topk.tables import (
    FAMILIES,
    MEASURES,
    NAMES,
    PAPER_K,
    PRINTED,
    TABLES,
    Kind,
    printed,
)

TESTED = (0, 4, 9, 10)
"""The columns whose tests are shown: N@1, N@5, N@10, ERR."""
COLOURS = {"@5": "#56B4E9", "@10": "#0072B2", "ERR": "#D55E00"}
CURVES = {"@5": "NDCG@5, κ-NDCG@5", "@10": "NDCG@10, κ-NDCG@10", "ERR": "ERR, κ-ERR"}
KINDS: dict[Kind, str] = {"graded": "graded labels", "top-k": "top-k truth"}


def sections(result: TopkReproduction) -> list[str]:
    """The page in Markdown, without its head."""
    return [
        "The paper has MQ2007, whose top-k truth is the order of MQ2007-list, and fifty queries of "
        "TD2003, graded and ordered anew by its own assessors. Printed values stand beside ours with "
        "their difference where the data is one of these, and by themselves below; other data sets stand "
        "in for those that are missing. Top-k truth is the first k places of a total order that agrees "
        f"with the grades: of random ones ({_draws(result)}), or, where there are other rankings of "
        "the documents, of one whose ties are broken by their Borda consensus. A list of k documents or "
        "fewer has no rest to tell from the top.",
        "",
        "Settings are chosen on the validation queries, by NDCG@10 on graded labels and by κ-NDCG@10 on "
        "top-k truth, beta from 0 to 1 by "
        f"{_step(result)}; test queries are looked at once. NDCG is the bare one (see "
        "[conventions](conventions.md)); ERR and κ-ERR take the largest label of a query for the top "
        "of the scale, as the paper does, and 1/rank for its printed 1/n.",
        "",
        *claims(result),
        *(line for data in result.data for line in tables(result, data)),
        *smaller(result),
        *as_printed(),
        *curves(result),
    ]


def draw(result: TopkReproduction, folder: Path) -> None:
    """Every figure as SVG."""
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
    """Which of them hold, case by case."""
    claim_of = {(c.text, c.data, c.truth): c for c in result.claims()}
    texts = [text for text in CLAIMS if any(key[0] == text for key in claim_of)]
    rows = []
    for case in result.cases:
        own = [claim_of.get((text, case.data, case.title)) for text in texts]
        cells = ["" if c is None else f"{verdict(c.holds)}: {c.numbers}" for c in own]
        rows.append([f"{case.data}, {case.title}", *cells])
    ahead = {
        kind: joined([f"{printed_ahead(data, kind)} on {data}" for data in TABLES])
        for kind in KINDS
    }
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"{number}. *{capital(text)}*: {_summed([c for key, c in claim_of.items() if key[0] == text])}."
            for number, text in enumerate(texts, start=1)
        ),
        "",
        "A point is a Focused ranker against one of its two parents (SVM-MAP and RankSVM, AdaRank and "
        "RankBoost, ListNet and RankNet), or against top-k ListMLE, under one of the eleven measures. "
        "Given are the points at which it is ahead; in brackets, at how many significantly (+), and at how "
        "many it is significantly behind (-): p < 0.05 in a paired t-test over queries, two-sided, by "
        "Holm's correction for all points with parents, or all with ListMLE, of a case. Significantly "
        "better: at every point; comparable: significantly behind at none; almost all: more than half. "
        "Claim 2 so counted is stricter than the paper: its own tables are not ahead at every point. Claim "
        f"3 counts as the paper does, without a test, and asks for {printed_share('top-k'):.0%} of the "
        "points, as many as in the paper's own Table 5. A "
        "curve rises and falls if its maximum is above both ends, and varies by (max - min) / mean (the "
        "paper speaks of the variance of the mean). "
        "The paper names no test; of its printed values the Focused rankers are ahead of their parents at "
        f"{ahead['top-k']} with top-k truth, and at {ahead['graded']} with graded labels.",
        "",
        *table(["claim", *(f"{number}." for number in range(1, len(texts) + 1))], rows),
        "",
    ]


def _summed(own: Sequence[TopkClaim]) -> str:
    holds = sum(claim.holds for claim in own)
    if holds == 0:
        return f"{verdict(False)} in any of {len(own)} cases" if len(own) > 1 else verdict(False)
    return f"{verdict(True)} in {holds} of {len(own)} cases" if len(own) > 1 else verdict(True)


def tables(result: TopkReproduction, data: str) -> list[str]:
    """A data set's halves of a table, with the tests of its Focused rankers."""
    shown = [case for case in result.of(data) if case.k in (0, PAPER_K)]
    lines = [f"### {data} ({shown[0].queries:,} queries)", ""]
    for case in shown:
        names = MEASURES[case.kind]
        compared = case.own and not result.quick
        rows = [[name, *(_cell(case, r, m, compared) for m in names)] for r, name in NAMES.items()]
        lines += [*table([capital(case.title), *names.values()], rows), ""]
        if compared:
            lines += [f"In brackets: as Table {TABLES[data]} prints it, and ours less that.", ""]
        lines += [*tests(case), *_unfinished(case)]
    return lines


def _cell(case: TruthCase, ranker: str, measure: str, compared: bool) -> str:
    text = f"{case.mean(ranker, measure):.4f}"
    less = case.difference(ranker, measure)
    if less is None or not compared:
        return text
    return f"{text} ({printed(case.data, case.kind, ranker, measure):.4f}, {less:+.4f})"


def tests(case: TruthCase) -> list[str]:
    """Differences and their p-values, in four of the measures."""
    names = MEASURES[case.kind]
    shown = [list(names)[i] for i in TESTED]
    rows = []
    for ranker, other in (*PARENTS, *RIVALS):
        comparison_of = {c.measure: c for c in case.comparisons_of(ranker, other)}
        rows.append(
            [f"{NAMES[ranker]} - {NAMES[other]}", *(difference(comparison_of[m]) for m in shown)]
        )
    heads = [f"{capital(case.title)}: difference (p)", *(names[m] for m in shown)]
    return [*table(heads, rows), ""]


def _unfinished(case: TruthCase) -> list[str]:
    """Who was chosen although its fit had stopped too early."""
    early = {c.ranker: len(c.unfinished) for c in case.chosen if c.unfinished}
    if not early:
        return []
    counts = joined([f"{n} of {NAMES[ranker]}" for ranker, n in early.items()])
    return [f"Chosen fits that stopped before they were optimal: {counts}.", ""]


def smaller(result: TopkReproduction) -> list[str]:
    """Every k that is not the paper's, in two measures."""
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
    """Tables 4 and 5."""
    lines = ["### As printed", ""]
    for (data, kind), own in PRINTED.items():
        head = f"Table {TABLES[data]}: {data}, {KINDS[kind]}"
        rows = [[NAMES[ranker], *(f"{v:.4f}" for v in values)] for ranker, values in own.items()]
        lines += [*table([head, *MEASURES[kind].values()], rows), ""]
    return lines


def curves(result: TopkReproduction) -> list[str]:
    """Figures 1 and 2 on this data."""
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
    """A figure for each data set: a row of panels for each truth, a column for each Focused ranker."""
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
    own = {c.measure: c for c in case.curves if c.ranker == ranker}
    drawn = dict(zip(CURVES, DRAWN[case.kind], strict=True))
    return Panel(
        f"{NAMES[ranker]}, {case.title}",
        "beta",
        next(iter(own.values())).betas,
        {curve: own[measure].values for curve, measure in drawn.items()},
        ticks=(0.0, 0.25, 0.5, 0.75, 1.0),
    )

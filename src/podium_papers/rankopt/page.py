"""The page of the post-ranking paper: the method against the baselines, claims, means and weights."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from podium.experiments import save_figure
from podium_papers.markdown import difference, joined, table, verdict
from podium_papers.rankopt.claims import (
    BASE,
    COMBINATIONS,
    HEURISTICS,
    NAMES,
    REPORTED,
    TUNED,
    WHENS,
    RankOptClaim,
)
from podium_papers.rankopt.lists import MEASURES
from podium_papers.rankopt.page_figures import drawings, pictures, wrong_rules
from podium_papers.rankopt.summary import RankOptSummary


def sections(result: RankOptSummary) -> list[str]:
    """The page in Markdown, without its head."""
    return [
        "The paper has MQ2008, MQ2007, OHSUMED, .Gov (TD2003) and a set of its own. It prints bars, no "
        "table, but for the times.",
        "",
        "LambdaMART ranks (leaves and trees by NDCG@10 of the validation queries). Every query has a "
        "top-k rule (k = 1, 3, 5) and a not-top-k rule (k = 5, 10), a document each drawn from a "
        "perfect ranking whose ties are broken at random, five times over; a query's value is its "
        "mean over the five. A rule of k at or beyond the end of the list is skipped, for everybody. "
        "rho_t and rho_n are chosen for each fold and combination on the post-ranked validation "
        "queries, by the mean of NDCG@1, @3 and @5, from 0.1, 0.3, 1, 3, 10, 30, 100 (for the two "
        "printed forms, which want more, from 1, 10, 100, 1000, 3000), of equal ones the larger; test "
        "queries are looked at once. NDCG is the bare one (see [conventions](conventions.md)).",
        "",
        "The paper's method in four forms: *Algorithm 1*, its gradient descent from a random start "
        "with its own pairs, stopped after 10 steps (its weights are chosen on one of the five draws, "
        "for it takes hundreds of times as long); *printed pairs*, the same problem with a prior so "
        "weak that the optimum exists and little else changes; *uniform*, Podium's default, whose "
        "pairs count ranks without the document and whose prior grows with the list; and *margin*, "
        "the same with base pairs weighted by LambdaMART's margins. The baselines move documents "
        "always, as printed, or only where their rule is violated.",
        "",
        *baseline_sections(result),
        *claims(result),
        *values(result),
        *pictures(result),
        *wrong_rules(result),
        *weights(result),
    ]


def draw(result: RankOptSummary, folder: Path) -> None:
    """Every figure as SVG."""
    for name, figure in drawings(result).items():
        save_figure(figure, folder / f"rankopt-{name}.svg")


def baseline_sections(result: RankOptSummary) -> list[str]:
    """The forms against the best of the four baselines."""
    means = {
        (case, s.data, s.ranker, s.measure): s.mean
        for case, own in result.means.items()
        for s in own
    }
    rows = []
    for data in result.data:
        for case in map(str, COMBINATIONS):
            cells = []
            for form in TUNED:
                gaps = [
                    means[case, data, form, m] - max(means[case, data, o, m] for o in HEURISTICS)
                    for m in MEASURES
                ]
                cells.append(" ".join(f"{gap:+.4f}" for gap in gaps))
            rows.append([f"{data}, {case}", *cells])
    worst = {data: least(result, data, "margin") for data in result.data}
    worst_text = " and ".join(f"{gap:+.4f} on {data}" for data, gap in worst.items())
    return [
        "### Against the best baseline",
        "",
        "NDCG@1, @3 and @5 less that of the best of the four baselines as printed at that measure "
        "(the best one is seen on the test queries, which favours the baselines). The least for "
        f"margin: {worst_text}.",
        "",
        *table(["", *(NAMES[form] for form in TUNED)], rows),
        "",
    ]


def least(result: RankOptSummary, data: str, form: str) -> float:
    """Against the best baseline of each combination."""
    return min(
        c.difference
        for case in COMBINATIONS
        for c in result.compared(case, form, "always")
        if c.data == data and c.other != BASE
    )


def claims(result: RankOptSummary) -> list[str]:
    """Which of the paper's claims hold, form by form."""
    rows = []
    for figure, text, when in dict.fromkeys((c.figure, c.text, c.when) for c in result.claims):
        own = [c for c in result.claims if (c.figure, c.text, c.when) == (figure, text, when)]
        for form in dict.fromkeys(c.form for c in own):
            verdict_by_data = {
                c.data: f"{verdict(c.holds)}: {c.found}" for c in own if c.form == form
            }
            baselines = {"always": "as printed", "violated": "if violated", "": ""}[when]
            rows.append([f"{number(figure)}: *{text}*", NAMES.get(form, ""), baselines,
                         *(verdict_by_data.get(data, "") for data in result.data)])  # fmt: skip
    return [
        "### Which of the paper's claims hold",
        "",
        *verdicts(result.claims),
        "",
        "The same in numbers. Counts are of three combinations (top-3 with not-top-5 and with "
        "not-top-10, top-5 with not-top-10), NDCG@1, @3 and @5 and each other method: those at which "
        "the form is ahead; in brackets, at how many significantly, and at how many it is "
        "significantly behind. Significant: p < 0.05 in a paired t-test over queries, two-sided, by "
        "Holm's correction for the tests of a form in a combination, all data sets together. *As "
        "good* allows 0.001, *similar* and *not sensitive* 0.01: the paper says no numbers. *Converges*: no "
        "element of the gradient is larger than the number given (the paper gives no tolerance); most: more "
        "than half of the lists, for Algorithm 1 at the widest tolerance. Where f has no minimum a "
        "small gradient only says that the scores have drifted far apart.",
        "",
        *table(["claim", "form", "baselines", *result.data], rows),
        "",
    ]


def number(figure: str) -> str:
    """Figure, figures or table."""
    if figure.startswith("Table"):
        return figure
    return f"Figure{'s' if '-' in figure else ''} {figure}"


def verdicts(claims: Sequence[RankOptClaim]) -> list[str]:
    """A line for each claim, against the baselines as printed: of which forms it is true."""
    lines = []
    for figure, text in dict.fromkeys((c.figure, c.text) for c in claims):
        own = [c for c in claims if (c.figure, c.text) == (figure, text) and c.when != "violated"]
        texts = []
        for holds in (True, False):
            forms: dict[str, list[str]] = {}
            for claim in own:
                if claim.holds == holds:
                    forms.setdefault(NAMES.get(claim.form, ""), []).append(claim.data)
            if forms:
                where = (f"{form} on {joined(data)}".strip() for form, data in forms.items())
                texts.append(f"{verdict(holds)}: {', '.join(where)}")
        lines.append(f"- {number(figure)}: *{text}*. {'; '.join(texts)}.")
    return lines


def values(result: RankOptSummary) -> list[str]:
    """A table of means for each data set."""
    lines = ["### Means", "", "NDCG@1, @3, @5 over all test queries.", ""]
    for data in result.data:
        rows = []
        for method, name in NAMES.items():
            cells = []
            for case in map(str, COMBINATIONS):
                own = result.means["" if method == BASE else case]
                cells.append(
                    " ".join(
                        f"{s.mean:.4f}"[1:] if s.mean < 1 else f"{s.mean:.3f}"
                        for s in own
                        if (s.data, s.ranker) == (data, method)
                    )
                )
            rows.append([name, *cells])
        lines += [*table([data, *map(str, COMBINATIONS)], rows), ""]
    return [
        *lines,
        "Differences of margin and p by Holm's correction, at NDCG@1, @3, @5 (significant ones bold):",
        "",
        *table(["RankOpt (margin) less", *MEASURES], _differences(result)),
        "",
    ]


def _differences(result: RankOptSummary) -> list[list[str]]:
    rows = []
    for data, case in itertools.product(result.data, REPORTED):
        for when, others in WHENS.items():
            tests = [c for c in result.compared(case, "margin", when) if c.data == data]
            for other in (BASE, *others) if when == "always" else others:
                own = [c for c in tests if c.other == other]
                rows.append([f"{data}, {case}: {NAMES[other]}", *map(difference, own)])
    return rows


def weights(result: RankOptSummary) -> list[str]:
    """What validation chose."""
    rows = [
        [f"{data}, {case}", *("; ".join(result.chosen[form][str(case)][data]) for form in TUNED)]
        for data in result.data
        for case in COMBINATIONS
    ]
    return [
        "### Weights chosen",
        "",
        "For each fold, rho_t and rho_n. (A weight of Algorithm 1 and of printed pairs is that "
        "of every pair, as in the paper; one of the others is spread over the pairs of its rule.)",
        "",
        *table(["", *(NAMES[form] for form in TUNED)],
               [[r[0], *(c.replace("rho_t=", "").replace(", rho_n=", "/") for c in r[1:])]
                for r in rows]),
        "",
    ]  # fmt: skip

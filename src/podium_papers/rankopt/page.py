"""Page of the post-ranking paper: the method against the baselines, claims, means and weights."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from podium.experiments import save_figure
from podium_papers.markdown import difference, join_names, table, verdict
from podium_papers.rankopt.claims import (
    BASE,
    BASELINE_MODES,
    HEURISTICS,
    NAMES,
    REPORTED_CASES,
    RULE_COMBINATIONS,
    TUNED_FORMS,
    RankOptClaim,
)
from podium_papers.rankopt.lists_under_rules import MEASURES
from podium_papers.rankopt.page_figures import draw_figures, figure_sections, wrong_rules
from podium_papers.rankopt.summary import RankOptSummary


def sections(result: RankOptSummary) -> list[str]:
    """Return the page in Markdown, without its head."""
    return [
        "The paper has MQ2008, MQ2007, OHSUMED, .Gov (TD2003) and a set of its own. It prints "
        "bars, and a table only for the times.",
        "",
        "LambdaMART ranks (NDCG@10 of the validation queries chooses leaves and trees). Every "
        "query has a top-k rule (k = 1, 3, 5) and a not-top-k rule (k = 5, 10). Their documents "
        "are drawn from a perfect ranking whose ties are broken at random. There are five "
        "draws, and a query's value is its mean over them. All methods skip a rule whose k is "
        "at or beyond the end of the list. The weights rho_t and rho_n are chosen for each fold "
        "and combination on the post-ranked validation queries, by the mean of NDCG@1, @3 and "
        "@5. Their values are 0.1, 0.3, 1, 3, 10, 30, 100. For the two printed forms, which "
        "need more, they are 1, 10, 100, 1000, 3000. Among equal ones the larger is taken. Test "
        "queries are used once. NDCG is the bare one (see [conventions](conventions.md)).",
        "",
        "The paper's method has four forms here. *Algorithm 1* is its gradient descent from a "
        "random start with its own pairs, stopped after 10 steps. (Its weights are chosen on "
        "one of the five draws, because it takes hundreds of times as long.) *Printed pairs* is "
        "the same problem with a prior so weak that the optimum exists and little else changes. "
        "*Uniform* is Podium's default: its pairs count ranks without the document, and its "
        "prior grows with the list. *Margin* is the same with base pairs weighted by "
        "LambdaMART's margins. The baselines move documents always, as printed, or only if "
        "their rule is violated.",
        "",
        *baseline_sections(result),
        *claims(result),
        *mean_tables(result),
        *figure_sections(result),
        *wrong_rules(result),
        *weights_table(result),
    ]


def draw(result: RankOptSummary, folder: Path) -> None:
    """Write every figure as SVG."""
    for name, figure in draw_figures(result).items():
        save_figure(figure, folder / f"rankopt-{name}.svg")


def baseline_sections(result: RankOptSummary) -> list[str]:
    """Return the forms' differences from the best of the four baselines."""
    means = {
        (case, s.data, s.ranker, s.measure): s.mean
        for case, scores in result.means.items()
        for s in scores
    }
    rows = []
    for data in result.data:
        for case in map(str, RULE_COMBINATIONS):
            cells = []
            for form in TUNED_FORMS:
                gaps = [
                    means[case, data, form, m] - max(means[case, data, o, m] for o in HEURISTICS)
                    for m in MEASURES
                ]
                cells.append(" ".join(f"{gap:+.4f}" for gap in gaps))
            rows.append([f"{data}, {case}", *cells])
    worst = {data: least_difference(result, data, "margin") for data in result.data}
    worst_text = " and ".join(f"{gap:+.4f} on {data}" for data, gap in worst.items())
    return [
        "### Against the best baseline",
        "",
        "The table has NDCG@1, @3 and @5, minus that of the best of the four baselines as "
        "printed. The best one is chosen on the test queries for each measure, which favours "
        f"the baselines. The least for margin: {worst_text}.",
        "",
        *table(["", *(NAMES[form] for form in TUNED_FORMS)], rows),
        "",
    ]


def least_difference(result: RankOptSummary, data: str, form: str) -> float:
    """Return the least difference of a form from any baseline, over all combinations."""
    return min(
        c.difference
        for case in RULE_COMBINATIONS
        for c in result.comparisons_of(case, form, "always")
        if c.data == data and c.other != BASE
    )


def claims(result: RankOptSummary) -> list[str]:
    """Return which of the paper's claims hold, form by form."""
    rows = []
    for figure, text, when in dict.fromkeys((c.figure, c.text, c.when) for c in result.claims):
        matching_claims = [
            c for c in result.claims if (c.figure, c.text, c.when) == (figure, text, when)
        ]
        for form in dict.fromkeys(c.form for c in matching_claims):
            verdict_by_data = {
                c.data: f"{verdict(c.holds)}: {c.found}" for c in matching_claims if c.form == form
            }
            baselines = {"always": "as printed", "violated": "if violated", "": ""}[when]
            rows.append([f"{figure_label(figure)}: *{text}*", NAMES.get(form, ""), baselines,
                         *(verdict_by_data.get(data, "") for data in result.data)])  # fmt: skip
    return [
        "### Which of the paper's claims hold",
        "",
        *verdicts(result.claims),
        "",
        "The same in numbers. The counts cover three combinations (top-3 with not-top-5 and "
        "with not-top-10, top-5 with not-top-10), NDCG@1, @3 and @5, and each other method. "
        "They say at how many points the form is ahead. Brackets have the counts of "
        "significantly ahead and significantly behind. Significant means p < 0.05 in a "
        "two-sided paired t-test over queries. Holm's correction covers the tests of a form in "
        "a combination, all data sets together. *As good* allows 0.001, *similar* and *not "
        "sensitive* 0.01: the paper gives no numbers. *Converges* means that no element of the "
        "gradient exceeds the given number (the paper has no tolerance). *Most* means more than "
        "half of the lists, for Algorithm 1 at the widest tolerance. If f has no minimum, a "
        "small gradient only says that the scores have drifted far apart.",
        "",
        *table(["claim", "form", "baselines", *result.data], rows),
        "",
    ]


def figure_label(figure: str) -> str:
    """Return the label of a figure, of several figures or of a table."""
    if figure.startswith("Table"):
        return figure
    return f"Figure{'s' if '-' in figure else ''} {figure}"


def verdicts(claims: Sequence[RankOptClaim]) -> list[str]:
    """Return a line for each claim that names the forms it holds for; the baselines are as printed."""
    lines = []
    for figure, text in dict.fromkeys((c.figure, c.text) for c in claims):
        matching_claims = [
            c for c in claims if (c.figure, c.text) == (figure, text) and c.when != "violated"
        ]
        texts = []
        for holds in (True, False):
            forms: dict[str, list[str]] = {}
            for claim in matching_claims:
                if claim.holds == holds:
                    forms.setdefault(NAMES.get(claim.form, ""), []).append(claim.data)
            if forms:
                where = (f"{form} on {join_names(data)}".strip() for form, data in forms.items())
                texts.append(f"{verdict(holds)}: {', '.join(where)}")
        lines.append(f"- {figure_label(figure)}: *{text}*. {'; '.join(texts)}.")
    return lines


def mean_tables(result: RankOptSummary) -> list[str]:
    """Return a table of means for each data set."""
    lines = ["### Means", "", "NDCG@1, @3, @5 over all test queries.", ""]
    for data in result.data:
        rows = []
        for method, name in NAMES.items():
            cells = []
            for case in map(str, RULE_COMBINATIONS):
                scores = result.means["" if method == BASE else case]
                cells.append(
                    " ".join(
                        f"{s.mean:.4f}"[1:] if s.mean < 1 else f"{s.mean:.3f}"
                        for s in scores
                        if (s.data, s.ranker) == (data, method)
                    )
                )
            rows.append([name, *cells])
        lines += [*table([data, *map(str, RULE_COMBINATIONS)], rows), ""]
    return [
        *lines,
        "Differences of margin and p by Holm's correction, at NDCG@1, @3, @5 (significant ones bold):",
        "",
        *table(["RankOpt (margin) less", *MEASURES], _differences(result)),
        "",
    ]


def _differences(result: RankOptSummary) -> list[list[str]]:
    rows = []
    for data, case in itertools.product(result.data, REPORTED_CASES):
        for when, others in BASELINE_MODES.items():
            tests = [c for c in result.comparisons_of(case, "margin", when) if c.data == data]
            for other in (BASE, *others) if when == "always" else others:
                comparisons = [c for c in tests if c.other == other]
                rows.append([f"{data}, {case}: {NAMES[other]}", *map(difference, comparisons)])
    return rows


def weights_table(result: RankOptSummary) -> list[str]:
    """Return the weights that validation chose."""
    rows = [
        [
            f"{data}, {case}",
            *("; ".join(result.chosen[form][str(case)][data]) for form in TUNED_FORMS),
        ]
        for data in result.data
        for case in RULE_COMBINATIONS
    ]
    return [
        "### Weights chosen",
        "",
        "The table has rho_t and rho_n for each fold. (In Algorithm 1 and printed pairs every "
        "pair has the weight, as in the paper. In the others it is spread over the pairs of its "
        "rule.)",
        "",
        *table(["", *(NAMES[form] for form in TUNED_FORMS)],
               [[r[0], *(c.replace("rho_t=", "").replace(", rho_n=", "/") for c in r[1:])]
                for r in rows]),
        "",
    ]  # fmt: skip

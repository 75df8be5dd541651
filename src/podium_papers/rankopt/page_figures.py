"""Page of the post-ranking paper, second half: its figures, and the table of wrong rules."""

from __future__ import annotations

import re
from typing import Any

from podium_papers.markdown import table
from podium_papers.rankopt.claims import (
    BASE,
    FORMS,
    HEURISTICS,
    IF_VIOLATED,
    NAMES,
    REPORTED_CASES,
    WRONG_SHARES,
    wrong_cases,
    wrong_shares_text,
)
from podium_papers.rankopt.figures import (
    combination_figure,
    depths_figure,
    examples_figure,
    types_figure,
    weights_figure,
    wrong_figure,
)
from podium_papers.rankopt.summary import RankOptSummary


def figure_names(result: RankOptSummary) -> list[str]:
    """Return the names of the figures, in the order of the paper."""
    names = [f"{case.top}-{case.rest}" for case in REPORTED_CASES]
    names += ["examples"] if result.examples else []
    return names if result.quick else [*names, "depths", "types", "weights", "wrong"]


def draw_figures(result: RankOptSummary) -> dict[str, Any]:
    """Draw every figure by its name; a quick run has none of the studies."""
    drawn = {
        f"{case.top}-{case.rest}": combination_figure(
            case,
            [*result.means[""], *result.means[str(case)]],
            result.comparisons_of(case, "margin", "always"),
        ).plot()
        for case in REPORTED_CASES
    }
    if result.examples:
        drawn["examples"] = examples_figure(result.examples)
    if not result.quick:
        drawn["types"] = types_figure(result.types, result.type_tests).plot()
        drawn["depths"] = depths_figure(result.means).plot()
        drawn["wrong"] = wrong_figure(result.means).plot()
        drawn["weights"] = weights_figure(result.means).plot()
    return drawn


def figure_sections(result: RankOptSummary) -> list[str]:
    """Return the figures and their captions, in the order of the paper."""
    lines = ["### Figures", ""]
    captions = {
        **{
            f"{case.top}-{case.rest}": f"Figures 3 to 6, {case}. Bars are means. Below is margin "
            "minus the other, with two standard errors on either "
            "side; significant ones are filled."
            for case in REPORTED_CASES
        },
        "examples": "Figure 8 has two lists of 8 to 16 documents, before and after. In the "
        "first, the document to promote is relevant, and margin is ahead of "
        "Moderate, Conservative and Proportional at NDCG@5. In the second, it is "
        "not relevant, and margin is ahead of Radical and Moderate. Both are the "
        "first such test lists. They show how the method works, not how often.",
        "depths": "Figure 9: either rule by itself, along k.",
        "types": "Figure 10: types of rules.",
        "weights": "Figure 11: one weight along the grid, the other as chosen.",
        "wrong": f"Wrong rules: a share of them ({wrong_shares_text()}) promotes a document that "
        "is not relevant, or demotes one that is. Weights are chosen on validation "
        "queries with the same share of wrong rules.",
    }
    for name in figure_names(result):
        text = captions[name]
        lines += [f"![{re.split('[.:]', text)[0]}](figures/rankopt-{name}.svg)", "", text, ""]
    return lines


def wrong_rules(result: RankOptSummary) -> list[str]:
    """Return the table of wrong rules; a quick run, which has no studies, has none."""
    if result.quick:
        return []
    means = {
        (case, s.data, s.ranker): s.mean
        for case, scores in result.means.items()
        for s in scores
        if s.measure == "NDCG@1"
    }
    rows = []
    for data in result.data:
        for method in (BASE, *HEURISTICS, *IF_VIOLATED, *FORMS):
            cases = [""] * len(WRONG_SHARES) if method == BASE else wrong_cases()
            cells = (f"{means[case, data, method]:.4f}" for case in cases)
            rows.append([f"{data}, {NAMES[method]}", *cells])
    heads = ["NDCG@1, share of wrong rules", *(f"{share:.0%}" for share in WRONG_SHARES)]
    return [*table(heads, rows), ""]

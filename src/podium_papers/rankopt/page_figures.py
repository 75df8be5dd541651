"""The page of the post-ranking paper: its figures, and wrong rules."""

from __future__ import annotations

import re
from typing import Any

from podium_papers.markdown import table
from podium_papers.rankopt.claims import (
    BASE,
    FORMS,
    HEURISTICS,
    NAMES,
    REPORTED,
    SHARES,
    VIOLATED,
    shares,
    wrong_cases,
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


def names(result: RankOptSummary) -> list[str]:
    """The figures that there are, in the order of the paper."""
    drawn = [f"{case.top}-{case.rest}" for case in REPORTED]
    drawn += ["examples"] if result.examples else []
    return drawn if result.quick else [*drawn, "depths", "types", "weights", "wrong"]


def drawings(result: RankOptSummary) -> dict[str, Any]:
    """Every figure by its name; those of the studies only where they were run."""
    drawn = {
        f"{case.top}-{case.rest}": combination_figure(
            case,
            [*result.means[""], *result.means[str(case)]],
            result.compared(case, "margin", "always"),
        ).plot()
        for case in REPORTED
    }
    if result.examples:
        drawn["examples"] = examples_figure(result.examples)
    if not result.quick:
        drawn["types"] = types_figure(result.types, result.type_tests).plot()
        drawn["depths"] = depths_figure(result.means).plot()
        drawn["wrong"] = wrong_figure(result.means).plot()
        drawn["weights"] = weights_figure(result.means).plot()
    return drawn


def pictures(result: RankOptSummary) -> list[str]:
    """The figures, in the order of the paper."""
    lines = ["### Figures", ""]
    captions = {
        **{
            f"{case.top}-{case.rest}": f"Figures 3 to 6, {case}. Bars: means. Below: margin less the "
            "other, two standard errors either side; filled where significant."
            for case in REPORTED
        },
        "examples": "Figure 8: two lists before and after, the first test list in which margin is "
        "ahead of Moderate, Conservative and Proportional at NDCG@5 and the document to promote is "
        "relevant, and the first in which it is not relevant and margin is ahead of Radical and "
        "Moderate (lists of 8 to 16 documents). They show how the method works, not how often.",
        "depths": "Figure 9: either rule by itself, along k.",
        "types": "Figure 10: types of rules.",
        "weights": "Figure 11: one weight along the grid, the other as chosen.",
        "wrong": f"Wrong rules: a share of them ({shares()}) names a document that is not relevant to "
        "be promoted, or one that is relevant to be demoted; weights are chosen on validation "
        "queries with as many wrong rules.",
    }
    for name in names(result):
        text = captions[name]
        lines += [f"![{re.split('[.:]', text)[0]}](figures/rankopt-{name}.svg)", "", text, ""]
    return lines


def wrong_rules(result: RankOptSummary) -> list[str]:
    """What wrong rules do to each method, in numbers; nothing where the studies were not run."""
    if result.quick:
        return []
    means = {
        (case, s.data, s.ranker): s.mean
        for case, own in result.means.items()
        for s in own
        if s.measure == "NDCG@1"
    }
    rows = []
    for data in result.data:
        for method in (BASE, *HEURISTICS, *VIOLATED, *FORMS):
            cases = [""] * len(SHARES) if method == BASE else wrong_cases()
            cells = (f"{means[case, data, method]:.4f}" for case in cases)
            rows.append([f"{data}, {NAMES[method]}", *cells])
    heads = ["NDCG@1, share of wrong rules", *(f"{share:.0%}" for share in SHARES)]
    return [*table(heads, rows), ""]

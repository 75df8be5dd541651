"""Page of the TopRank paper: its figures, the tests behind them, and which claims hold."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from podium.experiments import save_figure
from podium_papers.markdown import difference, join_names, table, verdict
from podium_papers.toprank.approximation import PAPER_BOUND
from podium_papers.toprank.claims import FIGURE_MEASURES, FIGURES, MODE_TITLES, NAMES, WEAK_BASES
from podium_papers.toprank.rankers import BASELINES
from podium_papers.toprank.summary import TopRankSummary

FIGURE_HEADINGS = {
    2: "Figure 2: slack scaling against margin scaling",
    3: "Figure 3: the vote against its base",
    4: "Figure 4: TopRank against the baselines",
}
SEARCH_NAMES = {"hull": "Podium's search", "paper": "the paper's search"}
Case = tuple[str, str]
"""A data set and a set-up."""
Verdicts = dict[Case, tuple[bool, str]]
"""Case -> whether a claim holds, and the counts."""


def sections(result: TopRankSummary) -> list[str]:
    """Return the page in Markdown, without its head."""
    return [
        "Figures 2 to 4 of the paper. It has OHSUMED (of which it counts 25 features), TD2003 "
        "and TD2004; other data sets replace those that are missing. It prints bars and no "
        "table, and calls differences significant without a test.",
        "",
        "For precision, rankers are trained for it and chosen by P@10 on the validation "
        "queries. For NDCG and MAP they are chosen by NDCG@10. There are two set-ups: *the "
        "paper's* (TopSlack with the paper's own search and TopMargin, both for the first 10 "
        "places with C from 1e-5 to 1e5; `TopRank(mode=\"paper\")`) and *Podium's defaults* "
        "(the rankers' own grids, `TopRank()`). The other rankers are the same in both. Test "
        "queries are used once.",
        "",
        *_means(result),
        *_certificates(result),
        *_claims(result),
        *(line for number in FIGURES for line in _figure(result, number)),
        *_weak_base(result),
        *_approximation(result),
    ]  # fmt: skip


def draw(result: TopRankSummary, folder: Path) -> None:
    """Write every figure as SVG."""
    for number, mode in itertools.product(FIGURES, result.modes):
        save_figure(result.figure(number, mode).plot(), folder / f"toprank-{number}-{mode}.svg")


def _means(result: TopRankSummary) -> list[str]:
    """Return a table of means for each data set."""
    lines = [
        "Means over all test queries (each is tested once in the folds), with their standard "
        "errors. The paired tests below show differences between rankers far better than these "
        "errors. NDCG is the bare one (see [conventions](conventions.md)), as in the paper.",
        "",
    ]
    measures = (*FIGURE_MEASURES, "MAP")
    for data in result.data:
        rows = []
        for i, (mode, summary) in enumerate(result.modes.items()):
            cells = {
                (s.ranker, s.measure): f"{s.mean:.4f} ± {s.error:.4f}"
                for s in summary.scores
                if s.data == data
            }
            for ranker, name in NAMES.items():
                if ranker in BASELINES and i > 0:
                    continue
                which = "" if ranker in BASELINES else f", {mode}"
                rows.append([f"{name}{which}", *(cells[ranker, m] for m in measures)])
        lines += [*table([data, *measures], rows), ""]
    return lines


def _certificates(result: TopRankSummary) -> list[str]:
    """Return how many fits are proved optimal, and the t of the paper's rule."""
    lines = []
    for ranker, (mode, summary) in itertools.product(
        ("topslack", "topmargin"), result.modes.items()
    ):
        fits = [f for f in summary.fits if f.ranker == ranker]
        fitted = sum(len(s) for f in fits for s in f.settings.values())
        without = sum(len(r) for f in fits for r in f.unfinished.values())
        if without:
            lines.append(
                f"{without} of {fitted} chosen fits of {NAMES[ranker]} ({MODE_TITLES[mode]})"
            )
    sentence = (
        "Every chosen TopSlack and TopMargin has its certificate."
        if not lines
        else f"Not certified as optimal: {', '.join(lines)}."
    )
    heads = []
    for fit in result.modes["paper"].fits:
        if fit.ranker == "toprank":
            t = sorted({_t(s) for settings in fit.settings.values() for s in settings})
            heads.append(f"t = {', '.join(map(str, t))} on {fit.data}")
    return [
        f"{sentence} By the paper's rule the head is as long as the shortest training list, and "
        f"at most 100. That makes {join_names(heads)}. Half of it counts in the vote; Podium has "
        "t = 50, and all of it counts.",
        "",
    ]


def _t(settings: str) -> int:
    match = re.match(r"t=(\d+)", settings)
    assert match is not None
    return int(match[1])


def _claims(result: TopRankSummary) -> list[str]:
    """Return which of the paper's claims hold, with counts."""
    cases = [(data, mode) for data in result.data for mode in result.modes]
    verdicts = _verdicts(result)
    rows = [[claim, *(cells[case][1] for case in cases)] for claim, cells in verdicts.items()]
    if "paper" in result.modes:
        place = 1 + next(i for i, row in enumerate(rows) if "Figure 3" in row[0])
        rows[place:place] = _weak_rows(result, cases)
    heads = [f"{data}, {MODE_TITLES[mode]}" for data, mode in cases]
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"- {claim}: {_where_it_holds(cells, result.data)}."
            f"{_over_weak_base(result) if 'Figure 3' in claim else ''}"
            for claim, cells in verdicts.items()
        ),
        _approximation_claim(result),
        "",
        f"Significant differences: {_count_significant(result)}. The table counts the measures, "
        "of six, at which the claim's ranker is ahead. If there are several other rankers, each "
        "counts at each measure. Brackets have the counts of significantly ahead and "
        "significantly behind. Significant means p < 0.05 in a two-sided paired permutation "
        "test over queries. Holm's correction covers all tests of a figure, all data sets "
        "together (for comparisons that the figure does not draw, all tests of the claim).",
        "",
        *table(["claim", *heads], rows),
        "",
    ]


def _weak_counts(result: TopRankSummary, base: str, data: str) -> tuple[int, float]:
    """Return at how many points the vote is ahead of a weak base, and by how much in NDCG@10."""
    test_of = {t.measure: t for t in result.weak_tests if (t.other, t.data) == (base, data)}
    return sum(t.sign > 0 for t in test_of.values()), test_of["NDCG@10"].difference


def _weak_rows(result: TopRankSummary, cases: Sequence[Case]) -> list[list[str]]:
    rows = []
    for base, (oracle, _) in WEAK_BASES.items():
        cells = []
        for data, mode in cases:
            ahead = _weak_counts(result, base, data)[0]
            text = f"{verdict(ahead == len(FIGURE_MEASURES))}: {ahead} of {len(FIGURE_MEASURES)}"
            cells.append(text if mode == "paper" else "")
        rows.append(
            [f"Figure 3, over TopSlack with the mean ideal ({SEARCH_NAMES[oracle]})", *cells]
        )
    return rows


def _over_weak_base(result: TopRankSummary) -> str:
    """Return the verdict over weak bases, for the line of Figure 3's claim."""
    if not result.weak_tests:
        return ""
    means = {(s.data, s.ranker, s.measure): s.mean for s in result.weak_scores}
    topslack_means = {
        (s.data, s.measure): s.mean for s in result.modes["paper"].scores if s.ranker == "topslack"
    }
    parts = []
    for data in result.data:
        for base, (oracle, _) in WEAK_BASES.items():
            ahead, gain = _weak_counts(result, base, data)
            parts.append(
                f"on {data}, {SEARCH_NAMES[oracle]}, {ahead} of {len(FIGURE_MEASURES)} points "
                f"(NDCG@10 {gain:+.4f} over a base of {means[data, base, 'NDCG@10']:.4f}; TopSlack's own is "
                f"{topslack_means[data, 'NDCG@10']:.4f})"
            )
    gains = any(
        _weak_counts(result, base, data)[0] == len(FIGURE_MEASURES)
        for data in result.data
        for base in WEAK_BASES
    )
    good = any(c.holds for c in result.modes["paper"].claims if c.figure == 3)
    verdict_text = (
        " With the paper's vote: not over a good base, but over a weak one."
        if gains and not good
        else ""
    )
    return (
        f"{verdict_text} Over TopSlack with the mean ideal "
        f'(`ideal="cut"`), which is weak on some data sets, it is ahead. '
        f"The points: {'; '.join(parts)}."
    )


def _weak_base(result: TopRankSummary) -> list[str]:
    """Return the vote over TopSlack with the mean ideal, beside the vote over TopSlack."""
    if not result.weak_tests:
        return []
    means = {(s.data, s.ranker, s.measure): s.mean for s in result.weak_scores}
    tests = {(t.data, t.ranker, t.measure): t for t in result.weak_tests}
    rows = []
    for data in result.data:
        for base, (oracle, vote) in WEAK_BASES.items():
            label = f"{data}, {SEARCH_NAMES[oracle]}"
            rows.append(
                [f"{label}: the base", *(f"{means[data, base, m]:.4f}" for m in FIGURE_MEASURES)]
            )
            cells = [difference(tests[data, vote, m]) for m in FIGURE_MEASURES]
            rows.append([f"{label}: TopRank - the base", *cells])
    return [
        "### Figure 3 again, over a weak base",
        "",
        'With `ideal="cut"` TopSlack learns from the mean of all ideal rankings, a convex '
        "problem, instead of the one that its own weights prefer. C is from 1e-5 to 1e5, and "
        f"the vote is the paper's. p has Holm's correction for these {len(result.weak_tests)} "
        "tests:",
        "",
        *table(["mean, or difference (p)", *FIGURE_MEASURES], rows),
        "",
    ]


def _approximation_claim(result: TopRankSummary) -> str:
    worst = max(result.approximations, key=lambda order: order.ratio)
    small = max((a for a in result.approximations if "equal" in a.name), key=lambda a: a.ratio)
    holds = worst.ratio <= PAPER_BOUND
    return (
        "- Section 3.2: *Supervised Kemeny is a 2-approximation of Kemeny's order*: "
        f"{verdict(holds)}. Its distance is {small.ratio:.2f} times the least in one case "
        f"({small.name}). In another it is {worst.ratio:.2f} times the least ({worst.name}), "
        "without a bound as that ranker's weight goes to 0. By insertion the order is never "
        "further from the rankings than mu. So it is a 2-approximation if mu is one."
    )


def _approximation(result: TopRankSummary) -> list[str]:
    """Return the instances on which Supervised Kemeny is far from the best order."""
    ratios: dict[str, dict[str, float]] = {}
    for order in result.approximations:
        ratios.setdefault(order.name, {})[order.algorithm] = order.ratio
    heads = list(dict.fromkeys(order.algorithm for order in result.approximations))
    rows = [
        [name, *(f"{ratio_of[head]:.4f}" for head in heads)] for name, ratio_of in ratios.items()
    ]
    return [
        "### Supervised Kemeny against the best order",
        "",
        "The table has the weighted Kendall distance, divided by the least distance of any "
        "order (proved by `kemeny`). The instances are in "
        "`podium_papers.toprank.approximation`. The small ones are the worst that simulated "
        "annealing over rankings, weights and mu found. In the others one ranker says v A B, "
        "and one says A B v. A third with weight .01, whose order is mu, says B v A. Every "
        "document of B is just above v, and v is just above every document of A. So no document "
        "of A passes v, although nearly all rankers put A above B.",
        "",
        *table(["instance", *heads], rows),
        "",
    ]


def _verdicts(result: TopRankSummary) -> dict[str, Verdicts]:
    """Return by claim, data and mode whether it holds, and the counts."""
    out: dict[str, Verdicts] = {}
    places: Verdicts = {}
    for mode, summary in result.modes.items():
        for c in summary.claims:
            text = f"{c.better} of {c.points} (+{c.above}, -{c.below})"
            cells = out.setdefault(f"Figure {c.figure}: *{c.text}*", {})
            cells[c.data, mode] = c.holds, f"{verdict(c.holds)}: {text}"
        for s in summary.standings:
            holds = s.best + s.second == len(FIGURE_MEASURES)
            text = f"best at {s.best}, second at {s.second}"
            places[s.data, mode] = holds, f"{verdict(holds)}: {text}"
    return {**out, "Figure 4: *TopRank is the best or second best at all points*": places}


def _count_significant(result: TopRankSummary) -> str:
    """Return how many tests of each figure are significant."""
    parts = []
    for mode, number in itertools.product(result.modes, FIGURES):
        drawn = result.figure(number, mode)
        tests = f"{len(drawn.significant_comparisons)} of {len(drawn.comparisons)}"
        start = f"with {MODE_TITLES[mode]} " if number == min(FIGURES) else ""
        parts.append(f"{start}{tests} in Figure {number}")
    return ", ".join(parts)


def _where_it_holds(cells: Verdicts, data: Sequence[str]) -> str:
    """Return in which set-ups and on which data sets a claim holds."""
    holds = {case: holds for case, (holds, _) in cells.items()}
    on = {1: data[0], 2: "both data sets"}.get(len(data), "all data sets")
    if all(holds.values()):
        return f"{verdict(True)} in both set-ups, on {on}"
    if not any(holds.values()):
        none = data[0] if len(data) == 1 else "any data set"
        return f"{verdict(False)} in either set-up, on {none}"
    yes, no = (
        _list_cases([case for case in holds if holds[case] == does_hold])
        for does_hold in (True, False)
    )
    return f"{verdict(True)} {yes}; {verdict(False)} {no}"


def _list_cases(cases: list[Case]) -> str:
    data_by_mode = {mode: [data for data, m in cases if m == mode] for mode in MODE_TITLES}
    return ", ".join(
        f"with {MODE_TITLES[mode]} on {join_names(data)}"
        for mode, data in data_by_mode.items()
        if data
    )


def _figure(result: TopRankSummary, number: int) -> list[str]:
    """Return a figure in all modes, and the tests behind it."""
    figures = {mode: result.figure(number, mode) for mode in result.modes}
    rows = []
    for mode, figure in figures.items():
        tests = {(c.data, c.ranker, c.other, c.measure): c for c in figure.comparisons}
        for data, ranker, other in dict.fromkeys(key[:3] for key in tests):
            cells = [difference(tests[data, ranker, other, m]) for m in FIGURE_MEASURES]
            rows.append([f"{data}, {mode}: {NAMES[ranker]} - {NAMES[other]}", *cells])
    n_tests = len(next(iter(figures.values())).comparisons)
    pictures = [
        f"![Figure {number}, {MODE_TITLES[mode]}](figures/toprank-{number}-{mode}.svg)"
        for mode in figures
    ]
    return [
        f"### {FIGURE_HEADINGS[number]}",
        "",
        *(line for picture in pictures for line in (picture, "")),
        "Bars are means. Below are differences with two standard errors on either side; "
        "significant ones are filled. Differences, and p with Holm's correction for the "
        f"{n_tests} tests of the figure:",
        "",
        *table(["difference (p)", *FIGURE_MEASURES], rows),
        "",
    ]

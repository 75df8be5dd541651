"""The page of the TopRank paper: its figures, the tests behind them, and which claims hold."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from podium.experiments import save_figure
from podium_papers.markdown import difference, joined, table, verdict
from podium_papers.toprank.approximation import BOUND
from podium_papers.toprank.claims import FIGURES, NAMES, POINTS, TITLES, WEAK_BASES
from podium_papers.toprank.fits import BASELINES
from podium_papers.toprank.summary import TopRankSummary

HEADS = {
    2: "Figure 2: slack scaling against margin scaling",
    3: "Figure 3: the vote against its base",
    4: "Figure 4: TopRank against the baselines",
}
SEARCHES = {"hull": "Podium's search", "paper": "the paper's search"}
Case = tuple[str, str]
"""A data set and a set-up."""
Told = dict[Case, tuple[bool, str]]


def sections(result: TopRankSummary) -> list[str]:
    """The page in Markdown, without its head."""
    return [
        "Figures 2 to 4 of the paper. It has OHSUMED (of which it counts 25 features), TD2003 and TD2004; "
        "other data sets stand in for those that are missing. It prints bars, no table, and calls "
        "differences significant without a test.",
        "",
        "Where precision is reported, rankers are trained for it and chosen by P@10 on the "
        "validation queries, where NDCG or MAP is, by NDCG@10. Two set-ups: *the paper's* (TopSlack "
        "with the paper's own search and TopMargin, both for the first 10 places with C from 1e-5 to "
        "1e5; `TopRank(mode=\"paper\")`) and *Podium's defaults* (the rankers' own grids, "
        "`TopRank()`). The other rankers are the same in both. Test queries are looked at once.",
        "",
        *_means(result),
        *_certificates(result),
        *_claims(result),
        *(line for number in FIGURES for line in _figure(result, number)),
        *_weak_base(result),
        *_approximation(result),
    ]  # fmt: skip


def draw(result: TopRankSummary, folder: Path) -> None:
    """Every figure as SVG."""
    for number, mode in itertools.product(FIGURES, result.modes):
        save_figure(result.figure(number, mode).plot(), folder / f"toprank-{number}-{mode}.svg")


def _means(result: TopRankSummary) -> list[str]:
    """A table for each data set."""
    lines = [
        "Means over all test queries (each is tested once in the folds), with their standard "
        "errors. Differences between rankers are told far better than these: tests below are "
        "paired. NDCG is the bare one (see [conventions](conventions.md)), which is the paper's.",
        "",
    ]
    measures = (*POINTS, "MAP")
    for data in result.data:
        rows = []
        for i, (mode, own) in enumerate(result.modes.items()):
            cells = {
                (s.ranker, s.measure): f"{s.mean:.4f} ± {s.error:.4f}"
                for s in own.scores
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
    """How many fits are proved, and what the paper's rule made of t."""
    lines = []
    for ranker, (mode, own) in itertools.product(("topslack", "topmargin"), result.modes.items()):
        fits = [f for f in own.fits if f.ranker == ranker]
        fitted = sum(len(s) for f in fits for s in f.settings.values())
        without = sum(len(r) for f in fits for r in f.unfinished.values())
        if without:
            lines.append(f"{without} of {fitted} chosen fits of {NAMES[ranker]} ({TITLES[mode]})")
    sentence = (
        "Every chosen TopSlack and TopMargin has its certificate."
        if not lines
        else f"Without a certificate of being optimal: {', '.join(lines)}."
    )
    heads = []
    for fit in result.modes["paper"].fits:
        if fit.ranker == "toprank":
            t = sorted({_t(s) for settings in fit.settings.values() for s in settings})
            heads.append(f"t = {', '.join(map(str, t))} on {fit.data}")
    return [
        f"{sentence} The paper's rule for the head, the shortest training list but 100 at most, makes "
        f"{joined(heads)}, half of which counts in the vote; Podium's is t = 50, all of it.",
        "",
    ]


def _t(settings: str) -> int:
    match = re.match(r"t=(\d+)", settings)
    assert match is not None
    return int(match[1])


def _claims(result: TopRankSummary) -> list[str]:
    """Which of the paper's claims hold, counted."""
    cases = [(data, mode) for data in result.data for mode in result.modes]
    counted = _counted(result)
    rows = [[claim, *(own[case][1] for case in cases)] for claim, own in counted.items()]
    if "paper" in result.modes:
        place = 1 + next(i for i, row in enumerate(rows) if "Figure 3" in row[0])
        rows[place:place] = _weak_rows(result, cases)
    heads = [f"{data}, {TITLES[mode]}" for data, mode in cases]
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"- {claim}: {_where(own, result.data)}.{_over_weak_base(result) if 'Figure 3' in claim else ''}"
            for claim, own in counted.items()
        ),
        _approximation_claim(result),
        "",
        f"Differences that are significant: {_real(result)}. In the table, of the six measures (where "
        "there are several others, of each of them at each measure) those at which the claim's "
        "ranker is ahead; in brackets, how many of them significantly, and at how many it is "
        "significantly behind. Significant: p < 0.05 in a paired permutation test over queries, "
        "two-sided, by Holm's correction for all tests of a figure, all data sets together (for "
        "comparisons that the figure does not draw, all tests of the claim).",
        "",
        *table(["claim", *heads], rows),
        "",
    ]


def _weak_counts(result: TopRankSummary, base: str, data: str) -> tuple[int, float]:
    """Return at how many points the vote is ahead of a weak base, and by how much in NDCG@10."""
    own = {t.measure: t for t in result.weak_tests if (t.other, t.data) == (base, data)}
    return sum(t.sign > 0 for t in own.values()), own["NDCG@10"].difference


def _weak_rows(result: TopRankSummary, cases: Sequence[Case]) -> list[list[str]]:
    rows = []
    for base, (oracle, _) in WEAK_BASES.items():
        cells = []
        for data, mode in cases:
            ahead = _weak_counts(result, base, data)[0]
            text = f"{verdict(ahead == len(POINTS))}: {ahead} of {len(POINTS)}"
            cells.append(text if mode == "paper" else "")
        rows.append([f"Figure 3, over TopSlack with the mean ideal ({SEARCHES[oracle]})", *cells])
    return rows


def _over_weak_base(result: TopRankSummary) -> str:
    """Return the verdict over weak bases, for the line of Figure 3's claim."""
    if not result.weak_tests:
        return ""
    means = {(s.data, s.ranker, s.measure): s.mean for s in result.weak_scores}
    own = {
        (s.data, s.measure): s.mean for s in result.modes["paper"].scores if s.ranker == "topslack"
    }
    parts = []
    for data in result.data:
        for base, (oracle, _) in WEAK_BASES.items():
            ahead, gain = _weak_counts(result, base, data)
            parts.append(
                f"on {data}, {SEARCHES[oracle]}, {ahead} of {len(POINTS)} points (NDCG@10 {gain:+.4f} over a "
                f"base of {means[data, base, 'NDCG@10']:.4f}; TopSlack's own is {own[data, 'NDCG@10']:.4f})"
            )
    gains = any(
        _weak_counts(result, base, data)[0] == len(POINTS)
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
        f'(`ideal="cut"`), which is weak on some data sets, it is ahead at: {"; ".join(parts)}.'
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
            label = f"{data}, {SEARCHES[oracle]}"
            rows.append([f"{label}: the base", *(f"{means[data, base, m]:.4f}" for m in POINTS)])
            cells = [difference(tests[data, vote, m]) for m in POINTS]
            rows.append([f"{label}: TopRank - the base", *cells])
    return [
        "### Figure 3 again, over a weak base",
        "",
        'With `ideal="cut"` TopSlack learns from the mean of all ideal rankings, a convex problem, in place '
        "of the one that its own weights prefer. C is from 1e-5 to 1e5; the vote is the paper's. "
        f"p is by Holm's correction for these {len(result.weak_tests)} tests:",
        "",
        *table(["mean, or difference (p)", *POINTS], rows),
        "",
    ]


def _approximation_claim(result: TopRankSummary) -> str:
    worst = max(result.approximations, key=lambda one: one.ratio)
    small = max((a for a in result.approximations if "equal" in a.name), key=lambda a: a.ratio)
    holds = worst.ratio <= BOUND
    return (
        "- Section 3.2: *Supervised Kemeny is a 2-approximation of Kemeny's order*: "
        f"{verdict(holds)}. Its distance is {small.ratio:.2f} times the least in one case ({small.name}), "
        f"and {worst.ratio:.2f} times in another ({worst.name}), where it has no bound as "
        "that ranker's weight goes to 0. By insertion the order is never further from the rankings than "
        "mu, so it is a 2-approximation where mu is one."
    )


def _approximation(result: TopRankSummary) -> list[str]:
    """Return the instances on which Supervised Kemeny is far from the best order."""
    ratios: dict[str, dict[str, float]] = {}
    for one in result.approximations:
        ratios.setdefault(one.name, {})[one.algorithm] = one.ratio
    heads = list(dict.fromkeys(one.algorithm for one in result.approximations))
    rows = [[name, *(f"{own[head]:.4f}" for head in heads)] for name, own in ratios.items()]
    return [
        "### Supervised Kemeny against the best order",
        "",
        "Weighted Kendall distance over the least that any order has (proved by `kemeny`). The instances "
        "are in `podium_papers.toprank.approximation`. The small ones are the worst that "
        "simulated annealing over rankings, weights and mu came upon. In the others one ranker says v A B, "
        "one A B v, and one of weight .01, whose order is mu, B v A. Every document of B is just above v, "
        "and v just above every document of A, so that none of A passes v, though nearly all put A above B.",
        "",
        *table(["instance", *heads], rows),
        "",
    ]


def _counted(result: TopRankSummary) -> dict[str, Told]:
    """Claim -> (data, mode) -> whether it holds, and the counts."""
    out: dict[str, Told] = {}
    places: Told = {}
    for mode, own in result.modes.items():
        for c in own.claims:
            text = f"{c.better} of {c.points} (+{c.above}, -{c.below})"
            cells = out.setdefault(f"Figure {c.figure}: *{c.text}*", {})
            cells[c.data, mode] = c.holds, f"{verdict(c.holds)}: {text}"
        for s in own.standings:
            holds = s.best + s.second == len(POINTS)
            text = f"best at {s.best}, second at {s.second}"
            places[s.data, mode] = holds, f"{verdict(holds)}: {text}"
    return {**out, "Figure 4: *TopRank is the best or second best at all points*": places}


def _real(result: TopRankSummary) -> str:
    """How many tests of each figure are significant."""
    parts = []
    for mode, number in itertools.product(result.modes, FIGURES):
        drawn = result.figure(number, mode)
        tests = f"{len(drawn.marks)} of {len(drawn.comparisons)}"
        start = f"with {TITLES[mode]} " if number == min(FIGURES) else ""
        parts.append(f"{start}{tests} in Figure {number}")
    return ", ".join(parts)


def _where(cells: Told, data: Sequence[str]) -> str:
    """In which set-ups and on which data sets."""
    holds = {case: holds for case, (holds, _) in cells.items()}
    on = {1: data[0], 2: "both data sets"}.get(len(data), "all data sets")
    if all(holds.values()):
        return f"{verdict(True)} in both set-ups, on {on}"
    if not any(holds.values()):
        none = data[0] if len(data) == 1 else "any data set"
        return f"{verdict(False)} in either set-up, on {none}"
    yes, no = (
        _listed([case for case in holds if holds[case] == wanted]) for wanted in (True, False)
    )
    return f"{verdict(True)} {yes}; {verdict(False)} {no}"


def _listed(cases: list[Case]) -> str:
    data_by_mode = {mode: [data for data, m in cases if m == mode] for mode in TITLES}
    return ", ".join(
        f"with {TITLES[mode]} on {joined(data)}" for mode, data in data_by_mode.items() if data
    )


def _figure(result: TopRankSummary, number: int) -> list[str]:
    """A figure in all modes, and the tests behind it."""
    drawn = {mode: result.figure(number, mode) for mode in result.modes}
    rows = []
    for mode, shown in drawn.items():
        tests = {(c.data, c.ranker, c.other, c.measure): c for c in shown.comparisons}
        for data, ranker, other in dict.fromkeys(key[:3] for key in tests):
            cells = [difference(tests[data, ranker, other, m]) for m in POINTS]
            rows.append([f"{data}, {mode}: {NAMES[ranker]} - {NAMES[other]}", *cells])
    n_tests = len(next(iter(drawn.values())).comparisons)
    pictures = [
        f"![Figure {number}, {TITLES[mode]}](figures/toprank-{number}-{mode}.svg)" for mode in drawn
    ]
    return [
        f"### {HEADS[number]}",
        "",
        *(line for picture in pictures for line in (picture, "")),
        "Bars: means. Below: differences, two standard errors either side; filled where "
        f"significant. Differences, and p by Holm's correction for the {n_tests} tests of the figure:",
        "",
        *table(["difference (p)", *POINTS], rows),
        "",
    ]

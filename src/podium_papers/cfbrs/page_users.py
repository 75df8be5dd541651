"""The page of the CFBRS paper, second half: what controls the variance, classes of users, feedback."""

from __future__ import annotations

import numpy as np

from podium_papers.cfbrs.claims import TARGET, CfbrsReproduction
from podium_papers.cfbrs.loop import PATIENCE, TOL
from podium_papers.cfbrs.population import RANKERS
from podium_papers.cfbrs.variance import DRAWN
from podium_papers.markdown import difference, table

VARIANCE = [
    "So the knobs do move the variance, but the two that the paper means to better the ranking "
    "with, feedback and weights, raise it: both let fewer blocks count. (Simulated feedback "
    "without noise is nearly 0 for all but blocks of about 23 features, so few of the compositions "
    "drawn have a say; noise gives the others one.) Drawing every number of blocks alike "
    "(stratified) changes little; drawing more compositions lowers the variance most, and all of "
    "them leave none. NDCG@10 hardly notices: it varies by .001 to .003 between draws.",
    "",
]
"""What the study came to on the paper's own data."""


def variance(result: CfbrsReproduction) -> list[str]:
    """What the abstract says can be controlled."""
    ratios = {c.setting: c for c in result.controls()}
    rows = []
    for name in dict.fromkeys(s.setting for s in result.variance):
        own = [s for s in result.variance if s.setting == name]
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
        f"Ensembles of {DRAWN} compositions drawn {result.redraws} times anew ({result.bases[0]}, test "
        "queries, mean over the folds): how much NDCG@10 and a document's place vary from draw to draw. "
        "One knob is turned at a time; in brackets, in how many folds the ratio lies on the same side of 1. "
        "Simulated feedback is drawn anew with the compositions.",
        "",
        *table(heads, rows),
        "",
        *(VARIANCE if result.own else []),
    ]


def classes(result: CfbrsReproduction) -> list[str]:
    """The population of four classes."""
    seeds = sorted({p.seed for p in result.personal})
    rows = []
    for ranker, title in RANKERS.items():
        cells = []
        for case in result.cases:
            own = [p.mean for p in result.personal if (p.case, p.ranker) == (case, ranker)]
            drawn = ", ".join(f"{value:.3f}" for value in own)
            cells.append(f"{np.mean(own):.3f} ({drawn})")
        rows.append([title, *cells])
    pairs = dict.fromkeys((c.ranker, c.other) for c in result.personal_tests)
    tests = [
        [
            f"{RANKERS[a]} - {RANKERS[b]}",
            *(difference(result.personal_test(case, a, b)) for case in result.cases),
        ]
        for a, b in pairs
    ]
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
        *table(["ranker", *result.cases], rows),
        "",
        "Differences, with p by Holm's correction for all of them (a query's value is its mean over "
        "classes and draws, so p tells queries apart from chance, not populations):",
        "",
        *table(["difference (p)", *result.cases], tests),
        "",
        *(class_verdict(result) if result.own else []),
    ]


def class_verdict(result: CfbrsReproduction) -> list[str]:
    """What the population came to on the paper's own data."""
    least = {
        ranker: min(
            result.personal_mean(case, ranker) - result.personal_mean(case, "shared")
            for case in result.cases
        )
        for ranker in ("pooled", "own")
    }
    below = all(
        result.personal_mean(case, "known-pooled") < result.personal_mean(case, "pooled")
        for case in result.cases
    )
    word = "no" if below else "hardly"
    leads = ", ".join(
        f"{result.personal_test(case, 'own', 'plain').difference:+.3f} ({case})"
        for case in result.cases
    )
    return [
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


def feedback(result: CfbrsReproduction) -> list[str]:
    """The loop."""
    rows = [
        [
            str(one.seed),
            f"{one.shared:.3f}",
            f"{one.test[0]:.3f}",
            f"{one.test[one.stopped]:.3f} after {one.stopped}" if one.stopped else "not converged",
            f"{one.test[-1]:.3f} after {len(one.test) - 1}",
        ]
        for one in result.loops
    ]
    return [
        "### Feedback in batches",
        "",
        "The same population. Blocks are fitted on pooled grades of half of the training queries; then "
        f"each class sees lists of ten for the other half and clicks, {result.loops[0].lists} lists a "
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

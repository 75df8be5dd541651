"""Page of the CFBRS paper, second half: the variance study, the user classes and the feedback loop."""

from __future__ import annotations

import numpy as np

from podium_papers.cfbrs.claims import TARGET_NDCG_GAIN, CfbrsReproduction
from podium_papers.cfbrs.feedback_loop import LOOP_PATIENCE, LOOP_TOLERANCE
from podium_papers.cfbrs.user_classes import RANKERS
from podium_papers.cfbrs.variance_study import ENSEMBLE_COMPOSITIONS
from podium_papers.markdown import difference, table

VARIANCE_FINDINGS = [
    "So the settings do change the variance. But feedback and weights, which should improve the "
    "ranking in the paper, raise it: with both, fewer blocks count. (Without noise, simulated "
    "feedback is nearly 0 except for blocks of about 23 features. So few of the drawn "
    "compositions count; noise makes the others count.) Drawing every number of blocks equally "
    "often (stratified) changes little. Drawing more compositions lowers the variance most, and "
    "with all of them there is none. NDCG@10 hardly changes: it varies by .001 to .003 between "
    "draws.",
    "",
]
"""Findings of the variance study on the paper's own data."""


def variance_section(result: CfbrsReproduction) -> list[str]:
    """Return the variance study."""
    ratios = {c.setting: c for c in result.knob_effects()}
    rows = []
    for name in dict.fromkeys(s.setting for s in result.variance):
        spreads = [s for s in result.variance if s.setting == name]
        cells = [
            f"{np.mean([s.quality for s in spreads]):.4f}",
            f"{np.mean([s.quality_sd for s in spreads]):.4f}",
            f"{np.mean([s.place_sd for s in spreads]):.3f}",
            f"x{ratios[name].ratio:.2f} ({ratios[name].folds}/{ratios[name].of})"
            if name in ratios
            else "",
            f"{np.mean([s.member_sd for s in spreads]):.4f}",
            f"{np.mean([s.member_gap for s in spreads]):+.4f}",
        ]
        rows.append([name, *cells])
    heads = [
        "setting", "NDCG@10", "sd over draws", "sd of a place", "against plain (folds)",
        "sd among its compositions", "ensemble less their mean",
    ]  # fmt: skip
    return [
        "### What controls the variance",
        "",
        f"Ensembles of {ENSEMBLE_COMPOSITIONS} compositions were drawn {result.redraws} times "
        f"({result.bases[0]}, test queries, mean over the folds). The table shows how much "
        "NDCG@10 and a document's place vary from draw to draw. One setting changes at a time. "
        "Brackets say in how many folds the ratio is on the same side of 1. Simulated feedback "
        "is drawn again with the compositions.",
        "",
        *table(heads, rows),
        "",
        *(VARIANCE_FINDINGS if result.is_papers_own else []),
    ]


def user_classes_section(result: CfbrsReproduction) -> list[str]:
    """Return the rankers of the population of user classes."""
    seeds = sorted({p.seed for p in result.personal})
    rows = []
    for ranker, title in RANKERS.items():
        cells = []
        for case in result.cases:
            means = [p.mean for p in result.personal if (p.case, p.ranker) == (case, ranker)]
            drawn = ", ".join(f"{value:.3f}" for value in means)
            cells.append(f"{np.mean(means):.3f} ({drawn})")
        rows.append([title, *cells])
    pairs = dict.fromkeys((c.ranker, c.other) for c in result.personal_tests)
    tests = [
        [
            f"{RANKERS[a]} - {RANKERS[b]}",
            *(difference(result.class_test(case, a, b)) for case in result.cases),
        ]
        for a, b in pairs
    ]
    return [
        "### Classes of users",
        "",
        "A population on fold 1's features: four classes own the features 11-20, 21-28, 29-36 "
        "and 37-46. A class's utility is (x / sd) . v on its features with v ~ N(0, I), scaled "
        "to standard deviation 1, plus 0.1 N(0, 1); of each query the best tenth has grade 2, "
        "the next fifth grade 1. Each training and validation query is judged by one class. "
        "*Clicks*: a document of grade 0, 1, 2 is clicked once with probability .05, .4, .8. "
        "Rankers see only clicks, on validation queries too. The test is NDCG@10 on all test "
        f"queries with each class's own grades, as a mean over classes and {len(seeds)} draws "
        "(brackets have each draw). All rankers are Ranking SVMs, with C chosen on validation.",
        "",
        *table(["ranker", *result.cases], rows),
        "",
        "Differences, with Holm's correction of p for all of them. A query's value is its mean "
        "over classes and draws, so p is about queries, not about populations:",
        "",
        *table(["difference (p)", *result.cases], tests),
        "",
        *(class_findings(result) if result.is_papers_own else []),
    ]


def class_findings(result: CfbrsReproduction) -> list[str]:
    """Return the findings about the population on the paper's own data."""
    least_lead = {
        ranker: min(
            result.class_mean(case, ranker) - result.class_mean(case, "shared")
            for case in result.cases
        )
        for ranker in ("pooled", "own")
    }
    pooled_is_better = all(
        result.class_mean(case, "known-pooled") < result.class_mean(case, "pooled")
        for case in result.cases
    )
    word = "no" if pooled_is_better else "hardly"
    leads = ", ".join(
        f"{result.class_test(case, 'own', 'plain').difference:+.3f} ({case})"
        for case in result.cases
    )
    return [
        f"Class rankings are ahead of the shared model by {least_lead['own']:.3f} or more with "
        f"class-trained blocks and by {least_lead['pooled']:.3f} or more with pooled blocks and "
        f"class weights (the aim: {TARGET_NDCG_GAIN:g}). *Pooled blocks* are fitted on "
        "everybody's labels, and a class only weighs them. *Class-trained blocks* are fitted on "
        "the class's own queries, with the C of its plain ranker and T from folds of these "
        'queries. (`CFBRS(class_blocks="own")` does that for all classes at once, with one '
        "C.) The weighing is not what limits pooled blocks: a ranker that *knows* which "
        f"features the class looks at, but is fitted on pooled labels, is {word} better. In this "
        "population classes disagree about what is good, so labels should not be pooled. "
        f"Class-trained blocks against a plain ranker on the same data: {leads}. The fewer and "
        "noisier the labels are, the more the ensemble helps. It finds the class's features, "
        "and comes close to a ranker that knows them.",
        "",
    ]


def feedback_section(result: CfbrsReproduction) -> list[str]:
    """Return the feedback loop."""
    rows = [
        [
            str(loop.seed),
            f"{loop.shared:.3f}",
            f"{loop.test[0]:.3f}",
            f"{loop.test[loop.stopped]:.3f} after {loop.stopped}"
            if loop.stopped
            else "not converged",
            f"{loop.test[-1]:.3f} after {len(loop.test) - 1}",
        ]
        for loop in result.loops
    ]
    return [
        "### Feedback in batches",
        "",
        "The same population. Blocks are fitted on pooled grades of half of the training "
        "queries; then each class sees lists of ten for the other half and clicks. A batch has "
        f"{result.loops[0].lists} lists for the four classes together, as logs of UBI events. "
        "`learn_until_converged` stops when NDCG@10 on the clicks of held-out lists changes by "
        f"less than {LOOP_TOLERANCE:g} in {LOOP_PATIENCE} batches in a row. The table and the "
        "figure have NDCG@10 on the classes' own grades of the test queries, and continue after "
        "that.",
        "",
        *table(
            ["draw", "shared model", "before feedback", "at the end of the loop", "all batches"],
            rows,
        ),
        "",
        "![Feedback in batches](figures/cfbrs-loop.svg)",
        "",
    ]

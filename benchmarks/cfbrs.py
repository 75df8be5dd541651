"""CFBRS: fits of every block of features once, beside fits of one composition after the other."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Contender, Report, Row, floor_of
from benchmarks.mq2008_fold import first_fold
from podium import RankingData
from podium.ensemble import CFBRS, Compositions, CompositionSums
from podium.ensemble.cfbrs.composition_choice import make_plan
from podium.ensemble.cfbrs.composition_plan import CompositionPlan
from podium.ensemble.cfbrs.feature_blocks import fit_blocks
from podium.rankers import LeastSquares, RankSVM
from podium.rankers.least_squares import pair_moments

MIN_BLOCK = 5
SAMPLED = 12
"""Number of compositions that are fitted one by one; the time of all is scaled from theirs."""
FEATURES, DRAWS = 700, 10_000


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    fold = first_fold(quick)
    train, names = fold.train, fold.train.names()
    plan = make_plan(names, min_block=MIN_BLOCK)
    setting = {
        "data": fold.name, "queries": train.n_queries, "documents": len(train),
        "features": train.n_features, "smallest block": MIN_BLOCK,
        "compositions": plan.n_compositions, "distinct blocks": len(plan.blocks),
    }  # fmt: skip
    report = Report("cfbrs", "CFBRS: ensembles over compositions", setting)
    _exhaustive(report, train, plan)
    _least_squares(report, train, plan)
    _compositions(report, quick)
    return report


def _exhaustive(report: Report, train: RankingData, plan: CompositionPlan) -> None:
    """Fit all blocks once, and the blocks of each composition by themselves, on a sample."""
    base, names = RankSVM(), train.names()
    drawn = Compositions(train.n_features, MIN_BLOCK).sample(SAMPLED, seed=0)
    single = [make_plan(names, min_block=1, compositions=[sizes]) for sizes in drawn]
    what, peer = "ranksvm, all blocks once", f"{SAMPLED} compositions, one by one"
    timings = report.time_in_turn(
        [
            Contender(what, lambda: fit_blocks(base, plan, train), 3),
            Contender(
                peer, lambda: [fit_blocks(base, single_plan, train) for single_plan in single], 3
            ),
        ]
    )
    ours, theirs = timings[what].median, timings[peer].median * plan.n_compositions / SAMPLED
    name = f"each of {plan.n_compositions:,} compositions by itself"
    report.rows.append(
        Row(
            "exhaustive ensemble, ranksvm", ours, peer=name, theirs=theirs, ratio=theirs / ours,
            says="faster", at_least=200,
        )
    )  # fmt: skip
    report.notes.append(
        f"The peer fits the blocks of {SAMPLED} uniformly drawn compositions, one composition after "
        "the other, with the same solver. Its time is scaled to all compositions."
    )


def _least_squares(report: Report, train: RankingData, plan: CompositionPlan) -> None:
    what, gram, whole = "least squares, all blocks", "one Gram matrix", "least squares, fit"
    timings = report.time_in_turn(
        [
            Contender(what, lambda: fit_blocks(LeastSquares(), plan, train), 15),
            Contender(gram, lambda: pair_moments(train), 15),
            Contender(whole, lambda: CFBRS(base="least-squares").fit(train), 7),
        ]
    )
    floor = floor_of(gram, timings[gram])
    title = f"least squares, all {len(plan.blocks)} blocks"
    report.rows.append(Row(title, timings[what].median, at_most=0.1, **floor))
    report.rows.append(Row("exhaustive ensemble, least squares, whole fit", timings[whole].median))


def _compositions(report: Report, quick: bool) -> None:
    draws = DRAWS // 10 if quick else DRAWS
    wide, cut = Compositions(FEATURES, MIN_BLOCK), Compositions(FEATURES)
    sums = CompositionSums.of(Compositions(46, MIN_BLOCK))
    gains = np.random.default_rng(0).random(len(sums.blocks))
    tasks = {
        f"{draws:,} compositions of {FEATURES} features, blocks of {MIN_BLOCK} or more": (
            lambda: wide.sample(draws), 1.0,
        ),
        f"{draws:,} compositions of {FEATURES} features, any blocks": (
            lambda: cut.sample(draws), 1.0,
        ),
        "shares of 603 blocks in 51,320 compositions": (sums.shares, None),
        "the best of 51,320 compositions": (lambda: sums.best(gains), None),
    }  # fmt: skip
    timings = report.time_in_turn([Contender(name, run, 7) for name, (run, _) in tasks.items()])
    for name, (_, most) in tasks.items():
        report.rows.append(Row(name, timings[name].median, at_most=most))

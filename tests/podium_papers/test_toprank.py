"""The TopRank paper's figures: the protocol, the tests, the claims, the pictures."""

import itertools
import json
import math
from dataclasses import asdict, replace
from functools import cache

import msgspec
import numpy as np
import pytest

from podium.data import Fold, make_synthetic, rotate, split
from podium.ensemble import TopRank
from podium.errors import UnknownNameError, UsageError
from podium.experiments import save_figure
from podium.experiments.checkpoints import RunProgress
from podium.metrics import correct, evaluate, paired_test
from podium.rankers import RANKERS, TopMargin, TopSlack, tune
from podium.rankers.topslack import PAPER_C_VALUES
from podium_papers.comparisons import RankerScores, compare
from podium_papers.toprank.approximation import (
    EQUAL_5,
    EQUAL_6,
    PAPER_BOUND,
    approximations,
    blocks_instance,
)
from podium_papers.toprank.claims import (
    FIGURE_MEASURES,
    FIGURES,
    MODES,
    NAMES,
    WEAK_BASES,
    TopRankReproduction,
)
from podium_papers.toprank.experiments import reproduce
from podium_papers.toprank.page import sections
from podium_papers.toprank.rankers import (
    BASELINES,
    REPORTED_MEASURES,
    fit_rankers,
    run_fold,
    run_weak_bases,
)
from podium_papers.toprank.summary import TopRankSummary

PARTS = split(make_synthetic(n_queries=24, n_docs=14, noise=0.5, seed=0), [1 / 3] * 3)
STEPS: list[RunProgress] = []


@pytest.fixture(scope="module")
def found():
    STEPS.clear()
    return reproduce({"one": rotate(PARTS)}, quick=True, callback=STEPS.append)


@cache
def fitted_rankers(metric):
    """The rankers of the first fold."""
    fold = rotate(PARTS)[0]
    return fit_rankers(fold.train, fold.valid, metric, ["paper"])


def made_up(**values):
    """A reproduction in which every ranker has one value a query, the same in all six measures."""
    outcomes = tuple(
        RankerScores(
            "made up", "paper", ranker, dict.fromkeys((*FIGURE_MEASURES, "MAP"), tuple(own)), {}, {}
        )
        for ranker in NAMES
        for own in [values.get(ranker.replace("-", "_"), [0.5] * 16)]
    )
    return TopRankReproduction(("paper",), False, 0, outcomes)


def test_every_ranker_has_a_value_for_each_query_in_each_measure(found):
    keys = [(o.data, o.mode, o.ranker) for o in found.ranker_scores]
    assert keys == [("one", mode, ranker) for mode in MODES for ranker in NAMES]
    for outcome in found.ranker_scores:
        assert {m: len(v) for m, v in outcome.values.items()} == dict.fromkeys(
            (*FIGURE_MEASURES, "MAP"), 24
        )
        assert {m: len(s) for m, s in outcome.settings.items()} == dict.fromkeys(
            REPORTED_MEASURES, 3
        )


def test_progress_is_told_fold_by_fold(found):
    assert [(s.done, s.total) for s in STEPS] == [(i, 12) for i in range(1, 13)]
    assert [s.what for s in STEPS[:3]] == [
        "one, fold 1, P@10", "one, fold 1, P@10, weak base", "one, fold 1, NDCG@10",
    ]  # fmt: skip


def test_baselines_are_the_same_in_both_modes_and_the_others_are_not(found):
    paper = {o.ranker: o for o in found.of("paper")}
    best = {o.ranker: o for o in found.of("best")}
    assert all(paper[name].values == best[name].values for name in BASELINES)
    assert all("oracle='paper'" in s for s in paper["topslack"].settings["P@10"])
    assert all("measure='P@10'" in s for s in paper["topmargin"].settings["P@10"])
    assert not any("oracle" in s for s in best["topslack"].settings["P@10"])
    assert "votes: regression" in paper["toprank"].settings["NDCG@10"][0]


def test_the_number_of_processes_does_not_matter(found):
    again = reproduce({"one": rotate(PARTS)}, modes=["paper"], quick=True, n_jobs=2)
    assert again.ranker_scores == tuple(found.of("paper"))
    assert again.weak == found.weak


@pytest.mark.filterwarnings("ignore::podium.errors.NotConvergedWarning")
@pytest.mark.parametrize("metric", REPORTED_MEASURES)
def test_rankers_taken_from_toprank_are_those_tuned_alone(metric):
    train, valid, test = rotate(PARTS)[0]
    found = fitted_rankers(metric)
    alone = {name: tune(RANKERS[name](), train, valid, metric) for name in BASELINES}
    path = {"C": PAPER_C_VALUES}
    slack = TopSlack(oracle="paper", measure=metric)
    alone["topslack"] = tune(slack, train, valid, metric, path)
    alone["topmargin"] = tune(TopMargin(measure=metric), train, valid, metric, path)
    for name, tuning in alone.items():
        scores = found["paper", name].model.scores(test.X, test.groups)
        assert scores.tolist() == tuning.ranker.predict(test).tolist(), name


def test_nothing_is_chosen_by_the_test_labels():
    fold = rotate(PARTS)[0]
    turned = replace(fold.test, y=np.random.default_rng(0).permutation(fold.test.y))
    metric = "NDCG@10"
    cells = run_fold(Fold(fold.train, fold.valid, turned), metric, ["paper"])
    fitted = fitted_rankers(metric)  # of a fit that sees no test query
    changed = 0
    for key, model in fitted.items():
        scores = model.model.scores(fold.test.X, fold.test.groups)
        values, other_values = (
            {m: result[m].per_query.tolist() for m in REPORTED_MEASURES[metric]}
            for result in (
                evaluate(data, scores, REPORTED_MEASURES[metric]) for data in (fold.test, turned)
            )
        )
        assert cells[key].settings == model.settings
        assert cells[key].values == other_values
        changed += values != other_values
    assert changed == len(fitted)


@pytest.mark.parametrize("number", FIGURES)
def test_marks_are_those_of_the_paired_test(found, number):
    figure = found.figure(number, "best")
    values = {o.ranker: o.values for o in found.of("best")}
    cases = [(m, a, b) for m in FIGURE_MEASURES for a, b in FIGURES[number]]
    tests = [paired_test(values[a][m], values[b][m], "permutation") for m, a, b in cases]
    adjusted = correct([t.p_value for t in tests], "holm")
    assert [(c.measure, c.ranker, c.other) for c in figure.comparisons] == cases
    assert [c.p_value for c in figure.comparisons] == [t.p_value for t in tests]
    assert [c.adjusted for c in figure.comparisons] == adjusted
    assert [c.significant for c in figure.comparisons] == [p < 0.05 for p in adjusted]
    assert figure.significant_comparisons == tuple(
        c for c in figure.comparisons if c.adjusted < 0.05
    )


def test_errors_are_those_of_the_paired_difference():
    a = RankerScores("d", "", "a", {"P@1": (1.0, 0.0, 1.0, 1.0)}, {}, {})
    b = RankerScores("d", "", "b", {"P@1": (0.0, 0.0, 1.0, 1.0)}, {}, {})
    [found] = compare([a, b], [("a", "b")], ["P@1"])
    assert found.difference == 1 / 4
    assert found.error == pytest.approx(((9 / 16 + 3 / 16) / 3) ** 0.5 / 4**0.5)
    assert (found.wins, found.ties, found.losses) == (1, 3, 0)


def test_rounding_makes_nobody_better():
    a = RankerScores("d", "", "a", {"P@3": (0.1 + 0.2, 1 / 3)}, {}, {})
    b = RankerScores("d", "", "b", {"P@3": (0.3, 1 / 3)}, {}, {})
    [found] = compare([a, b], [("a", "b")], ["P@3"])
    assert found.difference > 0
    assert found.sign == 0


def test_claims_are_counted():
    high, low = [0.9 + i / 1000 for i in range(16)], [0.1] * 16
    run = made_up(toprank=high, topslack=low, topk_listmle=high)
    claims = {c.text: c for c in run.claims("paper")}
    slack = claims["TopSlack is better than TopMargin at most points"]
    assert (slack.points, slack.better, slack.above, slack.below, slack.holds) == (
        6,
        0,
        0,
        6,
        False,
    )
    vote = claims["TopRank is better than TopSlack at all points"]
    assert (vote.points, vote.better, vote.above, vote.below, vote.holds) == (6, 6, 6, 0, True)
    head = next(c for text, c in claims.items() if text.startswith("Top-10 ListMLE"))
    assert (head.points, head.better, head.above, head.holds) == (24, 24, 24, True)
    even = claims["TopRank is better than Top-10 ListMLE at most points"]
    assert (even.points, even.better, even.above, even.below, even.holds) == (6, 0, 0, 0, False)


def test_equal_to_the_best_is_best():
    [standing] = made_up(regression=[0.9] * 16).best_counts("paper")
    assert (standing.best, standing.second) == (0, 6)
    [standing] = made_up().best_counts("paper")
    assert (standing.best, standing.second) == (6, 0)


def test_better_without_significance_does_not_make_a_significant_claim():
    close = [0.5] * 15 + [0.6]
    claims = made_up(toprank=close).claims("paper")
    said = next(c for c in claims if c.text.startswith("TopRank is significantly"))
    assert (said.points, said.better, said.above, said.holds) == (24, 24, 0, False)


@pytest.mark.parametrize("number", FIGURES)
def test_figures_draw_every_bar_and_every_difference(found, number):
    figure = found.figure(number, "paper")
    plot = figure.plot()
    bars, differences = plot.axes
    heights = sorted(patch.get_height() for patch in bars.patches)
    assert heights == sorted(bar.mean for bar in figure.bars)
    points = [y for line in differences.lines if line.get_marker() == "o" for y in line.get_ydata()]
    assert sorted(points) == sorted(c.difference for c in figure.comparisons)
    assert [text.get_text() for text in differences.get_xticklabels()] == list(FIGURE_MEASURES)
    assert bars.get_ylim()[0] == 0


def test_filled_markers_are_the_significant_ones():
    high = [0.9 + i / 1000 for i in range(16)]
    figure = made_up(toprank=high, listnet=high).figure(4, "paper")
    lines = [line for line in figure.plot().axes[1].lines if line.get_marker() == "o"]
    filled = [line for line in lines if line.get_markerfacecolor() != "white"]
    drawn = [sum(len(line.get_ydata()) for line in some) for some in (lines, filled)]
    assert (*drawn, len(figure.significant_comparisons)) == (30, 24, 24)
    assert all(c.other != "listnet" for c in figure.significant_comparisons)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_same_figure_is_the_same_bytes(tmp_path, kind):
    for name in ("a", "b"):
        save_figure(made_up().figure(2, "paper").plot(), tmp_path / f"{name}.{kind}")
    first = (tmp_path / f"a.{kind}").read_bytes()
    assert first == (tmp_path / f"b.{kind}").read_bytes()
    assert 1_000 < len(first) < 100_000


def test_wrong_questions_are_refused(found):
    with pytest.raises(UnknownNameError, match="mode"):
        reproduce({"one": rotate(PARTS)}, modes=["papre"])
    with pytest.raises(UsageError, match="at least one data set"):
        reproduce({})
    with pytest.raises(UsageError, match="figure 2, 3 or 4"):
        found.figure(5, "paper")
    with pytest.raises(UnknownNameError, match="mode of this reproduction"):
        made_up().figure(2, "best")


# --- over a weak base ---


@pytest.mark.filterwarnings("ignore::podium.errors.NotConvergedWarning")
def test_a_weak_base_is_topslack_with_the_mean_ideal_and_the_papers_vote_over_it(found):
    fold = rotate(PARTS)[0]
    kept = {name: tested for _, name, tested in run_weak_bases(fold, "NDCG@10", False, 0)}
    assert set(kept) == {name for base, (_, vote) in WEAK_BASES.items() for name in (base, vote)}
    for base, (oracle, vote) in WEAK_BASES.items():
        alone = TopSlack(oracle=oracle, ideal="cut").fit(fold.train, valid=fold.valid)
        values = evaluate(fold.test, alone.predict(fold.test), "NDCG@10")["NDCG@10"].per_query
        assert kept[base].values["NDCG@10"] == pytest.approx(values.tolist())
        over = TopRank(mode="paper", base=alone, tuned=False).fit(fold.train, valid=fold.valid)
        values = evaluate(fold.test, over.predict(fold.test), "NDCG@10")["NDCG@10"].per_query
        assert kept[vote].values["NDCG@10"] == pytest.approx(values.tolist())
    assert {o.ranker for o in found.weak} == set(kept)


def test_the_page_has_the_vote_over_both_bases(found):
    summary = TopRankSummary.of(found)
    assert msgspec.convert(json.loads(json.dumps(asdict(summary))), TopRankSummary) == summary
    text = "\n".join(sections(summary))
    [line] = [one for one in text.splitlines() if one.startswith("- Figure 3:")]
    for base in WEAK_BASES:
        [test] = [t for t in summary.weak_tests if (t.other, t.measure) == (base, "NDCG@10")]
        assert f"NDCG@10 {test.difference:+.4f} over a base" in line
    assert text.count("Figure 3, over TopSlack with the mean ideal") == len(WEAK_BASES)


# --- Supervised Kemeny ---


def test_supervised_kemeny_is_no_2_approximation(found):
    """The claim has counterexamples with three equal rankers, and one that grows without bound."""
    for instance in (EQUAL_5, EQUAL_6, blocks_instance(2)):
        default, literal = approximations([instance])
        n = len(instance.initial)
        orders = [list(order) for order in itertools.permutations(sorted(instance.initial))]
        least = min(distance(order, instance) for order in orders)
        assert len(orders) == math.factorial(n)
        assert default.least == pytest.approx(least)
        assert default.ratio > PAPER_BOUND
        assert literal.least == default.least
    growing = [approximations([blocks_instance(m)])[0].ratio for m in (1, 2, 5, 10)]
    assert growing == sorted(growing)
    # By hand: B v A has m^2 pairs of weight .99 and 2m of .495 against it, A B v m^2 of .01 and m of 1.
    for m, ratio in zip((2, 5, 10), growing[1:], strict=True):
        assert ratio == pytest.approx((0.99 * m**2 + 2 * 0.495 * m) / (0.01 * m**2 + m))
    assert not TopRankSummary.of(found).claims[-1]


def test_blocks_have_a_limit_by_weight_and_letters_for_ten():
    """At a fixed weight the ratio tends to (1 - weight) / weight, which grows as the weight falls."""
    ratios = [
        approximations([blocks_instance(10, weight)])[0].ratio for weight in (0.1, 0.01, 0.001)
    ]
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.9 / 0.1
    assert len(blocks_instance(10).rankings[0]) == 21
    for m in (0, 11):
        with pytest.raises(UsageError, match=f"expected m from 1 to 10, got {m}"):
            blocks_instance(m)


def distance(order, instance):
    """The weighted share of rankers against each pair, pair by pair."""
    total = sum(instance.weights)
    return sum(
        weight / total
        for ranking, weight in zip(instance.rankings, instance.weights, strict=True)
        for a, b in itertools.combinations(order, 2)
        if ranking.index(a) > ranking.index(b)
    )

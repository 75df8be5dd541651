"""The CFBRS paper's experiments: readings of Table 1, ensembles, variance, classes, feedback, claims."""

import json
from dataclasses import asdict, replace

import msgspec
import numpy as np
import pytest

from podium.data import Fold, make_synthetic, rotate, split
from podium.ensemble import CFBRS
from podium.errors import UsageError
from podium.experiments import save_figure
from podium.experiments.checkpoints import RunProgress
from podium.metrics import evaluate
from podium.rankers import RankSVM
from podium_papers.cfbrs.claims import CfbrsReproduction
from podium_papers.cfbrs.ensembles import ENSEMBLES, SHARED, evaluate_ensembles
from podium_papers.cfbrs.experiments import reproduce, run_fold
from podium_papers.cfbrs.feedback_loop import FeedbackLoop, run_loop
from podium_papers.cfbrs.fitted_blocks import METRIC, PARTS, FittedBlocks, first_compositions
from podium_papers.cfbrs.table_1 import (
    PRINTED_TABLE_1,
    RoundCurve,
    Table1Row,
    blocks_means,
    fold_means,
    mean_curve,
    round_curves,
    table_rows,
)
from podium_papers.cfbrs.user_classes import (
    LEARNING_CASES,
    RANKERS,
    LearningCase,
    draw_population,
    run_case,
)
from podium_papers.cfbrs.variance_study import (
    DRAW_SETTINGS,
    PLAIN_SETTING,
    DrawSetting,
    DrawSpread,
    knob_effects,
    measure_spreads,
)
from podium_papers.comparisons import PairedComparison
from podium_papers.curve_figures import FigureLine, LineFigure

DATA = make_synthetic(n_queries=45, n_docs=(10, 16), n_features=8, noise=0.5, seed=0)
PARTS_OF_DATA = split(DATA, [1 / 3] * 3)
FOLD = rotate(PARTS_OF_DATA)[0]
CLASS_FEATURES = {"a": (0, 4), "b": (4, 8)}
STEPS: list[RunProgress] = []


@pytest.fixture(scope="module")
def blocks():
    return FittedBlocks.fit(FOLD, RankSVM(C=0.1), 2)


@pytest.fixture(scope="module")
def found():
    STEPS.clear()
    return reproduce(
        rotate(PARTS_OF_DATA), bases=["ranksvm"], min_block=2, class_features=CLASS_FEATURES, seeds=[0, 1],
        quick=True,
        callback=STEPS.append,
    )  # fmt: skip


def ndcg(data, scores):
    return evaluate(data, scores, METRIC)[METRIC].mean


# --- Table 1 ---


def test_first_compositions_are_those_of_the_ranker():
    listed = CFBRS(min_block=5, compositions="first").plan([f"f{j}" for j in range(46)]).selection
    assert first_compositions(46, 5) == [sizes for _, sizes in listed]
    assert len(PRINTED_TABLE_1) == len(listed) == 42


def test_both_readings_of_a_row_are_those_of_its_blocks_fitted_alone(blocks):
    row = next(r for r in table_rows(blocks, "ranksvm", 1, 2) if r.min_block == 3)
    assert row.sizes == (3, 5)
    halves = [slice(0, 3), slice(3, 8)]
    cut = {
        part: [data.with_features(data.X[:, half]) for half in halves]
        for part, data in zip(PARTS, FOLD, strict=True)
    }
    rankers = [RankSVM(C=0.1).fit(train) for train in cut["train"]]
    for i, (part, data) in enumerate(zip(PARTS, FOLD, strict=True)):
        scores = [ranker.predict(one) for ranker, one in zip(rankers, cut[part], strict=True)]
        alone = [ndcg(data, s) for s in scores]
        assert row.blocks[i] == pytest.approx(sum(alone) / 2, abs=2e-3)
        together = ndcg(data, 3 / 8 * scores[0] + 5 / 8 * scores[1])
        assert row.combined[i] == pytest.approx(together, abs=2e-3)


def test_the_last_rows_are_the_shared_model(blocks):
    rows = [r for r in table_rows(blocks, "ranksvm", 1, 2) if r.sizes == (8,)]
    assert [r.min_block for r in rows] == [5, 6, 7, 8]
    assert len({r.combined for r in rows}) == 1
    shared = RankSVM(C=0.1).fit(FOLD.train)
    assert rows[0].combined[2] == pytest.approx(
        ndcg(FOLD.test, shared.predict(FOLD.test)), abs=2e-3
    )


def test_readings_take_the_first_fold_or_the_mean_of_all():
    rows = [Table1Row("b", f, 5, (5,), (f / 10,) * 3, (f / 100,) * 3) for f in (1, 2, 3)]
    assert blocks_means(rows, "b") == {5: (0.1, 0.1, 0.1)}
    assert fold_means(rows, "b") == {5: pytest.approx((0.02, 0.02, 0.02))}


def test_a_fold_where_boosting_ended_keeps_its_last_value():
    both = [
        RoundCurve("b", 1, "boosting", (0.2, 0.4)),
        RoundCurve("b", 2, "boosting", (0.1, 0.2, 0.4)),
    ]
    assert mean_curve(both, "b", "boosting") == pytest.approx((0.15, 0.3, 0.4))


def test_bagging_ends_where_the_ranker_is(blocks):
    bagging = next(c for c in round_curves(blocks, "ranksvm", 1, 2, 2) if c.name == "bagging")
    ranker = CFBRS(base=RankSVM(C=0.1), min_block=2, compositions="first").fit(FOLD.train)
    assert bagging.values[-1] == pytest.approx(ndcg(FOLD.test, ranker.predict(FOLD.test)), abs=2e-3)


def test_nearness_counts_each_composition_once(found):
    rows = [
        Table1Row("ranksvm", 1, m, sizes, PRINTED_TABLE_1[i], (0.0,) * 3)
        for i, (m, sizes) in enumerate([(2, (2, 2)), (3, (4,)), (4, (4,))])
    ]
    off = tuple(value + 0.03 for value in PRINTED_TABLE_1[0])
    exact = replace(found, nearest=tuple(rows)).nearness("ranksvm")
    assert (exact.n_close, exact.n_values, exact.mean_gap) == (6, 6, 0)
    other = replace(found, nearest=(replace(rows[0], blocks=off), *rows[1:])).nearness("ranksvm")
    assert (other.n_close, other.n_values, other.mean_gap) == (3, 6, pytest.approx(0.015))


# --- ensembles ---


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("first", {"compositions": "first"}),
        ("all", {}),
        ("all-validation", {"weights": "validation"}),
        ("all-zscore", {"normalise": "zscore"}),
        ("all-zscore-validation", {"normalise": "zscore", "weights": "validation"}),
        ("all-borda", {"combine": "borda"}),
        ("all-boosting", {"ensemble": "boosting"}),
    ],
)
def test_an_ensemble_is_what_the_ranker_makes(blocks, name, settings):
    test_results = dict(evaluate_ensembles(blocks, 2))[name]
    ranker = CFBRS(base=RankSVM(C=0.1), min_block=2, **settings).fit(FOLD.train, valid=FOLD.valid)
    assert np.mean(test_results.values) == pytest.approx(
        ndcg(FOLD.test, ranker.predict(FOLD.test)), abs=2e-3
    )


def test_nothing_is_chosen_by_the_test_labels():
    turned = FOLD.test.with_labels(np.random.default_rng(0).permutation(FOLD.test.y))
    one = run_fold(FOLD, "ranksvm", 1, 2, quick=True, variance=False)
    other = run_fold(Fold(FOLD.train, FOLD.valid, turned), "ranksvm", 1, 2, quick=True)
    assert one.settings == other.settings
    assert {n: t.settings for n, t in one.test_results.items()} == {
        n: t.settings for n, t in other.test_results.items()
    }
    assert [r.combined[:2] for r in one.rows] == [r.combined[:2] for r in other.rows]
    assert [r.combined[2] for r in one.rows] != [r.combined[2] for r in other.rows]


# --- variance ---


def test_an_ensemble_that_is_the_same_in_each_draw_has_no_variance(blocks):
    result = blocks.part("train").n_features
    [same] = measure_spreads(blocks, 1, result, 3, [PLAIN_SETTING])
    assert (same.quality_sd, same.place_sd, same.member_sd) == (0, 0, 0)
    assert same.member_gap == pytest.approx(0)


def test_more_compositions_vary_less(blocks):
    few, many = (DrawSetting("number", str(n), compositions=n) for n in (1, 200))
    one, other = measure_spreads(blocks, 1, 2, 12, [few, many])
    assert one.place_sd > other.place_sd > 0
    assert one.member_gap == pytest.approx(0)


def test_a_knob_controls_where_all_folds_agree():
    def spread(name, knob, fold, sd):
        return DrawSpread(name, knob, fold, 0.5, 0.1, sd, 0.1, 0.0)

    plain = [spread("plain", "plain", f, 2.0) for f in (1, 2)]
    less = [spread("less", "weights", 1, 1.0), spread("less", "weights", 2, 1.6)]
    mixed = [spread("mixed", "feedback", 1, 1.0), spread("mixed", "feedback", 2, 2.2)]
    one, other = knob_effects([*plain, *less, *mixed])
    assert (one.ratio, one.folds, one.controls_variance) == (pytest.approx(0.65), 2, True)
    assert (other.ratio, other.folds, other.controls_variance) == (pytest.approx(0.8), 1, False)


# --- classes ---


def test_the_population_is_graded_by_its_own_features():
    train, _, _ = draw_population(FOLD, 3, CLASS_FEATURES)
    names, counts = np.unique(train.names, return_counts=True)
    assert names.tolist() == ["a", "b"]
    assert abs(np.diff(counts)) <= 1
    sizes = train.data.groups.sizes
    for grades in train.grades.values():
        two = train.data.groups.reduce(np.add, (grades == 2).astype(int))
        some = train.data.groups.reduce(np.add, (grades > 0).astype(int))
        assert two.tolist() == np.maximum(1, np.rint(0.1 * sizes)).tolist()
        assert some.tolist() == np.maximum(two, np.rint(0.3 * sizes)).tolist()
    row_names = train.data.groups.spread(train.names)
    for name, grades in train.grades.items():
        assert (train.data.y == grades)[row_names == name].all()
    # Other features do not matter.
    X = FOLD.train.X.copy()
    X[:, 4:] = np.random.default_rng(1).random(X[:, 4:].shape)
    other, _, _ = draw_population(
        FOLD._replace(train=FOLD.train.with_features(X)), 3, CLASS_FEATURES
    )
    assert (other.grades["a"] == train.grades["a"]).all()
    assert (other.grades["b"] != train.grades["b"]).any()


def test_clicks_have_the_chance_of_their_grade():
    big = make_synthetic(n_queries=400, n_docs=20, n_features=8, seed=1)
    train, _, _ = draw_population(Fold(big, FOLD.valid, FOLD.test), 0, CLASS_FEATURES)
    with_clicks = train.with_clicks(np.random.default_rng(0))
    for grade, chance in enumerate((0.05, 0.4, 0.8)):
        share = with_clicks.data.y[train.data.y == grade].mean()
        assert share == pytest.approx(chance, abs=0.05)


def test_a_share_keeps_some_queries_of_each_class():
    train, _, _ = draw_population(FOLD, 0, CLASS_FEATURES)
    kept = train.share(0.1, np.random.default_rng(0))
    assert sorted(kept.names.tolist()) == ["a", "a", "b", "b"]
    assert kept.of("a").n_queries == 2


def test_rankings_by_class_beat_the_shared_model():
    wide = make_synthetic(n_queries=150, n_docs=20, n_features=8, seed=4)
    fold = rotate(split(wide, [1 / 3] * 3))[0]
    run = run_case(fold, 0, LEARNING_CASES[0], min_block=2, class_features=CLASS_FEATURES)
    values = {p.ranker: p.mean for p in run.class_scores}
    assert list(values) == list(RANKERS)
    assert min(values["own"], values["plain"], values["known-own"]) > values["shared"] + 0.05
    assert {r: pytest.approx(np.mean(v)) for r, v in run.per_query.items()} == values


def test_the_test_labels_of_the_population_choose_nothing():
    case = LearningCase("clicks", True, 1.0)
    one = run_case(FOLD, 0, case, min_block=2, class_features=CLASS_FEATURES)
    other = run_case(
        FOLD._replace(test=FOLD.test.subset([3, 4])),
        0,
        case,
        min_block=2,
        class_features=CLASS_FEATURES,
    )
    chosen = {p.ranker: p.temperatures for p in one.class_scores}
    assert chosen == {p.ranker: p.temperatures for p in other.class_scores}
    assert len(chosen["own"]) == len(chosen["pooled"]) == 2


# --- feedback in batches ---


def test_feedback_in_batches_is_tested_before_the_first_and_after_each():
    loop = run_loop(FOLD, 0, batches=3, lists=4, min_block=2, class_features=CLASS_FEATURES)
    assert (len(loop.test), len(loop.clicks), loop.lists) == (4, 4, 8)
    assert loop.test[0] != loop.test[-1]
    assert run_loop(FOLD, 0, batches=3, lists=4, min_block=2, class_features=CLASS_FEATURES) == loop


# --- all together ---


def test_everything_is_there(found):
    assert len(found.table) == 3 * 7
    assert [row.min_block for row in found.nearest] == list(range(2, 9))
    assert {s.ranker for s in found.ensembles} == set(ENSEMBLES)
    assert {c.ranker for c in found.tests} == set(ENSEMBLES) - {SHARED}
    assert {s.setting for s in found.variance} == {s.name for s in DRAW_SETTINGS}
    assert found.cases == tuple(case.name for case in LEARNING_CASES)
    assert {p.ranker for p in found.personal} == set(RANKERS)
    assert [s.done for s in STEPS] == list(range(1, 1 + STEPS[0].total))
    assert STEPS[0].what == "ranksvm, fold 1"


def test_results_survive_json(found):
    assert msgspec.convert(json.loads(json.dumps(asdict(found))), CfbrsReproduction) == found


def test_the_number_of_processes_does_not_matter(found):
    again = reproduce(
        rotate(PARTS_OF_DATA), bases=["ranksvm"], min_block=2, class_features=CLASS_FEATURES, seeds=[0, 1],
        quick=True,
        n_jobs=2,
    )  # fmt: skip
    assert again == found


def test_the_shared_model_is_the_last_row(found):
    test_results = sum(r.combined[2] for r in found.table if r.min_block == 8) / 3
    assert found.quality("ranksvm", SHARED) == pytest.approx(test_results)


def test_every_claim_has_numbers(found):
    claims = found.claims()
    assert len({c.text for c in claims}) == len(claims) == 14
    assert all(c.numbers for c in claims)
    counts, five = claims[:2]
    assert counts.holds
    assert (five.holds, five.numbers) == (False, "16: one was left out")
    shared = next(c for c in claims if c.text.startswith("the shared-feature model, printed"))
    assert not shared.holds
    assert shared.numbers.startswith("its own row of Table 1 has 0.48, 0.52, 0.47")


def test_the_blocks_mean_is_a_bound_only_where_no_composition_is_above_it(found):
    def bound(combined):
        rows = [replace(row, blocks=(0.5,) * 3, combined=combined) for row in found.table]
        claims = replace(found, table=tuple(rows)).claims()
        return next(c for c in claims if "upper bound" in c.text)

    assert bound((0.5, 0.4, 0.5)).holds
    above = bound((0.4, 0.55, 0.625))
    assert not above.holds
    n = sum(len(row.sizes) > 1 for row in found.table)
    assert f"in 0, {n} and {n} of {n} cases" in above.numbers
    assert above.numbers.endswith("up to -0.100, 0.050, 0.125")


def test_seven_factors_are_eight_in_the_definition(found):
    claim = next(c for c in found.claims() if "seven factors" in c.text)
    assert not claim.holds
    assert "Definition 4 say 8" in claim.numbers


def test_claims_on_users_name_the_generated_population(found):
    users = [
        c for c in found.claims() if "subsets of the users" in c.text or "learning is" in c.text
    ]
    assert len(users) == 3
    assert all("generated population: 4 classes" in c.text for c in users)


def test_a_claim_of_a_better_ensemble_needs_a_real_difference(found):
    def with_test(difference, p):
        test = PairedComparison("ranksvm", METRIC, "all", SHARED, difference, 0.1, p, p, 1, 0, 0)
        others = [c for c in found.tests if c.ranker != "all"]
        claims = replace(found, tests=(*others, test)).claims()
        return next(c.holds for c in claims if c.text.startswith("using all"))

    assert with_test(0.1, 0.01)
    assert not with_test(0.1, 0.2)
    assert not with_test(-0.1, 0.01)


def test_the_loop_converges_where_every_draw_does(found):
    ended = FeedbackLoop(0, 8, (0.1, 0.2, 0.2), (0.5, 0.6, 0.6), 0.4, 2, "")
    for loops, holds in (([ended], True), ([ended, replace(ended, stopped=0)], False)):
        assert replace(found, loops=tuple(loops)).claims()[-1].holds == holds


def test_figures_draw_every_line(found, tmp_path):
    figures = found.figures()
    assert list(figures) == ["2-ranksvm", "3-ranksvm", "loop"]
    for name, figure in figures.items():
        plot = figure.plot()
        drawn = [line for line in plot.axes[0].lines if line.get_linestyle() != "None"]
        assert [tuple(line.get_ydata()) for line in drawn] == [line.y for line in figure.lines]
        for copy in "ab":
            save_figure(figure.plot(), tmp_path / f"{name}-{copy}.svg")
        first = (tmp_path / f"{name}-a.svg").read_bytes()
        assert first == (tmp_path / f"{name}-b.svg").read_bytes()


def test_marks_are_dots():
    figure = LineFigure("t", "x", "y", (FigureLine("a", (0.0, 1.0), (0.2, 0.3), marks=(1.0,)),))
    dots = [line for line in figure.plot().axes[0].lines if line.get_marker() == "o"]
    assert [(d.get_xdata().tolist(), d.get_ydata().tolist()) for d in dots] == [([1.0], [0.3])]


def test_wrong_questions_are_refused():
    with pytest.raises(UsageError, match="a base, a seed"):
        reproduce(rotate(PARTS_OF_DATA), bases=[])

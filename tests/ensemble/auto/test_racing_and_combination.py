"""The algorithms of a search, each against arithmetic or brute force on small cases."""

import itertools

import numpy as np
import pytest

from podium.data import RankingData, make_synthetic, shuffled_queries
from podium.data.groups import Groups
from podium.data.row_selection import select_queries
from podium.ensemble.auto.budget import Budget
from podium.ensemble.auto.candidates import TREE_LOSSES, Candidate, make_candidates
from podium.ensemble.auto.combinations import (
    COMBINATION_METHODS,
    BestSingle,
    EqualMean,
    GreedySelection,
    NonNegativeStacking,
    TopRankVote,
)
from podium.ensemble.auto.cross_stopping import CrossStopping
from podium.ensemble.auto.data_shape import DataShape
from podium.ensemble.auto.final_model import FinalMember, sum_members
from podium.ensemble.auto.fold_fits import FoldFit
from podium.ensemble.auto.greedy_selection import select_greedily
from podium.ensemble.auto.nested_validation import choose_combination, nested_values
from podium.ensemble.auto.out_of_fold import OutOfFold
from podium.ensemble.auto.query_folds import choose_fold_count, query_folds
from podium.ensemble.auto.racing import far_behind, pilots, plan_race, rung_sizes, survivors
from podium.ensemble.auto.search_clock import SearchClock
from podium.ensemble.auto.search_progress import interval
from podium.ensemble.auto.stacking import center_by_query, stack
from podium.ensemble.combined_models import offset_and_scale
from podium.errors import UsageError
from podium.metrics import evaluate, parse
from podium.rankers import RankSVM
from podium.rankers.models import Linear, Stumps

NDCG = parse("NDCG@10").averaging_ties()


# --- budgets ---


@pytest.mark.parametrize(
    ("value", "fits", "seconds"),
    [
        ("10m", None, 600.0), ("90s", None, 90.0), ("1h", None, 3600.0), ("0.5 h", None, 1800.0),
        ("45", None, 45.0), (30, None, 30.0), (2.5, None, 2.5), ("200fits", 200, None),
        ("2 fits", 2, None),
    ],
)  # fmt: skip
def test_budgets(value, fits, seconds):
    assert Budget.parse(value) == Budget(fits, seconds)


def test_budgets_of_processor_time():
    assert Budget.parse("2m cpu") == Budget(seconds=2 * 60.0, clock="processor")
    assert Budget.parse("30 cpu") == Budget(seconds=30.0, clock="processor")
    assert str(Budget.parse("2m cpu")) == "120 s of processor time"


@pytest.mark.parametrize(
    "value",
    ["", "10 minutes", "fits", "-3s", "0s", 0, -1.0, "1fits", "2.5fits", "٣s", None, True, float("inf"),
     float("nan"), [3], "1e3s", "5 fits cpu", "cpu", "5scpu"],
)  # fmt: skip
def test_a_wrong_budget_says_what_was_expected(value):
    with pytest.raises(UsageError, match="expected a budget"):
        Budget.parse(value)


def test_a_clock_counts_what_is_left():
    clock = SearchClock(Budget(seconds=100.0))
    clock.continue_from(60.0)
    clock.continue_from(10.0)
    assert 60 <= clock.seconds < 70
    assert 10 < clock.seconds_left(0.8) <= 20
    assert clock.fits_left() == np.inf
    clock = SearchClock(Budget(fits=7), fits=3)
    assert clock.fits_left() == 7 - 3
    assert clock.seconds_left() == np.inf


def test_a_clock_of_processor_time_does_not_count_sleep(monkeypatch):
    moments = {"wall": 100.0, "processor": 5.0}
    clocks = {name: lambda name=name: moments[name] for name in moments}
    monkeypatch.setattr("podium.ensemble.auto.search_clock.CLOCKS", clocks)
    wall, processor = (SearchClock(Budget(seconds=10.0, clock=name)) for name in moments)
    moments.update(wall=107.0, processor=6.5)  # 7 s have gone by, and this process computed 1.5 s
    assert (wall.seconds, wall.seconds_left()) == (7, 10 - 7)
    assert (processor.seconds, processor.seconds_left(0.5)) == (1.5, 5 - 1.5)


# --- folds and races ---


def test_folds_are_even_and_do_not_depend_on_the_order_of_queries():
    data = make_synthetic(n_queries=23, n_docs=4, seed=0)
    folds = query_folds(data, 5, seed=3)
    assert sorted(np.bincount(folds).tolist()) == [4, 4, 5, 5, 5]
    order = np.random.default_rng(0).permutation(23)
    assert query_folds(data.subset(order), 5, seed=3).tolist() == folds[order].tolist()
    assert query_folds(data, 5, seed=4).tolist() != folds.tolist()


def test_each_fold_has_queries_with_different_labels():
    y = [0, 1] * 6 + [1, 1] * 8
    data = RankingData.from_arrays(np.zeros((28, 1)), y, qid=np.repeat(np.arange(14), 2))
    folds = query_folds(data, 3, seed=0)
    assert np.bincount(folds[:6]).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("n_queries", "fits", "folds"),
    [(100, None, 5), (100, 15, 5), (100, 14, 3), (100, 8, 2), (16, None, 3), (4, 200, 2)],
)
def test_fewer_queries_or_fits_make_fewer_folds(n_queries, fits, folds):
    y = [0, 1] * n_queries
    data = RankingData.from_arrays(
        np.zeros((2 * n_queries, 1)), y, qid=np.repeat(np.arange(n_queries), 2)
    )
    assert choose_fold_count(data, fits) == folds


def test_rungs_halve_the_candidates():
    assert rung_sizes(16, 4, 3) == [16, 16 / 2, 16 / 4, 3]
    assert rung_sizes(2, 3, 5) == [2, 2, 2]


@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.parametrize("max_fits", [*range(2, 40), 100, 400])
def test_a_race_keeps_its_budget_and_uses_it(max_fits, n_folds):
    if max_fits < n_folds:
        return
    n_racing, finalists = plan_race(64, n_folds, max_fits)
    cost = sum(rung_sizes(n_racing, n_folds, finalists))
    assert 1 <= finalists <= n_racing <= 64
    assert cost <= max_fits
    assert n_racing == 64 or sum(rung_sizes(n_racing + 1, n_folds, finalists)) > max_fits


def test_the_best_of_each_family_survives():
    ranker = RankSVM()
    families = ["trees", "trees", "linear", "linear", "network"]
    candidates = [Candidate(str(i), family, ranker) for i, family in enumerate(families)]
    values = dict(enumerate([0.5, 0.6, 0.3, 0.2, 0.1]))
    # Leaders of families take half of the places, rounded up: 1, 2 and then 4.
    assert survivors(values, candidates, 5) == [1, 0, 2, 3, 4]
    assert survivors(values, candidates, 4) == [1, 0, 2, 3]
    assert survivors(values, candidates, 3) == [1, 0, 2]
    assert survivors(values, candidates, 1) == [1]
    assert survivors(values, candidates, 3, weak={2, 3, 4}) == [1, 0, 2]  # as there is room
    low = {**values, 2: 0.05}
    assert survivors(low, candidates, 4) == [1, 0, 3, 4]  # 3 leads its family, 4 comes before 2
    assert survivors(low, candidates, 3, weak={3}) == [1, 0, 4]  # 4 leads, 3 is far behind
    assert survivors(dict.fromkeys(range(5), 0.5), candidates, 4) == [0, 1, 2, 3]


def test_candidates_far_behind_are_those_whose_gap_is_no_chance():
    best = np.array([0.8, 0.6, 0.7, 0.9])  # mean .75; 3% of it are .0225
    assert far_behind({0: best, 1: best - 0.0224, 2: best - 0.0226, 3: best - 0.3}) == {2, 3}
    # The gap is .1 on average; its standard error is sd / sqrt(4) = .1: too noisy to tell.
    noisy = best - [0.3, -0.1, 0.3, -0.1]
    assert np.std([0.3, -0.1, 0.3, -0.1], ddof=1) / 2 > 0.1 - 0.03 * 0.75
    assert far_behind({0: best, 1: noisy}) == set()
    # With these weights, the gap is .3 in every query that counts.
    assert far_behind({0: best, 1: noisy}, np.array([1.0, 0.0, 1.0, 0.0])) == {1}
    assert far_behind({0: np.array([np.nan]), 1: np.array([np.nan])}) == set()
    assert far_behind({}) == set()


def test_pilots_are_the_first_of_each_family():
    ranker = RankSVM()
    families = ["trees", "linear", "trees", "trees", "linear", "linear", "network"]
    candidates = [Candidate(str(i), family, ranker) for i, family in enumerate(families)]
    assert pilots(candidates, 7) == [0, 1, 2, 4, 6]
    assert pilots(candidates, 2) == [0, 1]


# --- candidates ---


def test_candidates_fit_the_shape_of_the_data():
    data = make_synthetic(n_queries=30, seed=0)
    shape = DataShape.of(data)
    candidates = make_candidates(shape, metric="MAP", k=7, seed=3)
    assert len({c.label for c in candidates}) == len(candidates)
    assert {c.family for c in candidates} == {
        "trees",
        "symmetric trees",
        "linear",
        "stumps",
        "network",
    }
    trees = [c.ranker for c in candidates if c.family == "trees"]
    losses = {tree.loss if isinstance(tree.loss, str) else tree.loss.name for tree in trees}
    assert losses == set(TREE_LOSSES)
    assert {tree.loss.metric for tree in trees if not isinstance(tree.loss, str)} == {"MAP"}
    assert {tree.metric for tree in trees} == {"MAP"}
    assert {tree.k for tree in trees} == {7}
    assert {c.ranker.measure for c in candidates if c.ranker.name == "topslack"} == {"NDCG@7"}
    half = data.with_labels(data.y + 0.5)
    real = make_candidates(DataShape.of(half), metric="NDCG@10", k=10, seed=0)
    assert "xendcg" not in {c.ranker.loss for c in real if c.family == "trees"}
    other = make_candidates(shape, metric="kNDCG@5", k=5, seed=0)
    assert {c.ranker.loss.metric for c in other if "yetiloss" in c.label} == {"NDCG@5"}
    again = make_candidates(shape, metric="MAP", k=7, seed=3)
    assert [c.label for c in again] == [c.label for c in candidates]


def test_small_steps_have_more_trees_and_more_patience():
    candidates = make_candidates(
        DataShape.of(make_synthetic(n_queries=30, seed=0)), metric="NDCG@10", k=10, seed=0
    )
    trees = [c.ranker for c in candidates if c.family == "trees"]
    assert min(t.learning_rate for t in trees) < 0.03
    for tree in trees:
        factor = max(1.0, 0.05 / tree.learning_rate)
        assert (tree.trees, tree.patience) == (round(500 * factor), round(50 * factor))


def test_catboost_is_a_candidate_if_its_extra_is_installed(monkeypatch):
    from podium.ensemble.auto import candidates as module
    from podium.ensemble.base_rankers import RANKERS

    class Symmetric(RankSVM):
        name = "catboost"

    shape = DataShape.of(make_synthetic(n_queries=30, seed=0))
    monkeypatch.setattr(module, "_SYMMETRIC_TREES", (("catboost", {"C": 0.5}),))
    monkeypatch.setitem(RANKERS, "catboost", Symmetric)
    for installed in (None, "a spec"):
        monkeypatch.setattr(module, "find_spec", lambda name, installed=installed: installed)
        made = make_candidates(shape, metric="NDCG@10", k=10, seed=0, max_candidates=9)
        assert ("catboost C=0.5" in [c.label for c in made]) == (installed is not None)
    made = make_candidates(
        shape, metric="NDCG@10", k=10, seed=0, max_candidates=9, without=("catboost", "lambdamart")
    )
    assert len(made) == 9
    assert {"catboost", "lambdamart"}.isdisjoint({c.ranker.name for c in made})


def test_uneven_and_missing_features_are_seen():
    rng = np.random.default_rng(0)
    X, y, qid = rng.standard_normal((40, 3)), rng.integers(0, 2, 40), np.repeat(np.arange(8), 5)

    def shape(X):
        return DataShape.of(RankingData.from_arrays(X, y, qid=qid, missing="nan"))

    assert not shape(X).has_uneven_features
    assert shape(X * [1, 1, 1000]).has_uneven_features
    assert shape(X + np.array([0, 0, 1000])).has_uneven_features
    assert not shape(np.where(X > 1, np.nan, X)).has_uneven_features
    assert shape(np.where(X > 1, np.nan, X)).has_missing
    assert not shape(np.zeros((40, 3))).has_uneven_features


# --- greedy selection ---


def brute_force(scores, measure, steps):
    """The greedy path by trying every member in every step."""
    path = []
    for _ in range(steps):
        options = [measure(scores[:, [*path, j]].sum(axis=1)) for j in range(scores.shape[1])]
        path.append(int(np.argmax(np.round(options, 9))))
    values = [round(measure(scores[:, path[: n + 1]].sum(axis=1)), 9) for n in range(steps)]
    best = path[: int(np.argmax(values)) + 1]
    return np.bincount(best, minlength=scores.shape[1]) / len(best)


@pytest.mark.parametrize("seed", range(5))
def test_greedy_selection_equals_brute_force(seed):
    data = make_synthetic(n_queries=15, seed=seed)
    rng = np.random.default_rng(seed)
    scores = data.y[:, None] + 2 * rng.standard_normal((len(data), 4))

    def measure(s):
        return evaluate(data, s, NDCG)[NDCG].mean

    np.testing.assert_allclose(
        select_greedily(scores, measure, 6), brute_force(scores, measure, 6), atol=1e-15
    )


def test_greedy_selection_takes_the_shortest_of_equal_sums():
    scores = np.array([[1.0, 0.5], [0.0, 0.0]])
    assert select_greedily(scores, lambda s: float(s[0] > s[1])).tolist() == [1.0, 0.0]


def test_without_a_value_no_member_is_preferred():
    assert select_greedily(np.eye(2), lambda s: np.nan).tolist() == [0.5, 0.5]


def test_merged_members_keep_their_weight_in_the_importance():
    def fit(model):
        return FoldFit(model, np.zeros(0), np.zeros(0), offset=0.0, scale=1.0)

    linear = [fit(Linear(np.array([1.0, 0.0]))), fit(Linear(np.array([3.0, 0.0])))]
    stump = fit(Stumps(2, np.array([1]), np.array([0.5]), np.array([1.0])))
    members = [
        FinalMember("linear", "", 0.2, None, linear),
        FinalMember("stump", "", 0.8, None, [stump]),
    ]
    model = sum_members(members)
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    # .2 (1 + 3) / 2 for the first row, .8 for the second; the features count as their members do.
    np.testing.assert_allclose(model.predict(X), [0.4, 0.8])
    np.testing.assert_allclose(model.importance(), [0.2, 0.8])


# --- stacking ---


def test_stacking_is_least_squares_with_weights_of_0_or_more():
    rng = np.random.default_rng(0)
    groups = Groups.from_sizes([5, 7, 8])
    scores = rng.standard_normal((20, 3))
    gains = scores @ [2.0, -1.0, 1.0] + 0.1 * rng.standard_normal(20) + groups.codes * 10
    weights = stack(scores, gains, groups)
    Z, g = center_by_query(scores, groups), center_by_query(gains, groups)
    best = np.inf
    for size in (1, 2, 3):  # the optimum is a least-squares solution on its support
        for support in itertools.combinations(range(3), size):
            w = np.linalg.lstsq(Z[:, support], g)[0]
            if (w >= 0).all() and (loss := ((Z[:, support] @ w - g) ** 2).sum()) < best:
                best, expected = loss, np.zeros(3)
                expected[list(support)] = w
    np.testing.assert_allclose(weights, expected / expected.sum(), atol=1e-6)
    assert weights[1] == 0


def test_members_that_only_hurt_get_equal_weights():
    scores = np.array([[1.0, 2.0], [0.0, 0.0]])
    weights = stack(scores, np.array([0.0, 1.0]), Groups.from_sizes([2]))
    assert weights.tolist() == [0.5, 0.5]


# --- combination methods ---


def members_of(data, noise, seed=0, n_parts=3):
    """Members that see the labels through noise of these sizes."""
    rng = np.random.default_rng(seed)
    scores = data.y[:, None] + rng.standard_normal((len(data), len(noise))) * noise
    return OutOfFold.of(data, np.arange(data.n_queries) % n_parts, list(scores.T))


@pytest.mark.parametrize("method", COMBINATION_METHODS)
def test_weights_are_shares(method):
    members = members_of(make_synthetic(n_queries=12, seed=0), [1.0, 2.0, 3.0])
    weights = method.weigh(members.scores, members.data, NDCG)
    assert weights.shape == (3,)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)
    combined = method.combine(members.scores, weights, members.data.groups)
    assert combined.shape == (len(members.data),)


def test_the_best_single_is_the_member_of_the_largest_metric():
    members = members_of(make_synthetic(n_queries=30, seed=0), [3.0, 0.5, 3.0])
    assert BestSingle().weigh(members.scores, members.data, NDCG).tolist() == [0, 1, 0]
    assert EqualMean().weigh(members.scores, members.data, NDCG).tolist() == [1 / 3] * 3


def test_a_vote_of_one_member_is_its_order():
    data = make_synthetic(n_queries=5, seed=0)
    scores = np.random.default_rng(0).standard_normal((len(data), 2))
    places = TopRankVote().combine(scores, np.array([1.0, 0.0]), data.groups)
    np.testing.assert_array_equal(data.groups.order(places), data.groups.order(scores[:, 0]))


def test_nested_weights_come_from_other_queries():
    data = make_synthetic(n_queries=9, seed=0)
    members = members_of(data, [1.0, 1.5])
    values = nested_values(GreedySelection(), members, NDCG)
    for part in range(3):
        inside = members.folds == part
        rows = data.groups.spread(inside)
        others = data.subset(np.flatnonzero(~inside))
        weights = GreedySelection().weigh(members.scores[~rows], others, NDCG)
        test = data.subset(np.flatnonzero(inside))
        expected = evaluate(test, members.scores[rows] @ weights, NDCG)[NDCG].per_query
        np.testing.assert_allclose(values[inside], expected)


def test_the_simplest_method_within_one_standard_error_wins():
    data = make_synthetic(n_queries=60, seed=0)
    unlike = members_of(data, [0.3, 3.0])
    assert choose_combination(unlike, NDCG).method == BestSingle()
    many = choose_combination(members_of(data, [2.0] * 6), NDCG)
    assert many.method == EqualMean()
    assert sum(result.is_chosen for result in many.results) == 1
    assert min(result.behind for result in many.results) == 0
    chosen = next(result for result in many.results if result.is_chosen)
    simpler = many.results[: many.results.index(chosen)]
    assert all(r.behind > max(r.standard_error, 0.001) for r in simpler)
    assert chosen.behind <= max(chosen.standard_error, 0.001)


def test_large_data_are_combined_by_a_part_of_the_queries():
    data = make_synthetic(n_queries=20, n_docs=5, seed=0)
    members = OutOfFold.of(data, np.arange(20) % 4, [np.arange(100.0), np.ones(100)])
    assert members.sample(0) is members
    sample = members.sample(0, max_rows=50)
    assert (sample.data.n_queries, len(sample.data), len(sample.folds)) == (10, 50, 10)
    for i, qid in enumerate(sample.data.qids.tolist()):
        q = data.qids.tolist().index(qid)
        assert sample.folds[i] == q % 4
        assert sample.scores[5 * i, 0] == 5 * q


def test_stacking_takes_any_labels():
    data = make_synthetic(n_queries=5, seed=0)
    large = data.with_labels(data.y * 400)
    weights = NonNegativeStacking().weigh(data.y[:, None] * [1.0, -1.0], large, NDCG)
    assert weights.tolist() == [1.0, 0.0]


def test_an_interval_is_the_mean_and_1_96_standard_errors():
    values = np.array([0.0, 1.0, np.nan])
    mean, low, high = interval(values)
    half = 1.96 * np.sqrt(0.5) / np.sqrt(2)  # the sample variance of 0 and 1 is 1/2
    assert (mean, low, high) == (0.5, pytest.approx(0.5 - half), pytest.approx(0.5 + half))
    assert np.isnan(interval(np.array([np.nan]))[0])


# --- cross-stopping ---


@pytest.mark.parametrize("n_held_out", [9, 6])
def test_no_query_chooses_its_own_scores(n_held_out):
    """By brute force over the iterations of random scores; the other queries choose for both halves."""
    data = make_synthetic(n_queries=9, n_docs=(3, 6), seed=0)
    steps = np.random.default_rng(0).standard_normal((6, len(data)))
    stopping = CrossStopping(data, NDCG, n_held_out)
    for scores in steps:
        stopping.add(scores)
    n_rows = int(data.groups.offsets[n_held_out])
    chosen = stopping.chosen_scores(np.zeros(n_rows))
    order = [q for q in shuffled_queries(data, 0).tolist() if q < n_held_out]
    valid = list(range(n_held_out, 9))
    for queries, others in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        rows, other_rows = (data.groups.take(q)[1] for q in (queries, others + valid))
        chooser = data.subset(others + valid)
        values = [evaluate(chooser, s[other_rows], NDCG)[NDCG].mean for s in steps]
        expected = steps[int(np.argmax(values))][rows]
        offset, scale = offset_and_scale(expected, data.subset(queries).groups)
        np.testing.assert_allclose(chosen[rows], (expected - offset) / scale)


def test_queries_of_a_selection_are_stopped_as_their_copies():
    data = make_synthetic(n_queries=20, n_docs=(3, 6), seed=0)
    chosen = []
    part = select_queries(data, np.arange(10, 20))
    for queries in (part, part.subset(np.arange(10))):
        steps = np.random.default_rng(0).standard_normal((4, len(queries)))
        stopping = CrossStopping(queries, NDCG, 8)
        for scores in steps:
            stopping.add(scores)
        n_rows = int(queries.groups.offsets[8])
        chosen.append(stopping.chosen_scores(np.zeros(n_rows)))
    np.testing.assert_array_equal(*chosen)


def test_without_steps_the_final_scores_count():
    data = make_synthetic(n_queries=1, n_docs=4, seed=0)
    final = np.array([0.0, 2.0, 4.0, 6.0])
    chosen = CrossStopping(data, NDCG).chosen_scores(final)
    np.testing.assert_allclose(chosen, (final - 3) / np.sqrt(5))  # variance (9 + 1 + 1 + 9) / 4

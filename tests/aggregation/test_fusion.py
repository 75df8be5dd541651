"""Aggregators of places and scores: footrule, MC4, CombSUM, CombMNZ, reciprocal ranks."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.aggregation import (
    AGGREGATORS,
    MC4,
    Borda,
    CombMNZ,
    CombSUM,
    Footrule,
    Rankings,
    ReciprocalRank,
    aggregate,
    make_aggregator,
)
from podium.aggregation.mc4 import stationary
from podium.data import Groups
from podium.errors import PodiumError, UnknownNameError, UsageError

NAMES = sorted(AGGREGATORS)


@st.composite
def rankings_and_weights(draw, most=6, queries=3):
    """Ragged queries, ties, documents left out, a ranker that may rank nothing."""
    sizes = draw(st.lists(st.integers(1, most), min_size=1, max_size=queries))
    rankers = draw(st.integers(1, 4))
    levels = st.one_of(st.integers(1, 4).map(float), st.just(float("nan")))
    rows = st.lists(levels, min_size=rankers, max_size=rankers)
    places = draw(st.lists(rows, min_size=sum(sizes), max_size=sum(sizes)))
    weights = draw(st.lists(st.integers(0, 5), min_size=rankers, max_size=rankers))
    weights[0] += 1
    return Rankings.from_places(Groups.from_sizes(sizes), np.array(places)), np.array(
        weights, float
    )


def random_rankings(n, rankers, seed, queries=1):
    """Full lists without ties."""
    rng = np.random.default_rng(seed)
    blocks = [
        np.stack([rng.permutation(n) + 1.0 for _ in range(rankers)], 1) for _ in range(queries)
    ]
    return Rankings.from_places(Groups.from_sizes([n] * queries), np.concatenate(blocks))


# Footrule


def footrule_of(places, weights, order):
    """sum_a p_a sum_d |place_a(d) - place(d)|, for documents in this order."""
    place = np.empty(len(order))
    place[list(order)] = np.arange(1, len(order) + 1)
    return float(sum(p * np.abs(places[:, a] - place).sum() for a, p in enumerate(weights)))


@given(rankings_and_weights())
def test_footrule_is_the_least_of_all_orders(case):
    rankings, weights = case
    found = Footrule()(rankings, weights)
    p = weights / weights.sum()
    for q, rows in enumerate(rankings.groups.slices()):
        places = rankings.filled[rows]
        n = len(places)
        least = min(footrule_of(places, p, o) for o in itertools.permutations(range(n)))
        own = np.argsort(-found.scores[rows], kind="stable")
        assert found.distance[q] == pytest.approx(least, abs=1e-9)
        assert footrule_of(places, p, own) == pytest.approx(least, abs=1e-9)
        assert sorted(found.scores[rows]) == list(range(n))
        assert found.bound[q] <= least + 1e-9
    assert found.optimal.all()


def test_footrule_is_the_least_of_all_orders_of_seven():
    rankings = random_rankings(7, 4, seed=3)
    found = Footrule()(rankings, [1, 2, 3, 4])
    costs = [
        footrule_of(rankings.filled, [0.1, 0.2, 0.3, 0.4], o)
        for o in itertools.permutations(range(7))
    ]
    assert found.distance[0] == pytest.approx(min(costs), abs=1e-12)


def test_of_several_best_orders_footrule_takes_the_one_nearest_to_the_initial():
    rankings = Rankings.of([["a", "b", "c"], ["b", "a", "c"]])  # both orders of a, b cost 1 + 1
    for start in ([3.0, 2.0, 1.0], [2.0, 3.0, 1.0]):
        found = Footrule()(rankings, initial=np.array(start))
        assert np.argsort(-found.scores).tolist() == np.argsort(-np.array(start)).tolist()
        assert found.distance.tolist() == [1.0]


@given(st.integers(0, 2**32 - 1))
def test_footrule_with_one_ranker_returns_its_order(seed):
    rankings = random_rankings(9, 1, seed)
    assert Footrule()(rankings).scores.tolist() == (9 - rankings.places[:, 0]).tolist()


def test_footrule_of_a_hundred_documents_is_proved():
    found = Footrule()(random_rankings(100, 25, seed=0), np.random.default_rng(1).random(25))
    assert found.optimal.all()
    assert found.distance[0] > 0


# MC4


def power_iteration(rankings, weights, alpha, steps=20_000):
    """The walk itself, from its words, one query."""
    n = len(rankings.places)
    move = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        lead = 0.0
        for a, p in enumerate(weights):
            i_place, j_place = rankings.places[i, a], rankings.places[j, a]
            if np.isnan(j_place):
                lead -= 0 if np.isnan(i_place) else p
            elif np.isnan(i_place) or j_place < i_place:
                lead += p
            elif i_place < j_place:
                lead -= p
        move[i, j] = (lead > 1e-12) / n
    move += np.diag(1 - move.sum(axis=1))
    move = (1 - alpha) * move + alpha / n
    share = np.full(n, 1 / n)
    for _ in range(steps):
        share = share @ move
    return share


@given(rankings_and_weights(queries=1))
def test_mc4_is_where_the_walk_ends(case):
    rankings, weights = case
    expected = power_iteration(rankings, weights / weights.sum(), 0.1, steps=2000)
    assert MC4(alpha=0.1)(rankings, weights).scores == pytest.approx(expected, abs=1e-9)


def test_mc4_of_two_documents_by_hand():
    # b -> a with (1 - alpha) / 2 + alpha / 2 = 1/2, a -> b with alpha / 2: shares 1 : alpha.
    scores = MC4(alpha=0.2)(Rankings.of([["a", "b"], ["a", "b"], ["b", "a"]])).scores
    assert scores == pytest.approx([1 / 1.2, 0.2 / 1.2], abs=1e-12)


def test_mc4_gives_a_cycle_equal_shares():
    scores = MC4()(Rankings.of([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])).scores
    assert scores.tolist() == [round(1 / 3, 12)] * 3


def test_mc4_follows_the_weight_not_the_number():
    rankings = Rankings.of([["a", "b"], ["b", "a"], ["b", "a"]])
    even, one = MC4()(rankings).scores, MC4()(rankings, [3, 1, 1]).scores
    assert even[1] > even[0]
    assert one[0] > one[1]


def test_listed_beats_unlisted_in_mc4():
    scores = MC4()(Rankings.of([["a"], ["a"], ["b", "a"]])).scores  # 2 of 3 say a
    assert scores[0] > scores[1]
    scores = MC4(listed_only=True)(Rankings.of([["a"], ["a"], ["b", "a"]])).scores
    assert scores[1] > scores[0]  # the only one that lists both


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_stationary_shares_stay_where_they_are(n, seed):
    rates = np.random.default_rng(seed).random((n, n)) + 1e-3
    rates /= rates.sum(axis=1, keepdims=True)
    shares = stationary(rates)
    assert shares @ rates == pytest.approx(shares, rel=1e-12)
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("alpha", [0, -0.1, 1.5, float("nan"), "x", None, True])
def test_mc4_refuses_an_alpha_that_is_no_probability(alpha):
    with pytest.raises(UsageError, match="alpha"):
        MC4(alpha=alpha)


# CombSUM, CombMNZ

SCORES = [{"a": 9.0, "b": 8.0, "c": 5.0}, {"b": 0.4, "d": 0.2}]
SD1, SD2 = np.std([9, 8, 5]), 0.1
POINTS = {  # documents a, b, c, d: points by the first and by the second ranker
    "min-max": [(1, 0), (3 / 4, 1), (0, 0), (0, 0)],
    "sum": [(4 / 7, 0), (3 / 7, 1), (0, 0), (0, 0)],
    "zmuv": [(4 / SD1, 0), (3 / SD1, 0.2 / SD2), (0, 0), (0, 0)],
    "rank": [(1, 0), (1 - 1 / 3, 1), (1 - 2 / 3, 0), (0, 1 - 1 / 2)],
    "none": [(9, 0), (8, 0.4), (5, 0), (0, 0.2)],
}


@pytest.mark.parametrize("normalisation", POINTS)
def test_comb_by_hand(normalisation):
    rankings = Rankings.of(SCORES)
    listed = [1, 2, 1, 1]
    sums = [0.75 * x + 0.25 * y for x, y in POINTS[normalisation]]
    count = [0.75, 1, 0.75, 0.25]
    assert CombSUM(normalisation)(rankings, [3, 1]).scores == pytest.approx(sums, rel=1e-11)
    assert CombMNZ(normalisation)(rankings, [3, 1]).scores == pytest.approx(
        [s * c for s, c in zip(sums, count, strict=True)], rel=1e-11
    )
    plain = [(x + y) * m / 4 for (x, y), m in zip(POINTS[normalisation], listed, strict=True)]
    assert CombMNZ(normalisation)(rankings).scores == pytest.approx(plain, rel=1e-11)


def test_standardised_scores_differ_by_a_constant_from_zero_mean():
    scores = np.array([3.0, 1.0, 7.0, -2.0])
    points = CombSUM("zmuv").points(Rankings.from_scores(Groups.from_sizes([4]), scores[:, None]))
    z = (scores - scores.mean()) / scores.std()
    assert points[:, 0] - z == pytest.approx(np.full(4, -z.min()))


@pytest.mark.parametrize(
    ("normalisation", "points"), [("min-max", 1), ("sum", 1 / 3), ("zmuv", 0), ("none", 5)]
)
def test_scores_that_are_all_equal(normalisation, points):
    rankings = Rankings.of([{"a": 5, "b": 5, "c": 5}])
    assert CombSUM(normalisation)(rankings).scores == pytest.approx([points] * 3)


def test_scores_below_zero_are_raised_over_the_unlisted():
    rankings = Rankings.of([{"a": -1.0, "b": -4.0}, {"c": 1.0}])
    assert CombSUM("none").points(rankings).tolist() == [[3, 0], [0, 0], [0, 1]]


def test_places_stand_in_for_scores():
    rankings = Rankings.of([["a", "b", "c"]])
    assert CombSUM()(rankings).scores.tolist() == [1, 0.5, 0]
    whole = Rankings.from_places(Groups.from_sizes([3]), [[1], [2], [11]])
    assert CombSUM()(whole).scores == pytest.approx([1, 0.9, 0])


@pytest.mark.parametrize("normalisation", POINTS)
def test_huge_and_tiny_scores_stay_numbers(normalisation):
    values = np.array([[1e308, 5e-324], [-1e308, 0.0], [0.0, np.nan]])
    if normalisation == "none":
        values[:, 0] /= 4
    points = CombSUM(normalisation).points(Rankings.from_scores(Groups.from_sizes([3]), values))
    assert np.isfinite(points).all()
    assert points[0].min() > 0


def test_an_unknown_normalisation_is_refused():
    with pytest.raises(UsageError, match="min-max, sum, zmuv, rank, none"):
        CombMNZ("z")


def test_reciprocal_ranks_count_the_whole_list():
    whole = Rankings.from_places(Groups.from_sizes([2]), [[3, 1], [40, np.nan]])
    assert ReciprocalRank(k=10)(whole).scores == pytest.approx([(1 / 13 + 1 / 11) / 2, 1 / 50 / 2])


@pytest.mark.parametrize("k", [-1, float("inf"), "x", None])
def test_rrf_refuses_a_wrong_k(k):
    with pytest.raises(UsageError, match="k of rrf"):
        ReciprocalRank(k=k)


# All aggregators


@pytest.mark.parametrize("name", NAMES)
@given(case=rankings_and_weights(), seed=st.integers(0, 2**32 - 1))
def test_names_of_documents_and_rankers_do_not_matter(name, case, seed):
    rankings, weights = case
    rng = np.random.default_rng(seed)
    start = rng.permutation(len(rankings.places)).astype(float)
    rows = np.concatenate(
        [rng.permutation(np.arange(s.start, s.stop)) for s in rankings.groups.slices()]
    )
    columns = rng.permutation(rankings.n_rankers)
    aggregator = make_aggregator(name)
    turned = Rankings.from_places(rankings.groups, rankings.positions[rows][:, columns])
    expected = aggregator(rankings, weights, start)
    found = aggregator(turned, weights[columns], start[rows])
    if name == "kemeny":  # of several best orders, which one may turn on the rows
        assert found.distance == pytest.approx(expected.distance, abs=1e-9)
    else:
        assert found.scores == pytest.approx(expected.scores[rows], abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@given(case=rankings_and_weights())
def test_queries_do_not_touch_each_other(name, case):
    rankings, weights = case
    aggregator = make_aggregator(name)
    together = aggregator(rankings, weights).scores
    for rows in rankings.groups.slices():
        alone = Rankings.from_places(
            Groups.from_sizes([rows.stop - rows.start]), rankings.positions[rows]
        )
        assert aggregator(alone, weights).scores == pytest.approx(together[rows], abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_rankers_that_agree_are_obeyed(name):
    order = list("cadbe")
    assert list(aggregate([order] * 3, name)) == order


@pytest.mark.parametrize("name", NAMES)
def test_all_the_weight_on_one_ranker_makes_its_order(name):
    rankings = [list("abcd"), list("dcba"), list("bdac")]
    assert list(aggregate(rankings, name, weights=[0, 1, 0])) == list("dcba")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [1, float("nan")], ["x", 1]])
def test_wrong_weights_are_refused(name, weights):
    with pytest.raises(PodiumError, match="expected"):
        aggregate([["a", "b"], ["b", "a"]], name, weights=weights)


def test_an_unknown_option_is_refused():
    with pytest.raises(UnknownNameError, match=r"'alhpa'.*alpha"):
        make_aggregator("mc4", alhpa=0.1)
    with pytest.raises(UsageError, match="borda takes no options"):
        make_aggregator("borda", k=1)


@pytest.mark.parametrize("kind", [Borda, Footrule, MC4, ReciprocalRank, CombSUM, CombMNZ])
def test_a_query_without_documents_is_left_alone(kind):
    rankings = Rankings.from_places(Groups.from_sizes([2, 0, 1]), [[1, 2], [2, 1], [1, np.nan]])
    scores = kind()(rankings).scores
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()

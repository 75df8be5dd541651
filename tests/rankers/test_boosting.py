"""Boosting: kernels against their twins, each algorithm against arithmetic and brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from podium import kernels
from podium.data import RankingData, draw_truth, make_synthetic
from podium.errors import DataError, MissingTruthError, UsageError
from podium.kernels import reference
from podium.metrics import evaluate
from podium.rankers.boosted.adarank import adarank
from podium.rankers.boosted.boosted_ranker import sum_of_rounds
from podium.rankers.boosted.focused_boost import (
    FeatureCandidates,
    FocusedBoost,
    StumpCandidates,
    TopkOrder,
    focused_boost,
)
from podium.rankers.boosted.rankboost import WeightedPairs, rankboost
from podium.rankers.boosted.rounds import Round
from podium.rankers.boosted.stumps import BinnedFeatures, feature_thresholds

SIZES = st.lists(st.integers(0, 12), max_size=8)


@st.composite
def lists(draw, *columns):
    """Offsets, and a column of values for each strategy."""
    sizes = draw(SIZES)
    n = sum(sizes)
    drawn = [np.array(draw(st.lists(c, min_size=n, max_size=n)), dtype=float) for c in columns]
    return np.cumsum([0, *sizes], dtype=np.int64), *drawn


def ragged(rng, sizes, d=3, levels=3, decimals=1, **options):
    """Queries of these sizes with rounded features, so that there are ties."""
    n = sum(sizes)
    return RankingData.from_arrays(
        rng.normal(size=(n, d)).round(decimals), rng.integers(0, levels, n),
        qid=np.repeat(np.arange(len(sizes)), sizes), **options,
    )  # fmt: skip


def assert_same(a, b):
    """Equal to the bit."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert a.tobytes() == b.tobytes()


def half_log_odds(r):
    return 0.5 * np.log((1 + r) / (1 - r))


# Kernels and their twins.

SCORES = st.floats(-5, 5) | st.sampled_from([0.0, -0.0, 1e-300, 300.0, -800.0, 1e4, -1e4])
LABELS = st.integers(0, 3).map(float) | st.floats(0, 4)


@given(
    st.integers(0, 40), st.integers(1, 5), st.sampled_from([np.float32, np.float64]), st.integers(0)
)
def test_bin_features(n, d, dtype, seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.5, -0.0, 0.0, 0.1, 2.0, 1e30, np.nan, 5e-324], (n, d)).astype(dtype)
    cuts = [
        np.unique(rng.choice(np.r_[X.ravel(), 0.05, 1.0], rng.integers(0, 9))) for _ in range(d)
    ]
    cuts = [c[~np.isnan(c)].astype(np.float64) for c in cuts]
    bounds = np.cumsum([0, *map(len, cuts)])
    joined = np.concatenate(cuts)
    codes = kernels.bin_features(X, joined, bounds)
    assert_same(codes, reference.bin_features(X, joined, bounds))
    for f, cut in enumerate(cuts):
        for t, theta in enumerate(cut):
            assert ((codes[f] > t) == (X[:, f] > theta)).all()


@given(lists(SCORES, LABELS), st.integers(0))
def test_rankboost_potentials(data, seed):
    offsets, scores, labels = data
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], len(offsets) - 1)
    order = reference.order(labels, None, offsets)
    pi, log_total = kernels.rankboost_potentials(scores, labels, order, weight, offsets)
    slow, slow_total = reference.rankboost_potentials(scores, labels, order, weight, offsets)
    assert pi == pytest.approx(slow, abs=1e-10)
    assert log_total == pytest.approx(slow_total, rel=1e-12, abs=1e-10)
    assert abs(pi.sum()) < 1e-10


@given(st.integers(0, 60), st.integers(1, 9), st.booleans(), st.integers(0))
def test_stump_sums(n, d, with_values, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.choice([2, 256]), (d, n)).astype(np.uint8)
    weights, values = rng.normal(size=n), rng.normal(size=(d, n)) if with_values else None
    assert_same(
        kernels.stump_sums(codes, weights, values), reference.stump_sums(codes, weights, values)
    )


@given(
    lists(st.floats(0, 10)), st.integers(1, 4), st.sampled_from([2, 5, 256]), st.integers(1, 12),
    st.integers(0),
)  # fmt: skip
def test_stump_dcg(data, d, bins, depth, seed):
    offsets, gains = data
    codes = np.random.default_rng(seed).integers(0, bins, (d, len(gains))).astype(np.uint8)
    discount = 1 / np.log2(2 + np.arange(depth))
    for fast, slow in zip(
        kernels.stump_dcg(codes, gains, offsets, discount),
        reference.stump_dcg(codes, gains, offsets, discount),
        strict=True,
    ):
        assert fast == pytest.approx(slow, abs=1e-10)


@given(lists(st.booleans(), st.sampled_from([0.0, -0.0, 1.0, 2.0, np.inf])), st.integers(1, 15))
def test_tied_precision_sum(data, depth):
    offsets, relevant, scores = data
    relevant, order = relevant.astype(bool), reference.order(scores, None, offsets)
    assert_same(
        kernels.tied_precision_sum(relevant, order, scores, offsets, depth),
        reference.tied_precision_sum(relevant, order, scores, offsets, depth),
    )


@given(
    lists(st.floats(0, 1e308), st.sampled_from([0.0, -0.0, 1.0, 2.0, np.inf])),
    st.booleans(), st.integers(1, 15),
)  # fmt: skip
def test_tied_discounted_sum(data, is_binary, depth):
    offsets, values, scores = data
    values, discount = values > 1 if is_binary else values, 1 / np.log2(2 + np.arange(depth))
    assert_same(
        kernels.tied_discounted_sum(values, scores, offsets, discount),
        reference.tied_discounted_sum(values, scores, offsets, discount),
    )


@pytest.mark.parametrize("n", [47, 48, 49, 130, 5000])
@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_tied_discounted_sum_of_long_lists(n, decimals):
    rng = np.random.default_rng(n)
    offsets, scores = np.array([0, n, n, 2 * n]), rng.normal(size=2 * n).round(decimals)
    values = rng.random(2 * n)
    for depth in (10, 2 * n):
        arguments = values, scores, offsets, 1 / np.log2(2 + np.arange(depth))
        assert_same(
            kernels.tied_discounted_sum(*arguments), reference.tied_discounted_sum(*arguments)
        )


def big_case(n_queries):
    rng = np.random.default_rng(3)
    offsets = np.cumsum([0, *rng.integers(0, 40, n_queries)])
    n = int(offsets[-1])
    X = rng.normal(size=(n, 11)).astype(np.float32)
    return rng, offsets, n, X


def run_big(twin, n_queries):
    rng, offsets, n, X = big_case(n_queries)
    cuts = np.tile(np.linspace(-2, 2, 101), 11)
    codes = twin.bin_features(X, cuts, np.arange(12) * 101)
    labels, scores = rng.integers(0, 5, n) * 1.0, rng.normal(size=n)
    order = twin.order(labels, None, offsets)
    pi, total = twin.rankboost_potentials(scores, labels, order, np.ones(len(offsets) - 1), offsets)
    jumps = twin.stump_dcg(codes, labels, offsets, 1 / np.log2(2 + np.arange(10)))
    tied = twin.order(np.round(scores), None, offsets)
    return (
        codes, pi, np.array([total]), twin.stump_sums(codes, pi, None),
        twin.stump_sums(codes, pi, jumps[0]), *jumps,
        twin.tied_precision_sum(labels > 2, tied, np.round(scores), offsets, 20),
        twin.tied_discounted_sum(labels, np.round(scores), offsets, np.ones(20)),
    )  # fmt: skip


def test_threads_change_nothing():
    n_queries = 3000 if kernels.BACKEND == "native" else 20

    def output(threads):
        with threadpool_limits(threads):
            return [array.tobytes() for array in run_big(kernels, n_queries)]

    assert output(1) == output(2)


def test_many_queries():
    for fast, slow in zip(run_big(kernels, 60), run_big(reference, 60), strict=True):
        assert fast == pytest.approx(slow, rel=1e-9, abs=1e-11)


# Tied average precision.


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6),
    st.integers(1, 7),
)
@settings(max_examples=60)
def test_tied_sums_are_means_over_all_orders(documents, depth):
    scores, relevant = (np.array(column) for column in zip(*documents, strict=True))
    offsets, discount = np.array([0, len(scores)]), 1 / np.log2(2 + np.arange(depth))
    orders = [
        np.array(order)
        for order in itertools.permutations(range(len(scores)))
        if (np.diff(scores[list(order)]) <= 0).all()
    ]
    mean = np.mean([kernels.precision_sum(relevant, o, offsets, depth)[0] for o in orders])
    tied = kernels.tied_precision_sum(relevant, orders[0], scores * 1.0, offsets, depth)
    assert tied[0] == pytest.approx(mean, abs=1e-12)
    mean = np.mean([kernels.discounted_sum(relevant, o, offsets, discount)[0] for o in orders])
    tied = kernels.tied_discounted_sum(relevant, scores * 1.0, offsets, discount)
    assert tied[0] == pytest.approx(mean, abs=1e-12)


def test_average_precision_of_a_constant():
    data = RankingData.from_arrays([[0.0]] * 3, [1, 0, 0], qid=[1] * 3)
    result = evaluate(data, np.zeros(3), ["MAP(ties='average')", "MAP"])
    assert result["MAP(ties='average')"].mean == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert result["MAP"].mean == 1


# Thresholds.


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), max_size=60), st.integers(1, 12))
def test_thresholds_separate_values(values, most):
    values = np.array(values)
    cuts = feature_thresholds(values, most)
    finite = np.unique(values[~np.isnan(values)])
    assert len(cuts) == min(len(cuts), most)
    assert (np.diff(cuts) > 0).all()
    sides = {tuple((finite > c).tolist()) for c in cuts}
    assert len(sides) == len(cuts)  # each cut is a split of its own
    assert all(0 < sum(side) < len(side) for side in sides)
    if len(finite) - 1 <= most:
        assert len(cuts) == max(0, len(finite) - 1)


def test_thresholds_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(5000) < 0.8, 0.0, rng.random(5000))
    cuts = feature_thresholds(values, 100)
    assert cuts.tobytes() == feature_thresholds(rng.permutation(values), 100).tobytes()
    # Four fifths of the rows are 0, which takes one bin: the others share the cuts that are left.
    assert len(cuts) > 95
    bins = np.bincount(np.searchsorted(cuts, values[values > 0]))
    assert bins[1:].max() < 3 * 1000 / 100


def test_neighbouring_doubles_are_told_apart():
    values = np.array([1.0, np.nextafter(1.0, 2.0), 1e308, -1e308, 5e-324, 0.0])
    cuts = feature_thresholds(values, 255)
    assert len(np.unique(np.searchsorted(cuts, values, side="left"))) == 6


@pytest.mark.parametrize("wrong", [0, 256])
def test_a_bin_is_a_byte(wrong):
    with pytest.raises(UsageError, match=f"1 to 255 thresholds per feature, got {wrong}"):
        BinnedFeatures.from_features(np.zeros((2, 1)), wrong)


def test_missing_values_are_above_nothing():
    X = np.array([[np.nan], [0.0], [1.0]])
    binned = BinnedFeatures.from_features(X)
    assert binned.codes.tolist() == [[0, 0, 1]]
    scores = sum_of_rounds([Round(0, 0.5, 2.0, 1.0)], 1).predict(X)
    assert np.array_equal(scores, [np.nan, 0, 2], equal_nan=True)  # refused by the ranker


# RankBoost.

FIVE_LABELS = [2, 1, 1, 0, 0]
FIVE = np.array([[3, 1], [2, 0], [0, 1], [1, 0], [0, 0.0]])  # documents a b c d e
FIVE_PAIRS = ["ab", "ac", "ad", "ae", "bd", "be", "cd", "ce"]


def test_rankboost_on_five_documents():
    data = RankingData.from_arrays(FIVE, FIVE_LABELS, qid=[1] * 5)
    first, second = rankboost(data, n_rounds=2)
    # [x0 > 1.5] = {a, b} puts ac ad ae bd be right and none wrong. So does [x1 > .5] = {a, c} with
    # ab ad ae cd ce: equal edges, the lower feature.
    alpha = half_log_odds(5 / 8)
    assert first == (0, 1.5, pytest.approx(alpha), pytest.approx((5 * np.exp(-alpha) + 3) / 8))
    # Now ac ad ae bd be weigh exp(-alpha), ab cd ce 1; {a, c} puts ab cd ce and ad ae right.
    r = (3 + 2 * np.exp(-alpha)) / (3 + 5 * np.exp(-alpha))
    beta = half_log_odds(r)
    loss = (3 * np.exp(-beta) + 3 * np.exp(-alpha) + 2 * np.exp(-alpha - beta)) / 8
    assert second == (1, 0.5, pytest.approx(beta), pytest.approx(loss))


def test_a_feature_that_counts_downwards_gets_a_negative_weight():
    data = RankingData.from_arrays([[1.0], [2.0], [3.0]], [2, 1, 0], qid=[1] * 3)
    (first,) = rankboost(data, n_rounds=1)
    assert first[:3] == (0, 1.5, pytest.approx(half_log_odds(-2 / 3)))


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.integers(0))
@settings(max_examples=30)
def test_potentials_are_sums_over_pairs(sizes, seed):
    rng = np.random.default_rng(seed)
    data = ragged(rng, sizes, query_weight=rng.random(len(sizes)) + 0.1)
    scores = rng.normal(size=len(data)) * 3
    D = {}
    for q, rows in enumerate(data.groups.slices()):
        for u, v in itertools.product(range(rows.start, rows.stop), repeat=2):
            if data.y[u] > data.y[v]:
                D[u, v] = data.query_weight[q] * np.exp(scores[v] - scores[u])
    pairs = WeightedPairs(data, data.y)
    assert pairs.exist == bool(D)
    potentials, loss = pairs(scores)
    expected = np.zeros(len(data))
    for (u, v), d in D.items():
        expected[u] += d / sum(D.values())
        expected[v] -= d / sum(D.values())
    assert potentials == pytest.approx(expected, abs=1e-12)
    codes = data.groups.codes
    count = sum(data.query_weight[codes[u]] for u, _ in D)
    assert loss == pytest.approx(sum(D.values()) / count if D else 0.0)


LABELLINGS = {
    "three grades": lambda rng, n: rng.integers(0, 3, n),
    "fifty grades": lambda rng, n: rng.integers(0, 50, n),
    "real values": lambda rng, n: rng.random(n),
}


@pytest.mark.parametrize("labelling", LABELLINGS)
def test_the_loss_falls_by_the_bound_or_more(labelling):
    rng = np.random.default_rng(1)
    data = ragged(rng, [30] * 20, d=5)
    data = data.with_labels(LABELLINGS[labelling](rng, len(data)))
    before = 1.0
    for n, (_, _, alpha, loss) in enumerate(rankboost(data, n_rounds=30)):
        r = np.tanh(alpha)
        assert r != 0
        assert loss <= before * np.sqrt(1 - r**2) * (1 + 1e-12), n
        before = loss
    assert before < 0.99


def test_a_perfect_stump_has_a_finite_weight():
    data = RankingData.from_arrays([[1.0], [0.0]], [1, 0], qid=[1, 1])
    rounds = list(rankboost(data, n_rounds=200))  # scores of 2,000: beyond what exp takes
    assert len(rounds) == 200
    assert all(10 < r.alpha < 11 and np.isfinite(r.objective) for r in rounds)
    assert rounds[-1].objective == 0


def test_nothing_to_choose_ends_the_rounds():
    constant = RankingData.from_arrays([[1.0]] * 2, [1, 0], qid=[1, 1])
    assert list(rankboost(constant, n_rounds=5)) == []
    with pytest.raises(DataError, match="different labels"):
        list(rankboost(constant.with_labels([1, 1]), n_rounds=5))


def test_fewer_thresholds():
    data = make_synthetic(n_queries=20, seed=0)
    used = {(r.feature, r.threshold) for r in rankboost(data, n_rounds=50, n_thresholds=1)}
    assert len(used) <= data.n_features


# AdaRank.


def two_queries(**options):
    """Relevant are a of a, b, c and d of d, e."""
    X = np.array([[3, 1], [2, 1], [1, 0], [0, 1], [1, 0.0]])
    return RankingData.from_arrays(X, [1, 0, 0, 1, 0], qid=[1, 1, 1, 2, 2], **options)


def test_adarank_on_five_documents():
    first, second = adarank(two_queries(), "MAP", n_rounds=9, max_repeats=1)
    # x1: a shares the first two places with b, E = (1 + 1/2) / 2; d is first, E = 1.
    # x0: a is first, E = 1; d is second, E = 1/2.
    e = (3 / 4 + 1) / 2
    assert e > (1 + 1 / 2) / 2
    after = (np.exp(-3 / 4) + np.exp(-1)) / 2
    assert first == (1, None, pytest.approx(half_log_odds(e)), pytest.approx(after))
    # P prop. to exp(-E(f)), f = x1; x1 may not be taken twice.
    P = np.exp([-3 / 4, -1]) / np.exp([-3 / 4, -1]).sum()
    alpha = 0.5 * np.log(P @ (1 + np.array([1, 0.5])) / (P @ (1 - np.array([1, 0.5]))))
    # f = alpha_1 x1 + alpha_2 x0 ranks a first; alpha_1 > alpha_2, so d is first, too.
    assert half_log_odds(e) > alpha
    assert second == (0, None, pytest.approx(alpha), pytest.approx(np.exp(-1)))


def test_adarank_with_query_weights():
    (first,) = adarank(two_queries(query_weight=[3, 1]), "MAP", n_rounds=1)
    assert first[:3] == (0, None, pytest.approx(half_log_odds((3 * 1 + 1 / 2) / 4)))


def test_a_feature_is_barred_after_its_repeats():
    taken = [r.feature for r in adarank(two_queries(), n_rounds=50, max_repeats=3)]
    assert taken == [1, 1, 1, 0, 0, 0]
    assert len(list(adarank(two_queries(), n_rounds=50, max_repeats=None))) == 50


def test_features_may_count_downwards():
    data = RankingData.from_arrays([[1.0], [2.0], [3.0]], [1, 0, 0], qid=[1] * 3)
    assert [r.alpha > 0 for r in adarank(data, n_rounds=1)] == [True]
    assert [r.alpha < 0 for r in adarank(data, n_rounds=1, reverse=True)] == [True]


def test_a_constant_feature_is_not_perfect():
    # In the order of the rows every relevant document comes first; noise is as good as chance.
    rng = np.random.default_rng(0)
    y = np.tile([1, 0, 0, 0], 50)
    X = np.column_stack([np.ones(200), rng.random(200) + 0.3 * y])
    data = RankingData.from_arrays(X, y, qid=np.repeat(np.arange(50), 4))
    for metric in ("MAP", "NDCG@10", "P@1", "MRR"):
        (first,) = adarank(data, metric, n_rounds=1)
        assert first.feature == 1
    (first,) = rankboost(data, n_rounds=1)
    assert first.feature == 1


def test_queries_without_an_answer_carry_nothing():
    plain = two_queries()
    more = RankingData.from_arrays(
        np.vstack([plain.X, [[9, 0], [0, 9]]]), [*plain.y, 0, 0], qid=[1, 1, 1, 2, 2, 3, 3]
    )
    assert list(adarank(more, n_rounds=4)) == list(adarank(plain, n_rounds=4))
    with pytest.raises(DataError, match=r"^MAP.* has no value for any query"):
        list(adarank(plain.with_labels(np.zeros(5)), n_rounds=1))


def test_a_measure_without_bounds_is_refused():
    with pytest.raises(UsageError, match="from -1 to 1, got DCG"):
        list(adarank(two_queries().with_labels([3, 0, 0, 3, 0]), "DCG", n_rounds=1))


# FocusedBoost.


def truth(seed=0, sizes=(6, 4, 1, 9, 2, 3), k=3, d=4):
    rng = np.random.default_rng(seed)
    return draw_truth(ragged(rng, list(sizes), d=d), k=k, seed=seed)


def test_the_list_term_on_three_documents():
    data = RankingData.from_arrays([[0.0]] * 4, [3, 2, 1, 0], qid=[1] * 4, topk=3)
    gains, discount = np.array([7, 3, 1.0]), 1 / np.log2([2, 3, 4])
    ideal, random = gains @ discount, gains.mean() * discount.sum()
    top = TopkOrder(data)
    swapped = gains[[1, 0, 2]] @ discount
    assert top(np.array([1.0, 2, 0, 5])) == pytest.approx((swapped - random) / (ideal - random))
    first = 7 * discount[0] + 2 * (discount[1] + discount[2])
    assert top(np.array([1.0, 0, 0, 5])) == pytest.approx((first - random) / (ideal - random))


@given(st.integers(0, 2**32), st.integers(2, 8))
@settings(max_examples=20)
def test_edges_are_those_of_every_weak_ranker(seed, k):
    data = truth(seed, k=k)
    rng = np.random.default_rng(seed)
    top, pairs = TopkOrder(data), WeightedPairs(data, (data.y > 0) * 1.0)
    D, scores = rng.random(data.n_queries), rng.normal(size=len(data))
    potentials, _ = pairs(scores)
    stumps, features = StumpCandidates(data.X, top, 7), FeatureCandidates(data.X, top)
    for family in (stumps, features):
        on_lists, between = family.edges(D, potentials)
        for f in range(data.n_features):
            for t in range(len(stumps.binned.thresholds(f)) if family is stumps else 1):
                for complement in (0, 1):
                    at = (f, t, complement)
                    feature, threshold, values, scale = family.choose(at)
                    assert feature == f
                    h = scale * values
                    assert np.ptp(h) <= 1 + 1e-12
                    assert on_lists[at] == pytest.approx(D @ top(h), abs=1e-10)
                    assert between[at] == pytest.approx(potentials @ h, abs=1e-10)
                    if threshold is not None:
                        assert (values == (data.X[:, f] > threshold)).all()


def test_pairs_alone_are_rankboost():
    data = truth(2, sizes=[12] * 10)
    focused = list(focused_boost(data, 0.0, n_rounds=10, shrinkage=1.0, weak="threshold"))
    plain = rankboost(data.with_labels((data.y > 0) * 1.0), n_rounds=10)
    for one, other in zip(focused, plain, strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize("weak", ["feature", "threshold"])
def test_both_losses_fall(weak):
    data = draw_truth(make_synthetic(n_queries=100, seed=0), k=5)
    for beta in (0.0, 0.5, 1.0):
        rounds = list(focused_boost(data, beta, n_rounds=30, weak=weak))
        losses = [1.0, *(r.objective for r in rounds)]
        assert losses[-1] < losses[1] < 1
        if beta == 0:  # an exponential bound holds for pairs; lists jump
            assert all(b < a for a, b in itertools.pairwise(losses))
    linear = [r.threshold is None for r in rounds]
    assert all(linear) if weak == "feature" else not any(linear)


def test_shrinkage_takes_a_part():
    data = truth(4, sizes=[12] * 10)
    (whole,), (part,) = (
        list(focused_boost(data, n_rounds=1, shrinkage=s, weak="threshold")) for s in (1.0, 0.1)
    )
    assert part.alpha == pytest.approx(0.1 * whole.alpha)
    assert part[:2] == whole[:2]


def test_where_there_is_no_rest_the_list_counts_alone():
    data = truth(5, sizes=[3] * 10, k=3)
    half, alone = (list(focused_boost(data, b, n_rounds=5)) for b in (0.5, 1.0))
    assert half == alone
    assert len(half) == 5


def test_focused_boost_needs_truth():
    data = two_queries()
    with pytest.raises(MissingTruthError, match="draw_truth"):
        list(focused_boost(data, n_rounds=1))
    alike = RankingData.from_arrays([[1.0], [2.0]], [1, 1], qid=[1, 1], topk=1)
    with pytest.raises(DataError, match="different labels"):
        list(focused_boost(alike, n_rounds=1))


def test_a_large_k_does_not_overflow():
    rng = np.random.default_rng(0)
    data = draw_truth(ragged(rng, [1500, 1200]), k=1400)
    rounds = list(focused_boost(data, n_rounds=3))
    assert all(np.isfinite(r.alpha) and 0 < r.objective < 1 for r in rounds)


# What all three have in common.

ALGORITHMS = {
    "rankboost": lambda data: rankboost(data, n_rounds=20),
    "adarank MAP": lambda data: adarank(data, "MAP", n_rounds=20),
    "adarank NDCG": lambda data: adarank(data, "NDCG@5", n_rounds=20, reverse=True),
    "focused features": lambda data: focused_boost(data, n_rounds=20, weak="feature"),
    "focused stumps": lambda data: focused_boost(data, n_rounds=20, weak="threshold"),
}


def shuffled(data, rng):
    """The same documents in another order of queries and rows."""
    rows = rng.permutation(len(data))
    return RankingData.from_arrays(
        data.X[rows], data.y[rows], qid=data.groups.codes[rows], topk=data.topk
    )


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_order_of_queries_and_documents_does_not_matter(name):
    data = truth(6, sizes=[*range(1, 25)], k=5)
    rounds = list(ALGORITHMS[name](data))
    other = list(ALGORITHMS[name](shuffled(data, np.random.default_rng(0))))
    assert len(rounds) > 5
    assert [r[:2] for r in rounds] == [r[:2] for r in other]
    assert [r[2:] for r in rounds] == [pytest.approx(r[2:], abs=1e-9) for r in other]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_query_of_weight_two_is_the_query_twice(name):
    data = truth(7, sizes=[8] * 6, k=5)
    twice = np.r_[:48, :8]
    double = RankingData.from_arrays(
        data.X[twice], data.y[twice], qid=np.repeat(np.arange(7), 8), topk=data.topk
    )
    heavy = RankingData.from_arrays(
        data.X, data.y, qid=data.groups.codes, topk=data.topk, query_weight=[2, 1, 1, 1, 1, 1]
    )
    # The same distinct values, so the same thresholds.
    for one, other in zip(ALGORITHMS[name](double), ALGORITHMS[name](heavy), strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], abs=1e-9)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_sum_of_the_rounds(name, dtype):
    data = truth(8, sizes=[10] * 12, k=5)
    data = data.with_features(data.X.astype(dtype))
    rounds = list(ALGORITHMS[name](data))
    expected = np.zeros(len(data))
    for feature, threshold, alpha, _ in rounds:
        x = data.X[:, feature].astype(np.float64)
        expected += alpha * (x if threshold is None else x > threshold)
    assert sum_of_rounds(rounds, data.n_features).predict(data.X) == pytest.approx(
        expected, abs=1e-9
    )
    assert np.ptp(expected) > 0


def test_boosting_learns():
    data = make_synthetic(n_queries=200, seed=0)
    for name in ("rankboost", "adarank NDCG"):
        rounds = list(ALGORITHMS[name](data))
        fitted = evaluate(data, sum_of_rounds(rounds, data.n_features).predict(data.X), "NDCG@10")[
            "NDCG@10"
        ].mean
        chance = evaluate(data, np.zeros(len(data)), "NDCG(ties='average')@10")
        assert fitted > chance["NDCG(ties='average')@10"].mean + 0.1


def test_validation_queries_choose_beta():
    """Without beta, the best round of the three values is kept: the first of them if they are equal."""
    data = make_synthetic(n_queries=60, n_docs=30, n_features=8, noise=1.0, seed=3)
    train, valid = data.subset(range(40)), data.subset(range(40, 60))
    settings = {"k": 3, "rounds": 40}
    chosen = FocusedBoost(**settings).fit(train, valid=valid)
    single = {b: FocusedBoost(**settings, beta=b).fit(train, valid=valid) for b in (0.1, 0.5, 1.0)}
    values = {b: ranker.score(valid) for b, ranker in single.items()}
    assert chosen.beta_ == max(values, key=values.get)
    assert len(set(values.values())) > 1
    assert np.array_equal(chosen.predict(data), single[chosen.beta_].predict(data))
    assert len(chosen.history_) == sum(len(ranker.history_) for ranker in single.values())


def test_without_validation_queries_beta_is_a_tenth():
    data = make_synthetic(n_queries=20, n_docs=15, n_features=4, seed=3)
    free, fixed = (FocusedBoost(k=3, rounds=10, beta=b).fit(data) for b in (None, 0.1))
    assert free.beta_ == 0.1
    assert np.array_equal(free.predict(data), fixed.predict(data))

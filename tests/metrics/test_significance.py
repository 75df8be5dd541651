"""Paired tests, bootstrap intervals and corrections, against scipy and by hand."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from podium.errors import DataError, LengthMismatchError, UnknownNameError, UsageError
from podium.experiments.summary import intervals
from podium.metrics import (
    CORRECTIONS,
    TESTS,
    bootstrap_interval,
    bootstrap_intervals,
    correct,
    paired_test,
)


def pairs(seed, n, shift=0.0):
    rng = np.random.default_rng(seed)
    a = rng.random(n)
    return a, a + 0.1 * rng.standard_normal(n) - shift


def enumerated(difference):
    """The p-value by going through all signs, in whole numbers."""
    observed = abs(sum(difference))
    signs = itertools.product((1, -1), repeat=len(difference))
    sums = [abs(sum(s * d for s, d in zip(flip, difference, strict=True))) for flip in signs]
    return sum(total >= observed for total in sums) / len(sums)


# t


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 3, 10, 200])
def test_t_is_scipy_s(seed, n):
    a, b = pairs(seed, n, shift=0.02)
    expected = scipy.stats.ttest_rel(a, b)
    got = paired_test(a, b, "t")
    assert got.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert got.difference == pytest.approx(np.mean(a - b), rel=1e-12)
    assert (got.method, got.n_queries) == ("t", n)


def test_t_without_spread():
    assert paired_test([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], "t").p_value == 1.0
    assert paired_test([1.0, 1.0, 1.0], [0.5, 0.5, 0.5], "t").p_value == 0.0


# permutation


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 5, 9])
def test_small_permutation_tests_are_scipy_s_exact_ones(seed, n):
    a, b = pairs(seed, n, shift=0.03)
    expected = scipy.stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert paired_test(a, b, "permutation").p_value == pytest.approx(expected.pvalue, rel=1e-12)


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=9))
def test_small_permutation_tests_go_through_all_signs(whole):
    p = paired_test(whole, np.zeros(len(whole))).p_value
    assert p == pytest.approx(enumerated(whole), abs=1e-15)


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=9))
def test_rounding_does_not_decide_which_signs_are_as_extreme(whole):
    tenths = np.array(whole) / 10
    assert paired_test(tenths, np.zeros(len(whole))).p_value == enumerated(whole)


def test_differences_that_cancel_are_no_difference():
    assert paired_test([0.1] * 3, [0.2, 0.2, -0.1]).p_value == 1.0
    assert paired_test([0.1] * 3 + [-0.1] * 3, [0.0] * 6).p_value == 1.0


def test_permutation_by_hand():
    # 4 of 4 queries won: of 16 flips only the two one-sided ones are as extreme
    got = paired_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.6, 0.7])
    assert got.p_value == 2 / 16
    assert got.method == "permutation"


def test_drawn_permutations_come_near_the_exact_value():
    a, b = pairs(3, 12, shift=0.05)
    exact = paired_test(a, b, resamples=2**12).p_value
    drawn = paired_test(a, b, resamples=2**12 - 1).p_value
    error = math.sqrt(exact * (1 - exact) / 2**12)
    assert 0.001 < exact < 0.999
    assert drawn != exact
    assert abs(drawn - exact) < 5 * error + 1 / 2**12


def test_a_drawn_p_value_is_never_0():
    a = np.arange(1, 101) / 100
    assert paired_test(a, np.zeros(100), resamples=99).p_value == 1 / (99 + 1)


def test_same_seed_same_value():
    a, b = pairs(0, 60)
    first = paired_test(a, b, resamples=500, seed=7)
    assert first == paired_test(a, b, resamples=500, seed=7)
    values = {paired_test(a, b, resamples=500, seed=seed).p_value for seed in range(20)}
    assert len(values) > 1


@pytest.mark.parametrize("method", TESTS)
def test_no_difference_at_all(method):
    got = paired_test([0.1] * 50, [0.1] * 50, method)
    assert got.p_value == 1.0
    assert (got.difference, got.wins, got.ties, got.losses) == (0.0, 0, 50, 0)


@pytest.mark.parametrize("method", TESTS)
def test_p_values_are_uniform_where_nothing_differs(method):
    rng = np.random.default_rng(1)
    zero = np.zeros(30)
    p = [
        paired_test(rng.standard_normal(30), zero, method, resamples=400, seed=i).p_value
        for i in range(300)
    ]
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.09


@pytest.mark.parametrize("method", TESTS)
def test_a_clear_difference_is_seen_from_either_side(method):
    a, b = pairs(0, 100, shift=0.2)
    better, worse = paired_test(a, b, method), paired_test(b, a, method)
    assert better.p_value == worse.p_value < 0.001
    assert better.difference == -worse.difference > 0
    assert (better.wins, better.losses) == (worse.losses, worse.wins)


def test_large_inputs_are_drawn_in_batches():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(50_000)
    got = paired_test(a, np.zeros(len(a)), resamples=200)
    assert got.p_value == pytest.approx(scipy.stats.ttest_1samp(a, 0).pvalue, abs=0.15)


@pytest.mark.parametrize("method", TESTS)
def test_queries_without_a_value_are_left_out(method):
    a = np.array([0.9, np.nan, 0.7, 0.4, 0.2])
    b = np.array([0.5, 0.3, 0.8, np.nan, 0.1])
    got = paired_test(a, b, method)
    assert got == paired_test([0.9, 0.7, 0.2], [0.5, 0.8, 0.1], method)
    assert (got.n_queries, got.wins, got.ties, got.losses) == (3, 2, 0, 1)


@pytest.mark.parametrize(
    ("a", "b"), [([1, 2, 3], [1, 2]), ([[1, 2]], [[1, 2]]), (1.0, 1.0), ([1, 2], [[1, 2]])]
)
def test_values_of_the_same_queries(a, b):
    with pytest.raises(LengthMismatchError, match="equally long"):
        paired_test(a, b)


@pytest.mark.parametrize("a", [[], [1.0], [1.0, math.nan]])
def test_two_queries_at_least(a):
    with pytest.raises(DataError, match="at least 2 queries"):
        paired_test(a, [0.0] * len(a))


def test_unknown_test():
    with pytest.raises(UnknownNameError, match="permutation"):
        paired_test([1, 2], [1, 3], "permutations")


@pytest.mark.parametrize("resamples", [0, -5])
def test_at_least_one_resample(resamples):
    a, b = pairs(0, 40)
    with pytest.raises(UsageError, match="resamples"):
        paired_test(a, b, resamples=resamples)
    with pytest.raises(UsageError, match="resamples"):
        bootstrap_interval(a, resamples=resamples)


# bootstrap


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_cover_the_mean_about_as_often_as_they_say(level):
    rng = np.random.default_rng(5)
    covered = 0
    for i in range(300):
        interval = bootstrap_interval(rng.normal(0.5, 0.2, 60), level, resamples=300, seed=i)
        covered += interval.low <= 0.5 <= interval.high
    # three standard errors of the count, and 2 points that percentile intervals fall short
    assert abs(covered / 300 - level) < 0.02 + 3 * math.sqrt(level * (1 - level) / 300)


def test_interval_is_near_the_normal_one():
    values = np.random.default_rng(0).random(400)
    half = 1.96 * values.std() / math.sqrt(400)
    interval = bootstrap_interval(values)
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)
    assert interval.level == 0.95


def test_wider_levels_are_wider():
    values = np.random.default_rng(0).random(50)
    narrow, wide = bootstrap_interval(values, 0.5), bootstrap_interval(values, 0.99)
    assert wide.low < narrow.low < values.mean() < narrow.high < wide.high


def test_interval_of_one_value_is_that_value():
    interval = bootstrap_interval([0.25, math.nan, 0.25], resamples=50)
    assert (interval.low, interval.high) == (0.25, 0.25)


def test_interval_same_seed_same_bounds():
    values = np.random.default_rng(0).random(30)
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, math.nan])
def test_levels_lie_between_0_and_1(level):
    with pytest.raises(UsageError, match="level"):
        bootstrap_interval([1, 2, 3], level)


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_interval_needs_a_value(values):
    with pytest.raises(DataError, match="no query has a value"):
        bootstrap_interval(values)


# many comparisons


def test_bonferroni_by_hand():
    got = correct([0.01, 0.04, 0.4], "bonferroni")
    assert got == pytest.approx([3 * 0.01, 3 * 0.04, 1])


def test_holm_by_hand():
    # sorted 0.01 0.02 0.03 0.5 times 4 3 2 1, never falling, at most 1
    got = correct([0.03, 0.01, 0.5, 0.02], "holm")
    assert got == pytest.approx([max(2 * 0.03, 3 * 0.02), 4 * 0.01, 0.5, 3 * 0.02])
    # 3 x 0.03 = 0.09 holds up 2 x 0.04 = 0.08
    assert correct([0.01, 0.03, 0.04, 0.9]) == pytest.approx([4 * 0.01, 3 * 0.03, 3 * 0.03, 0.9])


def test_benjamini_hochberg_by_hand():
    # sorted 0.01 0.02 0.03 0.5 times 4/1 4/2 4/3 4/4, never above the next
    got = correct([0.03, 0.01, 0.5, 0.02], "bh")
    assert got == pytest.approx([4 / 3 * 0.03, 4 / 3 * 0.03, 0.5, 4 / 3 * 0.03])


def test_no_correction():
    assert correct([0.01, 0.2], "none") == [0.01, 0.2]


@pytest.mark.parametrize("method", CORRECTIONS)
def test_one_or_no_comparison_needs_no_correction(method):
    assert correct([0.03], method) == pytest.approx([0.03])
    assert correct([], method) == []


P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(P_VALUES)
def test_corrections_raise_p_values_and_keep_their_order(p):
    none, bh, holm, bonferroni = (correct(p, m) for m in ("none", "bh", "holm", "bonferroni"))
    assert none == p
    for a, b in itertools.pairwise([none, bh, holm, bonferroni]):
        assert all(x <= y + 1e-12 for x, y in zip(a, b, strict=True))
    for adjusted in (bh, holm, bonferroni):
        assert max(adjusted) <= 1
        assert all(adjusted[i] <= adjusted[j] + 1e-12 for i in _below(p) for j in _below(p)[i])


def _below(p):
    """For each i, the j whose p-value is larger."""
    return {i: [j for j in range(len(p)) if p[i] < p[j]] for i in range(len(p))}


@given(P_VALUES, st.randoms())
def test_corrections_do_not_see_the_order(p, random):
    places = list(range(len(p)))
    random.shuffle(places)
    assume(places != sorted(places))
    for method in CORRECTIONS:
        adjusted = correct(p, method)
        assert correct([p[i] for i in places], method) == [adjusted[i] for i in places]


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_p_values_lie_between_0_and_1(bad):
    with pytest.raises(DataError, match="p-values from 0 to 1"):
        correct([0.5, bad])


def test_unknown_correction():
    with pytest.raises(UnknownNameError, match="holm"):
        correct([0.5], "holms")


def test_weights_count_as_in_the_mean():
    rng = np.random.default_rng(0)
    a, b, weight = rng.random(8), rng.random(8), rng.random(8)
    test = paired_test(a, b, weight=weight)
    assert test.difference == pytest.approx(np.average(a - b, weights=weight))
    flips = np.array(list(itertools.product([-1, 1], repeat=8)))
    sums = np.abs(flips @ ((a - b) * weight))
    assert test.p_value == np.mean(sums >= abs(np.sum((a - b) * weight)) - 1e-12)
    interval = bootstrap_interval(a, weight=weight)
    assert interval.low < np.average(a, weights=weight) < interval.high
    equal = paired_test(a, b, weight=np.full(8, 3.0))
    assert equal.p_value == paired_test(a, b).p_value


def test_intervals_are_quantiles_of_resampled_means():
    rng = np.random.default_rng(0)
    values, weight = rng.random((3, 40)), rng.integers(1, 4, 40).astype(float)
    values[1, ::5] = math.nan
    found = bootstrap_intervals(values, 0.9, weight=weight, resamples=12_000, seed=5)
    for column, interval in zip(values, found, strict=True):
        known = ~np.isnan(column)
        v, w = column[known], weight[known]
        drawn = np.random.default_rng(5).integers(0, len(v), (12_000, len(v)))
        means = (v * w)[drawn].sum(axis=1) / w[drawn].sum(axis=1)
        assert (interval.low, interval.high) == pytest.approx(
            tuple(np.quantile(means, [0.05, 0.95]))
        )
        alone = bootstrap_interval(column, 0.9, weight=weight, resamples=12_000, seed=5)
        assert interval == alone
    assert bootstrap_intervals([]) == []


def test_intervals_of_a_comparison_hardly_depend_on_the_seed():
    values = np.random.default_rng(0).random(225)
    ends = [intervals({"a": values}, None, seed)["a"].low for seed in range(20)]
    assert 0 < np.std(ends) < 0.0008  # of 2,000 resamples it is 0.001

"""The kernels of losses: twins agree, combinatorial claims hold by brute force, any scores are safe."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from podium import RankingData, kernels
from podium.kernels import reference
from podium.losses import PairHinge, TopkListMLELoss
from tests.support.case_counts import soak_cases

SIZES = st.lists(st.integers(0, 9), max_size=6)
SCORE = st.floats(-3, 3) | st.sampled_from([0.0, -0.0, 1.0, 1.0, 0.5, -0.5, 2.0])
SCALE = st.sampled_from([1e-9, 1.0, 1.0, 1.0, 40.0, 1e3, 1e5])
SHIFT = st.sampled_from([0.0, 0.0, 1000.0, -1e6])
POSITIVE = st.floats(0, 5) | st.sampled_from([0.0, 1.0, 2.0])
DERIVATIVES = ("values", "gradient", "curvature")


@st.composite
def problems(draw, sizes=SIZES):
    """Everything a kernel may take, for ragged queries with ties and wild scores."""
    sizes = draw(sizes)
    n, offsets = sum(sizes), np.cumsum([0, *sizes], dtype=np.int64)

    def column(values):
        return np.array(draw(st.lists(values, min_size=n, max_size=n)), dtype=np.float64)

    scores = column(SCORE) * draw(SCALE) + draw(SHIFT)
    labels = column(POSITIVE)
    levels = column(st.integers(0, 8)).astype(np.int64)
    for a, b in itertools.pairwise(offsets.tolist()):
        levels[a:b] = np.unique(levels[a:b], return_inverse=True)[1]
    return {
        "scores": scores,
        "labels": labels,
        "chances": column(st.floats(0, 1)),
        "levels": levels,
        "direction": column(SCORE),
        "by_score": reference.order(scores, None, offsets),
        "by_level": reference.order(levels.astype(np.float64), None, offsets),
        "offsets": offsets,
        "stages": np.array([draw(st.integers(0, 12)) for _ in sizes], dtype=np.int64),
        "keys": np.array([draw(st.integers(0, 2**64 - 1)) for _ in range(n)], dtype=np.uint64),
        "mass": np.array([draw(st.sampled_from([0.0, 1.0, 0.25])) for _ in sizes]),
        "discount": 1 / np.log2(2 + np.arange(max([1, *sizes]))),
    }


def calls(d, depth=2, truncation=3):
    """Every kernel with its arguments: name -> (derivatives, product or None)."""
    s, lv, off, x = d["scores"], d["levels"], d["offsets"], d["direction"]
    return {
        "hinge": (
            lambda k: k.hinge_pairs(s, lv, d["by_score"], off, 1),
            None,
        ),
        "squared hinge": (
            lambda k: k.hinge_pairs(s, lv, d["by_score"], off, 2),
            lambda k: k.hinge_pairs_product(s, lv, d["by_score"], off, x),
        ),
        "logistic": (
            lambda k: k.logistic_pairs(s, lv, d["by_level"], off),
            lambda k: k.logistic_pairs_product(s, lv, d["by_level"], off, x),
        ),
        "lambda": (
            lambda k: k.lambda_pairs(
                s, d["labels"], d["by_score"], off, d["discount"], truncation
            ),
            None,
        ),
        "exchanged": (
            lambda k: k.exchanged_pairs(
                s, d["labels"], d["chances"], d["direction"], off, d["discount"][:truncation],
                depth, d["keys"], 1.5, 3, 2**50,
            ),
            None,
        ),
        "softmax": (
            lambda k: k.softmax_cross_entropy(s, d["labels"], off),
            lambda k: k.softmax_cross_entropy_product(s, d["labels"], off, x),
        ),
        "top": (
            lambda k: k.top_cross_entropy(s, d["labels"], d["mass"], off, depth),
            lambda k: k.top_cross_entropy_product(s, d["labels"], d["mass"], off, depth, x),
        ),
        "plackett-luce": (
            lambda k: k.plackett_luce(s, d["by_level"], d["stages"], off),
            lambda k: k.plackett_luce_product(s, d["by_level"], d["stages"], off, x),
        ),
    }  # fmt: skip


def assert_close(a, b, room):
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=room)


@settings(max_examples=soak_cases(150))
@pytest.mark.parametrize("name", list(calls(dict.fromkeys(
    ["scores", "labels", "levels", "direction", "offsets"]))))  # fmt: skip
@given(d=problems())
def test_twins(native, name, d):
    derivatives, product = calls(d)[name]
    # What sums of numbers of this size leave undecided; squares of scores in a squared hinge.
    spread = 1 + np.ptp(d["scores"]) if len(d["scores"]) else 1
    eps = 1e-12 * max(1, np.abs(d["scores"]).max(initial=0))
    for part, a, b in zip(DERIVATIVES, derivatives(native), derivatives(reference), strict=True):
        assert_close(a, b, eps * (spread if part == "values" else 1))
        assert part == "gradient" or (a >= 0).all()
    if product is not None:
        assert_close(product(native), product(reference), 1e-11)


@given(problems())
def test_pairs_without_their_curvature(native, d):
    for k in (native, reference):
        for kernel, third in (
            (partial(k.hinge_pairs, power=1), "by_score"),
            (partial(k.hinge_pairs, power=2), "by_score"),
            (k.logistic_pairs, "by_level"),
        ):
            labels = d["scores"], d["levels"], d[third], d["offsets"]
            values, gradient, curvature = kernel(*labels, curved=False)
            expected = kernel(*labels)
            assert values.tobytes() == expected[0].tobytes()
            assert gradient.tobytes() == expected[1].tobytes()
            assert curvature.shape == (0,)


@given(problems(), st.integers(0, 20))
def test_many_directions_are_multiplied_as_one_by_one(native, d, width):
    s, levels, order, offsets = (d[name] for name in ("scores", "levels", "by_score", "offsets"))
    directions = np.random.default_rng(width).standard_normal((len(s), width))
    for k in (native, reference):
        each = [
            k.hinge_pairs_product(s, levels, order, offsets, np.ascontiguousarray(column))
            for column in directions.T
        ]
        together = k.hinge_pairs_products(s, levels, order, offsets, directions)
        assert_close(together, np.array(each).reshape(width, len(s)).T, 1e-12)


@given(problems(), st.integers(1, 4))
def test_top_cross_entropy_of_any_depth(native, d, depth):
    for a, b in zip(
        calls(d, depth)["top"][0](native), calls(d, depth)["top"][0](reference), strict=True
    ):
        assert_close(a, b, 1e-12 * max(1, np.abs(d["scores"]).max(initial=0)))


@given(problems(), st.integers(1, 12), st.integers(1, 12))
def test_exchanged_pairs_of_any_depth_and_distance(native, d, depth, neighbours):
    for a, b in zip(
        calls(d, neighbours, depth)["exchanged"][0](native),
        calls(d, neighbours, depth)["exchanged"][0](reference),
        strict=True,
    ):
        assert_close(a, b, 1e-10 * max(1, np.abs(d["scores"]).max(initial=0)))


@given(problems(), st.integers(1, 12))
def test_lambda_pairs_of_any_truncation(native, d, truncation):
    for a, b in zip(
        calls(d, truncation=truncation)["lambda"][0](native),
        calls(d, truncation=truncation)["lambda"][0](reference),
        strict=True,
    ):
        assert_close(a, b, 1e-12 * max(1, np.abs(d["scores"]).max(initial=0)))


# Both backends against the definitions.


def log_likelihood(values, prefix):
    """log of Plackett-Luce's probability of an ordered prefix, by its definition."""
    left, total = list(range(len(values))), 0.0
    for j in prefix:
        total += values[j] - math.log(sum(math.exp(values[i]) for i in left))
        left.remove(j)
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_top_cross_entropy_is_the_sum_over_all_prefixes(n, depth):
    rng = np.random.default_rng(n)
    s, y = rng.normal(size=n), rng.integers(0, 3, n).astype(float)
    expected = -sum(
        math.exp(log_likelihood(y, prefix)) * log_likelihood(s, prefix)
        for prefix in itertools.permutations(range(n), min(n, depth))
    )
    value, _, _ = kernels.top_cross_entropy(s, y, np.ones(1), np.array([0, n]), depth)
    assert value[0] == pytest.approx(expected, rel=1e-12)


def test_top_cross_entropy_of_one_choice_is_the_softmax_one():
    rng = np.random.default_rng(3)
    s, y, offsets = rng.normal(size=9), rng.normal(size=9), np.array([0, 4, 9])
    target = np.concatenate([np.exp(y[a:b]) / np.exp(y[a:b]).sum() for a, b in [(0, 4), (4, 9)]])
    for a, b in zip(
        kernels.top_cross_entropy(s, y, np.ones(2), offsets, 1),
        kernels.softmax_cross_entropy(s, target, offsets),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_plackett_luce_probabilities_sum_to_one(n):
    s = np.random.default_rng(n).normal(size=n) * 2
    offsets = np.array([0, n])
    for k in range(1, n + 1):
        total = 0.0
        for prefix in itertools.permutations(range(n), k):
            rest = [j for j in range(n) if j not in prefix]
            order = np.array([*prefix, *rest], dtype=np.int64)
            value, _, _ = kernels.plackett_luce(s, order, np.array([k]), offsets)
            assert value[0] == pytest.approx(-log_likelihood(s, prefix), rel=1e-12, abs=1e-14)
            total += math.exp(-value[0])
        assert total == pytest.approx(1)


def test_hinge_pairs_by_arithmetic():
    # u = 0 against 1 and 2, 1 against 2: margins 0.5, 2.0 and 1.5; only the first is inside.
    s, levels = np.array([2.0, 1.5, 0.0]), np.array([2, 1, 0])
    order, offsets = np.array([0, 1, 2]), np.array([0, 3])
    value, gradient, curvature = kernels.hinge_pairs(s, levels, order, offsets, 2)
    assert (value.tolist(), gradient.tolist()) == ([0.25], [-1.0, 1.0, 0.0])
    assert curvature.tolist() == [2.0, 2.0, 0.0]
    # A margin of exactly 1 is not violated.
    s = np.array([1.0, 0.0, -1.0])
    for power in (1, 2):
        parts = kernels.hinge_pairs(s, levels, order, offsets, power)
        assert [p.tolist() for p in parts] == [[0.0], [0.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_do_not_end_the_process(native, score):
    """A diverged fit hands such scores to the kernel before it is refused."""
    n = 4_000
    data = RankingData.from_arrays(np.zeros((n, 1)), np.arange(n) % 3, qid=np.zeros(n))
    values, gradient = PairHinge().bind(data)(np.full(n, score))
    assert values.shape == (1,)
    assert gradient.shape == (n,)


def test_a_score_that_is_no_number_makes_the_likelihood_none(native):
    data = RankingData.from_arrays(np.zeros((6, 1)), [5, 4, 3, 2, 1, 0], qid=np.zeros(6))
    for place in range(6):
        scores = np.where(np.arange(6) == place, np.nan, 0.5)
        values, _ = TopkListMLELoss(k=2).bind(data)(scores)
        assert np.isnan(values).all()


def test_a_large_common_offset_costs_the_hinge_nothing():
    rng = np.random.default_rng(0)
    s, levels, offsets = rng.integers(-64, 64, 200) / 64, np.arange(200) % 7, np.array([0, 200])
    plain, shifted = (
        kernels.hinge_pairs(x, levels, kernels.order(x, None, offsets), offsets, 2)
        for x in (s, s + 2.0**40)
    )
    for a, b in zip(plain, shifted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("scale", [200.0, 299.0, 301.0, 1e3, 1e5, 1e150])
def test_near_and_far_scores_meet(scale):
    """Where sums of exponentials give way to sums of logarithms nothing jumps."""
    rng = np.random.default_rng(1)
    s = np.append(rng.uniform(0, 1, 30), [0.0, 1.0]) * scale
    levels, offsets = rng.permutation(32), np.array([0, 32])
    order = kernels.order(levels.astype(float), None, offsets)
    for name in ("logistic_pairs", "plackett_luce"):
        third = (levels, order) if name == "logistic_pairs" else (order, np.array([32]))
        for a, b in zip(
            getattr(kernels, name)(s, *third, offsets),
            getattr(reference, name)(s, *third, offsets),
            strict=True,
        ):
            assert np.isfinite(a).all()
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


# The native kernels at work.


def many_queries(n_queries=3000):
    """Lists of 0 to 59 documents and one of 5,000."""
    rng = np.random.default_rng(5)
    offsets = np.cumsum([0, *rng.integers(0, 60, n_queries), 5000]).astype(np.int64)
    n = int(offsets[-1])
    return offsets, rng.normal(size=n), rng.integers(0, 5, n), rng.normal(size=n)


def run_all(k):
    """Every kernel of losses on many queries."""
    offsets, s, levels, d = many_queries()
    y = levels.astype(np.float64)
    by_score, by_level = k.order(s, None, offsets), k.order(y, None, offsets)
    stages, mass = np.diff(offsets), np.ones(len(offsets) - 1)
    few = np.minimum(offsets, offsets[300])
    keys = np.arange(len(s), dtype=np.uint64)
    discount = 1 / np.log2(2 + np.arange(5000))
    return [
        *k.hinge_pairs(s, levels, by_score, offsets, 2),
        k.hinge_pairs_product(s, levels, by_score, offsets, d),
        k.hinge_pairs_products(s, levels, by_score, offsets, np.stack([d, s, y], axis=1)),
        *k.logistic_pairs(s, levels, by_level, offsets),
        k.logistic_pairs_product(s, levels, by_level, offsets, d),
        *k.lambda_pairs(s, y, by_score, offsets, discount, 13),
        *k.exchanged_pairs(s, y, y / 5, y, offsets, discount[:5], 9, keys, 1.0, 5, 7),
        *k.softmax_cross_entropy(s, y, offsets),
        k.softmax_cross_entropy_product(s, y, offsets, d),
        *k.top_cross_entropy(s[: few[-1]], y[: few[-1]], mass, few, 2),
        k.top_cross_entropy_product(s[: few[-1]], y[: few[-1]], mass, few, 2, d[: few[-1]]),
        *k.plackett_luce(s, by_level, stages, offsets),
        k.plackett_luce_product(s, by_level, stages, offsets, d),
    ]


def test_threads_change_nothing(native):
    def output(threads):
        with threadpool_limits(threads):
            return [array.tobytes() for array in run_all(native)]

    assert output(1) == output(2)


def test_a_query_of_twenty_thousand_documents(native):
    rng = np.random.default_rng(0)
    n, offsets = 20_000, np.array([0, 20_000])
    s, levels = rng.normal(size=n), rng.permutation(n)
    y = levels / n
    by_score, by_level = native.order(s, None, offsets), native.order(y, None, offsets)
    hinge = native.hinge_pairs(s, levels, by_score, offsets, 2)
    logistic = native.logistic_pairs(s, levels, by_level, offsets)
    likelihood = native.plackett_luce(s, by_level, np.array([n]), offsets)
    # A document that beats u = rows[i] in level is one of the first i by level.
    row, below = by_level[n // 2], by_level[n // 2 + 1 :]
    above = by_level[: n // 2]
    lost, won = np.maximum(0, 1 - (s[row] - s[below])), np.maximum(0, 1 - (s[above] - s[row]))
    assert hinge[1][row] == pytest.approx(2 * (won.sum() - lost.sum()))
    assert hinge[2][row] == 2 * (np.count_nonzero(lost) + np.count_nonzero(won))
    sigma = np.concatenate(
        [-1 / (1 + np.exp(s[row] - s[below])), 1 / (1 + np.exp(s[above] - s[row]))]
    )
    assert logistic[1][row] == pytest.approx(sigma.sum())
    e = np.exp(s[by_level])
    tails = np.cumsum(e[::-1])[::-1]
    assert likelihood[0][0] == pytest.approx(np.sum(np.log(tails) - s[by_level]))
    discount = 1 / np.log2(2 + np.arange(n))
    value, gradient, _ = native.lambda_pairs(s, y, by_score, offsets, discount, 30)
    assert value[0] > 0
    assert gradient.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("n_best", [1, 2, 3])
@pytest.mark.parametrize("span", [299.9, 300.1])
def test_pairs_that_are_just_near_enough_for_exponentials(native, span, n_best):
    n_rest = 9
    levels = np.repeat([1, 0], [n_best, n_rest]).astype(np.int64)
    scores = span * (1 - levels.astype(np.float64))
    n = np.int64(len(scores))
    value, gradient, curvature = native.logistic_pairs(
        scores, levels, np.arange(n), np.array([0, n])
    )
    assert value == pytest.approx([n_best * n_rest * span])  # log(1 + e^x) = x for such x
    assert gradient.tolist() == pytest.approx([-n_rest] * n_best + [n_best] * n_rest)
    assert curvature.tolist() == pytest.approx([0] * len(scores), abs=1e-100)

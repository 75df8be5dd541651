"""Compositions: counted, listed, ranked, drawn; sums and maxima over them against brute force."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from podium.ensemble import Compositions, CompositionSums, block_spans
from podium.ensemble.cfbrs.compositions import _draw_events, _draw_integer
from podium.errors import UsageError


def brute(n, m, cuts=None):
    """Every way to cut 0..n, by trying all sets of cut points."""
    places = range(1, n) if cuts is None else cuts
    found = []
    for k in range(len(places) + 1):
        for chosen in itertools.combinations(sorted(places), k):
            sizes = tuple(b - a for a, b in itertools.pairwise((0, *chosen, n)))
            if min(sizes) >= m:
                found.append(sizes)
    return sorted(found)


@st.composite
def problems(draw, largest=11):
    n = draw(st.integers(1, largest))
    m = draw(st.integers(1, n))
    inner = st.sets(st.integers(1, n - 1)) if n > 1 else st.just(set())
    cuts = draw(st.none() | inner.map(lambda s: tuple(sorted(s))))
    return n, m, cuts


# --- counting ---


def test_the_counts_of_the_paper():
    assert Compositions(46, 5).count == 51_320
    assert Compositions(46, 10).count == 265
    assert Compositions(46, 20).count == 8
    assert Compositions(46).count == 2**45
    assert Compositions(5).count == 2**4  # the paper leaves one out
    assert Compositions(700).count == 2**699


def test_the_blocks_of_the_paper():
    blocks = Compositions(46, 5).blocks
    assert len(blocks) == 603
    assert all(a == 0 or a >= 5 for a, _ in blocks)
    assert all(b == 46 or 46 - b >= 5 for _, b in blocks)


@pytest.mark.parametrize(("n", "m"), [(46, 5), (46, 1), (30, 7), (12, 12)])
def test_the_number_with_k_blocks_is_a_binomial(n, m):
    # Take m - 1 from each block: any composition of what is left into k.
    want = {k: math.comb(n - k * (m - 1) - 1, k - 1) for k in range(1, n // m + 1)}
    assert Compositions(n, m).counts == want


@given(problems())
def test_all_of_it_is_what_trying_all_cuts_gives(problem):
    every, want = Compositions(*problem), brute(*problem)
    assert list(every) == want
    assert every.count == len(want)
    assert [every.unrank(i) for i in range(every.count)] == want
    assert [every.rank(c) for c in want] == list(range(len(want)))
    assert set(every.blocks) == {b for c in want for b in block_spans(c)}
    assert len(set(every.blocks)) == len(every.blocks)
    assert every.counts == dict(sorted(Counter(map(len, want)).items()))
    assert every.first == want[0]
    for k, count in every.counts.items():
        of_size = [every._unrank_of_size(k, i) for i in range(count)]
        assert of_size == [c for c in want if len(c) == k]


def test_enumeration_is_lazy():
    some = list(itertools.islice(Compositions(700), 3))
    assert some == [(1,) * 700, (*(1,) * 698, 2), (*(1,) * 697, 2, 1)]


def test_ranks_of_700_features():
    every = Compositions(700, 5)
    for index in (0, 1, 10**40, every.count // 3, every.count - 1):
        assert every.rank(every.unrank(index)) == index
    assert every.unrank(every.count - 1) == (700,)


# --- drawing ---


@pytest.mark.parametrize(("n", "m", "cuts"), [(10, 1, None), (14, 3, None), (12, 2, (2, 5, 6, 9))])
def test_draws_are_uniform(n, m, cuts):
    every = Compositions(n, m, cuts)
    drawn = Counter(every.sample(200 * every.count, seed=1))
    assert set(drawn) == set(every)
    assert chisquare(list(drawn.values())).pvalue > 1e-3


def test_draws_of_one_size_are_uniform():
    every = Compositions(14, 3)
    drawn = Counter(every.sample_stratified(20_000, seed=2))
    assert set(drawn) == set(every)
    for k in (2, 3, 4):
        assert chisquare([n for c, n in drawn.items() if len(c) == k]).pvalue > 1e-3


def test_a_draw_that_64_bits_do_not_decide_is_decided_exactly():
    class Words:
        """All bits just at the threshold, then exact draws."""

        def __init__(self, word, low):
            self.word, self.low = word, low

        def integers(self, low, high, size, dtype):
            return np.full(size, self.word, dtype=dtype)

        def bytes(self, n):
            return self.low.to_bytes(n, "little")

    third = 2**64 // 3  # 2^64 / 3 = third + 1/3
    assert _draw_events(1, 3, 2, Words(third, 0)).tolist() == [True, True]
    assert _draw_events(1, 3, 2, Words(third, 1)).tolist() == [False, False]
    assert _draw_events(1, 3, 2, Words(third - 1, 1)).tolist() == [True, True]
    assert _draw_events(1, 3, 2, Words(third + 1, 0)).tolist() == [False, False]


def test_numbers_below_a_bound_are_uniform():
    rng = np.random.default_rng(0)
    drawn = Counter(_draw_integer(37, rng) for _ in range(37 * 200))
    assert set(drawn) == set(range(37))
    assert chisquare(list(drawn.values())).pvalue > 1e-3


@pytest.mark.parametrize("least", [1, 5])
def test_draws_of_700_features(least):
    every = Compositions(700, least)
    drawn = every.sample(50, seed=3)
    assert drawn == every.sample(50, seed=3)
    assert drawn != every.sample(50, seed=4)
    assert all(c in every for c in drawn)


def test_every_number_of_blocks_is_drawn():
    every = Compositions(46, 5)
    assert Counter(map(len, every.sample_stratified(9))) == Counter(range(1, 10))
    only = every.sample_stratified(109, seed=1, probabilities={2: 3.0})
    assert Counter(map(len, only)) == Counter({k: 101 if k == 2 else 1 for k in range(1, 10)})


# --- sums and maxima over all ---


def weights_of(sums, every, g, h):
    number = {b: i for i, b in enumerate(sums.blocks)}
    members = [[number[b] for b in block_spans(c)] for c in every]
    W = [
        (1 if g is None else math.prod(g[some])) * (1 if h is None else sum(h[some]))
        for some in members
    ]
    return members, np.array(W)


@given(problems(), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_shares_are_sums_over_all_compositions(problem, seed, has_products, has_sums):
    every = Compositions(*problem)
    sums, rng = CompositionSums.of(every), np.random.default_rng(seed)
    g = rng.uniform(0.1, 3.0, len(sums.blocks)) if has_products else None
    h = rng.uniform(0.0, 2.0, len(sums.blocks)) + 1e-3 if has_sums else None
    members, W = weights_of(sums, every, g, h)
    want = np.zeros(len(sums.blocks))
    for some, weight in zip(members, W, strict=True):
        want[some] += weight
    np.testing.assert_allclose(sums.shares(g, h), want / W.sum(), rtol=1e-10)


def test_shares_where_no_double_holds_the_count():
    every = Compositions(1100, 1, tuple(range(1, 1100, 25)))
    sums = CompositionSums.of(every)
    g = np.full(len(sums.blocks), 1e200)
    sizes = np.array([b - a for a, b in sums.blocks])
    assert np.sum(sums.shares(g) * sizes) == pytest.approx(1100)  # each feature once in each
    huge = np.full(3, 1e300)
    np.testing.assert_allclose(CompositionSums.of(Compositions(2, 1)).shares(huge), [1, 1e-300, 1])


@given(problems(9), st.integers(0, 10**6), st.integers(1, 6))
def test_the_best_compositions(problem, seed, k):
    every = Compositions(*problem)
    sums = CompositionSums.of(every)
    gains = np.random.default_rng(seed).integers(-3, 4, len(sums.blocks)).astype(float)
    members, _ = weights_of(sums, every, None, None)
    totals = [float(gains[some].sum()) for some in members]
    want = sorted(totals, reverse=True)[:k]
    found = sums.best(gains, k)
    value = dict(zip(every, totals, strict=True))
    assert [value[c] for c in found] == want
    assert len(set(found)) == len(found)


# --- what cannot be ---


@pytest.mark.parametrize(("n", "m"), [(0, 1), (5, 6), (5, 0), (5, -1)])
def test_impossible_blocks(n, m):
    with pytest.raises(UsageError, match=r"expected 1 feature or more|the smallest block must"):
        Compositions(n, m)


def test_places_and_compositions_that_are_none():
    every = Compositions(6, 2)
    for index in (-1, 5):
        with pytest.raises(UsageError, match="a place from 0 to 4"):
            every.unrank(index)
    for wrong in ((1, 5), (6, 0), (3, 4), (), ("a",), (None,), (8, -2), (-2, 8), (3.0, 3.0)):
        with pytest.raises(UsageError, match="blocks of 2 or more that add up to 6"):
            every.rank(wrong)
    with pytest.raises(UsageError, match="3 compositions or more"):
        every.sample_stratified(2)
    with pytest.raises(UsageError, match="at least one of them above 0"):
        every.sample_stratified(5, probabilities={1: 0.0})
    with pytest.raises(UsageError, match="got one for 7"):
        every.sample_stratified(5, probabilities={7: 1.0})
    with pytest.raises(UsageError, match="0 compositions or more to draw, got -1"):
        every.sample(-1)
    assert every.sample(0) == []


@pytest.mark.parametrize("cut", [-1, 0, 6, 9])
def test_cuts_outside(cut):
    with pytest.raises(UsageError, match=f"cuts between 0 and 6, got one at {cut}"):
        Compositions(6, 2, (2, cut))

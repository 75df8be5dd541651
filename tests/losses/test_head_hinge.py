"""Losses of the head of a list: brute force over all rankings, convexity, and the twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.data import RankingData, make_synthetic
from podium.errors import UsageError
from podium.kernels import reference
from podium.losses import HeadHinge
from podium.losses.head_hinge import head_measure
from podium.metrics import evaluate
from tests.support.backends import BACKENDS, backends


def query(labels, X=None):
    n = len(labels)
    return RankingData.from_arrays(np.zeros((n, 1)) if X is None else X, labels, qid=[1] * n)


def draw(rng, largest=7):
    """A query of up to 7 documents, its loss, an ideal ranking of it, and scores."""
    n = int(rng.integers(2, largest + 1))
    cut = int(rng.integers(1, n + 1))
    measure = f"{rng.choice(['NDCG', 'P'])}@{cut}"
    loss = HeadHinge(measure).bind(query(rng.integers(0, 3, n).astype(float)))
    scores = rng.normal(size=n) * 10 ** rng.uniform(-2, 1)
    if rng.random() < 0.3:
        scores = np.round(scores)  # ties
    ideal = loss.ideal_places(scores if rng.random() < 0.5 else rng.normal(size=n))
    return loss, ideal, scores


def rankings(loss, ideal, scores):
    """(loss, lead) of every ranking, as the definitions say."""
    n, cut = len(scores), int(loss.cuts[0])
    heads = np.array(list(itertools.permutations(range(n), min(cut, n))))
    psi = np.zeros((len(heads), n))
    np.put_along_axis(psi, heads, np.broadcast_to(loss.discount[: heads.shape[1]], heads.shape), 1)
    return 1 - psi @ loss.worth, 1 + (psi - ideal) @ scores


def search(backend, loss, ideal, scores, how, known=0.0):
    cuts = np.where(loss.active, loss.cuts, 0)
    values, gradient, vertices = backend.violated_head(
        scores, loss.worth, ideal, loss.groups.offsets, cuts, loss.discount, how, np.array([known])
    )
    return values[0], gradient, vertices[0]


CASES = 300


def cases(seed):
    rng = np.random.default_rng(seed)
    drawn = (draw(rng) for _ in itertools.count())
    return itertools.islice((case for case in drawn if case[0].active[0]), CASES)


@backends
def test_margin_search_is_the_maximum_over_all_rankings(backend):
    for loss, ideal, scores in cases(0):
        losses, leads = rankings(loss, ideal, scores)
        value, _, vertex = search(backend, loss, ideal, scores, "margin")
        assert value == pytest.approx((losses + leads - 1).max(), abs=1e-9)
        assert vertex == value


@backends
def test_hull_bounds_the_slack_maximum_and_its_vertex_is_nearly_always_that(backend):
    equal = 0
    for loss, ideal, scores in cases(1):
        losses, leads = rankings(loss, ideal, scores)
        most = (losses * leads).max()
        value, _, vertex = search(backend, loss, ideal, scores, "hull")
        assert value >= most - 1e-9 * (1 + most)
        assert vertex <= most + 1e-9 * (1 + most)
        equal += abs(vertex - most) <= 1e-9 * (1 + most)
    assert equal >= 0.95 * CASES


def largest_over_mixtures(losses, leads):
    """max of loss * lead over all mixtures: over pairs of rankings, each at its best share."""
    best = (losses * leads).max()
    for a, b in itertools.permutations(range(len(losses)), 2):
        dloss, dlead = losses[b] - losses[a], leads[b] - leads[a]
        if dloss > 0 > dlead:
            t = np.clip(-(dloss * leads[a] + losses[a] * dlead) / (2 * dloss * dlead), 0, 1)
            best = max(best, (losses[a] + t * dloss) * (leads[a] + t * dlead))
    return best


@backends
def test_hull_search_is_the_maximum_over_all_mixtures(backend):
    rng = np.random.default_rng(2)
    drawn = (draw(rng, largest=4) for _ in itertools.count())
    for loss, ideal, scores in itertools.islice((c for c in drawn if c[0].active[0]), 60):
        most = largest_over_mixtures(*rankings(loss, ideal, scores))
        value, _, _ = search(backend, loss, ideal, scores, "hull")
        assert value == pytest.approx(most, rel=1e-9, abs=1e-9)


@backends
def test_golden_section_finds_rankings_only(backend):
    for loss, ideal, scores in itertools.islice(cases(3), 100):
        losses, leads = rankings(loss, ideal, scores)
        most = (losses * leads).max()
        for known in (0.0, most / 2, most):
            value, _, vertex = search(backend, loss, ideal, scores, "golden", known)
            assert value == vertex
            assert value <= most + 1e-9 * (1 + most)
            assert np.isclose(losses * leads, value, rtol=1e-9, atol=1e-9).any() or value == 0


@pytest.mark.parametrize("how", ["margin", "hull", "golden"])
def test_the_gradient_is_that_of_the_plane_that_touches_at_the_scores(how):
    for loss, ideal, scores in itertools.islice(cases(4), 100):
        losses, _ = rankings(loss, ideal, scores)
        value, gradient, _ = search(BACKENDS[0], loss, ideal, scores, how)
        assert gradient.sum() == pytest.approx(0, abs=1e-9)  # scores count by their differences
        offset = value - gradient @ scores  # the loss of the ranking, or of the mixture
        assert -1e-6 <= offset <= losses.max() + 1e-6


@pytest.mark.parametrize("how", ["margin", "hull"])
def test_held_ideals_make_a_convex_loss(how):
    rng = np.random.default_rng(5)
    for loss, ideal, scores in itertools.islice(cases(6), 100):
        value, gradient, _ = search(BACKENDS[0], loss, ideal, scores, how)
        for scale in (0.01, 0.3, 3.0):
            moved = scores + scale * rng.normal(size=len(scores))
            there, _, _ = search(BACKENDS[0], loss, ideal, moved, how)
            assert there >= value + gradient @ (moved - scores) - 1e-9 * (1 + abs(value))


@pytest.mark.parametrize("how", ["margin", "hull"])
def test_gradients_by_finite_differences(how):
    """Of the own ideal too: where no two scores change places, it is a function like any other."""
    data = make_synthetic(n_queries=12, n_docs=(2, 9), n_features=3, seed=3)
    loss = HeadHinge("NDCG@4", search=how).bind(data)
    rng = np.random.default_rng(0)
    scores, h = rng.normal(size=len(data)), 1e-6
    _, gradient = loss(scores)
    smooth = 0
    for row in range(len(data)):
        step = np.zeros(len(data))
        step[row] = h
        up, down = (loss(scores + s)[0].sum() for s in (step, -step))
        middle = loss(scores)[0].sum()
        if abs(up - 2 * middle + down) < 1e-9:  # else a corner lies within the step
            assert (up - down) / (2 * h) == pytest.approx(gradient[row], abs=1e-4)
            smooth += 1
    assert smooth > 0.9 * len(data)


SIZES = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    SIZES, st.integers(0, 10**6), st.sampled_from(["margin", "hull", "golden"]), st.integers(1, 9)
)
def test_twins(native, sizes, seed, how, cut):
    rng = np.random.default_rng(seed)
    n, offsets = sum(sizes), np.cumsum([0, *sizes], dtype=np.int64)
    scores = rng.normal(size=n) * 10.0 ** rng.integers(-8, 6)
    worth = rng.integers(0, 3, n) / 7
    ideal = rng.random(n)
    for first, last in itertools.pairwise(offsets):  # coefficients sum to the discounts'
        ideal[first:last] *= (1 / np.log2(np.arange(2, 2 + min(cut, last - first)))).sum() / max(
            ideal[first:last].sum(), 1e-9
        )
    cuts = np.minimum(np.array(sizes), cut)
    cuts[rng.random(len(sizes)) < 0.2] = 0
    for q, (first, last) in enumerate(itertools.pairwise(offsets)):
        if np.ptp(worth[first:last]) == 0 if last > first else True:
            cuts[q] = 0
    discount = 1 / np.log2(2.0 + np.arange(max(sizes, default=1) or 1))
    known = rng.random(len(sizes))
    given_ = scores, worth, ideal, offsets, cuts.astype(np.int64), discount, how, known
    one, two = native.violated_head(*given_), reference.violated_head(*given_)
    for a, b in zip((one[0], one[2]), (two[0], two[2]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_long_lists_are_sorted_like_short_ones():
    """Beyond 4096 documents the kernel sorts another way."""
    rng = np.random.default_rng(0)
    data = query(rng.integers(0, 3, 5000).astype(float))
    loss, scores = HeadHinge("NDCG@10").bind(data), rng.normal(size=5000)
    ideal = loss.ideal_places(scores)
    for how in ("margin", "hull", "golden"):
        one = search(BACKENDS[0], loss, ideal, scores, how)
        two = search(reference, loss, ideal, scores, how)
        assert one[0] == pytest.approx(two[0], rel=1e-9)


# The loss.


def test_delta_is_the_loss_in_the_measure():
    """At w = 0 a ranking violates its Delta alone: the most is the measure's range."""
    data = query(np.array([2.0, 0.0, 1.0, 0.0, 0.0]))
    worst = np.array([0.0, 3.0, 1.0, 4.0, 2.0])  # grades 0 0 0 1 2
    for measure in ("NDCG@3", "NDCG@5", "P@2", "P@4", "NDCG(gain='linear')@5", "NDCG"):
        best, low = (evaluate(data, s, measure)[measure].mean for s in (data.y, worst))
        for how in ("margin", "hull"):
            value = HeadHinge(measure, search=how).bind(data)(np.zeros(5))[0][0]
            assert value == pytest.approx(1 - low / best)


def test_own_ideal_orders_ties_by_score():
    data = query(np.array([1.0, 0.0, 1.0, 0.0]))
    loss = HeadHinge("NDCG@3").bind(data)
    d = 1 / np.log2([2, 3, 4])
    assert loss.ideal_places(np.array([0.0, 5.0, 1.0, 6.0])).tolist() == [d[1], 0, d[0], d[2]]
    # The best of all ideal rankings, so the loss is the least over them.
    scores = np.array([0.3, 0.1, 0.9, 0.2])
    least = min(
        loss.most_violated(np.array([d[a], 0, d[1 - a], d[2]]), scores)[0][0] for a in (0, 1)
    )
    assert loss(scores)[0][0] == pytest.approx(least)


def test_mean_ideal_is_cut_at_the_relevant_documents():
    loss = HeadHinge("NDCG@10", ideal="mean").bind(query(np.array([1.0, 0.0, 1.0, 0.0, 2.0])))
    d = 1 / np.log2([2, 3, 4])
    assert loss.cuts.tolist() == [3]
    shared = (d[1] + d[2]) / 2
    np.testing.assert_allclose(loss.ideal_places(np.arange(5.0)), [shared, 0, shared, 0, d[0]])


def test_queries_that_cannot_lose_say_nothing():
    data = RankingData.from_arrays(
        np.zeros((8, 1)), [1, 1, 0, 1, 0, 0, 2, 1], qid=[1, 1, 2, 2, 3, 3, 4, 4]
    )
    # Equal labels; and both places of a query of two are relevant or not whatever the order.
    assert HeadHinge("NDCG@10").bind(data).active.tolist() == [False, True, False, True]
    assert HeadHinge("P@2").bind(data).active.tolist() == [False, False, False, False]
    assert HeadHinge("P@1").bind(data).active.tolist() == [False, True, False, False]
    values, gradient = HeadHinge("P@2").bind(data)(np.arange(8.0))
    assert not values.any()
    assert not gradient.any()


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("MAP", "NDCG@n"),
        ("P", "a cutoff"),
        ("kNDCG@10", "NDCG@n"),
        ("NDCG(gain='rank')@10", "gain exp2 or linear"),
        ("NDGC@10", "unknown metric"),
    ],
)
def test_measures_that_are_no_sum_of_discounted_gains(measure, message):
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        head_measure(measure)


def test_wrong_settings():
    with pytest.raises(UsageError, match="search margin, hull or golden, got 'exact'"):
        HeadHinge(search="exact")
    with pytest.raises(UsageError, match="ideal 'own' or 'mean', got 'best'"):
        HeadHinge(ideal="best")

"""Losses: gradients and curvature by finite differences, values by arithmetic, any data and scores."""

import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from podium import kernels
from podium.data import Groups, RankingData, draw_order, make_synthetic
from podium.errors import GainOverflowError, LengthMismatchError, UnknownNameError, UsageError
from podium.losses import (
    LOSSES,
    FocusedLoss,
    LabelledPairs,
    LambdaRankLoss,
    ListLoss,
    ListMLELoss,
    ListNetLoss,
    Loss,
    PairHinge,
    PairLogistic,
    QueryLoss,
    SquaredLoss,
    TopkListMLELoss,
    YetiLoss,
    make,
)
from podium.losses.pairwise import ScaledPairs

VARIANTS = [
    PairHinge(),
    PairHinge(power=1),
    PairHinge(pairs="mean"),
    PairLogistic(),
    PairLogistic(pairs="sum"),
    ListNetLoss(),
    ListNetLoss(depth=2),
    ListNetLoss(depth=3),
    ListMLELoss(),
    TopkListMLELoss(k=3),
    LambdaRankLoss(),
    LambdaRankLoss(k=2),
    LambdaRankLoss(gain="linear"),
    YetiLoss(),
    YetiLoss(metric="ERR", neighbours=1, draws=3, noise=0.5),
    SquaredLoss(),
    FocusedLoss(k=3),
    FocusedLoss(k=3, beta=0.0),
    FocusedLoss(k=3, beta=1.0),
    FocusedLoss(k=3, list=ListMLELoss(), pair=PairHinge(), beta=0.3),
    FocusedLoss(k=4, list=TopkListMLELoss(k=2), pair=PairHinge(power=1, pairs="mean")),
    FocusedLoss(k=4, list=ListNetLoss(depth=2), pair=PairLogistic(pairs="sum")),
    FocusedLoss(k=4, list=LambdaRankLoss(k=2)),
    FocusedLoss(k=4, list=YetiLoss()),
    FocusedLoss(k=4, list=SquaredLoss()),
    FocusedLoss(k=3, pair=PairHinge(), scale_pairs=True),
    FocusedLoss(k=3, pair=PairHinge(power=1), beta=0.2, scale_pairs=True),
    FocusedLoss(k=4, pair=PairLogistic(pairs="sum"), beta=0.0, scale_pairs=True),
]
ids = [str(loss) for loss in VARIANTS]
each_loss = pytest.mark.parametrize("loss", VARIANTS, ids=ids)


def parts(loss):
    return [loss.list, loss.pair] if isinstance(loss, FocusedLoss) else [loss]


def without(kind):
    """The variants that have no part of this kind."""
    return [v for v in VARIANTS if kind not in map(type, parts(v))]


def used(loss):
    """The parts of a focused loss that carry weight."""
    if isinstance(loss, FocusedLoss):
        return parts(loss)[: 1 if loss.beta == 1 else 2][1 if loss.beta == 0 else 0 :]
    return [loss]


HINGES = (PairHinge(power=1), PairHinge(power=1, pairs="mean"))
SMOOTH = [v for v in VARIANTS if not any(part in HINGES for part in used(v))]
WITH_PRODUCT = [v for v in SMOOTH if not {LambdaRankLoss, YetiLoss} & set(map(type, used(v)))]


def problem(seed=0, sizes=(5, 1, 7, 4, 3, 2), grades=4):
    """Queries with ties, a single document, labels all equal, and a query of nothing but zeros."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.integers(0, grades, len(qid)).astype(float)
    y[qid == 3] = 2.0
    y[qid == 4] = 0.0
    docid = [f"d{i}" for i in range(len(qid))]
    return RankingData.from_arrays(rng.normal(size=(len(qid), 2)), y, qid=qid, docid=docid)


def scores_of(data, scale=1.0, seed=1):
    return np.random.default_rng(seed).normal(size=len(data)) * scale


def jacobian(function, x, step=1e-6):
    """Central differences: a row for each number the function returns."""
    columns = []
    for j in range(len(x)):
        shift = np.zeros(len(x))
        shift[j] = step
        columns.append((function(x + shift) - function(x - shift)) / (2 * step))
    return np.array(columns).T


def test_the_variants_cover_the_registry():
    # see test_structural.py and test_head_hinge.py
    structural = {LOSSES[name] for name in ("svm-map", "svm-order", "head")}
    assert {type(v) for v in VARIANTS} | structural == set(LOSSES.values())
    assert {cls.name: cls for cls in LOSSES.values()} == LOSSES


@each_loss
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_gradient_is_that_of_the_values(loss, scale):
    data = problem()
    bound, s = loss.bind(data), scores_of(data, scale)
    slopes = jacobian(lambda x: bound(x)[0], s)
    assert slopes.sum(axis=0) == pytest.approx(bound(s)[1], abs=2e-7, rel=1e-6)
    # A query's value depends on its own documents only.
    elsewhere = data.groups.codes != np.arange(data.n_queries)[:, None]
    assert (slopes[elsewhere] == 0).all()


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_curvature_is_the_diagonal_of_the_hessian(loss):
    data = problem()
    bound, s = loss.bind(data), scores_of(data)
    hessian = jacobian(lambda x: bound(x)[1], s)
    curvature = bound.curvature(s)
    assert curvature == pytest.approx(np.diag(hessian), abs=1e-7, rel=1e-6)
    assert (curvature >= 0).all()
    for a, b in zip(bound.derivatives(s), (*bound(s), curvature), strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("loss", WITH_PRODUCT, ids=str)
def test_product_is_the_hessian_times_a_direction(loss):
    data = problem()
    bound, s, d = loss.bind(data), scores_of(data), scores_of(data, seed=2)
    hessian = jacobian(lambda x: bound(x)[1], s)
    assert bound.product(s, d) == pytest.approx(hessian @ d, abs=1e-6, rel=1e-6)
    columns = np.array([bound.product(s, e) for e in np.eye(len(s))])
    assert columns == pytest.approx(columns.T, abs=1e-13)
    assert np.diag(columns) == pytest.approx(bound.curvature(s), abs=1e-13)
    assert np.linalg.eigvalsh(columns).min() > -1e-12


@each_loss
def test_a_query_without_contrast_says_nothing(loss):
    data = problem()
    bound = loss.bind(data)
    values, gradient = bound(scores_of(data))
    silent = ~bound.active
    if isinstance(loss, SquaredLoss):
        assert not silent.any()
    else:
        assert silent[[1, 3, 4]].all()  # one document, labels all equal, all zero
        assert not silent[[0, 2]].any()
    assert (values[silent] == 0).all()
    assert (gradient[np.repeat(silent, data.groups.sizes)] == 0).all()
    assert (values[~silent] > 0).all()


@each_loss
@pytest.mark.parametrize("scale", [1e-8, 1e3, 1e5, 1e8])
def test_any_scores_give_finite_numbers(loss, scale):
    data = problem()
    bound = loss.bind(data)
    for s in (scores_of(data, scale), np.sort(scores_of(data, scale)), np.full(len(data), scale)):
        values, gradient = bound(s)
        assert np.isfinite(values).all()
        assert np.isfinite(gradient).all()
        assert (values >= 0).all()
        if loss in SMOOTH:
            assert (bound.curvature(s) >= 0).all()
            assert np.isfinite(bound.curvature(s)).all()
        if loss in WITH_PRODUCT:
            assert np.isfinite(bound.product(s, s)).all()


@pytest.mark.parametrize("loss", without(SquaredLoss), ids=str)  # regression minds the level
def test_a_constant_added_to_the_scores_changes_nothing(loss):
    data = problem()
    bound, s = loss.bind(data), np.round(scores_of(data), 3)
    for shift in (5.0, -1e6):
        for a, b in zip(bound(s), bound(s + shift), strict=True):
            assert a == pytest.approx(b, rel=1e-7, abs=1e-8)
    assert data.groups.reduce(np.add, bound(s)[1]) == pytest.approx(np.zeros(6), abs=1e-12)


# FocusedLoss divides by the value at zero scores, which for LambdaRankLoss depends on the order of ties.
@pytest.mark.parametrize(
    "loss", [LambdaRankLoss(), LambdaRankLoss(k=2), *without(LambdaRankLoss)], ids=str
)
def test_the_order_of_documents_and_queries_does_not_matter(loss):
    data = problem()
    moved = np.random.default_rng(9).permutation(len(data))
    qid = np.asarray(data.qids)[data.groups.codes]
    other = RankingData.from_arrays(
        data.X[moved], data.y[moved], qid=qid[moved], docid=data.docids[moved]
    )
    s = scores_of(data)
    values, gradient = loss.bind(data, seed=4)(s)
    theirs, their_gradient = loss.bind(other, seed=4)(other.regroup(s[moved]))
    queries = [data.qids.tolist().index(q) for q in other.qids]
    assert theirs == pytest.approx(values[queries], abs=1e-12)
    assert other.restore(their_gradient) == pytest.approx(gradient[moved], abs=1e-12)


@pytest.mark.parametrize(
    "loss",
    [v for v in VARIANTS if '"depth": 1' in json.dumps(v.spec()) or v in without(ListNetLoss)],
    ids=str,
)  # fmt: skip
def test_no_hidden_limits(loss):
    """Real-valued labels, hundreds of grades, thousands of documents in a query.

    (All but top-j ListNet, which costs n^j.)
    """
    n = 10_000 if kernels.BACKEND == "native" else 300
    rng = np.random.default_rng(0)
    y = np.round(rng.gamma(1.0, 30.0, n), 1)
    data = RankingData.from_arrays(np.zeros((n, 1)), y, qid=np.zeros(n), docid=list(range(n)))
    bound = loss.bind(data)
    values, gradient = bound(scores_of(data))
    assert values[0] > 0
    assert np.isfinite(gradient).all()
    assert gradient @ y < 0  # on the whole, up with the good ones


# Values by arithmetic.


def single(y, **options):
    y = np.asarray(y, dtype=float)
    return RankingData.from_arrays(np.zeros((len(y), 1)), y, qid=np.zeros(len(y)), **options)


def value(loss, data, scores, seed=0):
    return loss.bind(data, seed)(np.asarray(scores, dtype=float))[0][0]


def test_pair_losses_by_arithmetic():
    data, s = single([2, 1, 1, 0]), [1.0, 0.5, 2.0, 0.0]
    margins = [0.5, -1.0, 1.0, 0.5, 2.0]  # 0-1 0-2 0-3 1-3 2-3
    hinge = sum(max(0, 1 - m) ** 2 for m in margins)
    logistic = sum(math.log(1 + math.exp(-m)) for m in margins)
    assert value(PairHinge(), data, s) == pytest.approx(hinge)
    assert value(PairHinge(pairs="mean"), data, s) == pytest.approx(hinge / 5)
    assert value(PairHinge(power=1), data, s) == pytest.approx(sum(max(0, 1 - m) for m in margins))
    assert value(PairLogistic(pairs="sum"), data, s) == pytest.approx(logistic)
    assert value(PairLogistic(), data, s) == pytest.approx(logistic / 5)


def test_listwise_losses_by_arithmetic():
    data, s = single([2, 0, 1]), [0.1, 0.2, 0.4]
    e, ey = np.exp(s), np.exp([2, 0, 1])
    assert value(ListNetLoss(), data, s) == pytest.approx(-np.log(e / e.sum()) @ (ey / ey.sum()))
    first, second = -math.log(e[0] / e.sum()), -math.log(e[2] / (e[1] + e[2]))
    assert value(ListMLELoss(), data, s) == pytest.approx(first + second)
    assert value(TopkListMLELoss(k=1), data, s) == pytest.approx(first)
    assert value(TopkListMLELoss(k=50), data, s) == pytest.approx(first + second)
    assert value(SquaredLoss(), data, s) == pytest.approx(1.9**2 + 0.2**2 + 0.6**2)


def test_listnet_of_the_whole_list_is_listmle_averaged_over_orders():
    data, s = single([2, 0, 1]), np.array([0.3, -0.2, 0.4])
    total = 0.0
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        ranks = np.argsort(order)
        likelihood = value(ListMLELoss(), single(3.0 - ranks), data.y)
        total += math.exp(-likelihood) * value(ListMLELoss(), single(3.0 - ranks), s)
    assert value(ListNetLoss(depth=3), data, s) == pytest.approx(total)
    assert value(ListNetLoss(depth=2), data, s) == pytest.approx(total)  # the last has no choice
    assert value(ListNetLoss(depth=9), data, s) == pytest.approx(total)


def test_lambdarank_by_arithmetic():
    # Order by score: 1 (gain 1), 0 (gain 3), 2 (gain 0); discounts 1, 1 / log2 3, 1 / 2.
    data, s = single([2, 1, 0]), [0.5, 0.7, 0.1]
    d = [1, 1 / math.log2(3), 0.5]

    def pair(gain, a, b, margin):
        return gain * abs(d[a] - d[b]) * math.log(1 + math.exp(-margin))

    ideal = 3 + d[1]
    pairs = [pair(2, 1, 0, -0.2), pair(3, 1, 2, 0.4), pair(1, 0, 2, 0.6)]
    assert value(LambdaRankLoss(), data, s) == pytest.approx(sum(pairs) / ideal)
    assert value(LambdaRankLoss(k=1), data, s) == pytest.approx(sum(pairs) / 3)  # ideal DCG@1
    linear = [pair(1, 1, 0, -0.2), pair(2, 1, 2, 0.4), pair(1, 0, 2, 0.6)]
    assert value(LambdaRankLoss(gain="linear"), data, s) == pytest.approx(sum(linear) / (2 + d[1]))


def test_lambdarank_looks_at_the_first_k_plus_three():
    y = np.zeros(10)
    y[9] = 1
    s = -np.arange(10.0)  # the relevant document last: its pairs with the first 4 count
    _, gradient = LambdaRankLoss(k=1).bind(single(y))(s)
    assert (gradient[:4] > 0).all()
    assert (gradient[4:9] == 0).all()
    assert gradient[9] == pytest.approx(-gradient[:4].sum())


def test_lambdarank_refuses_gains_no_double_holds():
    with pytest.raises(GainOverflowError, match="up to 1023"):
        LambdaRankLoss().bind(single([1024, 0]))
    assert 0 < value(LambdaRankLoss(), single([1023, 1023, 1020, 0]), np.zeros(4)) < 10
    assert value(LambdaRankLoss(gain="linear"), single([5000, 0]), np.zeros(2)) > 0


def test_focused_by_arithmetic():
    # T = documents 1 and 3 with labels 2 and 1, F = the other three.
    data = single([0, 2, 0, 1, 0], topk=2)
    s = np.array([0.3, 0.5, -0.2, 1.0, 0.0])
    e, p = np.exp(s[[1, 3]]), np.exp([2, 1])
    net = -np.log(e / e.sum()) @ (p / p.sum()) / math.log(2)
    margins = (s[[1, 3]][:, None] - s[[0, 2, 4]]).ravel()
    pairs = np.log1p(np.exp(-margins)).sum() / (6 * math.log(2))
    assert value(FocusedLoss(k=2, beta=0.3), data, s) == pytest.approx(0.3 * net + 0.7 * pairs)
    assert value(FocusedLoss(k=2, beta=1.0), data, s) == pytest.approx(net)
    assert value(FocusedLoss(k=2, beta=0.0), data, s) == pytest.approx(pairs)
    mle = math.log(e.sum() / e[0]) / math.log(2)
    hinge = (np.maximum(0, 1 - margins) ** 2).sum() / 6
    loss = FocusedLoss(list=TopkListMLELoss(), pair=PairHinge(), k=2, beta=0.5)
    assert value(loss, data, s) == pytest.approx((mle + hinge) / 2)


def test_scaled_pairs_by_arithmetic():
    # T = documents 1 and 3 with labels 2 and 1, F = the other three: margins times 2 and times 1.
    data = single([0, 2, 0, 1, 0], topk=2)
    s = np.array([0.3, 0.5, -0.2, 1.0, 0.0])
    scaled = (np.array([2.0, 1.0])[:, None] * (s[[1, 3]][:, None] - s[[0, 2, 4]])).ravel()
    for power in (1, 2):
        hinge = (np.maximum(0, 1 - scaled) ** power).sum() / 6  # 6 pairs cost 1 each at zero scores
        loss = FocusedLoss(pair=PairHinge(power=power), k=2, beta=0.0, scale_pairs=True)
        assert value(loss, data, s) == pytest.approx(hinge)
        plain = FocusedLoss(pair=PairHinge(power=power), k=2, beta=0.0)
        assert value(plain, data, s) != pytest.approx(hinge)
    logistic = np.log1p(np.exp(-scaled)).sum() / (6 * math.log(2))
    assert value(FocusedLoss(k=2, beta=0.0, scale_pairs=True), data, s) == pytest.approx(logistic)


def test_scaling_pairs_of_a_top_1_changes_nothing():
    data, loss = problem(), FocusedLoss(k=1, pair=PairHinge(power=1), beta=0.0)
    bound, scaled = loss.bind(data), replace(loss, scale_pairs=True).bind(data)
    for plain, other in zip(bound(scores_of(data)), scaled(scores_of(data)), strict=True):
        np.testing.assert_allclose(other, plain, atol=1e-12)
    assert scaled.active.tolist() == bound.active.tolist()


@pytest.mark.parametrize("pair_loss", [partial(PairHinge, power=1), PairHinge, PairLogistic])
def test_scaled_pairs_divide_by_all_pairs_of_a_query(pair_loss):
    groups, labels = Groups.from_sizes([5, 3]), np.array([2.0, 1.0, 0, 0, 0, 1.0, 0, 0])
    scores = np.linspace(-0.4, 0.3, 8)
    sums, gradient = ScaledPairs.from_labels(pair_loss(pairs="sum"), groups, labels)(scores)
    means, mean_gradient = ScaledPairs.from_labels(pair_loss(pairs="mean"), groups, labels)(scores)
    counts = np.array([2 * 3, 1 * 2])
    np.testing.assert_allclose(means, sums / counts)
    np.testing.assert_allclose(mean_gradient, gradient / groups.spread(counts))


@pytest.mark.parametrize("scale_pairs", [False, True])
@pytest.mark.parametrize("list_loss", [ListNetLoss(), ListMLELoss(), LambdaRankLoss()], ids=str)
@pytest.mark.parametrize("pair_loss", [PairLogistic(), PairHinge(), PairHinge(power=1)], ids=str)
def test_both_terms_of_focused_start_at_their_weight(list_loss, pair_loss, scale_pairs):
    loss = FocusedLoss(list=list_loss, pair=pair_loss, k=3, beta=0.3, scale_pairs=scale_pairs)
    y = [3, 2, 1, 0, 0, 0, 1, 0, 0, 2, 1, 0, 0]
    qid = [0] * 6 + [1] * 3 + [2] * 2 + [3] * 2
    data = RankingData.from_arrays(np.zeros((13, 1)), y, qid=qid, topk=3)
    bound = loss.bind(data)
    # Both terms; T of one document: pairs only; no F: list only; no T: nothing.
    assert bound(np.zeros(13))[0] == pytest.approx([1.0, 0.7, 0.3, 0.0])
    assert bound.active.tolist() == [True, True, True, False]


def test_focused_cuts_a_larger_truth_and_keeps_a_smaller_one():
    s = scores_of(np.zeros(6))
    five, two = single([5, 4, 3, 2, 1, 0], topk=5), single([2, 1, 0, 0, 0, 0], topk=2)
    assert value(FocusedLoss(k=2), five, s) == pytest.approx(value(FocusedLoss(k=2), two, s))
    assert value(FocusedLoss(k=10), two, s) == pytest.approx(value(FocusedLoss(k=2), two, s))


def test_focused_draws_the_truth_of_grades():
    data = problem()
    loss = FocusedLoss(k=3, list=ListMLELoss())
    s = scores_of(data)
    position = draw_order(data, 7)
    spoken = data.groups.spread(np.array([True, False, True, False, False, True]))
    truth = data.with_labels(np.where(spoken, np.maximum(0, 4 - position), 0), topk=3)
    for a, b in zip(loss.bind(data, 7)(s), loss.bind(truth, 7)(s), strict=True):
        assert a == pytest.approx(b, abs=1e-14)
    assert not np.array_equal(loss.bind(data, 7)(s)[0], loss.bind(data, 8)(s)[0])


def test_listmle_draws_among_equal_labels_by_seed():
    data = problem()
    s = scores_of(data)
    assert np.array_equal(ListMLELoss().bind(data, 3)(s)[1], ListMLELoss().bind(data, 3)(s)[1])
    assert not np.array_equal(ListMLELoss().bind(data, 3)(s)[1], ListMLELoss().bind(data, 4)(s)[1])
    distinct = data.with_labels(np.arange(len(data), dtype=float))
    assert np.array_equal(
        ListMLELoss().bind(distinct, 3)(s)[1], ListMLELoss().bind(distinct, 4)(s)[1]
    )


def test_pairs_rank_labels_within_their_query():
    groups = Groups.from_sizes([3, 0, 4, 1])
    pairs = LabelledPairs.from_labels(groups, np.array([0.1, 1e9, 0.1, 7, 3, 5, 3, 2.0]))
    assert pairs.levels.tolist() == [0, 1, 0, 2, 0, 1, 0, 0]
    assert pairs.counts.tolist() == [2, 0, 5, 0]
    assert pairs.levels[pairs.by_level].tolist() == [1, 0, 0, 2, 1, 0, 0, 0]


# The contract.


def test_products_with_the_same_scores_sort_once(monkeypatch):
    data = problem()
    bound, s = PairHinge().bind(data), scores_of(data)
    sorts = []
    order = Groups.order
    monkeypatch.setattr(Groups, "order", lambda *a, **k: sorts.append(1) or order(*a, **k))
    bound(s)
    first = bound.product(s, s)
    assert np.array_equal(bound.product(s.copy(), s), first)
    assert len(sorts) == 1
    s += np.linspace(0, 3, len(s))  # the same array, other scores
    assert not np.array_equal(bound.product(s, s), first)
    assert len(sorts) == 2


class ListwiseMSE(QueryLoss):
    name = "listwise-mse"

    def query(self, scores, labels):
        gap = (scores - scores.mean()) - (labels - labels.mean())
        return gap @ gap, 2 * gap

    def query_curvature(self, scores, labels):
        return np.full(len(scores), 2 - 2 / len(scores))


class Pointwise(QueryLoss):
    name = "pointwise"
    needs_contrast = False

    def query(self, scores, labels):
        return float(np.sum((scores - labels) ** 2)), 2 * (scores - labels)


def test_a_loss_of_ones_own():
    data = problem()
    bound, s = ListwiseMSE().bind(data), scores_of(data)
    slopes = jacobian(lambda x: bound(x)[0], s)
    assert slopes.sum(axis=0) == pytest.approx(bound(s)[1], abs=1e-7)
    hessian = jacobian(lambda x: bound(x)[1], s)
    assert bound.curvature(s) == pytest.approx(np.diag(hessian), abs=1e-7)
    assert bound.active.tolist() == [True, False, True, False, False, True]
    focused = FocusedLoss(list=ListwiseMSE(), k=3).bind(data)
    assert focused(np.zeros(len(data)))[0][[0, 2]] == pytest.approx([1.0, 1.0])
    for a, b in zip(Pointwise().bind(data)(s), SquaredLoss().bind(data)(s), strict=True):
        assert a == pytest.approx(b)
    with pytest.raises(UsageError, match="pointwise has no curvature; define query_curvature"):
        Pointwise().bind(data).curvature(s)
    with pytest.raises(UsageError, match="BoundQueryLoss has no Hessian product"):
        bound.product(s, s)


def test_a_loss_of_ones_own_with_a_wrong_gradient_is_named():
    class Broken(QueryLoss):
        name = "broken"

        def query(self, scores, labels):
            return 0.0, np.zeros(2)

    with pytest.raises(UsageError, match=r"of broken must have 5 numbers.* got shape \(2,\)"):
        Broken().bind(problem())(np.zeros(22))


@each_loss
def test_specs_are_json_and_come_back(loss):
    assert make(json.loads(json.dumps(loss.spec()))) == loss
    assert make(loss) is loss


def test_names_make_losses():
    assert {name: type(make(name)) for name in LOSSES} == LOSSES
    with pytest.raises(UnknownNameError, match="did you mean listnet"):
        make("listnett")
    with pytest.raises(UsageError, match=r"parameters of the loss listnet.*deepness"):
        make({"name": "listnet", "deepness": 2})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PairHinge(power=3), "power 1 or 2"),
        (lambda: PairLogistic(pairs="all"), "pairs='mean' or 'sum'"),
        (lambda: ListNetLoss(depth=0), "depth to be a whole number of 1 or more"),
        (lambda: TopkListMLELoss(k=2.5), "k to be a whole number of 1 or more"),
        (lambda: LambdaRankLoss(k=0), "k to be a whole number of 1 or more"),
        (lambda: LambdaRankLoss(gain="rank"), "gain 'exp2' or 'linear'"),
        (lambda: FocusedLoss(beta=1.5), "beta from 0 to 1"),
        (lambda: FocusedLoss(k=True), "k to be a whole number of 1 or more"),
        (lambda: FocusedLoss(scale_pairs=1), "scale_pairs True or False, got 1"),
        (lambda: FocusedLoss(list=PairHinge()), "focused needs a ListLoss"),
        (lambda: FocusedLoss(pair=ListNetLoss()), "focused needs a PairLoss"),
    ],
)
def test_wrong_parameters_are_refused(build, message):
    with pytest.raises(UsageError, match=message):
        build()


def test_what_does_not_exist_is_refused():
    data = problem()
    s = scores_of(data)
    for loss in (PairHinge(power=1), FocusedLoss(pair=PairHinge(power=1))):
        with pytest.raises(UsageError, match=r"PairHinge.* has no curvature"):
            loss.bind(data).curvature(s)
        with pytest.raises(UsageError, match=r"PairHinge.* has no Hessian product"):
            loss.bind(data).product(s, s)
    with pytest.raises(UsageError, match=r"LambdaRankLoss.* has no Hessian product"):
        LambdaRankLoss().bind(data).product(s, s)


@each_loss
def test_scores_of_another_length_are_refused(loss):
    bound = loss.bind(problem())
    with pytest.raises(LengthMismatchError, match="expected 22 scores"):
        bound(np.zeros(21))


def test_a_loss_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Loss()


@pytest.mark.parametrize("list_loss", [v for v in VARIANTS if isinstance(v, ListLoss)], ids=str)
def test_a_truth_that_names_nobody_says_nothing(list_loss):
    bound = FocusedLoss(list=list_loss, k=2).bind(single([0, 0, 0], topk=2))
    values, gradient, curvature = bound.derivatives(np.array([1.0, 2.0, 3.0]))
    assert (values.tolist(), gradient.tolist()) == ([0.0], [0.0] * 3)
    assert curvature.tolist() == [0.0] * 3
    assert bound.active.tolist() == [False]


@pytest.mark.parametrize(
    "loss",
    [ListNetLoss(), ListMLELoss(), PairLogistic(), FocusedLoss(k=3), FocusedLoss(k=3, beta=0.0)],
    ids=str,
)
def test_a_pass_over_the_features_equals_the_loss_and_two_products(loss):
    data = make_synthetic(n_queries=12, n_features=4, seed=3)
    w, weight = np.linspace(-1, 1, 4), np.linspace(0.5, 2, data.n_queries)
    bound = loss.bind(data)
    one_pass = bound.linear_pass()
    assert one_pass is not None
    values, gradient = one_pass(data.X, w, None, weight)
    expected, g = bound(data.X @ w)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        gradient, data.X.T @ (g * data.groups.spread(weight)), rtol=1e-10, atol=1e-12
    )


def test_other_focused_losses_have_no_pass():
    data = make_synthetic(n_queries=5, seed=0)
    losses = (
        FocusedLoss(scale_pairs=True),
        FocusedLoss(pair=PairHinge()),
        FocusedLoss(list=ListMLELoss()),
    )
    assert [loss.bind(data).linear_pass() for loss in losses] == [None, None, None]

"""Multi-task ListMLE: the objective, its gradient, its minimum, and what it is with one task."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from podium import kernels
from podium.data import RankingData, draw_truth, make_opposed, make_synthetic
from podium.errors import PodiumError
from podium.multitask import RPCMTL, Orders, Sublists, TasksObjective, draw_orders, fit_tasks
from podium.rankers import ListMLE, TopkListMLE


def rising(rng, sizes, n_clusters):
    """Cluster indices that never fall along a list."""
    return np.concatenate([np.sort(rng.integers(0, n_clusters, n)) for n in sizes])


def problem(seed, sizes, n_clusters=3, n_features=4):
    """Lists of random objects in random clusters, some ordered to a depth only."""
    rng = np.random.default_rng(seed)
    n = int(np.sum(sizes))
    X = rng.standard_normal((n, n_features))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.concatenate([a + rng.permutation(b - a) for a, b in itertools.pairwise(offsets)])
    depth = np.array([rng.integers(1, s + 1) if s else 0 for s in sizes])
    index = rising(rng, sizes, n_clusters)
    return X, Orders(rows, offsets, depth), index.astype(np.int64), rng


ragged = st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(lambda s: max(s) > 1)


def by_hand(X, orders, index, W, lam, l2, weight):
    """Psi as it is written."""
    total, offsets = 0.0, orders.offsets.tolist()
    for i, (a, b) in enumerate(itertools.pairwise(offsets)):
        for k in range(len(W)):
            places = [p for p in range(a, b) if index[p] == k]
            for j, p in enumerate(places):
                if p - a < orders.depth[i] and len(places) > 1:
                    s = X[orders.rows[places[j:]]] @ W[k]
                    total += weight[i] * (np.log(np.exp(s).sum()) - s[0])
    total /= sum(w for w, n in zip(weight, np.diff(orders.offsets), strict=True) if n > 1)
    mean = W.mean(axis=0)
    return total + lam * sum((w - mean) @ (w - mean) for w in W) + l2 / 2 * (W**2).sum()


@given(st.integers(0, 10_000), ragged)
def test_the_objective_is_the_one_written(seed, sizes):
    X, orders, index, rng = problem(seed, sizes)
    W, weight = rng.standard_normal((3, 4)), rng.random(len(sizes)) + 0.5
    objective = TasksObjective(Sublists.of(X, orders, index, 3, weight=weight), lam=0.3, l2=0.2)
    assert objective(W)[0] == pytest.approx(by_hand(X, orders, index, W, 0.3, 0.2, weight))


@given(st.integers(0, 10_000), ragged, st.sampled_from([0.0, 0.7]))
def test_the_gradient_is_that_of_finite_differences(seed, sizes, lam):
    X, orders, index, rng = problem(seed, sizes)
    W = rng.standard_normal((3, 4))
    objective = TasksObjective(Sublists.of(X, orders, index, 3), lam=lam, l2=0.1)
    gradient = objective(W)[1]
    for place in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[place] = 1e-6
        slope = (objective(W + step)[0] - objective(W - step)[0]) / 2e-6
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


# --- sublists ---


def test_lists_are_cut_where_the_cluster_changes():
    orders = Orders(np.array([2, 0, 1, 4, 3]), np.array([0, 3, 5]), np.array([3, 2]))
    found = Sublists.of(np.arange(5.0)[:, None], orders, np.array([0, 0, 2, 0, 2]), 3)
    assert found.rows.tolist() == [2, 0, 4, 1, 3]
    assert found.X[:, 0].tolist() == [2, 0, 4, 1, 3]
    assert found.tasks.sizes.tolist() == [3, 0, 2]
    assert found.parts.sizes.tolist() == [2, 1, 1, 1]
    assert found.lists.tolist() == [0, 1, 0, 1]
    assert found.stages.tolist() == [2, 0, 0, 0]  # one object has no order
    assert found.weight.tolist() == [0.5] * 4


def test_sublists_and_lists_of_equal_labels_say_nothing():
    orders = Orders(np.arange(6), np.array([0, 4, 6]), np.array([4, 2]))
    labels = np.array([2.0, 1.0, 0.0, 0.0, 5.0, 5.0])
    found = Sublists.of(np.eye(6), orders, np.array([0, 0, 1, 1, 0, 0]), 2, labels=labels)
    assert found.parts.sizes.tolist() == [2, 2, 2]
    assert found.stages.tolist() == [2, 0, 0]
    assert found.weight.tolist() == [1.0, 1.0, 1.0]  # one list of the two counts


def test_only_ordered_places_are_choices():
    orders = Orders(np.arange(5), np.array([0, 5]), np.array([3]))
    found = Sublists.of(np.eye(5), orders, np.array([0, 0, 1, 1, 1]), 2)
    assert found.stages.tolist() == [2, 1]


# --- the minimum ---


@pytest.mark.parametrize("weighted", [False, True])
def test_one_task_is_listmle(weighted):
    data = make_synthetic(n_queries=40, n_features=6, seed=3)
    if weighted:
        weight = np.random.default_rng(0).random(40) + 0.1
        qid = np.repeat(data.qids, data.groups.sizes)
        data = RankingData.from_arrays(
            data.X, data.y, qid=qid, docid=data.docids, query_weight=weight
        )
    tasks = fit_tasks(
        data.X, draw_orders(data), np.zeros(len(data), dtype=np.int64), 1, lam=0.5, l2=1e-3,
        weight=data.query_weight, labels=data.y,
    )  # fmt: skip
    want = ListMLE(l2=1e-3).fit(data).model_.weights
    assert tasks.converged
    np.testing.assert_allclose(tasks.W[0], want, atol=1e-6)
    assert np.abs(want).max() > 0.1


def test_one_task_of_top_k_truth_is_topk_listmle():
    data = draw_truth(make_synthetic(n_queries=40, n_features=6, seed=3), k=4)
    index = np.zeros(len(data), dtype=np.int64)
    tasks = fit_tasks(data.X, draw_orders(data), index, 1, l2=1e-3, labels=data.y)
    want = TopkListMLE(k=4, l2=1e-3).fit(data).model_.weights
    np.testing.assert_allclose(tasks.W[0], want, atol=1e-6)


def halves(n_lists=30, seed=0):
    """Opposed lists in three bands."""
    data = make_opposed(n_lists, 12, seed, n_features=5)
    return data, draw_orders(data), np.tile(np.repeat(np.arange(3), 4), n_lists)


def test_without_lambda_tasks_are_fits_of_their_own():
    data, orders, index = halves()
    tasks = fit_tasks(data.X, orders, index, 3, lam=0.0, l2=0.01)
    for k in range(3):
        mine = np.flatnonzero(index == k)
        own = Orders(np.arange(len(mine)), np.arange(0, len(mine) + 1, 4), np.full(30, 4))
        alone = fit_tasks(
            data.X[orders.rows[mine]], own, np.zeros(len(mine), dtype=np.int64), 1, l2=0.01
        )
        np.testing.assert_allclose(tasks.W[k], alone.W[0], atol=1e-4)
    assert tasks.W[0, 1] < 0 < tasks.W[2, 1]  # the top degree is opposed


def test_a_large_lambda_makes_all_tasks_one():
    data, orders, index = halves()
    apart = [
        np.ptp(fit_tasks(data.X, orders, index, 3, lam=lam, l2=0.01).W, axis=0).max()
        for lam in (0.0, 1.0, 1e4)
    ]
    assert apart[0] > 2 * apart[1] > 0
    assert apart[2] < 1e-3


def test_the_minimum_is_a_fixed_point_of_the_papers_two_steps():
    """(11): with mean w held, W is the minimum; and its mean is mean w."""
    data, orders, index = halves()
    objective = TasksObjective(Sublists.of(data.X, orders, index, 3), lam=0.1, l2=0.01)
    W = fit_tasks(data.X, orders, index, 3, lam=0.1, l2=0.01, tol=1e-10).W
    likelihood = objective.sublists(W)[1]
    held = likelihood + 2 * 0.1 * (W - W.mean(axis=0)) + 0.01 * W
    assert np.abs(held).max() < 1e-6 < np.abs(likelihood).max()


def test_stochastic_steps_come_near_the_minimum():
    data, orders, index = halves(100)
    best = fit_tasks(data.X, orders, index, 3, lam=0.1, l2=0.01)
    near = fit_tasks(data.X, orders, index, 3, lam=0.1, l2=0.01, solver="sgd", tol=1e-4)
    assert near.converged
    first = TasksObjective(Sublists.of(data.X, orders, index, 3), 0.1, 0.01)(np.zeros((3, 5)))[0]
    assert near.history[-1] - best.history[-1] < 0.01 * (first - best.history[-1])
    again = fit_tasks(data.X, orders, index, 3, lam=0.1, l2=0.01, solver="sgd", tol=1e-4)
    assert again.W.tobytes() == near.W.tobytes()
    other = fit_tasks(data.X, orders, index, 3, lam=0.1, l2=0.01, solver="sgd", tol=1e-4, seed=1)
    assert not np.array_equal(other.W, near.W)


@pytest.mark.parametrize(("solver", "limit"), [("lbfgs", "the limit is "), ("sgd", "above the ")])
def test_what_is_not_done_says_so(solver, limit):
    data, orders, index = halves()
    seen = []
    found = fit_tasks(
        data.X, orders, index, 3, solver=solver, max_iter=2, tol=1e-12,
        each=lambda i, W, value: seen.append((i, W.shape, value)),
    )  # fmt: skip
    assert not found.converged
    assert limit in found.reason
    assert seen == [(i + 1, (3, 5), value) for i, value in enumerate(found.history)]
    assert len(seen) == 2


def test_a_warm_start_ends_where_a_cold_one_does():
    data, orders, index = halves()
    one = fit_tasks(data.X, orders, index, 3, lam=0.1, l2=0.01, tol=1e-8)
    far = fit_tasks(data.X, orders, index, 3, lam=2.0, l2=0.01)
    two = fit_tasks(data.X, orders, index, 3, lam=0.1, l2=0.01, tol=1e-8, start=far.W)
    np.testing.assert_allclose(one.W, two.W, atol=1e-5)


def test_an_empty_cluster_follows_the_others():
    data, orders, index = halves()
    found = fit_tasks(data.X, orders, np.where(index == 1, 0, index), 3, lam=1.0, l2=0.0)
    np.testing.assert_allclose(found.W[1], (found.W[0] + found.W[2]) / 2, atol=1e-3)


def test_a_cluster_without_choices_gets_the_mean_of_the_others():
    data, orders, _ = halves()
    first = Orders(orders.rows, orders.offsets, np.full(30, 8))  # the last four: a rest
    index = np.tile(np.repeat(np.arange(3), 4), 30)
    sublists = Sublists.of(data.X, first, index, 3)
    W = np.arange(15.0).reshape(3, 5)
    found = sublists.complete(W)
    np.testing.assert_array_equal(found, [W[0], W[1], (W[0] + W[1]) / 2])
    np.testing.assert_array_equal(Sublists.of(data.X, orders, index, 3).complete(W), W)
    # What lambda makes of it is the same but for the size.
    own = fit_tasks(data.X, first, index, 3, lam=0.1, l2=0.01, tol=1e-9).W
    mean = sublists.complete(own)[2]
    np.testing.assert_allclose(own[2] / np.abs(own[2]).max(), mean / np.abs(mean).max(), atol=1e-5)
    nothing = Orders(orders.rows, orders.offsets, np.zeros(30, dtype=int))
    np.testing.assert_array_equal(Sublists.of(data.X, nothing, index, 3).complete(W), W)


def test_the_number_of_threads_changes_no_bit():
    if kernels.BACKEND == "reference":
        pytest.skip("threads are the native kernels'")
    n, d = 1_000_000, 46  # long enough for threads, in the large cluster
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32)
    orders = Orders(np.arange(n), np.arange(0, n + 1, 100), np.full(n // 100, 100))
    index = np.tile(np.repeat(np.arange(2), [95, 5]), n // 100)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(fit_tasks(X, orders, index, 2, max_iter=2).W.tobytes())
    assert found[0] == found[1]


# --- what is given ---

SIZES = [5, 0, 4, 6]


@pytest.mark.parametrize(("change", "message"), [
    ({"n_clusters": 2}, "n_clusters=2 allows clusters from 0 to 1, got 2 in row"),
    ({"n_clusters": 2.5}, "n_clusters to be a whole number of 1 or more, got 2.5"),
    ({"clusters_index": np.zeros(14, dtype=int)}, "expected 15 clusters, one per row of the orders"),
    ({"clusters_index": np.arange(15)[::-1] // 5}, "must not fall along a list .* got 1 and then 0"),
    ({"clusters_index": np.full(15, -1)}, "clusters from 0 to 2, got -1 in row 0"),
    ({"clusters_index": np.zeros(15)}, "whole numbers as clusters, got float64"),
    ({"max_iter": 0}, "max_iter to be a whole number of 1 or more, got 0"),
    ({"solver": "x"}, "unknown solver 'x'"),
    ({"lam": -1}, "lam to be a finite number of 0 or more, got -1"),
    ({"l2": np.nan}, "l2 to be a finite number of 0 or more, got nan"),
    ({"tol": -1.0}, "tol to be a finite number of 0 or more"),
    ({"X": np.zeros((10, 4))}, "the orders have 15 objects"),
    ({"X": np.full((15, 4), np.nan)}, "finite features, got nan in row 0, column 0"),
    ({"weight": np.ones(3)}, "4 finite weights, one per list"),
    ({"labels": np.ones(3)}, "15 finite labels, one per row of X"),
    ({"orders": np.arange(15)}, "expected Orders, such as draw_orders"),
], ids=lambda value: str(value)[:40])  # fmt: skip
def test_what_tasks_cannot_be_fitted_to(change, message):
    X, orders, index, _ = problem(0, SIZES)
    index[-1] = 2
    right = {"X": X, "orders": orders, "clusters_index": index, "n_clusters": 3}
    assert fit_tasks(**right).converged
    with pytest.raises(PodiumError, match=message):
        fit_tasks(**right | change)


def test_lists_of_numbers_are_clusters_too():
    X, orders, index, _ = problem(0, SIZES)
    found = fit_tasks(X, orders, index.tolist(), 3)
    assert found.W.tobytes() == fit_tasks(X, orders, index, 3).W.tobytes()
    assert repr(found).startswith("Tasks(3 functions of 4 features, Psi ")


def test_lambda_is_the_rankers_unless_given():
    X, orders, index, _ = problem(0, SIZES)
    found = fit_tasks(X, orders, index, 3, lam=RPCMTL().lam, l2=RPCMTL().l2)
    assert found.W.tobytes() == fit_tasks(X, orders, index, 3).W.tobytes()

"""RPC-MTL: clusters, degrees and tasks as one ranker; and the generator it pays on."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from podium import kernels
from podium.data import (
    RankingData,
    concatenate,
    draw_truth,
    make_opposed,
    make_synthetic,
    read_letor,
    split,
    write_letor,
)
from podium.errors import (
    DataError,
    ModelFileError,
    NonFiniteError,
    NotConvergedWarning,
    PodiumError,
    UsageError,
)
from podium.metrics import evaluate
from podium.multitask import (
    RPCMTL,
    RPCMTLModel,
    draw_orders,
    fit_tasks,
    learn_metric,
    rank_preserving_clusters,
)
from podium.rankers import (
    ListMLE,
    TopkListMLE,
    feature_importance,
    feature_weights,
    fit_ordinal,
    tune,
)
from podium.rankers.models import Linear
from podium.rankers.ordinal_fit import OrdinalFit
from podium.rankers.ordinal_thresholds import degree_probabilities
from podium.registry import load, make_ranker
from tests.support.cli import answer, run
from tests.support.small_rankers import cheap, small

LINEAR = "NDCG(gain='linear')@10"
OPPOSED = make_opposed(n_lists=60, n_docs=30, seed=1, n_features=6)


def quality(ranker, data):
    return evaluate(data, ranker.predict(data), LINEAR)[LINEAR].mean


@pytest.fixture(scope="module")
def fitted():
    return RPCMTL(n_clusters=3).fit(OPPOSED)


# --- the generator ---


def test_opposed_lists_are_what_they_say():
    data = make_opposed(n_lists=50, n_docs=30, seed=0, n_features=8, noise=0.01)
    assert (data.n_queries, len(data), data.n_features) == (50, 1500, 8)
    degree = np.round(data.X[:, 0])
    t = np.where(degree == 2, -1, 1) * data.X[:, 1] + 0.5
    assert set(degree) == {0.0, 1.0, 2.0}
    for rows in data.groups.slices():
        order = np.argsort(-data.y[rows])
        assert (np.diff(degree[rows][order]) <= 0).all()
        assert (np.diff((degree + t)[rows][order]) < 0.1).all()
        assert sorted(data.y[rows].round(12)) == [round(r / 29, 12) for r in range(30)]
    assert np.std(data.X[:, 2:]) == pytest.approx(0.3, abs=0.01)
    assert data.equals(make_opposed(n_lists=50, n_docs=30, seed=0, n_features=8, noise=0.01))
    assert not np.array_equal(data.X, make_opposed(50, 30, 1, n_features=8, noise=0.01).X)
    assert data.docids[0] == "q1-d1"


@pytest.mark.parametrize(("options", "message"), [
    ({"n_lists": 2.5}, "n_lists to be a whole number, got 2.5"),
    ({"n_docs": 1}, "lists of 2 documents or more"), ({"n_lists": 0}, "lists of 2 documents"),
    ({"n_features": 1}, "2 features or more"), ({"noise": -0.1}, "noise of 0 or more"),
    ({"seed": -1}, "seed"),
])  # fmt: skip
def test_opposed_lists_that_cannot_be(options, message):
    with pytest.raises(UsageError, match=message):
        make_opposed(**options)


# --- how good ---


@pytest.mark.parametrize(
    ("n_lists", "n_docs", "listmle"), [(300, 40, 0.9), (40, 700, 0.75)], ids=["40", "700"]
)
def test_opposed_lists_are_ranked_where_listmle_cannot(n_lists, n_docs, listmle):
    if n_docs > 100 and kernels.BACKEND == "reference":
        pytest.skip("a minute, with the reference kernels")
    train, test = split(make_opposed(n_lists, n_docs, seed=0), [0.7, 0.3])
    assert quality(ListMLE().fit(train), test) < listmle
    for combine in ("soft", "hard"):
        assert quality(RPCMTL(n_clusters=3, combine=combine).fit(train), test) > 0.99


@pytest.mark.parametrize("options", [
    {"distance": None}, {"distance": "full"}, {"ordinal": "proportional-odds"}, {"lam": 0.1},
    {"solver": "sgd", "tol": 1e-4},
], ids=str)  # fmt: skip
def test_opposed_lists_are_ranked_with_every_option(options):
    train, test = split(make_opposed(150, 40, seed=0, n_features=10), [0.7, 0.3])
    assert quality(RPCMTL(n_clusters=3, **options).fit(train), test) > 0.98


# --- one cluster ---


def test_one_cluster_is_listmle():
    data = small(40, seed=3)
    one, other = RPCMTL(n_clusters=1, l2=0.01).fit(data), ListMLE(l2=0.01).fit(data)
    np.testing.assert_allclose(one.model_.weights, other.model_.weights, atol=1e-6)
    np.testing.assert_array_equal(
        data.groups.order(one.predict(data)), data.groups.order(other.predict(data))
    )
    np.testing.assert_allclose(one.predict(data), data.X @ one.W_[0])
    assert (one.ordinal_, one.metric_, one.clusters_) == (None, None, None)
    assert set(one.predict_degree(data)) == {0}


def test_one_cluster_of_the_first_k_is_topk_listmle():
    data = small(40, seed=3)
    one, other = RPCMTL(n_clusters=1, k=3).fit(data), TopkListMLE(k=3).fit(data)
    np.testing.assert_allclose(one.model_.weights, other.model_.weights, atol=1e-6)
    truth = draw_truth(data, 3)
    np.testing.assert_allclose(
        RPCMTL(n_clusters=1).fit(truth).W_[0], TopkListMLE(k=3).fit(truth).model_.weights, atol=1e-6
    )


# --- the score ---


def test_the_soft_score_is_the_one_written(fitted):
    X, model = OPPOSED.X, fitted.model_
    P = degree_probabilities(X @ fitted.ordinal_.w, fitted.ordinal_.thresholds)[:, ::-1]
    z = (X @ fitted.W_.T - model.mean) / model.scale
    want = P @ [2, 1, 0] + fitted.c * (P * z).sum(axis=1)
    np.testing.assert_allclose(fitted.predict(OPPOSED), want)
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict(OPPOSED))


def test_places_within_a_cluster_are_standardised_by_its_own_objects(fitted):
    division = fitted.divide(OPPOSED)
    degree = division.degrees
    for k in range(3):
        scores = OPPOSED.X[degree == 2 - k] @ fitted.W_[k]
        assert scores.mean() == pytest.approx(fitted.model_.mean[k], abs=1e-6)
        assert scores.std() == pytest.approx(fitted.model_.scale[k], abs=1e-6)


def test_the_hard_score_is_the_degree_and_then_its_own_function():
    ranker = RPCMTL(n_clusters=3, combine="hard").fit(OPPOSED)
    degree, scores = ranker.predict_degree(OPPOSED), ranker.predict(OPPOSED)
    own = np.einsum("ij,ij->i", OPPOSED.X, ranker.W_[2 - degree])
    assert (np.abs(scores - degree) < 0.5).all()
    for rows in OPPOSED.groups.slices():
        want = np.lexsort((-own[rows], -degree[rows]))
        np.testing.assert_array_equal(np.argsort(-scores[rows], kind="stable"), want)


def flat_top(value=0.1):
    """Lists of degrees 2, 1, 0 whose top objects are all alike."""
    rng, n = np.random.default_rng(0), 100
    degree = np.tile(np.repeat([2.0, 1.0, 0.0], [5, 7, 8]), n)
    t = np.tile(np.arange(20)[::-1], n) / 20
    top = (degree == 2)[:, None]
    more = np.column_stack([t + 0.02 * rng.standard_normal(len(t)), rng.random((len(t), 2))])
    X = np.column_stack([degree, np.where(top, [value, 1.7 * value, 0.9], more)])
    return RankingData.from_arrays(X, t, qid=np.repeat(np.arange(n), 20))


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3])
def test_a_spread_that_is_rounding_divides_nothing(value):
    ranker = RPCMTL(n_clusters=3, distance=None).fit(flat_top(value))
    assert ranker.clusters_.counts.tolist() == [500, 700, 800]
    assert ranker.model_.scale[0] == 1
    assert (ranker.model_.scale[1:] > 1e-3).all()
    near = np.array([[2, value + 0.01, 1.7 * value, 0.9], [1, 0.5, 0.5, 0.5], [0, 0.3, 0.5, 0.5]])
    scores = ranker.predict(near)
    assert np.abs(scores).max() < 3
    assert (np.diff(scores) < 0).all()
    parts = ranker.model_.parts()
    assert RPCMTLModel.from_parts(parts).scale.tolist() == ranker.model_.scale.tolist()
    with pytest.raises(ModelFileError, match="scales above 0"):
        RPCMTLModel.from_parts(parts | {"scale": np.array([1e-14, *ranker.model_.scale[1:]])})


def test_degrees_never_tie_however_far_a_place_is():
    ordinal, W = OrdinalFit(np.array([1.0, 0.0]), np.array([0.5, 1.5])), np.tile([0.0, 1.0], (3, 1))
    model = RPCMTLModel(ordinal, W, np.zeros(3), np.ones(3), np.zeros(2), np.ones(3) / 3, "hard")
    for size in (1e15, 1e17, 1e300):
        X = np.array([[0.0, size], [1.0, -size], [1.0, size], [2.0, -size]])
        scores = model.predict(X)
        assert (np.diff(scores) > 0).all()
        assert np.rint(scores).tolist() == model.degree(X).tolist() == [0, 1, 1, 2]
    assert model.predict(np.array([[1.0, 0.0]])).tolist() == [1.0]


def test_importance_is_that_of_the_form_it_has():
    ordinal, W = (
        OrdinalFit(np.array([3.0, 0.0]), np.array([0.5])),
        np.array([[0.0, 1.0], [0.0, 4.0]]),
    )
    ends = np.zeros(2), np.array([1.0, 2.0]), np.zeros(2), np.array([0.25, 0.75])
    within = 0.25 * 1 / 1 + 0.75 * 4 / 2
    assert RPCMTLModel(ordinal, W, *ends, "soft", 0.1).importance().tolist() == [3, 0.1 * within]
    assert RPCMTLModel(ordinal, W, *ends, "hard", 0.1).importance().tolist() == [3, 0.5 * within]


@pytest.mark.parametrize("n_clusters", [1, 3])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_no_numbers_have_no_degree(n_clusters, value):
    ranker = RPCMTL(n_clusters=n_clusters).fit(OPPOSED)
    X = OPPOSED.X[:3].copy()
    X[1, 0] = value
    with pytest.raises(NonFiniteError, match=r"the score of row 1 is .*; expected finite features"):
        ranker.predict_degree(X)


def test_degrees_are_those_of_the_generator(fitted):
    assert np.mean(fitted.predict_degree(OPPOSED) == np.round(OPPOSED.X[:, 0])) > 0.95
    with pytest.raises(DataError, match="expected 6 features"):
        fitted.predict_degree(OPPOSED.X[:, :3])


@pytest.mark.parametrize("combine", ["soft", "hard"])
def test_contributions_add_up_to_the_score(combine):
    ranker = RPCMTL(n_clusters=3, combine=combine).fit(OPPOSED)
    found = ranker.explain(OPPOSED, "q2")
    rest = found.scores - found.contributions.sum(axis=1)
    want = ranker.model_.predict(OPPOSED.X.mean(axis=0, keepdims=True))[0]
    np.testing.assert_allclose(rest, want, atol=1e-9)
    np.testing.assert_allclose(ranker.model_.contributions(ranker.model_.origin[None, :]), 0)
    assert list(feature_importance(ranker))[:2] == ["f1", "f2"]


def test_an_order_is_explained_by_the_features_that_make_it():
    """Within the top degree by the second feature, against its place elsewhere; degrees by the first."""
    data = make_opposed(n_lists=100, n_docs=40, seed=0, n_features=6)
    found = RPCMTL(n_clusters=3).fit(data).explain(data, "q3")
    X = data.X[found.rows]
    by_f1, by_f2 = found.contributions[:, 0], found.contributions[:, 1]
    for degree in range(3):
        own = np.round(X[:, 0]) == degree
        assert np.corrcoef(by_f2[own], (-1 if degree == 2 else 1) * X[own, 1])[0, 1] > 0.95
        assert by_f2[own].std() > 3 * by_f1[own].std()
    by_degree = [by_f1[np.round(X[:, 0]) == degree].mean() for degree in range(3)]
    assert np.diff(by_degree).min() > 0.8


# --- what lists may be ---


def test_clusters_never_fall_along_a_list(fitted):
    division = fitted.divide(OPPOSED)
    degree = division.degrees
    assert set(degree) == {0, 1, 2}
    for rows in OPPOSED.groups.slices():
        assert (np.diff(degree[rows][np.argsort(-OPPOSED.y[rows])]) <= 0).all()
    assert division.clusters.counts.sum() == len(OPPOSED)


def test_the_rest_below_top_k_truth_is_the_last_degree():
    truth = draw_truth(OPPOSED, 10)
    division = RPCMTL(n_clusters=3).divide(truth)
    degree = division.degrees
    assert set(degree[truth.y == 0]) == {0}
    assert set(degree[truth.y > 0]) == {1, 2}
    assert division.clusters.counts.tolist()[2] == (truth.y == 0).sum()
    ranker = RPCMTL(n_clusters=3).fit(truth)
    assert evaluate(truth, ranker.predict(truth), "P@10")["P@10"].mean > 0.85
    assert np.isfinite(RPCMTL(n_clusters=2, k=8).fit(OPPOSED).predict(OPPOSED)).all()
    rest = OPPOSED.X[division.degrees == 0].mean(axis=0)
    np.testing.assert_allclose(division.clusters.centres[2], rest)


def test_a_degree_of_top_k_truth_is_not_the_length_of_the_list():
    data = make_synthetic(n_queries=40, n_docs=[8, 30], n_features=5, seed=0)
    truth = draw_truth(data, 10)
    degree = RPCMTL(n_clusters=3).divide(truth).degrees
    for rows in truth.groups.slices():
        whole, head = len(truth.y[rows]) <= 10, truth.y[rows] > 0
        assert set(degree[rows][~head]) == (set() if whole else {0})
        assert set(degree[rows][head]) <= ({0, 1, 2} if whole else {1, 2})
    whole = truth.groups.spread(truth.groups.sizes <= 10)
    assert whole.any()
    assert not whole.all()
    assert np.bincount(degree[whole], minlength=3).min() > 10


def test_a_division_from_a_file_has_no_rows(fitted, tmp_path):
    fitted.save(tmp_path / "model.podium")
    kept = load(tmp_path / "model.podium").model_.division
    with pytest.raises(UsageError, match=r"no training rows.*use the ranker's divide\(data\)"):
        print(kept.degrees)
    assert repr(kept).startswith("Division(Clusters(3 of [")
    assert len(repr(fitted.divide(OPPOSED))) < 300
    assert repr(fitted.ordinal_).startswith(
        "OrdinalFit(3 degrees by 6 features, all-threshold, thr"
    )


def test_no_sweeps_divide_by_places_alone(tmp_path):
    ranker = RPCMTL(n_clusters=3, max_sweeps=0).fit(OPPOSED)
    assert ranker.clusters_.counts.tolist() == [600, 600, 600]
    assert ranker.converged_
    ranker.save(tmp_path / "bands.podium")
    kept = load(tmp_path / "bands.podium")
    assert kept.clusters_.moves.tolist() == []
    np.testing.assert_array_equal(kept.predict(OPPOSED), ranker.predict(OPPOSED))


def test_the_search_turns_functions_round_where_labels_are_noisy_and_bands_do_not():
    data = make_synthetic(n_queries=150, n_docs=40, n_features=10, seed=0)
    wish = data.truth(data.X)
    noise = np.random.default_rng(0).standard_normal(len(data))
    noisy = data.with_labels(np.argsort(np.argsort(wish / wish.std() + 3 * noise)))

    def cosines(max_sweeps):
        W = RPCMTL(n_clusters=3, max_sweeps=max_sweeps).fit(noisy).W_
        return W @ data.weights / np.linalg.norm(W, axis=1) / np.linalg.norm(data.weights)

    assert cosines(1000)[:2].max() < 0 < 0.6 < cosines(0).min()


def test_the_rest_is_ordered_also_without_lambda():
    ranker = RPCMTL(n_clusters=3, k=10, lam=0.0, combine="hard").fit(OPPOSED)
    rest = ranker.predict_degree(OPPOSED) == 0
    assert len(np.unique(ranker.predict(OPPOSED)[rest])) == rest.sum() > 500
    np.testing.assert_allclose(ranker.W_[2], ranker.W_[:2].mean(axis=0))


# --- the division by itself ---


def ragged(seed):
    """Graded lists, some of one label and some of weight 0."""
    data = make_synthetic(n_queries=60, n_docs=(2, 25), n_features=8, seed=seed)
    y = np.where(data.groups.spread(np.arange(60) % 7 == 0), 1.0, data.y)
    qid = np.repeat(data.qids, data.groups.sizes)
    weight = np.where(np.arange(60) % 11 == 3, 0.0, 1 + np.arange(60) % 5)
    return RankingData.from_arrays(data.X, y, qid=qid, docid=data.docids, query_weight=weight)


@pytest.mark.parametrize("seed", range(3))
def test_a_division_is_the_one_that_is_trained_on(seed):
    data = ragged(seed)
    ranker = RPCMTL(n_clusters=4, seed=seed).fit(data)
    division = ranker.divide(data)
    for name in ("index", "centres", "counts", "objective", "moves"):
        own, other = (getattr(found, name) for found in (ranker.clusters_, division.clusters))
        assert own.tobytes() == other.tobytes()
    assert division.metric.matrix.tobytes() == ranker.metric_.matrix.tobytes()
    # Rows are those of the data.
    lowest, highest = (data.groups.reduce(f, data.y) for f in (np.minimum, np.maximum))
    left_out = data.groups.spread((lowest == highest) | (data.query_weight == 0))
    assert left_out.any()
    assert set(division.degrees[left_out]) == {-1}
    assert (
        np.bincount(division.degrees[~left_out])[::-1].tolist() == ranker.clusters_.counts.tolist()
    )
    means = [data.X[division.degrees == 3 - k].mean(axis=0) for k in range(4)]
    np.testing.assert_allclose(division.clusters.centres, means)
    for rows in data.groups.slices():
        degrees = division.degrees[rows][np.argsort(-data.y[rows], kind="stable")]
        grades = np.sort(data.y[rows])[::-1]
        assert (degrees[:-1] >= degrees[1:])[np.diff(grades) < 0].all()


@pytest.mark.parametrize(("options", "data", "error", "message"), [
    ({"n_clusters": 2.5}, OPPOSED, UsageError, "n_clusters of rpc-mtl to be a whole number"),
    ({"n_clusters": 0}, OPPOSED, UsageError, "n_clusters of rpc-mtl to be a whole number"),
    ({"seed": -1}, OPPOSED, UsageError, "seed of rpc-mtl"),
    ({"distance": "euclid"}, OPPOSED, UsageError, "distance of rpc-mtl"),
    ({}, OPPOSED.X, UsageError, "divide needs RankingData, got ndarray"),
    ({"n_clusters": 1}, draw_truth(OPPOSED, 10), UsageError, "divide needs n_clusters of 2 or more"),
    ({}, OPPOSED.with_labels(np.zeros(len(OPPOSED))), DataError, "at least one query with different labels"),
    ({"distance": None}, OPPOSED.with_features(np.zeros((len(OPPOSED), 0))), DataError, "features"),
], ids=lambda value: str(value)[:30])  # fmt: skip
def test_what_cannot_be_divided(options, data, error, message):
    with pytest.raises(error, match=message):
        RPCMTL(**{"n_clusters": 3, **options}).divide(data)


# --- settings and weights reach their parts ---


def test_every_part_has_its_settings_and_weights():
    data = ragged(5)
    data = data.with_labels(data.y + 0.1 * np.random.default_rng(0).random(len(data)))
    ranker = RPCMTL(
        n_clusters=3, kappa_1=1, kappa_2=4, max_pairs=300, seed=3, ordinal="proportional-odds",
        ordinal_l2=0.3, lam=0.2, l2=0.05, distance="full", max_sweeps=500, tol=1e-9,
    ).fit(data)  # fmt: skip
    division = ranker.divide(data)
    orders, depth = division.orders, division.orders.offsets
    metric = learn_metric(
        orders.arrange(data.X), depth, kappa_1=1, kappa_2=4, kind="full", max_pairs=300, seed=3
    )
    np.testing.assert_allclose(ranker.metric_.matrix, metric.matrix)
    assert (metric.n_near, metric.n_sampled) == (ranker.metric_.n_near, 300)
    assert metric.n_far > 300
    clusters = rank_preserving_clusters(orders.arrange(data.X), depth, 3, 500, metric)
    np.testing.assert_array_equal(ranker.clusters_.index, clusters.index)
    assert ranker.clusters_.max_sweeps == 500

    kept = division.degrees >= 0
    by_row = data.groups.spread(data.query_weight)[kept]
    ordinal = fit_ordinal(
        data.X[kept], division.degrees[kept], 3, l2=0.3, loss="proportional-odds", weight=by_row
    )
    np.testing.assert_allclose(ranker.ordinal_.w, ordinal.w, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(ranker.ordinal_.thresholds, ordinal.thresholds, rtol=1e-3)
    assert ranker.ordinal_.loss == "proportional-odds"

    of_list = data.query_weight[data.groups.codes[orders.rows[orders.offsets[:-1]]]]
    tasks = fit_tasks(
        data.X, orders, clusters.index, 3, lam=0.2, l2=0.05, weight=of_list, labels=data.y, tol=1e-9
    )
    np.testing.assert_allclose(ranker.W_, tasks.W, atol=1e-6)
    for k in range(3):
        mine = division.degrees[kept] == 2 - k
        scores, own = data.X[kept][mine] @ ranker.W_[k], by_row[mine]
        mean = np.average(scores, weights=own)
        spread = np.sqrt(np.average((scores - mean) ** 2, weights=own))
        assert ranker.model_.mean[k] == pytest.approx(mean, abs=1e-9)
        assert ranker.model_.scale[k] == pytest.approx(spread)
        assert ranker.model_.shares[k] == pytest.approx(own.sum() / by_row.sum())
    np.testing.assert_allclose(
        ranker.model_.origin, np.average(data.X[kept], axis=0, weights=by_row), atol=1e-12
    )


def test_truth_of_all_documents_is_an_order():
    truth = draw_truth(OPPOSED, 30)
    one, other = RPCMTL(n_clusters=3).fit(truth), RPCMTL(n_clusters=3).fit(OPPOSED)
    np.testing.assert_allclose(one.predict(OPPOSED), other.predict(OPPOSED), atol=1e-6)


def test_orders_are_drawn_among_equal_labels():
    data = small(20, seed=4)
    orders = draw_orders(data, seed=1)
    assert (np.diff(data.y[orders.rows])[np.diff(data.groups.codes) == 0] <= 0).all()
    assert orders.depth.tolist() == data.groups.sizes.tolist()
    assert not np.array_equal(orders.rows, draw_orders(data, seed=2).rows)
    assert draw_orders(data, k=4).depth.tolist() == np.minimum(data.groups.sizes, 4).tolist()
    truth = draw_truth(data, 5)
    assert draw_orders(truth, k=2).depth.tolist() == np.minimum(data.groups.sizes, 2).tolist()


def test_graded_labels():
    train, test = split(make_synthetic(n_queries=80, n_docs=20, n_features=8, seed=2), [0.7, 0.3])
    ranker = RPCMTL(n_clusters=3).fit(train)
    assert ranker.score(test) > 0.75
    assert ranker.converged_


def test_lists_shorter_than_k_are_taken_as_they_are():
    short = make_opposed(20, 2, seed=5, n_features=6)
    short = RankingData.from_arrays(
        short.X, short.y, qid=[f"s{q}" for q in np.repeat(np.arange(20), 2)], docid=short.docids
    )
    both = concatenate([OPPOSED, short])
    assert quality(RPCMTL(n_clusters=3).fit(both), OPPOSED) > 0.98


def test_lists_of_one_document_say_nothing():
    one = RankingData.from_arrays(np.ones((3, 6)), [1, 0, 2], qid=list("abc"), docid=list("xyz"))
    both = concatenate([one, OPPOSED])
    want = RPCMTL(n_clusters=3).fit(OPPOSED).predict(OPPOSED)
    np.testing.assert_allclose(RPCMTL(n_clusters=3).fit(both).predict(OPPOSED), want, atol=1e-9)
    with pytest.raises(DataError, match=r"rpc-mtl needs .* different labels"):
        RPCMTL().fit(one)


def test_more_clusters_than_the_longest_list_has_documents():
    data = make_opposed(40, 8, seed=0, n_features=4)
    with pytest.raises(UsageError, match=r"at most 8.*got 9; clamp=True lowers it to 8"):
        RPCMTL(n_clusters=9).fit(data)
    assert len(RPCMTL(n_clusters=9, clamp=True).fit(data).W_) == 8
    assert len(RPCMTL(n_clusters=8).fit(data).W_) == 8
    with pytest.raises(
        UsageError,
        match=r"at most 4, because no list has more than 3 ordered places and a rest \(k = 3\)",
    ):
        RPCMTL(n_clusters=5, k=3, distance=None).fit(data)


def test_near_must_be_nearer_than_far():
    for ranker in (RPCMTL(kappa_1=5, kappa_2=5), RPCMTL(kappa_1=6)):
        with pytest.raises(UsageError, match=r"kappa_1 of rpc-mtl .* to be below kappa_2"):
            ranker.fit(OPPOSED)
        with pytest.raises(UsageError, match=r"kappa_1 of rpc-mtl .* to be below kappa_2"):
            ranker.divide(OPPOSED)


def test_near_and_far_are_a_learned_metrics():
    assert RPCMTL(n_clusters=3, kappa_1=9, distance=None).fit(OPPOSED).metric_ is None


def test_the_papers_names_are_understood():
    for name, meant in (("K", "n_clusters"), ("lambda", "lam")):
        with pytest.raises(UsageError, match=f"{name}.; did you mean {meant}\\?$"):
            make_ranker("rpc-mtl", **{name: 3})
    with pytest.raises(UsageError, match="did you mean n_clusters"):
        tune(RPCMTL(), OPPOSED, OPPOSED, grid={"K": [3]})


def test_settings_that_cannot_be_are_found_before_the_first_fit():
    steps = []
    for grid in ({"n_clusters": [3, 99]}, {"lam": [0.1, -1]}, {"kappa_2": [5, 1]}):
        with pytest.raises(UsageError, match=r"n_clusters of rpc-mtl|lam of|kappa_1 of"):
            tune(RPCMTL(n_clusters=3), OPPOSED, OPPOSED, grid=grid, callback=steps.append)
    assert steps == []


@pytest.mark.parametrize(
    ("data", "k"), [(OPPOSED, 5), (draw_truth(OPPOSED, 4), None)], ids=["k", "topk"]
)
def test_too_few_ordered_places_for_a_metric_name_k(data, k):
    places = k or 4
    message = (
        rf"kappa_2 = 5 ordered places.* longest has {places} \(k = {places}\); use distance=None"
    )
    with pytest.raises(DataError, match=message):
        RPCMTL(n_clusters=3, k=k).fit(data)
    assert RPCMTL(n_clusters=3, k=k, kappa_2=3).fit(data).converged_


def test_probabilities_of_degrees(fitted):
    P = fitted.predict_proba(OPPOSED)
    np.testing.assert_allclose(P, fitted.ordinal_.probabilities(OPPOSED.X))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.mean(P.argmax(axis=1) == fitted.predict_degree(OPPOSED)) > 0.95
    assert RPCMTL(n_clusters=1).fit(OPPOSED).predict_proba(OPPOSED).tolist() == [[1.0]] * len(
        OPPOSED
    )
    with pytest.raises(NonFiniteError, match="row 0"):
        fitted.predict_proba(np.full((1, 6), np.nan))


def test_a_model_of_several_functions_has_an_importance_and_no_weights(fitted):
    with pytest.raises(UsageError, match="Use feature_importance or permutation_importance"):
        feature_weights(fitted)
    assert next(iter(feature_importance(fitted))) == "f1"


def test_missing_values_say_where_they_may_be():
    X = OPPOSED.X.copy()
    X[3, 2] = np.nan
    with pytest.raises(NonFiniteError, match=r"impute='median'\) fills it in; read_table\("):
        RPCMTL(n_clusters=3).fit(X, OPPOSED.y, qid=OPPOSED.groups.codes)


def test_lists_too_short_for_far_pairs():
    data = make_opposed(40, 4, seed=0, n_features=4)
    with pytest.raises(PodiumError, match="distance=None"):
        RPCMTL(n_clusters=2).fit(data)
    assert np.isfinite(RPCMTL(n_clusters=2, distance=None).fit(data).predict(data)).all()
    assert np.isfinite(RPCMTL(n_clusters=2, kappa_2=3).fit(data).predict(data)).all()


@pytest.mark.parametrize("distance", [None, "diagonal", "full"])
def test_constant_features_change_nothing(distance):
    wide = OPPOSED.with_features(np.hstack([OPPOSED.X, np.full((len(OPPOSED), 1), 7.3)]))
    one = RPCMTL(n_clusters=3, distance=distance).fit(OPPOSED)
    other = RPCMTL(n_clusters=3, distance=distance).fit(wide)
    assert np.isfinite(other.predict(wide)).all()
    assert abs(other.ordinal_.w[-1]) < 1e-9
    assert np.abs(other.W_[:, -1]).max() < 1e-9
    assert quality(other, wide) == pytest.approx(quality(one, OPPOSED), abs=1e-3)


def test_constant_features_alone():
    data = OPPOSED.with_features(np.ones((len(OPPOSED), 2)))
    for distance in ("diagonal", "full"):
        with pytest.raises(
            DataError, match=r"rpc-mtl: no feature varies within a list.*use distance=None"
        ):
            RPCMTL(n_clusters=3, distance=distance).fit(data)
    assert np.ptp(RPCMTL(n_clusters=3, distance=None).fit(data).predict(data)) == 0


# --- stages, tuning, not being done ---


def test_callbacks_are_told_the_stage():
    steps = []
    ranker = RPCMTL(n_clusters=3).fit(OPPOSED, callback=steps.append)
    begun = [step.stage for step in steps if step.iteration == 0]
    assert begun == ["metric", "clusters", "ordinal", "tasks"]
    assert all(np.isnan(step.objective) for step in steps if step.iteration == 0)
    assert {step.stage for step in ranker.history_} == {"tasks"}
    assert tuple(step for step in steps if step.iteration) == ranker.history_.steps
    bare = []
    RPCMTL(n_clusters=1).fit(OPPOSED, callback=bare.append)
    assert {step.stage for step in bare} == {"tasks"}


def test_a_path_of_lambda_divides_once():
    train, valid = split(OPPOSED, [0.7, 0.3])
    steps = []
    grid = {"lam": [1.0, 0.1, 0.01], "n_clusters": [2, 3]}
    found = tune(RPCMTL(), train, valid, LINEAR, grid, callback=steps.append)
    assert sum(step.stage == "clusters" and step.iteration == 0 for step in steps) == 2
    assert sum(step.stage == "tasks" and step.iteration == 0 for step in steps) == 6
    assert found.settings["n_clusters"] == 3
    alone = RPCMTL(**found.settings, metric=LINEAR).fit(train, valid=valid)
    np.testing.assert_allclose(alone.predict(valid), found.ranker.predict(valid), atol=1e-3)


def test_c_is_chosen_without_a_fit_of_its_own():
    train, valid = split(OPPOSED, [0.7, 0.3])
    assert RPCMTL.grid["c"] == (0.05, 0.1, 0.25, 0.5)
    steps, grid = [], {"c": [0.05, 0.1, 0.5], "combine": ["soft", "hard"], "lam": [0.1, 0.01]}
    found = tune(RPCMTL(n_clusters=3), train, valid, LINEAR, grid, callback=steps.append)
    assert sum(step.stage == "clusters" and step.iteration == 0 for step in steps) == 1
    for i, trial in enumerate(found.trace):
        assert (trial.settings["lam"], trial.converged) == ((0.1 if i < 6 else 0.01), True)
        assert trial.iterations <= 1 or i % 6 == 0
        own = RPCMTL(n_clusters=3, **trial.settings).fit(train)
        tied = "NDCG(gain='linear', ties='average')@10"
        want = evaluate(valid, own.predict(valid), tied)[tied].mean
        assert trial.value == pytest.approx(want, abs=1e-3)


@pytest.mark.parametrize(("options", "reason"), [
    ({"max_sweeps": 1}, "clusters: not converged after 1 sweeps"),
    ({"max_iter": 2}, "ordinal: not converged after 2 iterations; tasks: the largest gradient"),
    ({"solver": "sgd", "max_iter": 40, "tol": 1e-12}, "tasks: the last pass changed"),
], ids=str)  # fmt: skip
def test_what_is_not_done_says_so(options, reason):
    with pytest.warns(NotConvergedWarning, match="rpc-mtl stopped after .* before it converged"):
        ranker = RPCMTL(n_clusters=3, **options).fit(OPPOSED)
    assert not ranker.converged_
    assert reason in ranker.stopped_


# --- files ---


def test_a_file_keeps_all_but_the_training_rows(fitted, tmp_path):
    fitted.save(tmp_path / "x.podium")
    again = load(tmp_path / "x.podium")
    np.testing.assert_array_equal(again.predict(OPPOSED), fitted.predict(OPPOSED))
    np.testing.assert_array_equal(again.predict_degree(OPPOSED), fitted.predict_degree(OPPOSED))
    np.testing.assert_array_equal(again.W_, fitted.W_)
    np.testing.assert_array_equal(again.metric_.matrix, fitted.metric_.matrix)
    np.testing.assert_array_equal(again.clusters_.centres, fitted.clusters_.centres)
    np.testing.assert_array_equal(again.clusters_.counts, fitted.clusters_.counts)
    np.testing.assert_array_equal(again.clusters_.objective, fitted.clusters_.objective)
    assert again.metric_.kind == fitted.metric_.kind == "diagonal"
    assert again.metric_.iterations == fitted.metric_.iterations
    assert len(again.clusters_.index) == 0 < len(fitted.clusters_.index)
    assert again.history_ == fitted.history_
    one = RPCMTL(n_clusters=1).fit(OPPOSED)
    one.save(tmp_path / "one.podium")
    assert isinstance(load(tmp_path / "one.podium").model_, Linear)


@pytest.mark.parametrize("distance", [None, "full"])
def test_files_of_every_metric(distance, tmp_path):
    ranker = cheap("rpc-mtl", distance=distance).fit(OPPOSED)
    ranker.save(tmp_path / "x.podium")
    again = load(tmp_path / "x.podium")
    if distance is None:
        assert again.metric_ is None
    else:
        assert again.metric_.matrix.shape == (6, 6)
        np.testing.assert_allclose(again.metric_.matrix, ranker.metric_.matrix, rtol=1e-12)


def broken(parts, **changes):
    return {name: part for name, part in (parts | changes).items() if part is not None}


@pytest.mark.parametrize("changes", [
    {"thresholds": np.array([1.0, 0.0])}, {"thresholds": np.empty(0)}, {"thresholds": np.ones(5)},
    {"ordinal": np.ones(5)}, {"ordinal": np.empty(0)}, {"ordinal": np.full(6, np.nan)},
    {"tasks": np.ones(17)}, {"tasks": None}, {"mean": np.ones(2)}, {"scale": np.zeros(3)},
    {"scale": -np.ones(3)}, {"origin": np.ones(5)}, {"shares": -np.ones(3)}, {"loss": "probit"},
    {"loss": np.ones(1)}, {"combine": "both"}, {"combine": None}, {"c": np.ones(2)},
    {"c": -np.ones(1)}, {"centres": np.ones(5)}, {"counts": np.ones(3)}, {"counts": np.ones(2, int)},
    {"counts": -np.ones(3, int)}, {"sweeps": np.full(3, np.inf)}, {"moves": None},
    {"factor": np.ones(5)}, {"factor": np.full(6, 1e200)}, {"factor": None},
    {"moves": np.ones(1, int)}, {"division": "{"}, {"division": "[]"},
    {"division": '{"metric": 3}'},
    {"scale": np.full(3, 1e-12)}, {"factor": np.ones(12)},
], ids=str)  # fmt: skip
def test_parts_that_do_not_fit(fitted, changes):
    parts = fitted.model_.parts()
    assert RPCMTLModel.from_parts(parts).n_clusters == 3
    with pytest.raises(ModelFileError):
        RPCMTLModel.from_parts(broken(parts, **changes))


@pytest.mark.parametrize("told", [
    {"objective": float("nan")}, {"objective": -1.0}, {"objective": 10**400}, {"gap": float("inf")},
    {"n_near": -5}, {"n_dropped": 1.5}, {"iterations": None}, {"kind": ["full"]}, {"kind": "half"},
], ids=str)  # fmt: skip
def test_a_metric_that_cannot_be(fitted, told):
    parts = fitted.model_.parts()
    division = json.loads(parts["division"])
    division["metric"] |= told
    with pytest.raises(ModelFileError):
        RPCMTLModel.from_parts(parts | {"division": json.dumps(division)})
    with pytest.raises(ModelFileError):
        RPCMTLModel.from_parts(parts | {"division": json.dumps(division | {"max_sweeps": -1})})


def test_moves_are_counts(fitted):
    parts = fitted.model_.parts()
    with pytest.raises(ModelFileError, match="per sweep of the clusters' search"):
        RPCMTLModel.from_parts(parts | {"moves": -parts["moves"] - 1})


def test_a_metric_of_a_file_takes_no_more_room_than_its_factor(fitted):
    """The matrix of 6,000 features would be 288 MB, of a file of some kB."""
    d, parts = 6000, fitted.model_.parts()
    division = json.loads(parts["division"])
    division["metric"]["kind"] = "full"
    large = parts | {name: np.zeros(d) for name in ("ordinal", "origin", "factor")}
    large |= {name: np.zeros(3 * d) for name in ("tasks", "centres")}
    tracemalloc.start()
    try:
        found = RPCMTLModel.from_parts(large | {"division": json.dumps(division)})
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert found.division.metric.factor.shape == (d, 1)
    wide = parts | {"factor": np.ones(42), "division": json.dumps(division)}  # 7 columns
    with pytest.raises(ModelFileError, match="a metric of 6 features"):
        RPCMTLModel.from_parts(wide)


def test_a_model_without_a_division_is_written_and_read(fitted):
    bare = replace(fitted.model_, division=None)
    again = RPCMTLModel.from_parts(bare.parts())
    assert again.division is None
    np.testing.assert_array_equal(again.predict(OPPOSED.X), fitted.predict(OPPOSED))


def test_features_that_are_no_numbers_have_no_score():
    ordinal, W = OrdinalFit(np.array([1.0]), np.array([0.0])), np.array([[1.0], [2.0]])
    ends = np.zeros(2), np.ones(2), np.zeros(1), np.full(2, 0.5)
    for combine in ("soft", "hard"):
        scores = RPCMTLModel(ordinal, W, *ends, combine).predict(np.array([[np.nan], [1.0]]))
        assert np.isnan(scores[0])
        assert np.isfinite(scores[1])


# --- the command line ---


def test_a_terminal_shows_the_stage(monkeypatch, capsys):
    from podium.apps.cli.outputs import progress

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    stages = {}
    with progress.training_bar("rpc-mtl") as (advance, _):

        def told(step):
            advance(step)
            stages.setdefault(step.stage, step)
            if step.stage == "tasks" and step.iteration:
                raise KeyboardInterrupt

        with pytest.warns(NotConvergedWarning, match="interrupted"):
            RPCMTL(n_clusters=2).fit(OPPOSED, callback=told)
    assert list(stages) == ["metric", "clusters", "ordinal", "tasks"]
    assert "tasks  objective" in capsys.readouterr().err


def test_a_model_is_trained_used_and_explained_from_the_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_letor(OPPOSED, "train.txt")
    run("train", "rpc-mtl", "train.txt", "-o", "m.podium", "--set", "n_clusters=3")
    run("predict", "m.podium", "train.txt", "-o", "scores.txt")
    want = RPCMTL(n_clusters=3).fit(read_letor("train.txt")).predict(OPPOSED)
    np.testing.assert_allclose(np.loadtxt("scores.txt"), want, atol=1e-5)
    found = answer("explain", "m.podium")
    assert (found["model"], list(found["features"])[:2]) == ("combined", ["f1", "f2"])
    assert "q2-d" in run("explain", "m.podium", "--data", "train.txt", "--query", "q2").stdout
    bad = run("train", "rpc-mtl", "train.txt", "-o", "x.podium", "--set", "n_clusters=31", code=2)
    assert "at most 30" in bad.stderr

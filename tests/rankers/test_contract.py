"""The contract that every ranker keeps."""

import dataclasses
import inspect
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from podium import kernels
from podium.data import RankingData, concatenate, draw_truth, make_synthetic, scale_by_query, split
from podium.errors import (
    DataError,
    NonFiniteError,
    NotConvergedWarning,
    ScalingError,
    UnknownNameError,
    UsageError,
)
from podium.metrics import evaluate, parse
from podium.rankers import MLP, ListNet, RankBoost, Ranker, RankNet, RankSVM
from podium.registry import RANKERS, load, make_ranker
from tests.support.small_rankers import (
    NAMES,
    arrays,
    cheap,
    permutation,
    predict,
    qid_of,
    remade,
    small,
)

every = pytest.mark.parametrize("name", NAMES)
DATA = small()
FOCUSED = [name for name in NAMES if name.startswith("focused")]
HAS_SEED = [name for name in NAMES if "seed" in make_ranker(name).get_params()]


@pytest.fixture(scope="module")
def fitted():
    """Each ranker fitted once on DATA."""
    done = {}

    def get(name):
        if name not in done:
            done[name] = cheap(name).fit(DATA)
        return done[name]

    return get


def scores(name, data, on=DATA, **parameters):
    return cheap(name, **parameters).fit(data).predict(on)


def random_ndcg(data):
    """NDCG@10 of documents in random order."""
    metric = dataclasses.replace(parse("NDCG@10"), ties="average")
    return evaluate(data, np.zeros(len(data)), metric)[metric].mean


# --- what a ranker is ---


@every
def test_a_ranker_says_what_it_is(name):
    ranker = make_ranker(name)
    assert type(ranker) is RANKERS[name]
    assert ranker.name == name
    assert ranker.paper
    assert set(ranker.grid) <= set(ranker.get_params())
    assert ranker.warm_start_along is None or ranker.warm_start_along in ranker.get_params()
    assert inspect.getdoc(type(ranker))


def test_all_rankers_of_the_issue_are_there():
    wanted = {
        "regression", "ranksvm", "ranknet", "listnet", "listmle", "topk-listmle", "svm-map",
        "rankboost", "adarank", "lambdamart", "coordinate-ascent", "focused-svm", "focused-boost",
        "focused-net",
    }  # fmt: skip
    assert wanted <= set(RANKERS)


@every
def test_predict_gives_one_float_a_row(name, fitted):
    found = fitted(name).predict(DATA)
    assert found.shape == (len(DATA),)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert np.ptp(found) > 0
    np.testing.assert_array_equal(predict(fitted(name), DATA.X, qid_of(DATA)), found)


@every
def test_fit_returns_the_ranker_and_leaves_its_parameters(name):
    ranker = cheap(name)
    before = ranker.get_params()
    assert ranker.fit(DATA) is ranker
    assert ranker.get_params() == before
    assert ranker.n_features_in_ == DATA.n_features
    assert ranker.trained_.n_documents == len(DATA)


@every
def test_it_learns_something(name):
    train, test = split(small(60, 3, seed=3), [0.7, 0.3], seed=0)
    # Three features are fewer than a block of cfbrs has by default.
    own = {"lambdamart": {"trees": 40}, "cfbrs": {}, "auto": {"budget": "12fits"}}.get(name)
    ranker = make_ranker(name) if own is None else cheap(name, **own)
    assert ranker.fit(train).score(test) > random_ndcg(test) + 0.1


# --- rows and queries ---


@every
def test_rows_of_a_query_may_stand_apart(name):
    rng = np.random.default_rng(5)
    # Queries keep the order of their first rows and rows that within their query: the same data.
    codes = DATA.groups.codes
    late = rng.permutation(len(DATA))
    slots = np.sort(codes[late])  # which query each row belongs to, before mixing
    mixed = rng.permutation(slots)
    taken = {q: iter(np.flatnonzero(codes == q)) for q in range(DATA.n_queries)}
    rows = np.array([next(taken[q]) for q in mixed.tolist()])
    X, y, qid = arrays(DATA, rows)
    assert (qid[1:] != qid[:-1]).sum() > 2 * DATA.n_queries
    apart = cheap(name).fit(X, y, qid=qid)
    data = RankingData.from_arrays(X, y, qid=qid)
    whole = cheap(name).fit(data)
    found = predict(apart, X, qid)
    np.testing.assert_array_equal(found, data.restore(whole.predict(data)))
    np.testing.assert_array_equal(found, predict(whole, X, qid))
    together = cheap(name).fit(*arrays(DATA)[:2], qid=qid_of(DATA))
    np.testing.assert_allclose(found, together.predict(DATA)[rows], atol=1e-6, rtol=0)


@every
@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
def test_the_order_of_queries_and_documents_means_nothing(name, ids):
    rows = permutation(DATA)
    straight, permuted = remade(DATA, ids=ids), remade(DATA, rows, ids=ids)
    found = cheap(name).fit(permuted)
    np.testing.assert_allclose(found.predict(DATA), scores(name, straight), atol=1e-6, rtol=0)
    one = predict(found, DATA.X[rows], qid_of(DATA)[rows])
    np.testing.assert_array_equal(found.predict(DATA)[rows], one)


@every
def test_the_order_of_validation_rows_means_nothing(name):
    train, valid = split(small(20, seed=2), [0.6, 0.4])
    one = cheap(name).fit(train, valid=valid)
    other = cheap(name).fit(train, valid=remade(valid, permutation(valid)))
    np.testing.assert_allclose(one.predict(DATA), other.predict(DATA), atol=1e-6, rtol=0)
    np.testing.assert_allclose(one.history_.valid, other.history_.valid, atol=1e-6)


@pytest.mark.parametrize("name", FOCUSED)
def test_the_order_means_nothing_to_top_k_truth(name):
    truth = draw_truth(DATA, 3)
    permuted = remade(truth, permutation(DATA), topk=3)
    np.testing.assert_allclose(scores(name, permuted), scores(name, truth), atol=1e-6, rtol=0)


@every
def test_rank_gives_the_top_of_each_query(name, fitted):
    ranker = fitted(name)
    found, every_score = ranker.rank(DATA, k=3), ranker.predict(DATA)
    assert [top.qid for top in found] == DATA.qids.tolist()
    for top, rows in zip(found, DATA.groups.slices(), strict=True):
        assert len(top) == min(3, rows.stop - rows.start)
        assert (top.rows >= rows.start).all()
        assert (top.rows < rows.stop).all()
        assert top.docids == tuple(DATA.docids[top.rows])
        np.testing.assert_array_equal(top.scores, np.sort(every_score[rows])[::-1][:3])
    assert sum(map(len, ranker.rank(DATA))) == len(DATA)
    with pytest.raises(UsageError, match="k to be a whole number of 1 or more, got 0"):
        ranker.rank(DATA, k=0)


def test_rank_tells_rows_of_arrays_as_they_were_given(fitted):
    rows = np.random.default_rng(0).permutation(len(DATA))
    X, _, qid = arrays(DATA, rows)
    ranker = fitted("ranksvm")
    for top in ranker.rank(X, 2, qid=qid):
        assert set(qid[top.rows]) == {top.qid}
        np.testing.assert_array_equal(ranker.predict(X)[top.rows], top.scores)
        assert top.docids is None
        assert repr(top).startswith(f"RankedList({top.qid}: {top.rows[0]}, ")


# --- determinism ---


@every
def test_the_same_seed_gives_the_same_bytes(name, fitted):
    again = cheap(name).fit(DATA)
    assert again.predict(DATA).tobytes() == fitted(name).predict(DATA).tobytes()
    assert again.history_ == fitted(name).history_


@pytest.mark.parametrize("name", HAS_SEED)
def test_another_seed_is_allowed(name):
    assert np.isfinite(scores(name, DATA, seed=2**40)).all()


@pytest.mark.parametrize("name", ["listmle", "focused-net", "focused-boost", "topk-listmle"])
def test_the_seed_draws_the_order_of_equal_labels(name):
    assert not np.array_equal(scores(name, DATA, seed=1), scores(name, DATA, seed=2))


@every
def test_the_number_of_threads_changes_no_bit(name):
    data = make_synthetic(n_queries=150, n_docs=(20, 40), n_features=20, seed=0)
    few = {
        "lambdamart": {"trees": 3, "leaves": 15, "threads": 0}, "ranknet": {"tol": 1e-2},
        "coordinate-ascent": {"restarts": 1, "steps": 2}, "focused-svm": {"eps": 0.1},
        "cfbrs": {"min_block": 8},
        "auto": {"without": ("lambdamart", "catboost")},  # which are tried by themselves
    }.get(name, {})  # fmt: skip
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(scores(name, data, on=data, **few).tobytes())
    assert found[0] == found[1]


def test_the_number_of_trees_threads_changes_no_bit():
    data = make_synthetic(n_queries=100, n_docs=40, n_features=10, seed=0)
    one, two = (scores("lambdamart", data, on=data, threads=n) for n in (1, 2))
    assert one.tobytes() == two.tobytes()


# --- what data may look like ---


@every
def test_queries_that_say_nothing_change_nothing(name):
    """Single documents and equal labels, mixed in."""
    rng = np.random.default_rng(0)
    silent = RankingData.from_arrays(
        rng.standard_normal((8, 4)), [2, 0, 1, 1, 1, 0, 0, 0],
        qid=["one", "two", "same", "same", "same", "none", "none", "none"],
        docid=list("abcdefgh"),
    )  # fmt: skip
    data = concatenate([silent.subset([0, 2]), remade(DATA), silent.subset([1, 3])])
    found = scores(name, data)
    assert np.isfinite(found).all()
    # Pointwise rankers learn from any document; those that look at the features see other ones;
    # a measure or a drawn top k may have a value where labels are equal.
    if name not in (
        "regression",
        "ordinal",
        "rankboost",
        "adarank",
        "lambdamart",
        "catboost",
        "toprank",
        "auto",
        *FOCUSED,
    ):
        np.testing.assert_allclose(found, scores(name, remade(DATA)), atol=1e-5)


@every
@pytest.mark.parametrize("what", ["constant", "duplicated"])
def test_constant_and_duplicated_features(name, what):
    extra = np.full((len(DATA), 2), 7.0) if what == "constant" else DATA.X[:, :2]
    data = DATA.with_features(np.hstack([DATA.X, extra]))
    ranker = cheap(name, **({"reverse": True} if name == "adarank" else {})).fit(data)
    found = ranker.predict(data)
    assert np.isfinite(found).all()
    assert ranker.score(data) > random_ndcg(data) + 0.05
    if what == "constant":  # a constant moves all scores of a query alike, or none
        moved = data.X.copy()
        moved[:, 4:] += 1.0
        shift = predict(ranker, moved, qid_of(data)) - found
        np.testing.assert_allclose(shift, shift[0], atol=1e-9)


@every
def test_single_and_double_precision(name):
    single = DATA.with_features(DATA.X.astype(np.float32))
    double = DATA.with_features(single.X.astype(np.float64))
    assert single.X.dtype == np.float32
    on_single = cheap(name).fit(single)
    found = on_single.predict(single)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, on_single.predict(double), rtol=1e-6, atol=1e-6)
    if name not in (
        "coordinate-ascent",
        "lambdamart",
        "catboost",
    ):  # orders drawn by the features' bytes
        on_double = cheap(name).fit(double)
        np.testing.assert_allclose(found, on_double.predict(single), rtol=1e-4, atol=1e-4)


@every
def test_any_memory_layout(name, fitted):
    X, y, qid = arrays(DATA)
    fortran, locked, strided = np.asfortranarray(X), X.copy(), np.repeat(X, 2, axis=1)[:, ::2]
    locked.setflags(write=False)
    want = predict(cheap(name).fit(X, y, qid=qid), X, qid)
    for other in (fortran, locked, strided, X.tolist()):
        found = predict(cheap(name).fit(other, y, qid=qid), other, qid)
        np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(X, DATA.X)


# --- query weights ---

# Few different values, so that thresholds and bins do not depend on how often each stands there,
# and no ties among labels, so that no order is drawn by the query's id.
_rng = np.random.default_rng(8)
COARSE = RankingData.from_arrays(
    np.round(2 * _rng.standard_normal((48, 4))), np.tile(np.arange(6.0), 8), qid=np.arange(48) // 6
)
FIXED = {  # trees: a loss that does not ask for an order of equal scores
    "lambdamart": {"loss": "listnet", "min_leaf": 1},
    "catboost": {
        "loss": "QueryRMSE",
        "random_strength": 0.0,
        "bagging_temperature": 0.0,
        "l2": 0.0,
    },
    "ranksvm": {"tol": 1e-10},
    "svm-map": {"eps": 1e-12, "rel": 3.0},
    "focused-svm": {"eps": 1e-12},
    "ordinal": {"tol": 1e-12},
    **{name: {"tol": 1e-12} for name in ("ranknet", "listnet", "listmle", "topk-listmle")},
    "focused-net": {"tol": 1e-12},
    **{name: {"eps": 1e-9} for name in ("topslack", "topmargin")},
    "cfbrs": {"base": RankSVM(tol=1e-10)},
    # Each list is divided once, whatever it weighs: weights are of the tasks.
    "rpc-mtl": {"n_clusters": 1, "tol": 1e-12},
}


def weighted(data, weight):
    values = {f.name: getattr(data, f.name) for f in dataclasses.fields(RankingData)}
    return RankingData(**{**values, "query_weight": np.asarray(weight, dtype=float)})


def twice(data, query):
    part = data.subset([query])
    X, y = np.array(part.X), np.array(part.y)
    return concatenate([data, RankingData.from_arrays(X, y, qid=["again"] * len(y))])


@pytest.mark.parametrize("name", [n for n in NAMES if n != "auto"])  # the two may be in two folds
def test_weight_two_is_the_query_twice(name):
    # Or they would hold out other queries.
    valid = {"valid": COARSE} if name in ("lambdamart", "catboost", "toprank") else {}
    weight = np.ones(8)
    weight[3] = 2.0
    one = cheap(name, **FIXED.get(name, {})).fit(weighted(COARSE, weight), **valid)
    two = cheap(name, **FIXED.get(name, {})).fit(twice(COARSE, 3), **valid)
    none = cheap(name, **FIXED.get(name, {})).fit(COARSE, **valid)
    np.testing.assert_allclose(one.predict(COARSE), two.predict(COARSE), atol=1e-4, rtol=1e-4)
    if name not in ("coordinate-ascent", "toprank"):  # whose steps are large
        assert np.abs(one.predict(COARSE) - none.predict(COARSE)).max() > 1e-3


@every
def test_weight_zero_is_the_query_left_out(name):
    weight = np.ones(DATA.n_queries)
    weight[[2, 5]] = 0.0
    out = DATA.subset(weight > 0)
    found = scores(name, weighted(DATA, weight))
    np.testing.assert_array_equal(found, scores(name, out))
    X, y, qid = arrays(DATA)
    by_row = cheap(name).fit(X, y, qid=qid, sample_weight=np.repeat(weight, DATA.groups.sizes))
    by_query = cheap(name).fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(by_row.predict(DATA), by_query.predict(DATA))


def test_only_queries_of_weight_zero_differ_in_their_labels():
    data = RankingData.from_arrays(
        np.eye(4), [0, 1, 1, 1], qid=[1, 1, 2, 2], query_weight=[0.0, 1.0]
    )  # fmt: skip
    with pytest.raises(DataError, match=r"^in the only query all .* the same label"):
        RankSVM().fit(data)


@every
def test_features_scaled_by_query_are_expected_again(name):
    scaled = scale_by_query(DATA, "zscore")
    ranker = cheap(name).fit(scaled)
    assert ranker.trained_.scaled == "zscore"
    expected = ranker.predict(scaled)
    with pytest.raises(
        ScalingError, match=r"\(zscore\).*got features not scaled by query in the data"
    ):
        ranker.predict(DATA)
    with pytest.raises(ScalingError, match=r"got features scaled by query \(minmax\) in the data"):
        ranker.predict(scale_by_query(DATA, "minmax"))
    raw_scores = predict(ranker, DATA.X, qid_of(DATA)).tolist()
    assert ranker.predict(DATA, ignore_scaling=True).tolist() == raw_scores
    # Arrays say nothing of it, and what was trained on them expects nothing.
    assert predict(ranker, scaled.X, qid_of(scaled)).tolist() == expected.tolist()
    assert len(ranker.rank(scaled.X, 1, qid=qid_of(scaled))) == DATA.n_queries
    assert ranker.score(scaled.X, DATA.y, qid=qid_of(DATA)) == ranker.score(scaled)
    raw = cheap(name).fit(DATA)
    with pytest.raises(ScalingError, match=r"not scaled by query, as in training.*\(zscore\)") as e:
        raw.predict(scaled)
    assert "use the raw features" in str(e.value)
    assert "ignore_scaling=True" in str(e.value)
    assert "--ignore-scaling" in e.value.on_command_line()
    assert raw.predict(scaled, ignore_scaling=True).shape == (len(DATA),)


def test_validation_data_is_scaled_as_the_training_data():
    scaled = scale_by_query(DATA)
    assert cheap("ranknet").fit(scaled, valid=scaled).trained_.scaled == "minmax"
    with pytest.raises(
        ScalingError, match=r"\(minmax\).*not scaled by query in the validation data"
    ):
        cheap("ranknet").fit(scaled, valid=DATA)
    assert cheap("ranknet").fit(scaled, valid=(scaled.X, DATA.y, qid_of(DATA))).trained_.scaled


# --- refit, clone, copies ---


@every
def test_a_refit_forgets(name):
    other = small(10, 3, seed=9).with_features(small(10, 3, seed=9).X, list("abc"))
    ranker = cheap(name).fit(other)
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c"]
    ranker.fit(DATA)
    assert not hasattr(ranker, "feature_names_in_")
    fresh = cheap(name).fit(DATA)
    assert ranker.predict(DATA).tobytes() == fresh.predict(DATA).tobytes()
    assert ranker.history_ == fresh.history_
    assert ranker.trained_ == fresh.trained_
    assert set(vars(ranker)) == set(vars(fresh))


@every
def test_a_failed_refit_leaves_the_ranker_as_it_was(name):
    ranker = cheap(name).fit(DATA)
    before = ranker.predict(DATA)
    with pytest.raises(DataError):
        ranker.fit(np.eye(4), [1, 1, 1, 1], qid=[1, 1, 2, 2])
    np.testing.assert_array_equal(ranker.predict(DATA), before)


@every
def test_clone_and_parameters(name, fitted):
    ranker = fitted(name)
    copy = clone(ranker)
    assert copy.get_params() == ranker.get_params()
    assert not hasattr(copy, "model_")
    for parameter, value in ranker.get_params().items():
        assert copy.set_params(**{parameter: value}) is copy
    assert repr(copy).startswith(type(ranker).__name__ + "(")
    assert repr(make_ranker(name)) == type(ranker).__name__ + "()"


@every
def test_copies_in_memory_and_by_joblib(name, fitted, tmp_path):
    ranker = fitted(name)
    copy = pickle.loads(pickle.dumps(ranker))
    assert copy.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()
    assert copy.get_params() == ranker.get_params()
    joblib.dump(ranker, tmp_path / "ranker.joblib")
    dumped = joblib.load(tmp_path / "ranker.joblib")
    assert dumped.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()


@every
def test_save_and_load(name, tmp_path):
    train, valid = split(DATA.with_features(DATA.X, list("abcd")), [0.7, 0.3])
    ranker = cheap(name).fit(train, valid=valid)
    ranker.save(tmp_path / "one.podium")
    loaded = load(tmp_path / "one.podium")
    assert type(loaded) is type(ranker)
    assert loaded.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()
    assert loaded.get_params() == ranker.get_params()
    assert loaded.history_ == ranker.history_
    assert loaded.trained_ == ranker.trained_
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert (loaded.converged_, loaded.stopped_) == (ranker.converged_, ranker.stopped_)
    assert loaded.n_features_in_ == 4
    loaded.save(tmp_path / "two.podium")
    assert (tmp_path / "one.podium").read_bytes() == (tmp_path / "two.podium").read_bytes()
    again = cheap(name).fit(train, valid=valid)
    again.save(tmp_path / "two.podium")
    assert (tmp_path / "one.podium").read_bytes() == (tmp_path / "two.podium").read_bytes()


# --- no hidden limits ---


@every
@pytest.mark.parametrize("labels", ["50 grades", "real"])
def test_labels_of_any_kind(name, labels):
    rng = np.random.default_rng(0)
    n = 120
    X = rng.standard_normal((n, 3))
    y = np.arange(n) % 50 if labels == "50 grades" else rng.exponential(1.0, n)
    X[:, 0] += y / y.std()
    data = RankingData.from_arrays(X, y, qid=np.arange(n) // 60)
    extra = {"measure": "NDCG@10"} if name == "adarank" else {}
    extra = {"rel": 25.0 if labels == "50 grades" else 1.0} if name == "svm-map" else extra
    # With 2^49 times the gain of the rest, one document is all that a head of three is worth.
    extra = {"measure": "NDCG(gain='linear')"} if name in ("topslack", "topmargin") else extra
    # The order of ten documents of one query is mostly noise: the pairs are to learn from.
    extra = {"beta": 0.0} if name == "focused-boost" else extra
    ranker = cheap(name, **extra).fit(data, valid=data)
    found = ranker.predict(data)
    assert np.isfinite(found).all()
    assert np.corrcoef(found, y)[0, 1] > 0.2


@every
@pytest.mark.skipif(kernels.BACKEND == "reference", reason="the reference looks at every pair")
def test_a_query_of_20000_documents(name):
    rng = np.random.default_rng(0)
    n = 20_000
    X = rng.standard_normal((n, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(n), [0.5, 1.5]).astype(float)
    n_queries = 2 if name == "auto" else 1  # a search needs another query to validate on
    data = RankingData.from_arrays(X, y, qid=np.arange(n) * n_queries // n)
    few = {
        "lambdamart": {"trees": 2}, "catboost": {"trees": 1},
        "auto": {"without": ("catboost",)},  # 500 trees of which take 40 s, and it is tried by itself
        "rankboost": {"rounds": 3}, "adarank": {"rounds": 2},
        "focused-boost": {"rounds": 3, "beta": 0.0}, "coordinate-ascent": {"restarts": 1, "steps": 2},
        "ranksvm": {"C": 1e-9},
        **{n: {"max_iter": 2} for n in ("ranknet", "listnet", "listmle", "topk-listmle")},
        **{n: {"max_iter": 2} for n in ("focused-net", "svm-map")},
        "focused-svm": {"max_iter": 2, "C": 1.0}, "least-squares": {"C": 1e-9},
        "cfbrs": {"base": RankSVM(C=1e-9)}, "rpc-mtl": {"max_iter": 2},
    }.get(name, {})  # fmt: skip
    ranker = cheap(name, **few)
    if "max_iter" in few:
        with pytest.warns(NotConvergedWarning):
            ranker.fit(data)
    else:
        ranker.fit(data)
    assert np.corrcoef(ranker.predict(data), X[:, 0])[0, 1] > 0.3


# --- names of features ---


@every
def test_data_frames_keep_their_names(name):
    X, y, qid = arrays(DATA)
    frame = pd.DataFrame(X, columns=["bm25", "age", "clicks", "length"])
    ranker = cheap(name).fit(frame, y, qid=qid)
    assert ranker.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(predict(ranker, frame, qid), predict(ranker, X, qid))
    turned = frame[["age", "bm25", "clicks", "length"]]
    whole = turned.assign(search_id=qid, sku=[f"d{i}" for i in range(len(y))], grade="fair")
    for other in (turned, whole, pl.from_pandas(whole)):
        np.testing.assert_array_equal(predict(ranker, other, qid), predict(ranker, X, qid))
        assert ranker.score(other, y, qid=qid) == ranker.score(X, y, qid=qid)
    np.testing.assert_array_equal(
        ranker.rank(whole, 3, qid=qid)[0].rows, ranker.rank(frame, 3, qid=qid)[0].rows
    )
    for lacking in (frame.rename(columns={"length": "other"}), whole.drop(columns="length")):
        with pytest.raises(DataError, match="the data lacks features of the training data: length"):
            ranker.predict(lacking)
    named = DATA.with_features(X, ["age", "bm25", "clicks", "length"])
    with pytest.raises(DataError, match="in another order than in training"):
        ranker.predict(named)
    with pytest.raises(DataError, match="in another order than in training"):
        cheap(name).fit(frame, y, qid=qid, valid=named)


@every
def test_another_number_of_features_names_both(name, fitted):
    for wrong in (DATA.X[:, :3], DATA.with_features(DATA.X[:, :3])):
        with pytest.raises(DataError, match="expected 4 features, as in training, got 3"):
            fitted(name).predict(wrong)
    with pytest.raises(DataError, match=r"expected 4 features.*got 3 in the validation data"):
        cheap(name).fit(DATA, valid=DATA.with_features(DATA.X[:, :3]))


# --- errors ---


@every
def test_not_fitted(name, tmp_path):
    ranker = cheap(name)
    for use in (
        lambda: ranker.predict(DATA), lambda: ranker.rank(DATA, 3), lambda: ranker.score(DATA),
        lambda: ranker.explain(DATA, "q1"), lambda: ranker.save(tmp_path / "x.podium"),
    ):  # fmt: skip
        with pytest.raises(NotFittedError):
            use()
    assert not list(tmp_path.iterdir())


@every
def test_one_label_only(name):
    with pytest.raises(DataError, match=f"all documents have the .*label.*; {name} needs"):
        cheap(name).fit(np.eye(4), [1, 1, 1, 1], qid=[1, 1, 2, 2])


@every
def test_no_features(name):
    none = small(4).with_features(np.zeros((len(small(4)), 0)))
    with pytest.raises(DataError, match=r"the data has no features; .* needs at least one"):
        cheap(name).fit(none)


@every
def test_labels_that_differ_between_queries_only(name):
    X, qid = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) // 20
    y = qid.astype(float)
    if name in ("regression", "ordinal"):
        assert np.isfinite(cheap(name).fit(X, y, qid=qid).predict(X)).all()
        return
    with pytest.raises(DataError, match=f"{name} needs .* different labels"):
        cheap(name).fit(X, y, qid=qid)


def test_rank_says_how_to_pass_query_ids():
    ranker = cheap("regression").fit(DATA)
    with pytest.raises(UsageError) as caught:
        ranker.rank(DATA.X, k=3)
    assert str(caught.value) == "query ids are missing; pass one id per row, as in rank(X, qid=qid)"


@every
def test_plain_arrays_need_query_ids(name):
    with pytest.raises(UsageError, match=r"query ids are missing.*metadata routing"):
        cheap(name).fit(DATA.X, DATA.y)
    with pytest.raises(UsageError, match="expected labels y"):
        cheap(name).fit(DATA.X)
    with pytest.raises(UsageError, match="RankingData already has labels and query ids"):
        cheap(name).fit(DATA, DATA.y)


@every
def test_missing_values(name):
    X, y, qid = DATA.X.copy(), DATA.y, qid_of(DATA)
    X[3, 1] = np.nan
    data = RankingData.from_arrays(X, y, qid=qid, missing="nan")
    ranker = cheap(name)
    if ranker.accepts_missing:
        assert np.isfinite(ranker.fit(data).predict(data)).all()
        np.testing.assert_array_equal(ranker.fit(X, y, qid=qid).predict(X), ranker.predict(data))
        assert len(ranker.rank(X, 1, qid=qid)) == DATA.n_queries
        return
    with pytest.raises(
        DataError, match=f"missing values \\(NaN\\), which {name} does not take.*lambdamart"
    ):
        ranker.fit(data)
    with pytest.raises(NonFiniteError):
        ranker.fit(X, y, qid=qid)
    with pytest.raises(DataError, match="the features have missing values"):
        ranker.fit(DATA, valid=data)
    ranker.fit(DATA)
    with pytest.raises(DataError, match="the features have missing values"):
        ranker.predict(data)
    everywhere = X.copy()
    everywhere[3] = np.nan
    with pytest.raises(NonFiniteError, match="row 3"):
        predict(ranker, everywhere, qid)


@every
def test_unknown_parameters(name):
    with pytest.raises(TypeError, match="nonsense"):
        RANKERS[name](nonsense=1)
    with pytest.raises(ValueError, match="nonsense"):
        make_ranker(name).set_params(nonsense=1)
    with pytest.raises(UnknownNameError, match=f"unknown parameter of {name} 'nonsense'"):
        make_ranker(name, nonsense=1)


def test_an_unknown_ranker_names_its_neighbours():
    with pytest.raises(UnknownNameError, match="did you mean ranksvm"):
        make_ranker("rank-svm")


BAD = [
    ("regression", {"l2": -1.0}, "l2 of regression to be a number of 0 or more, got -1.0"),
    ("ranksvm", {"C": 0.0}, "C of ranksvm to be a number above 0, got 0.0"),
    ("ranksvm", {"C": "1"}, "C of ranksvm"),
    ("ranksvm", {"power": 3}, "power of ranksvm to be 1 or 2, got 3"),
    ("ranksvm", {"max_iter": 0}, "max_iter of ranksvm to be a whole number of 1 or more"),
    ("ranknet", {"pairs": "all"}, "pairs of ranknet to be 'mean' or 'sum'"),
    ("ranknet", {"tol": float("nan")}, "tol of ranknet"),
    ("listnet", {"depth": 0}, "depth of listnet"),
    ("listmle", {"scorer": "tree"}, "scorer of listmle to be 'linear' or 'mlp' or MLP"),
    ("listmle", {"scorer": MLP(epochs=0)}, "epochs of the mlp scorer"),
    ("listmle", {"scorer": MLP(hidden=(0,))}, "hidden layers of 1 unit or more"),
    ("listmle", {"scorer": MLP(activation="step")}, "activation of the mlp scorer"),
    ("listmle", {"seed": -1}, "seed of listmle"),
    ("topk-listmle", {"k": 0}, "k of topk-listmle"),
    ("topk-listmle", {"k": True}, "k of topk-listmle"),
    ("svm-map", {"eps": 0.0}, "eps of svm-map"),
    (
        "topslack",
        {"measure": "MAP"},
        "the measure of a head to be NDCG@n (gain exp2 or linear) or P@n",
    ),
    ("topslack", {"measure": "P"}, "P needs a cutoff, as in P@10"),
    ("topslack", {"oracle": "exact"}, "oracle of topslack to be 'hull' or 'paper'"),
    ("topmargin", {"ideal": "mean"}, "ideal of topmargin to be 'rounds' or 'cut'"),
    ("topmargin", {"C": 0.0}, "C of topmargin to be a number above 0"),
    (
        "rankboost",
        {"thresholds": 256},
        "thresholds of rankboost to be a whole number from 1 to 255",
    ),
    ("rankboost", {"rounds": 1.5}, "rounds of rankboost"),
    ("adarank", {"max_repeats": 0}, "max_repeats of adarank"),
    ("adarank", {"measure": "MAPS"}, "MAPS"),
    ("coordinate-ascent", {"metric": "nothing"}, "nothing"),
    ("coordinate-ascent", {"step": -0.1}, "step of coordinate-ascent"),
    ("lambdamart", {"leaves": 1}, "leaves of lambdamart"),
    ("lambdamart", {"loss": "lambda"}, "did you mean lambdarank"),
    ("lambdamart", {"monotone": [1, 0]}, "each of 4 features"),
    ("lambdamart", {"monotone": [2, 0, 0, 0]}, "1, -1 or 0"),
    ("lambdamart", {"monotone": {"nothing": 1}}, "unknown feature 'nothing'"),
    ("lambdamart", {"feature_fraction": 0.0}, "feature_fraction of lambdamart"),
    ("catboost", {"depth": 17}, "depth of catboost to be a whole number from 1 to 16, got 17"),
    (
        "catboost",
        {"loss": "YetyRank"},
        "unknown loss of catboost 'YetyRank'; did you mean YetiRank",
    ),
    ("catboost", {"loss": "YetiRank:mode=nothing"}, "CatBoost refuses the settings of catboost: "),
    ("catboost", {"bagging_temperature": -1.0}, "bagging_temperature of catboost"),
    ("ordinal", {"loss": "hinge"}, "loss of ordinal to be 'all-threshold' or 'proportional-odds'"),
    ("ordinal", {"l2": -1.0}, "l2 of ordinal to be a number of 0 or more, got -1.0"),
    ("focused-svm", {"beta": 1.1}, "beta of focused-svm to be a number from 0 to 1, got 1.1"),
    ("focused-svm", {"reading": "ap"}, "reading of focused-svm"),
    ("focused-boost", {"shrinkage": 0.0}, "shrinkage of focused-boost"),
    ("focused-boost", {"weak": "tree"}, "weak of focused-boost"),
    ("focused-net", {"k": 2.5}, "k of focused-net"),
    ("toprank", {"base": "rank-svm"}, "unknown ranker 'rank-svm'; did you mean ranksvm"),
    ("toprank", {"rankers": ("listnet", "nothing")}, "unknown ranker 'nothing'"),
    ("toprank", {"rankers": ()}, "'listnet'], got ()"),
    ("toprank", {"aggregator": "bord"}, "unknown aggregator 'bord'; did you mean borda"),
    ("toprank", {"weights": (1.0, 2.0)}, "3 weights, one per voter (ranksvm, regression, lis"),
    ("toprank", {"weights": (1.0, -2.0, 1.0)}, "weights of 0 or more"),
    ("toprank", {"weights": (0.0, 0.0, 0.0)}, "at least one of them above 0"),
    ("toprank", {"weights": "learned"}, "'measured', 'equal' or numbers, got 'learned'"),
    ("toprank", {"t": 0}, "t of toprank to be a whole number of 1 or more"),
    ("least-squares", {"C": 0.0}, "C of least-squares to be a number above 0, got 0.0"),
    ("cfbrs", {"base": "rank-svm"}, "unknown ranker 'rank-svm'; did you mean ranksvm"),
    ("cfbrs", {"min_block": 0}, "min_block of cfbrs to be a whole number of 1 or more, got 0"),
    (
        "cfbrs",
        {"min_block": 5},
        "min_block of cfbrs to be at most 4, the number of features, got 5",
    ),
    ("cfbrs", {"compositions": 0}, "expected compositions of cfbrs to be 1 or more, got 0"),
    ("cfbrs", {"compositions": "some"}, "lists of block sizes, such as (5, 41), got 'some'"),
    ("cfbrs", {"compositions": [(2, 3)]}, "blocks of 1 or more that add up to 4, got (2, 3)"),
    ("cfbrs", {"compositions": [(4, 0)]}, "blocks of 1 or more that add up to 4, got (4, 0)"),
    ("cfbrs", {"compositions": [(2.0, 2.0)]}, "lists of block sizes"),
    (
        "cfbrs",
        {"compositions": 3, "sampling": "stratified"},
        "4 compositions or more, one per number of blocks (1 to 4), got 3",
    ),
    (
        "cfbrs",
        {"compositions": 9, "sampling": "stratified", "probabilities": (1, 1, 1, 1, 1)},
        "probabilities for 1 to 4 blocks, got one for 5",
    ),
    ("cfbrs", {"probabilities": (1.0,)}, "probabilities need sampling='stratified'"),
    ("cfbrs", {"combine": "bord"}, "unknown aggregator 'bord'; did you mean borda"),
    ("cfbrs", {"combine": "borda", "normalise": "zscore"}, "normalise needs combine='score'"),
    ("cfbrs", {"base": "rankboost", "scale_loss": True}, "rankboost has no parameter C or l2"),
    ("cfbrs", {"groups": {"a": ["f9"]}}, "unknown feature 'f9'"),
    (
        "cfbrs",
        {"groups": {"a": ["f1"], "b": ["f1"]}},
        "feature f1 is in the groups a and b",
    ),
    ("cfbrs", {"groups": {"a": [7]}}, "features 0 to 3 in groups, got 7"),
    ("toprank", {"mode": "letter"}, "mode of toprank to be 'best' or 'paper'"),
    (
        "rpc-mtl",
        {"n_clusters": 0},
        "n_clusters of rpc-mtl to be a whole number of 1 or more, got 0",
    ),
    (
        "rpc-mtl",
        {"kappa_1": 5, "kappa_2": 5},
        "kappa_1 of rpc-mtl (near places) to be below kappa_2",
    ),
    ("rpc-mtl", {"distance": "euclid"}, "distance of rpc-mtl to be 'diagonal' or 'full' or none"),
    ("rpc-mtl", {"combine": "both"}, "combine of rpc-mtl to be 'soft' or 'hard'"),
    ("rpc-mtl", {"lam": -1.0}, "lam of rpc-mtl to be a number of 0 or more"),
    ("rpc-mtl", {"ordinal": "probit"}, "ordinal of rpc-mtl to be 'all-threshold' or"),
    ("rpc-mtl", {"solver": "adam"}, "solver of rpc-mtl to be 'lbfgs' or 'sgd'"),
    ("rpc-mtl", {"k": 0}, "k of rpc-mtl"),
    ("auto", {"budget": "soon"}, "expected a budget, '10m', '90s', '1h', '10m cpu'"),
    ("auto", {"budget": "1fits"}, "a whole number of fits, 2 or more, got 1 fits"),
    ("auto", {"n_jobs": 0}, "n_jobs of auto to be 1 or more"),
]


@pytest.mark.parametrize(("name", "parameters", "message"), BAD, ids=lambda v: str(v)[:30])
def test_bad_values_are_told_when_fit_begins(name, parameters, message):
    with pytest.raises(UsageError) as error:
        cheap(name, **parameters).fit(DATA)
    assert message in str(error.value)


def test_every_ranker_has_a_bad_value_tested():
    assert {name for name, _, _ in BAD} == set(NAMES)


def test_a_loss_nobody_speaks_to():
    data = RankingData.from_arrays(np.eye(4), [1, 2, 1, 2], qid=[1, 1, 2, 2])
    with pytest.raises(DataError, match="the loss of svm-map cannot distinguish"):
        cheap("svm-map").fit(data)


def test_two_queries_are_enough_for_a_ranker_that_validates():
    X, y, qid = arrays(DATA.subset([0, 1, 2]))
    for n in (1, 2, 3):
        rows = np.isin(qid, DATA.qids[:n])
        for ranker in (cheap("lambdamart"), ListNet(scorer=MLP(hidden=(3,), epochs=2))):
            assert np.isfinite(ranker.fit(X[rows], y[rows], qid=qid[rows]).predict(X)).all()


def test_what_is_held_out_tells_something():
    """One query with an answer among many without: it is trained on."""
    rng = np.random.default_rng(0)
    y = np.zeros(60)
    y[30:33] = 1
    data = RankingData.from_arrays(rng.standard_normal((60, 2)), y, qid=np.arange(60) // 6)
    ranker = cheap("lambdamart").fit(data)
    assert ranker.history_.valid == [None] * len(ranker.history_)


def test_validation_without_an_answer():
    blank = RankingData.from_arrays(DATA.X, np.zeros(len(DATA)), qid=qid_of(DATA))
    for name in ("rankboost", "lambdamart", "listnet"):
        with pytest.raises(DataError, match=r"in every validation query .* the same label"):
            cheap(name).fit(DATA, valid=blank)


# --- networks ---

SMALL_MLP = MLP(hidden=(4,), epochs=3, batch_queries=4)


@pytest.mark.parametrize("name", ["ranknet", "listnet", "listmle", "topk-listmle", "focused-net"])
def test_networks_keep_the_contract(name, tmp_path):
    ranker = cheap(name, scorer=SMALL_MLP).fit(DATA)
    assert ranker.model_.kind == "mlp"
    assert len(ranker.history_) == 3
    again = cheap(name, scorer=SMALL_MLP).fit(DATA)
    assert again.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()
    ranker.save(tmp_path / "net.podium")
    loaded = load(tmp_path / "net.podium")
    assert loaded.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()
    assert loaded.get_params() == ranker.get_params()
    assert loaded.history_ == ranker.history_
    other = cheap(name, scorer=SMALL_MLP, seed=1).fit(DATA).predict(DATA)
    assert not np.array_equal(other, ranker.predict(DATA))
    with threadpool_limits(2):
        assert pickle.loads(pickle.dumps(ranker)).predict(DATA).tobytes() == (
            ranker.predict(DATA).tobytes()
        )


def test_queries_that_say_nothing_do_not_harm_a_network():
    data = small(30, blank=0.6, seed=4)
    ranker = RankNet(scorer=MLP(hidden=(3,), epochs=4, batch_queries=1)).fit(data)
    assert np.isfinite(ranker.predict(data)).all()
    assert np.isfinite(ranker.history_.objective).all()


def test_a_ranker_of_your_own_is_a_small_class():
    """The contract is open: `learn` is all a subclass writes."""

    @dataclasses.dataclass(kw_only=True, eq=False, repr=False)
    class First(RankBoost):
        name = "first"
        rounds: int = 1

    assert isinstance(First(), Ranker)
    assert len(First().fit(DATA).history_) == 1

"""Preparation in the model: steps learned on training queries, applied by every use, kept in the file."""

import weakref

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import podium
from podium.data import Groups, RankingData, make_synthetic, scale_by_query, split
from podium.ensemble import Bagged, TopRank
from podium.errors import DataError, ModelFileError, UnknownNameError, UsageError
from podium.metrics import evaluate
from podium.rankers import LambdaMART, Prepared, RankBoost, RankSVM, Regression, tune
from podium.rankers.models import Linear
from podium.rankers.preparation import Preparation
from podium.rankers.preparation_statistics import learn_preparation
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.shared_preparations import shared_features
from podium.registry import RANKERS
from podium.testing import check_ranker
from tests.support.small_rankers import cheap

NAMES = ["price", "clicks", "age"]


def rows(n=60, seed=0, missing=0.2, dtype=np.float64):
    """Features of different scales, with holes."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, [100.0, 3.0, 0.1], (n, 3))
    X[rng.random(X.shape) < missing] = np.nan
    return X.astype(dtype)


def queries(seed=0, missing=0.2, dtype=np.float64):
    """Queries whose labels follow the features."""
    X = rows(seed=seed, missing=missing, dtype=dtype)
    filled = np.where(np.isnan(X), 0, X)
    y = (filled @ [0.01, 0.3, 2.0] > 3).astype(float) + (filled[:, 0] > 250)
    return RankingData.from_arrays(
        X, y, qid=np.arange(60) // 10, feature_names=NAMES, missing="nan"
    )


# --- the steps ---


SCALERS = {"zscore": StandardScaler(), "minmax": MinMaxScaler(), "robust": RobustScaler()}


@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize("impute", ["median", "mean"])
def test_steps_equal_scikit_learns(impute, scale):
    X, other = rows(), rows(seed=1)
    steps = learn_preparation(X, NAMES, impute=impute, scale=scale, indicators=True)
    pipeline = make_pipeline(SimpleImputer(strategy=impute), clone(SCALERS[scale])).fit(X)
    out = steps.apply(other)
    np.testing.assert_allclose(out[:, :3], pipeline.transform(other), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out[:, 3:], np.isnan(other))


def test_the_order_is_clip_log1p_impute_scale():
    X = np.array([[-5.0], [np.e - 1], [1e9], [np.nan]])
    steps = learn_preparation(
        X, ["a"], impute="zero", scale="minmax", log1p=["a"], clip={"a": (0, np.e**2 - 1)}
    )
    # clipped: 0, e - 1, e^2 - 1; log1p: 0, 1, 2; filled: 0; (x - 0) / 2
    np.testing.assert_allclose(steps.apply(X).ravel(), [0, 0.5, 1, 0], atol=1e-15)
    assert steps.describe() == (
        "clipped 1 feature, log1p of 1 feature, missing values filled in, scaled (minmax)"
    )


def test_open_bounds():
    X = np.array([[-5.0, -5.0], [5.0, 5.0]])
    steps = learn_preparation(X, ["a", "b"], clip={"a": (None, 1), "b": (-1, None)})
    assert steps.apply(X).tolist() == [[-5, -1], [1, 5]]
    for bounds in ((0, np.inf), (None, None), (-np.inf, 1)):
        with pytest.raises(UsageError, match="lowest and the highest value to clip 'a'"):
            learn_preparation(X, ["a", "b"], clip={"a": bounds})


@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust", "query-zscore", "query-minmax"])
def test_a_constant_feature_becomes_0(scale):
    X = np.full((4, 1), 0.1)
    assert learn_preparation(X, ["a"], scale=scale).apply(X, Groups.from_sizes([4])).tolist() == (
        [[0.0]] * 4
    )


def test_a_feature_without_values_is_filled_with_0():
    X = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    for impute in ("median", "mean", "zero"):
        steps = learn_preparation(X, ["a", "b"], impute=impute, scale="zscore")
        assert steps.apply(X)[:, 0].tolist() == [0, 0]


def test_missing_values_stay_missing_without_impute():
    X = np.array([[np.nan], [1.0], [3.0]])
    out = learn_preparation(X, ["a"], scale="minmax").apply(X)
    np.testing.assert_array_equal(out, [[np.nan], [0], [1]])


@pytest.mark.parametrize("scale", ["query-zscore", "query-minmax"])
def test_scaling_within_queries_is_that_of_scale_by_query(scale):
    data = queries(missing=0)
    steps = learn_preparation(data.X, NAMES, scale=scale)
    expected = scale_by_query(data, scale.removeprefix("query-"))
    np.testing.assert_array_equal(steps.apply(data.X, data.groups), expected.X)
    with pytest.raises(
        UsageError,
        match=r"scaled within queries, but the query ids are missing.*predict\(X, qid=qid\)",
    ):
        steps.apply(data.X)


@pytest.mark.parametrize("scale", ["none", "zscore", "query-zscore"])
def test_float32_stays_float32(scale):
    X = rows(dtype=np.float32)
    steps = learn_preparation(X, NAMES, impute="mean", scale=scale, indicators=True)
    out = steps.apply(X, Groups.from_sizes([60]))
    assert out.dtype == np.float32
    wide = steps.apply(X.astype(np.float64), Groups.from_sizes([60]))
    np.testing.assert_allclose(out, wide, rtol=1e-5, atol=1e-5)


def test_nothing_is_copied_if_nothing_is_to_do():
    X = rows(missing=0)
    assert learn_preparation(X, NAMES).apply(X) is X
    assert learn_preparation(X, NAMES, impute="median").apply(X) is X
    assert learn_preparation(X, NAMES, impute="median", indicators=True).apply(X) is X


def test_the_input_is_never_changed():
    X = rows()
    before = X.copy()
    learn_preparation(
        X, NAMES, impute="mean", scale="zscore", log1p=["price"], clip={"age": (0, 0.1)}
    ).apply(X)
    np.testing.assert_array_equal(X, before)


def test_blocks_of_rows_give_what_the_whole_gives(monkeypatch):
    X = rows()
    steps = learn_preparation(X, NAMES, impute="mean", scale="robust", indicators=True)
    whole = steps.apply(X)
    monkeypatch.setattr("podium.rankers.preparation.BLOCK_VALUES", 21)
    np.testing.assert_array_equal(steps.apply(X), whole)


def test_log1p_refuses_values_of_minus_1_or_less():
    X = np.array([[0.0], [-1.5]])
    with pytest.raises(DataError, match=r"above -1 for log1p, got -1.5 in feature 'a', row 1") as e:
        learn_preparation(X, ["a"], log1p=["a"])
    assert "clip={'price': (0, None)}" in str(e.value)
    assert "--clip price=0:" in e.value.on_command_line()
    steps = learn_preparation(np.zeros((2, 1)), ["a"], log1p=["a"])
    with pytest.raises(DataError, match=r"got -1.5 in feature 1, row 1"):
        steps.apply(X)


def test_unknown_features_and_wrong_bounds_are_refused():
    X = np.zeros((2, 1))
    with pytest.raises(UnknownNameError, match=r"unknown feature to prepare 'prise'.*price"):
        learn_preparation(X, ["price"], log1p=["prise"])
    for bounds in ((2, 1), (1,), "a", (None, np.nan), 5):
        with pytest.raises(
            UsageError, match="expected the lowest and the highest value to clip 'price'"
        ):
            learn_preparation(X, ["price"], clip={"price": bounds})
    with pytest.raises(UsageError, match=r"expected rows of 1 features, got shape \(2, 2\)"):
        learn_preparation(X, ["price"]).apply(np.zeros((2, 2)))


# --- the model ---


def test_a_prepared_model_is_its_model_on_prepared_features():
    X = np.array([[10.0], [np.nan], [30.0]])
    steps = learn_preparation(X, ["a"], impute="mean", scale="minmax", indicators=True)
    model = PreparedModel(steps, Linear(np.array([2.0, 0.5])))
    # prepared: 0, 0.5 (missing), 1
    assert model.predict(X).tolist() == [0.0, 2 * 0.5 + 0.5, 2.0]
    assert model.contributions(X).tolist() == [[0.0], [1.5], [2.0]]
    assert model.importance().tolist() == [2.5]
    assert model.n_features == 1


def test_contributions_within_queries_add_up():
    data = queries()
    ranker = Prepared(RankSVM(), scale="query-zscore", indicators=True).fit(data)
    explanation = ranker.explain(data, "2")
    np.testing.assert_allclose(explanation.contributions.sum(axis=1), explanation.scores)
    assert explanation.feature_names == tuple(NAMES)


# --- the ranker ---


@pytest.mark.parametrize(
    "ranker",
    [
        Prepared(RankSVM()),
        Prepared(RankSVM(), impute="mean", indicators=True, scale="query-minmax"),
        Prepared(LambdaMART(trees=5, min_leaf=2), impute="none", scale="none"),
    ],
)
def test_the_contract_of_rankers_holds(ranker):
    check_ranker(ranker)


def test_it_equals_the_ranker_on_features_prepared_by_hand():
    data = queries()
    ranker = Prepared(RankSVM(C=0.1), impute="mean", scale="zscore").fit(data)
    pipeline = make_pipeline(SimpleImputer(), StandardScaler()).fit(data.X)
    by_hand = RankSVM(C=0.1).fit(pipeline.transform(data.X), data.y, qid=data.groups.codes)
    other = queries(seed=1)
    np.testing.assert_allclose(
        ranker.predict(other), by_hand.predict(pipeline.transform(other.X)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", [n for n in RANKERS if n not in ("toprank", "cfbrs", "rpc-mtl")])
def test_every_ranker_takes_missing_values_if_asked_to(name):
    data = queries()
    ranker = Prepared(cheap(name))
    assert np.isfinite(ranker.fit(data).predict(data)).all()


def test_without_impute_missing_values_are_refused_as_before():
    with pytest.raises(DataError, match=r"missing values .*, which prepared does not take"):
        Prepared(RankSVM(), impute="none").fit(queries())
    assert not Prepared(RankSVM(), impute="none").accepts_missing
    assert Prepared(LambdaMART(), impute="none").accepts_missing


def test_steps_are_learned_on_training_queries_alone():
    """Queries that the ranker holds out to choose an iteration do not move a median."""
    data = queries(missing=0)
    ranker = Prepared(LambdaMART(trees=3, min_leaf=2, seed=1), impute="mean", scale="zscore").fit(
        data
    )
    train, held_out = ranker.training_parts(data, None)
    assert held_out is not None
    np.testing.assert_allclose(ranker.model_.preparation.shift, train.X.mean(axis=0))


def test_weightless_queries_move_nothing():
    data = queries(missing=0)
    weight = np.array([1.0, 1, 1, 1, 1, 0])
    weighted = RankingData.from_arrays(
        data.X, data.y, qid=data.groups.codes, query_weight=weight, feature_names=NAMES
    )
    shift = Prepared(RankSVM()).fit(weighted).model_.preparation.shift
    np.testing.assert_allclose(shift, data.X[:50].mean(axis=0))


def test_predict_on_arrays_within_queries_needs_query_ids():
    data = queries()
    ranker = Prepared(RankSVM(), scale="query-zscore").fit(data)
    with pytest.raises(UsageError, match=r"the query ids are missing.*predict\(X, qid=qid\)"):
        ranker.predict(data.X)
    scores = ranker.predict(data.X, qid=data.groups.codes)
    np.testing.assert_array_equal(scores, ranker.predict(data))
    shuffled = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(
        ranker.predict(data.X[shuffled], qid=data.groups.codes[shuffled]), scores[shuffled]
    )
    with pytest.raises(UsageError, match="RankingData already has query ids"):
        ranker.predict(data, qid=data.groups.codes)


def test_it_is_a_scikit_learn_estimator():
    ranker = Prepared(RankSVM(C=3.0), clip={"price": (0, 9)})
    assert ranker.get_params()["ranker__C"] == 3.0
    copy = clone(ranker).set_params(ranker__C=0.5, impute="zero")
    assert (copy.ranker.C, copy.impute, ranker.ranker.C) == (0.5, "zero", 3.0)
    assert repr(ranker) == "Prepared(clip={'price': (0, 9)}, ranker=RankSVM(C=3.0))"


def test_a_wrapped_ranker_may_be_a_name():
    ranker = Prepared("ranksvm", scale="none")
    assert ranker.ranker.get_params() == RankSVM().get_params()
    assert repr(clone(ranker)) == repr(Prepared(RankSVM(), scale="none"))
    assert isinstance(ranker.set_params(ranker="toprank").ranker, TopRank)
    data = queries()
    named, made = Prepared("ranksvm").fit(data), Prepared(RankSVM()).fit(data)
    assert (named.predict(data) == made.predict(data)).all()
    assert isinstance(Bagged("lambdamart").ranker, LambdaMART)
    with pytest.raises(
        UnknownNameError, match="unknown ranker 'lambdamrt'; did you mean lambdamart"
    ):
        Prepared("lambdamrt")


def test_a_scikit_learn_pipeline_still_works():
    data = queries()
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), RankSVM())
    pipeline.fit(data.X, data.y, ranksvm__qid=data.groups.codes)
    assert pipeline.predict(data.X).shape == (60,)


def test_tune_takes_the_parameters_of_the_ranker_by_their_names():
    train, valid = queries(), queries(seed=1)
    tuning = tune(Prepared(RankSVM()), train, valid, grid={"C": [1e-3, 1.0], "scale": ["zscore"]})
    assert {trial.settings["C"] for trial in tuning.trace} == {1e-3, 1.0}
    assert tuning.settings["C"] == tuning.ranker.ranker.C
    default = tune(Prepared(Regression()), train, valid)
    assert len(default.trace) == len(tune(Regression(), *_filled(train, valid)).trace)
    with pytest.raises(UnknownNameError, match="unknown parameter of ranksvm 'D'"):
        tune(Prepared(RankSVM()), train, valid, grid={"D": [1]})


def _filled(*parts):
    return [d.with_features(np.nan_to_num(d.X)) for d in parts]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"impute": "modus"}, "expected impute of prepared to be 'none' or 'median'"),
        ({"scale": "log"}, "expected scale of prepared to be 'none' or 'zscore'"),
        ({"log1p": "price"}, "expected a list of feature names as log1p, got 'price'"),
        ({"clip": ["price"]}, r"expected clip as in \{'price': \(0, 100\)\}"),
        ({"ranker": 3}, "expected ranker of prepared to be Ranker"),
        ({"ranker": Prepared(RankSVM())}, "the ranker is prepared already"),
        ({"ranker": RankSVM(C=-1)}, "expected C of ranksvm"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        Prepared(**{"ranker": RankSVM(), **settings}).fit(queries())


# --- files ---


@pytest.mark.parametrize(
    "ranker",
    [
        Prepared(
            RankSVM(),
            indicators=True,
            log1p=("clicks",),
            clip={"price": (None, 300), "age": (0, 1)},
        ),
        Prepared(LambdaMART(trees=3, min_leaf=2), impute="none", scale="query-zscore"),
        Prepared(TopRank(base=RankSVM(), rankers=(Regression(),), t=3, tuned=False)),
    ],
)
def test_a_file_keeps_the_preparation(ranker, tmp_path):
    data, path = queries(), tmp_path / "model.podium"
    ranker.fit(data).save(path)
    again = podium.load(path)
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))
    assert repr(again) == repr(ranker)
    again.save(tmp_path / "again.podium")
    assert (tmp_path / "again.podium").read_bytes() == path.read_bytes()


def test_a_prepared_member_of_an_ensemble_is_kept(tmp_path):
    data, path = queries(missing=0), tmp_path / "model.podium"
    ranker = TopRank(
        base=Prepared(RankSVM()), rankers=(RankBoost(rounds=3),), t=3, tuned=False
    ).fit(data)
    ranker.save(path)
    np.testing.assert_array_equal(podium.load(path).predict(data), ranker.predict(data))
    assert version(path) == 2


def version(path):
    """The format version of a model file."""
    import json
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("manifest.json"))["version"]


def test_only_models_with_preparation_are_of_format_2(tmp_path, monkeypatch):
    data, path = queries(missing=0), tmp_path / "model.podium"
    RankSVM().fit(data).save(path)
    assert version(path) == 1
    Prepared(RankSVM()).fit(data).save(path)
    assert version(path) == 2
    # A podium of format 1:
    monkeypatch.setattr("podium.rankers.model_files.NEWEST_VERSION", 1)
    message = r"format version 2 instead of 1 to 1, written by podium .*; a newer podium reads it"
    with pytest.raises(ModelFileError, match=message):
        podium.load(path)


def parts(**changes):
    steps = learn_preparation(rows(), NAMES, impute="mean", scale="zscore", indicators=True)
    stored = PreparedModel(steps, Linear(np.ones(6))).parts() | changes
    return {name: part for name, part in stored.items() if part is not None}


STEPS = '{"features": %s, "clip": %s, "log1p": %s, "indicators": [0, 1, 2], "scale": "%s"}'


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preparation": None}, "a text named 'preparation'"),
        ({"preparation": "[]"}, "the steps of the preparation are damaged"),
        ({"preparation": STEPS % (0, [], [], "zscore")}, "0 features"),
        ({"preparation": STEPS % (4, [], [], "zscore")}, "expected 4 numbers in 'fill'"),
        ({"preparation": STEPS % (3, [[3, 0, 1]], [], "zscore")}, "3 as a clipped feature"),
        ({"preparation": STEPS % (3, [[0, 2, 1]], [], "zscore")}, "the bounds 2 and 1"),
        ({"preparation": STEPS % (3, '[[0, "a", 1]]', [], "zscore")}, "'a' as a bound"),
        ({"preparation": STEPS % (3, [], [1, 0], "zscore")}, "each once and in order"),
        ({"preparation": STEPS % (3, [], "[true]", "zscore")}, "instead of numbers of features"),
        ({"preparation": STEPS % (3, [], [], "log")}, "the scaling 'log'"),
        ({"preparation": STEPS % (3, [], [], "none")}, "one shift and one divisor per feature"),
        ({"shift": None}, "one shift and one divisor per feature"),
        ({"divisor": np.zeros(3)}, "divisors above 0"),
        ({"divisor": np.full(3, np.inf)}, "finite numbers in 'divisor'"),
        ({"fill": np.ones(3, dtype=np.float32)}, "a vector of float64 named 'fill'"),
        ({"model/kind": "prepared"}, "unknown kind of model after a preparation: prepared"),
        ({"model/kind": None}, "unknown kind of model after a preparation: None"),
        ({"model/weights": np.ones(5)}, "a model of 6 features after the preparation, got 5"),
    ],
)
def test_forged_parts_are_refused(changes, message):
    with pytest.raises(ModelFileError, match=message):
        PreparedModel.from_parts(parts(**changes))


def test_parts_are_complete():
    model = PreparedModel.from_parts(parts())
    assert isinstance(model.preparation, Preparation)
    X = rows(seed=2)
    steps = learn_preparation(rows(), NAMES, impute="mean", scale="zscore", indicators=True)
    np.testing.assert_array_equal(model.preparation.apply(X), steps.apply(X))


def test_tune_prepares_the_same_rows_once(monkeypatch):
    train, valid = split(make_synthetic(n_queries=40, n_features=4, seed=1), [0.7, 0.3])
    prepared = []
    apply = Preparation.apply

    def counted(self, X, *more):
        features = apply(self, X, *more)
        prepared.append((X is train.X, weakref.ref(features)))
        return features

    grid = {"C": [1e-4, 1e-3, 1e-2], "scale": ["zscore", "query-zscore"]}
    settings = [{"C": C, "scale": scale} for scale in grid["scale"] for C in grid["C"]]
    alone = [
        evaluate(valid, Prepared("ranksvm").set_params(ranker__C=s["C"], scale=s["scale"])
                 .fit(train, valid=valid).predict(valid), "NDCG@10")["NDCG@10"].mean
        for s in settings
    ]  # fmt: skip
    monkeypatch.setattr(Preparation, "apply", counted)
    tuning = tune(Prepared("ranksvm"), train, valid, grid=grid, warm=False)
    assert [trial.settings for trial in tuning.trace] == settings
    np.testing.assert_allclose([trial.value for trial in tuning.trace], alone, rtol=1e-12)
    assert sum(is_train for is_train, _ in prepared) == 2  # once per scale
    assert (
        sum(not is_train for is_train, _ in prepared) == 2 + 6
    )  # and for the scores of each trial
    assert not any(features() is not None for _, features in prepared)  # nothing is kept


def test_transformers_of_equal_parameters_prepare_once(monkeypatch):
    train, valid = split(make_synthetic(n_queries=40, n_features=4, seed=1), [0.7, 0.3])
    prepared = []
    apply = Preparation.apply

    def counted(self, X, *more):
        prepared.append(X is train.X)
        return apply(self, X, *more)

    monkeypatch.setattr(Preparation, "apply", counted)
    scalers = [StandardScaler(), StandardScaler(with_mean=False)]
    tune(Prepared("ranksvm"), train, valid, grid={"scale": scalers, "C": [1e-3, 1e-2]})
    assert sum(prepared) == 2


def test_prepared_features_of_other_rows_are_not_shared():
    data = make_synthetic(n_queries=40, n_features=4, seed=1)
    codes = np.arange(len(data)) // 3
    ranker = Prepared("ranksvm", scale="query-zscore")
    others = [
        data,
        RankingData.from_arrays(data.X, data.y, qid=codes),
        data.subset(range(20)),
        data,
    ]
    alone = [clone(ranker).fit(other).predict(data).tobytes() for other in others]
    with shared_features():
        shared = [clone(ranker).fit(other).predict(data).tobytes() for other in others]
    assert shared == alone
    assert len(set(alone)) == 3

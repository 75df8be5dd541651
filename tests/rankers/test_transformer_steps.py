"""Transformers of scikit-learn as steps of a prepared ranker."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import podium
from podium.errors import UsageError
from podium.exchange import export_model
from podium.rankers import Prepared
from podium.rankers.parameter_json import from_json, to_json
from podium.rankers.preparation_statistics import learn_preparation

DRAW = np.random.default_rng(0)
X = DRAW.lognormal(size=(120, 4))
X[DRAW.random(X.shape) < 0.1] = np.nan
X[:, 3] = 7  # constant
LABELS, QUERIES = DRAW.integers(0, 3, 120), np.repeat(np.arange(12), 10)
NAMES = list("abcd")

IMPUTERS = [
    SimpleImputer(),
    SimpleImputer(strategy="median"),
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value=3),
]
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler(),
    MinMaxScaler(feature_range=(-1, 2)),
    RobustScaler(quantile_range=(10, 90), unit_variance=True),
    RobustScaler(with_centering=False),
    RobustScaler(with_scaling=False),
]


@pytest.mark.parametrize("imputer", IMPUTERS, ids=repr)
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_steps_are_those_of_a_pipeline(imputer, scaler):
    expected = make_pipeline(clone(imputer), clone(scaler)).fit_transform(X)
    steps = learn_preparation(X, NAMES, impute=imputer, scale=scaler)
    np.testing.assert_allclose(steps.apply(X), expected, rtol=0, atol=1e-12)


def test_an_imputer_may_add_indicators():
    imputer = SimpleImputer(add_indicator=True)
    steps = learn_preparation(X, NAMES, impute=imputer)
    np.testing.assert_allclose(steps.apply(X), imputer.fit_transform(X), rtol=0, atol=1e-12)


def test_a_scaler_alone_keeps_missing_values():
    steps = learn_preparation(X, NAMES, scale=StandardScaler())
    np.testing.assert_allclose(steps.apply(X), StandardScaler().fit_transform(X), atol=1e-12)


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_a_model_file_keeps_them(tmp_path, scaler):
    ranker = Prepared("ranksvm", impute=SimpleImputer(strategy="most_frequent"), scale=scaler)
    ranker.fit(X, LABELS, qid=QUERIES).save(tmp_path / "m.podium")
    loaded = podium.load(tmp_path / "m.podium")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert repr(loaded) == repr(ranker)
    assert loaded.get_params()["scale"].get_params() == scaler.get_params()


def test_their_settings_are_parameters():
    ranker = clone(Prepared("ranksvm", scale=StandardScaler())).set_params(scale__with_mean=False)
    assert ranker.scale.with_mean is False


def test_engines_get_their_numbers():
    ranker = Prepared("ranksvm", impute="none", scale=StandardScaler())
    names = [f"f{j}" for j in range(1, 5)]
    filled = np.nan_to_num(X, nan=1.0)
    ranker.fit(filled, LABELS, qid=QUERIES)
    exported = export_model(ranker, "elasticsearch", name="m", feature_names=names)
    assert f"{filled[:, 0].mean():.6g}"[:6] in exported.content


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"scale": QuantileTransformer()}, "put it before a ranker in a Pipeline"),
        ({"impute": KNNImputer()}, "expected impute to be a word, SimpleImputer.*, got KNNImputer"),
        ({"impute": StandardScaler()}, "expected impute to be a word"),
        ({"scale": SimpleImputer()}, "expected scale to be a word, StandardScaler"),
        ({"scale": MinMaxScaler(clip=True)}, "clip= of Prepared clips features"),
        ({"impute": SimpleImputer(missing_values=-1)}, "for NaN, got missing_values=-1"),
        ({"impute": SimpleImputer(strategy=np.max)}, "with the strategy mean, median"),
        ({"impute": SimpleImputer(strategy="constant", fill_value="x")}, "a number as fill_value"),
        ({"scale": "zscor"}, "or a transformer of scikit-learn, got 'zscor'"),
    ],
)
def test_others_are_refused_with_a_way_out(steps, message):
    with pytest.raises(UsageError, match=message):
        Prepared("ranksvm", **steps).fit(X, LABELS, qid=QUERIES)


def test_a_class_of_your_own_is_no_step():
    class Scaler(StandardScaler):
        pass

    with pytest.raises(UsageError, match="expected scale to be a word"):
        Prepared("ranksvm", scale=Scaler()).fit(X, LABELS, qid=QUERIES)


def test_only_known_classes_are_read():
    assert repr(from_json(to_json(MinMaxScaler(feature_range=(0, 2))), {})) == repr(
        MinMaxScaler(feature_range=(0, 2))
    )
    with pytest.raises(UsageError, match="expected a known transformer, got 'Popen'"):
        from_json({"transformer": "Popen", "parameters": {}}, {})
    with pytest.raises(TypeError, match="args"):
        from_json({"transformer": "MinMaxScaler", "parameters": {"args": "ls"}}, {})

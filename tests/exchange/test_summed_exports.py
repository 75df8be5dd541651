"""Exports of sums: bags are what their members are, other sums go where an engine has sums."""

import numpy as np
import onnxruntime
import pytest

import podium
from podium.ensemble import Bagged, combine_models
from podium.errors import CannotExpressError
from podium.exchange import SumOfForms, WeightedSum, emulate, export_model
from podium.exchange.portable_model import make_portable
from podium.rankers import MLP, ListNet, Prepared, RankBoost, RankSVM
from podium.rankers.forest import Forest
from podium.rankers.imported_ranker import ImportedRanker
from tests.support.export_targets import TARGETS
from tests.support.small_rankers import cheap, small

DATA = small(20, n_features=4, seed=5)
ROWS = DATA.X.astype(np.float32).astype(np.float64)
ENGINES = ("elasticsearch", "opensearch", "solr", "vespa")


def check(ranker, target):
    exported = export_model(ranker, target)
    expected = ranker.predict(ROWS)
    np.testing.assert_allclose(emulate(exported, ROWS), expected, rtol=2e-5, atol=2e-5)
    if target == "onnx":
        session = onnxruntime.InferenceSession(exported.content)
        (found,) = session.run(["score"], {"features": ROWS.astype(np.float32)})
        np.testing.assert_allclose(found[:, 0], expected, rtol=2e-5, atol=2e-5)
    return exported


def summed(*rankers, weights=None):
    """A ranker whose model is a sum of these rankers' models."""
    models = [ranker.fit(DATA).model_ for ranker in rankers]
    weights = weights or [1.0 + i for i in range(len(models))]
    offsets, scales = [0.5] * len(models), [2.0] * len(models)
    return ImportedRanker.from_model(combine_models(models, weights, offsets, scales), "a sum")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "form"), [("ranksvm", WeightedSum), ("lambdamart", Forest), ("rankboost", Forest)]
)
def test_bags_are_exported_as_what_their_members_are(name, form, target):
    ranker = Bagged(cheap(name), bags=3, feature_fraction=0.5).fit(DATA)
    assert type(make_portable(ranker).form) is form
    assert check(ranker, target).name == name


@pytest.mark.parametrize("target", TARGETS)
def test_prepared_bags_scale_in_the_engine(target):
    check(Prepared(Bagged(RankSVM(), bags=2), scale="minmax").fit(DATA), target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_sum_of_stumps_and_trees_is_a_sum_of_trees(target):
    ranker = summed(RankBoost(rounds=4), cheap("lambdamart"))
    assert type(make_portable(ranker).form) is Forest
    check(ranker, target)


@pytest.mark.parametrize("target", ["onnx", "json"])
@pytest.mark.parametrize(
    "rankers",
    [
        (RankSVM(), cheap("lambdamart")),
        (RankSVM(), cheap("lambdamart"), ListNet(scorer=MLP(hidden=(3,), epochs=2))),
        (Prepared(RankSVM(), impute="none", scale="zscore"), RankBoost(rounds=3), RankSVM()),
        (Prepared(cheap("lambdamart"), scale="minmax"), RankSVM()),
    ],
    ids=["linear and trees", "three kinds", "scaled", "scaled trees"],
)
def test_sums_of_several_forms(rankers, target):
    ranker = summed(*rankers)
    form = make_portable(ranker).form
    assert type(form) is SumOfForms
    np.testing.assert_allclose(form.predict(ROWS), ranker.predict(ROWS), rtol=1e-9, atol=1e-9)
    assert check(ranker, target).kind == "sum"


@pytest.mark.parametrize("feature_fraction", [1.0, 0.5])
def test_bags_of_networks(feature_fraction):
    ranker = Bagged(
        ListNet(scorer=MLP(hidden=(3,), epochs=2)), bags=2, feature_fraction=feature_fraction
    )
    check(ranker.fit(DATA), "onnx")
    check(ranker, "json")


def test_bags_with_their_own_scaling():
    prepared = Prepared(RankSVM(), impute="none", scale="zscore")
    check(Bagged(prepared, bags=2, feature_fraction=0.5).fit(DATA), "onnx")


@pytest.mark.parametrize("target", ENGINES)
def test_engines_without_sums_refuse_them_and_name_onnx(target):
    ranker = summed(RankSVM(), cheap("lambdamart"))
    with pytest.raises(
        CannotExpressError, match=r"a sum of a weighted sum and trees.*export it to onnx"
    ):
        export_model(ranker, target)


@pytest.mark.parametrize("target", TARGETS)
def test_what_cannot_be_a_sum_is_refused(target):
    filled = Bagged(Prepared(RankSVM(), impute="median"), bags=2).fit(DATA)
    with pytest.raises(CannotExpressError, match=r"each by its own numbers.*nearest: Prepared"):
        export_model(filled, target)
    votes = Bagged(cheap("toprank"), bags=2).fit(DATA)
    with pytest.raises(CannotExpressError, match="engines score one document at a time"):
        export_model(votes, target)
    twice = Prepared(
        Bagged(Prepared(RankSVM(), impute="none", scale="zscore"), bags=2), scale="minmax"
    ).fit(DATA)
    with pytest.raises(CannotExpressError, match="scale features once"):
        export_model(twice, target)


def test_the_file_of_a_bag_needs_podium_alone(tmp_path):
    ranker = Bagged(cheap("lambdamart"), bags=2).fit(DATA)
    ranker.save(tmp_path / "m.podium")
    check(podium.load(tmp_path / "m.podium"), "json")

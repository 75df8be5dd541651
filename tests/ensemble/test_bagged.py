"""Bagged rankers: any ranker on draws of queries and features, as one model."""

import json
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

import podium
from podium.data import RankingData, split
from podium.ensemble import Bagged, ScoreSum, combine_models, offset_and_scale
from podium.ensemble.query_bags import draw_bag, varying_features
from podium.errors import DataError, UnknownNameError, UsageError
from podium.metrics import parse
from podium.rankers import (
    MLP,
    LambdaMART,
    Linear,
    ListNet,
    Prepared,
    Ranker,
    RankSVM,
    Regression,
    explain,
    feature_weights,
    tune,
)
from podium.rankers.models import Stumps
from podium.rankers.prepared_model import PreparedModel
from podium.rankers.tree_model import Trees
from podium.registry import load
from podium.testing import check_ranker
from tests.support.small_rankers import NAMES, cheap, qid_of, small

DATA = small(16, 5, seed=4)


def small_bags(ranker, **settings):
    return Bagged(ranker, **{"bags": 3, **settings})


# --- the draw ---


def test_a_bag_is_drawn_without_replacement():
    bag = draw_bag(DATA, 0.8, 0.4, [0, 0, 0])
    assert len(bag.queries) == len(set(bag.queries.tolist())) == round(0.8 * 16)
    assert len(bag.columns) == round(0.4 * 5)
    assert list(bag.columns) == sorted(set(bag.columns))
    taken = bag.take(DATA)
    np.testing.assert_array_equal(taken.qids, DATA.qids[bag.queries])
    assert taken.feature_names == tuple(DATA.names()[j] for j in bag.columns)


def test_bags_differ_and_the_same_numbers_draw_the_same():
    bags = [draw_bag(DATA, 0.5, 0.5, [0, 0, i]) for i in range(5)]
    assert len({tuple(bag.queries.tolist()) for bag in bags}) > 1
    assert len({bag.columns for bag in bags}) > 1
    assert len({bag.seed for bag in bags}) == 5
    again = draw_bag(DATA, 0.5, 0.5, [0, 0, 3])
    assert (again.columns, again.seed) == (bags[3].columns, bags[3].seed)
    np.testing.assert_array_equal(again.queries, bags[3].queries)


def test_the_order_of_queries_does_not_change_the_draw():
    turned = DATA.subset(np.arange(16)[::-1])
    one, other = (draw_bag(data, 0.5, 1.0, [1, 2]) for data in (DATA, turned))
    assert set(DATA.qids[one.queries]) == set(turned.qids[other.queries])


def test_every_bag_has_a_query_to_learn_from():
    y = np.zeros(len(DATA))
    y[0] = 1.0  # only the first query has different labels
    lonely = DATA.with_labels(y)
    for number in range(10):
        bag = draw_bag(lonely, 0.2, 1.0, [number])
        assert 0 in bag.queries
        assert len(bag.queries) == 1 + round(0.2 * 15)


def test_features_with_one_value_are_not_drawn():
    X = DATA.X.copy()
    X[:, [0, 3]] = 7.0
    data = DATA.with_features(X)
    assert varying_features(data).tolist() == [False, True, True, False, True]
    for number in range(10):
        assert {0, 3}.isdisjoint(draw_bag(data, 0.8, 0.5, [number]).columns)
    X[:] = 1.0
    assert len(draw_bag(DATA.with_features(X), 0.8, 0.4, [0]).columns) == 2


# --- the model ---


def test_the_model_is_the_mean_of_the_standardised_members():
    ranker = small_bags(RankSVM(C=0.1), query_fraction=0.5).fit(DATA)
    members = []
    for number in range(3):
        bag = draw_bag(DATA, 0.5, 1.0, [0, 0, number])
        members.append(RankSVM(C=0.1).fit(DATA.subset(bag.queries)).model_)
    numbers = [offset_and_scale(model.predict(DATA.X), DATA.groups) for model in members]
    expected = sum(m.weights / s for m, (_, s) in zip(members, numbers, strict=True)) / 3
    np.testing.assert_allclose(ranker.model_.weights, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("ranker", "kind"),
    [
        (RankSVM(), Linear),
        (cheap("rankboost"), Stumps),
        (cheap("lambdamart"), Trees),
        (ListNet(scorer=MLP(hidden=(3,), epochs=2)), ScoreSum),
        (Prepared(RankSVM()), ScoreSum),
        (cheap("toprank"), ScoreSum),
    ],
    ids=["linear", "stumps", "trees", "network", "prepared", "toprank"],
)
@pytest.mark.parametrize("feature_fraction", [1.0, 0.6])
def test_the_model_is_as_simple_as_its_members_allow(ranker, kind, feature_fraction):
    bagged = small_bags(ranker, feature_fraction=feature_fraction).fit(DATA)
    assert type(bagged.model_) is kind
    assert bagged.model_.n_features == bagged.n_features_in_ == 5
    assert np.ptp(bagged.predict(DATA)) > 0


def test_features_outside_a_bag_are_not_used():
    bagged = Bagged(cheap("lambdamart"), bags=1, feature_fraction=0.4).fit(DATA)
    used = np.flatnonzero(bagged.model_.importance())
    train = bagged.training_parts(DATA, None)[0]
    columns = draw_bag(train, 0.8, 0.4, [0, 0, 0]).columns
    assert set(used) <= set(columns)
    other = DATA.X.copy()
    other[:, [j for j in range(5) if j not in columns]] += 3.0
    np.testing.assert_array_equal(bagged.predict(other), bagged.predict(DATA))


def test_one_validation_set_stops_every_member():
    train, valid = split(small(40, 4, seed=9), [0.7, 0.3])
    settings = {"trees": 30, "min_leaf": 2, "patience": 3, "threads": 1}
    bagged = small_bags(LambdaMART(**settings)).fit(train, valid=valid)
    members = []
    for number in range(3):
        bag = draw_bag(train, 0.8, 1.0, [0, 0, number])
        own = LambdaMART(**settings, seed=bag.seed)
        members.append(own.fit(train.subset(bag.queries), valid=valid).model_)
    numbers = [offset_and_scale(m.predict(train.X), train.groups) for m in members]
    offsets, scales = zip(*numbers, strict=True)
    expected = combine_models(members, [1 / 3] * 3, offsets, scales)
    np.testing.assert_allclose(bagged.predict(valid), expected.predict(valid.X), atol=1e-12)
    assert len(bagged.history_) == bagged.total_iterations() == 3
    metric = parse("NDCG@10").averaging_ties()
    value = podium.evaluate(valid, bagged.predict(valid), metric)[metric].mean
    assert bagged.history_.valid[-1] == pytest.approx(value)
    assert bagged.history_.best == 3


def test_without_validation_data_queries_are_held_out_once_for_all_bags():
    bagged = small_bags(cheap("lambdamart", validation_fraction=0.25)).fit(DATA)
    train, valid = bagged.training_parts(DATA, None)
    assert valid.n_queries == round(0.25 * 16)
    again = small_bags(cheap("lambdamart", validation_fraction=0.25)).fit(train, valid=valid)
    np.testing.assert_allclose(again.predict(DATA), bagged.predict(DATA), atol=1e-12)


# --- the contract ---


@pytest.mark.parametrize(
    "ranker",
    [
        small_bags(RankSVM()),
        small_bags(cheap("lambdamart"), feature_fraction=0.7),
        Prepared(small_bags(Regression())),
        small_bags(Prepared(RankSVM(), scale="minmax")),
    ],
    ids=["linear", "trees", "prepared outside", "prepared inside"],
)
def test_the_contract_of_rankers_holds(ranker):
    check_ranker(ranker)


@pytest.mark.filterwarnings("ignore::podium.errors.NotConvergedWarning")
@pytest.mark.parametrize("name", NAMES)
def test_every_ranker_can_be_bagged(name, tmp_path):
    bagged = small_bags(cheap(name), bags=2).fit(DATA)
    scores = bagged.predict(DATA)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0
    bagged.save(tmp_path / "bagged.podium")
    assert load(tmp_path / "bagged.podium").predict(DATA).tobytes() == scores.tobytes()


def test_rankers_that_need_queries_take_query_ids_with_arrays():
    bagged = small_bags(cheap("toprank")).fit(DATA)
    with pytest.raises(UsageError, match="query ids are missing"):
        bagged.predict(DATA.X)
    found = bagged.predict(DATA.X, qid=qid_of(DATA))
    np.testing.assert_array_equal(found, bagged.predict(DATA))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_the_number_of_jobs_changes_nothing(backend, tmp_path):
    ranker = small_bags(cheap("lambdamart"), feature_fraction=0.6)
    ranker.fit(DATA).save(tmp_path / "one.podium")
    with joblib.parallel_config(backend, n_jobs=2):
        clone(ranker).fit(DATA).save(tmp_path / "two.podium")
    assert (tmp_path / "one.podium").read_bytes() == (tmp_path / "two.podium").read_bytes()
    three = clone(ranker).set_params(n_jobs=3).fit(DATA)
    assert three.predict(DATA).tobytes() == ranker.predict(DATA).tobytes()


def test_another_seed_draws_other_bags():
    one = small_bags(RankSVM()).fit(DATA).predict(DATA)
    assert np.abs(one - small_bags(RankSVM(), seed=1).fit(DATA).predict(DATA)).max() > 1e-6
    inner = small_bags(cheap("lambdamart", seed=1)).fit(DATA).predict(DATA)
    assert np.abs(inner - small_bags(cheap("lambdamart")).fit(DATA).predict(DATA)).max() > 1e-6


def test_it_is_a_scikit_learn_estimator():
    bagged = small_bags(RankSVM(C=2.0))
    assert clone(bagged).get_params()["ranker__C"] == 2.0
    assert repr(bagged) == "Bagged(bags=3, ranker=RankSVM(C=2.0))"
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(bagged, {"ranker__C": [0.01, 1.0], "bags": [1, 2]}, cv=GroupKFold(2))
        search.fit(DATA.X, DATA.y, groups=qid_of(DATA), qid=qid_of(DATA))
    assert set(search.best_params_) == {"ranker__C", "bags"}


def test_a_frame_keeps_its_names():
    frame = pd.DataFrame(DATA.X, columns=list("abcde"))
    bagged = small_bags(RankSVM(), feature_fraction=0.6).fit(frame, DATA.y, qid=qid_of(DATA))
    assert list(bagged.feature_names_in_) == list("abcde")
    assert set(feature_weights(bagged)) == set("abcde")
    np.testing.assert_array_equal(bagged.predict(frame[list("edcba")]), bagged.predict(frame))


def test_tune_and_compare_take_bagged_rankers():
    train, valid = split(DATA, [0.6, 0.4])
    bagged = small_bags(RankSVM())
    assert bagged.grid == RankSVM.grid
    tuning = tune(bagged, train, valid, grid={"C": [0.01, 1.0], "bags": [1, 2]})
    assert [trial.settings for trial in tuning.trace][:2] == [
        {"C": 0.01, "bags": 1},
        {"C": 0.01, "bags": 2},
    ]
    assert tuning.settings["C"] == tuning.ranker.ranker.C
    report = podium.compare(
        DATA, {"one": RankSVM(), "bags": bagged}, ["NDCG@10"], folds=2, tune=False
    )
    assert {cell.ranker for cell in report.cells} == {"one", "bags"}


def test_explanations_add_up():
    bagged = small_bags(cheap("lambdamart"), feature_fraction=0.6).fit(DATA)
    explanation = explain(bagged, DATA, DATA.qids[1])
    assert np.ptp(explanation.scores - explanation.contributions.sum(axis=1)) < 1e-12


def test_categories_are_prepared_around_the_bags():
    frame = pd.DataFrame(DATA.X, columns=list("abcde"))
    frame["brand"] = pd.Categorical(np.where(DATA.y > 0, "Acme", "Bolt"))
    data = RankingData.from_frame(
        frame.assign(label=DATA.y, qid=qid_of(DATA)),
        label="label",
        query="qid",
        categories=["brand"],
    )
    prepared = Prepared(small_bags(RankSVM(), feature_fraction=0.6), scale="none").fit(data)
    assert type(prepared.model_) is PreparedModel
    assert type(prepared.model_.model) is Linear
    assert prepared.score(data) > 0.9
    with pytest.raises(DataError, match="'brand' is a category"):
        small_bags(RankSVM()).fit(data)


# --- progress, interruption, warnings ---


def test_progress_is_reported_after_each_bag():
    steps = []
    small_bags(RankSVM()).fit(DATA, valid=DATA, callback=steps.append)
    assert [(step.iteration, step.total, step.ranker) for step in steps] == [
        (1, 3, "bagged"),
        (2, 3, "bagged"),
        (3, 3, "bagged"),
    ]


def test_an_interrupted_fit_keeps_the_bags_so_far():
    def stop(step):
        if step.iteration == 2:
            raise KeyboardInterrupt

    with pytest.warns(podium.errors.NotConvergedWarning, match="interrupted"):
        bagged = small_bags(RankSVM()).fit(DATA, callback=stop)
    assert bagged.stopped_ == "interrupted"
    two = Bagged(RankSVM(), bags=2).fit(DATA)
    np.testing.assert_array_equal(bagged.predict(DATA), two.predict(DATA))


def test_a_bag_that_is_interrupted_is_the_last():
    class Interrupted(RankSVM):
        def learn(self, train, monitor, start):
            monitor(0.0, Linear(np.arange(5.0)))
            raise KeyboardInterrupt

    with pytest.warns(
        podium.errors.NotConvergedWarning, match=r"after 1 iterations .* \(interrupted"
    ):
        bagged = small_bags(Interrupted()).fit(DATA)
    np.testing.assert_array_equal(bagged.model_.weights, np.arange(5.0))


def test_one_warning_tells_which_bags_stopped_early():
    with pytest.warns(podium.errors.NotConvergedWarning) as warned:
        small_bags(RankSVM(max_iter=1)).fit(DATA)
    assert len(warned) == 1
    assert "bag 1: " in str(warned[0].message)
    assert "bag 3: " in str(warned[0].message)


# --- wrong use ---


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bags": 0}, "bags of bagged to be a whole number from 1 to 256, got 0"),
        ({"bags": 257}, "from 1 to 256"),
        ({"query_fraction": 0.0}, "query_fraction of bagged"),
        ({"feature_fraction": 1.5}, "feature_fraction of bagged"),
        ({"n_jobs": 0}, "n_jobs of bagged to be 1 or more"),
        ({"seed": -1}, "seed of bagged"),
        ({"ranker": RankSVM(C=-1.0)}, "C of ranksvm"),
        ({"ranker": Bagged(RankSVM())}, "bagged already"),
        ({"ranker": 5}, "ranker of bagged"),
        ({"ranker": "ranksvmm"}, "unknown ranker 'ranksvmm'; did you mean ranksvm"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        Bagged(**{"ranker": RankSVM(), **settings}).fit(DATA)


def test_settings_that_name_features_need_all_features():
    ranker = cheap("lambdamart", monotone={"f1": 1, "f2": 1, "f3": 1, "f4": 1, "f5": 1})
    assert isinstance(small_bags(ranker).fit(DATA), Ranker)
    with pytest.raises(UsageError, match=r"a bag has 2 of 5 features; use feature_fraction=1"):
        small_bags(ranker, feature_fraction=0.4).fit(DATA)


def test_an_unknown_parameter_names_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean max_iter"):
        small_bags(RankSVM()).parameter_path("maxiter")


def test_a_file_of_merged_trees_is_small_data(tmp_path):
    bagged = small_bags(cheap("lambdamart")).fit(DATA)
    bagged.save(tmp_path / "bagged.podium")
    with zipfile.ZipFile(tmp_path / "bagged.podium") as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert set(archive.namelist()) == {"manifest.json", "trees.txt", "width.npy"}
    assert (manifest["ranker"], manifest["model"]) == ("bagged", "trees")
    assert manifest["parameters"]["ranker"]["ranker"] == "lambdamart"

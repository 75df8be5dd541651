"""Learning from clicks: every ranker takes them, and debiasing comes nearer to the truth than click rates."""

import warnings

import numpy as np
import pytest

import podium
from podium.clicks import (
    ClickSessions,
    LabelSettings,
    ShownDocuments,
    click_labels,
    estimate_propensities,
    simulate,
    true_model,
)
from podium.errors import (
    DataError,
    NotConvergedWarning,
    NothingLearnedWarning,
    UnknownNameError,
    UsageError,
)
from podium.rankers import ClickLearning, Prepared, dual_learning, fit_to_clicks
from podium.rankers.dual_learning import click_weights, learn_dual, rank_cross_entropy
from podium.rankers.position_debiasing import session_lists

RANKERS = [name for name in podium.rankers.RANKERS if name != "catboost"]  # an extra


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=150, n_docs=10, n_features=5, seed=2)


@pytest.fixture(scope="module")
def log(data):
    return simulate(data, 3, "pbm", 6000, swap=0.1, seed=2)


@pytest.fixture(scope="module")
def propensities(log):
    return estimate_propensities(log)


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_learns_from_clicks(data, log, propensities, name):
    ranker = podium.RANKERS[name]()
    if hasattr(ranker, "trees"):
        ranker.set_params(trees=30, learning_rate=0.2, min_leaf=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", NothingLearnedWarning)  # topslack keeps its first round
        fitted = fit_to_clicks(ranker, data, log, ClickLearning("dr", propensities))
    assert fitted is ranker
    assert ranker.score(data) > production(data) + 0.05


def production(data):
    return podium.evaluate(data, data.X[:, 3], ["NDCG@10"])["NDCG@10"].mean


@pytest.mark.parametrize("name", ["listnet", "ranksvm", "lambdamart"])
def test_debiasing_beats_click_rates(data, log, propensities, name):
    score = {
        debias: fit_to_clicks(
            podium.RANKERS[name](), data, log, ClickLearning(debias, propensities)
        ).score(data)
        for debias in ("none", "ips", "dr")
    }
    assert score["dr"] > score["none"] + 0.01
    assert score["ips"] > score["none"]


def test_labels_of_the_data_do_not_matter(data, log, propensities):
    blank = data.with_labels(np.zeros(len(data)))
    fits = [
        fit_to_clicks(podium.ListNet(), d, log, ClickLearning("ips", propensities)).predict(d)
        for d in (data, blank)
    ]
    assert np.array_equal(*fits)


def test_settings_reach_the_labels(data, log, propensities):
    scores = [
        fit_to_clicks(
            podium.ListNet(), data, log,
            ClickLearning("ips", propensities, LabelSettings(clip=clip)),
        ).predict(data)
        for clip in (0.1, 1.0)
    ]  # fmt: skip
    assert not np.allclose(*scores)
    naive = fit_to_clicks(podium.ListNet(), data, log, ClickLearning("none")).predict(data)
    assert np.array_equal(scores[1], naive)  # a clip of 1 weighs all clicks alike


def test_prepared_rankers_learn_from_clicks(data, log, propensities):
    ranker = fit_to_clicks(
        Prepared(podium.ListNet(), scale="zscore"), data, log, ClickLearning("dr", propensities)
    )
    assert ranker.score(data) > production(data) + 0.05


def test_held_out_queries_have_no_list(data, log, propensities, monkeypatch):
    seen = {}
    ranker = podium.RANKERS["lambdamart"](trees=3)
    fit = type(ranker).fit

    def record(self, X, valid=None, callback=None):
        seen["train"], seen["valid"] = X, valid
        return fit(self, X, valid=valid, callback=callback)

    monkeypatch.setattr(type(ranker), "fit", record)
    fit_to_clicks(ranker, data, log, ClickLearning("ips", propensities))
    train = {str(q).split()[0] for q in seen["train"].qids}
    assert train.isdisjoint(seen["valid"].qids)
    assert len(seen["valid"].qids) == 30


def test_wrong_settings_are_refused(data, log):
    with pytest.raises(UnknownNameError):
        ClickLearning("ipw")
    with pytest.raises(UsageError, match="expected lambdamart"):
        fit_to_clicks(podium.ListNet(), data, log, ClickLearning("position"))
    with pytest.raises(UsageError, match="linear or network"):
        fit_to_clicks(podium.RANKERS["lambdamart"](), data, log, ClickLearning("dual"))
    ranker = podium.RANKERS["lambdamart"](loss="xendcg")
    with pytest.raises(UsageError, match="lambdarank"):
        fit_to_clicks(ranker, data, log, ClickLearning("position"))
    with pytest.raises(DataError, match="one ranker, no swaps"):
        fit_to_clicks(podium.ListNet(), data, simulate(data, 3, "pbm", 500), ClickLearning("ips"))


def test_positions_follow_their_rows(data, log):
    shown = ShownDocuments.of(log, data)
    lists, positions = session_lists(shown, np.ones(150, dtype=bool))
    clicked = np.asarray(log.groups.reduce(np.add, log.clicked.astype(int))) > 0
    assert lists.n_queries == clicked.sum()
    assert lists.y.sum() == log.clicked.sum()
    rows = np.flatnonzero(np.asarray(log.groups.spread(clicked)))
    assert np.array_equal(positions, log.positions[rows] - 1)
    assert np.array_equal(lists.X, data.X[shown.row[rows]])
    assert lists.docids.tolist() == [str(i) for i in range(len(lists))]


def test_lightgbm_learns_positions():
    # The logger's order is noise for the features, so positions are all that misleads.
    data = podium.make_synthetic(n_queries=200, n_docs=10, n_features=5, seed=3)
    order = np.random.default_rng(0).random(len(data))
    log = simulate(data, order, "pbm", 4000, seed=3, eta=1.5)
    ranker = podium.RANKERS["lambdamart"](trees=60, learning_rate=0.1)
    fit_to_clicks(ranker, data, log, ClickLearning("position"))
    assert ranker.loss_ == "lambdarank"
    assert ranker.score(data) > 0.85


def test_lightgbm_learns_positions_of_one_query():
    data = podium.make_synthetic(n_queries=1, n_docs=10, n_features=5, seed=3)
    log = simulate(data, 0, "pbm", 500, seed=3)
    ranker = podium.RANKERS["lambdamart"](trees=5, min_leaf=1)
    fit_to_clicks(ranker, data, log, ClickLearning("position"))
    assert np.ptp(ranker.predict(data)) > 0


def test_weights_of_clicks_by_hand():
    data = podium.RankingData.from_arrays(
        np.zeros((3, 1)), np.zeros(3), qid=["q"] * 3, docid=["a", "b", "c"]
    )
    log = ClickSessions.from_lists(
        ["q"] * 3, [["a", "b", "c"], ["b", "a"], ["c"]], [["b", "c"], ["a"], ["c"]]
    )
    scores = np.log([1.0, 2.0, 4.0])
    table = click_weights(ShownDocuments.of(log, data), scores)
    # b and c below a; a below b; c alone
    assert table == pytest.approx(np.array([[1, 0, 0], [0, 2, 0], [0, 1 / 2, 1 / 4]]))


def test_the_gradient_of_rank_cross_entropy():
    rng = np.random.default_rng(0)
    table, theta = np.tril(rng.random((4, 4))), rng.normal(size=4)
    _, gradient = rank_cross_entropy(table, theta)
    for k in range(1, 4):
        step = 1e-6 * (np.arange(4) == k)
        up, down = (rank_cross_entropy(table, theta + s * step)[0] for s in (1, -1))
        assert gradient[k - 1] == pytest.approx((up - down) / 2e-6, abs=1e-7)


def test_dual_learning_finds_propensities_without_swaps():
    data = podium.make_synthetic(n_queries=300, n_docs=10, n_features=6, seed=1)
    order = np.random.default_rng(0).random(len(data))
    log = simulate(data, order, "pbm", 9000, seed=1)
    ranker, theta = learn_dual(
        podium.ListNet(), ShownDocuments.of(log, data), LabelSettings(clip=0.05)
    )
    truth = 1 / np.arange(1, 11)
    assert np.sqrt(np.mean((theta - truth) ** 2)) < 0.06
    assert ranker.score(data) > 0.96


def test_dual_learning_says_when_features_tell_the_position(data, log, monkeypatch):
    rising = np.linspace(1.0, 1.5, 10)
    monkeypatch.setattr(dual_learning, "propensities_by_scores", lambda join, scores: rising)
    shown = ShownDocuments.of(log, data)
    with pytest.warns(NotConvergedWarning, match="look at rank 10 1.5 times as often as at rank 1"):
        learn_dual(podium.ListNet(), shown, LabelSettings())


def test_users_of_a_click_model(data):
    users = true_model(data, "dbn")
    log = simulate(data, 3, users, 6000, seed=2)
    scores = [
        fit_to_clicks(podium.ListNet(), data, log, ClickLearning(m, users)).score(data)
        for m in ("none", "ips", "model")
    ]
    assert scores[1] > scores[0]
    assert scores[2] > scores[0]
    labels = click_labels(log, data, "model", users)
    assert labels.method == "model"

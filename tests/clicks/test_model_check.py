"""The check of the assumed click model, by hand and against users of other models."""

import numpy as np
import pytest

import podium
from podium.clicks import (
    ClickSessions,
    PairValues,
    PolicySettings,
    PositionBasedModel,
    estimate_propensities,
    evaluate_policy,
    fit_click_model,
    simulate,
    true_model,
)
from podium.clicks.model_check import dependence_message, expected_clicks
from tests.support.case_counts import soak_cases

DRAWS = soak_cases(200, usual=20)
QUICK = PolicySettings(resamples=100)


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=300, n_docs=8, n_features=4, seed=1)


def test_expected_clicks_by_hand():
    sessions = ClickSessions.from_lists(
        ["q"] * 3, [["a", "b"], ["a", "b"], ["b", "a"]], [["a"], ["a", "b"], []]
    )
    model = PositionBasedModel(attraction=PairValues.constant(1.0), by_rank=np.array([1, 0.5]))
    a, b = 2 / (1 + 1 + 0.5), 1 / (0.5 + 0.5 + 1)
    expected = [a, b / 2, a, b / 2, b, a / 2]
    assert expected_clicks(sessions, model) == pytest.approx(expected)


@pytest.mark.parametrize("users", ["cascade", "dcm", "sdbn"])
def test_users_who_stop_after_clicks_contradict_propensities(data, users):
    log = simulate(data, 0, users, 10_000, swap=0.1, seed=1)
    estimate = estimate_propensities(log)
    message = dependence_message(log, estimate.model())
    assert message is not None
    assert message.startswith("below a click users click")
    assert " less often " in message
    policy = evaluate_policy(log, data, data.X[:, 1], estimate, QUICK)
    assert message in policy.messages


def test_users_who_go_on_from_the_last_click_contradict_propensities(data):
    log = simulate(data, 0, "ubm", 10_000, swap=0.1, seed=1)
    assert " more often " in (dependence_message(log, estimate_propensities(log).model()) or "")


def test_users_of_two_kinds_contradict_a_single_model(data):
    keen = true_model(data, "pbm")
    values = keen.attraction.values
    lazy = PositionBasedModel(
        attraction=PairValues(keen.attraction.pairs, 0.05 * values, 0.0), by_rank=keen.by_rank
    )
    log = simulate(data, 0, {"keen": keen, "lazy": lazy}, 10_000, swap=0.1, seed=1)
    assert " more often " in (dependence_message(log, estimate_propensities(log).model()) or "")


@pytest.mark.parametrize("users", ["pbm", "document-rates", "dbn"])
def test_the_right_model_is_not_blamed(data, users):
    model = true_model(data, users)
    messages = [
        dependence_message(simulate(data, 0, model, 3000, seed=seed), model)
        for seed in range(DRAWS)
    ]
    assert messages == [None] * DRAWS


@pytest.mark.parametrize("sessions", [300, 3000, 30_000])
def test_estimated_propensities_are_not_blamed(data, sessions):
    log = simulate(data, 0, "pbm", sessions, shuffle=4, seed=1)
    assert dependence_message(log, estimate_propensities(log).model()) is None


def test_a_fitted_model_is_not_blamed(data):
    log = simulate(data, {"a": 0, "b": 1}, "sdbn", 20_000, seed=1)
    assert dependence_message(log, fit_click_model(log, "sdbn")) is None
    assert dependence_message(log, fit_click_model(log, "pbm")) is not None


def test_logs_without_clicks_say_nothing(data):
    log = simulate(data, 0, "pbm", 100, seed=1)
    nothing = log.with_clicks(log.clicked & False)
    assert dependence_message(nothing, true_model(data, "pbm")) is None

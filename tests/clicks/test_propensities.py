"""Propensities: the equation by hand, recovery of the truth, coverage, and what a log cannot say."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import podium
from podium.clicks import (
    ClickSessions,
    estimate_propensities,
    fit_click_model,
    regression_em,
    simulate,
    true_model,
)
from podium.clicks.interventions import InterventionTable
from podium.clicks.true_models import data_values
from podium.errors import DataError, NotConvergedWarning, UnknownNameError, UsageError
from tests.support.case_counts import soak_cases

DRAWS = soak_cases(200, usual=20)


@pytest.fixture(scope="module")
def mq2008_like():
    return podium.make_synthetic(n_queries=784, n_docs=(8, 14), n_features=6, seed=1)


def rms(estimate):
    return np.sqrt(np.mean((estimate.values[:10] - 1 / np.arange(1, 11)) ** 2))


def two_orders(clicks_first, clicks_second):
    """One query: a and b in both orders, 100 sessions each, with so many clicks on (a, b)."""
    lists = [["a", "b"]] * 100 + [["b", "a"]] * 100
    clicks = []
    for a, b in (clicks_first, clicks_second):
        clicks += [["a"] * (i < a) + ["b"] * (50 <= i < 50 + b) for i in range(100)]
    return ClickSessions.from_lists(["q"] * 200, lists, clicks)


def test_two_documents_at_two_ranks():
    # a: 40 clicks at rank 1, 20 at rank 2; b: 20 at rank 1, 10 at rank 2; so rank 2 has half.
    estimate = estimate_propensities(two_orders((40, 10), (20, 20)), "harvest")
    np.testing.assert_allclose(estimate.values, [1, 0.5], rtol=1e-9)
    # Clicks of a document split as 1 : theta; their sum is 60 : 30.
    assert estimate.low[0] == estimate.high[0] == 1
    width = np.log(estimate.high[1] / estimate.low[1]) / (2 * 1.959964)
    # Four counts of 100 impressions each, whose clicks never come together.
    log_rate = np.sqrt(1 / 60 + 1 / 30)
    assert 0.8 * log_rate < width < 1.2 * log_rate


def test_the_estimate_maximises_its_likelihood(mq2008_like):
    data = mq2008_like.subset(range(30))
    sessions = simulate(data, 0, "pbm", 3000, swap=0.2, seed=1, depth=4)
    table = InterventionTable.of_documents(sessions)

    def loss(free):
        theta = np.exp(np.concatenate([[0], free]))
        weight = table.impressions * theta
        share = weight / weight.sum(axis=1, keepdims=True)
        logs = np.log(share, where=table.clicks > 0, out=np.zeros_like(share))
        return -(table.clicks * logs).sum()

    expected = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-6}).x
    values = estimate_propensities(sessions, "harvest").values
    np.testing.assert_allclose(np.log(values[1:]), expected, atol=1e-4)


@pytest.mark.parametrize("method", ["swaps", "harvest"])
def test_swaps_recover_the_truth(mq2008_like, method):
    sessions = simulate(mq2008_like, 0, "pbm", 100_000, swap=0.05, seed=1)
    estimate = estimate_propensities(sessions, method)
    assert rms(estimate) < 0.03
    assert estimate.messages == []
    # Attraction has no prior while EM estimates examination: it would bias it.
    em = fit_click_model(sessions, "pbm").propensities
    assert np.sqrt(np.mean((em[:10] - 1 / np.arange(1, 11)) ** 2)) < 0.03


def test_two_rankers_recover_the_truth(mq2008_like):
    sessions = simulate(mq2008_like, {"a": 0, "b": 1}, "pbm", 100_000, seed=1)
    estimate = estimate_propensities(sessions)
    assert estimate.method == "harvest"
    assert rms(estimate) < 0.03


def test_a_shuffle_recovers_the_truth_with_one_session_per_query():
    data = podium.make_synthetic(n_queries=3000, n_docs=(3, 8), n_features=3, seed=2)
    sessions = simulate(data, 0, "pbm", 3000 * 4, shuffle=5, seed=1, depth=5)
    estimate = estimate_propensities(sessions)
    assert estimate.method == "swaps"
    np.testing.assert_allclose(estimate.values, 1 / np.arange(1, 6), atol=0.06)


@pytest.mark.parametrize(
    ("method", "logger", "swap"),
    [("swaps", 0, 0.1), ("harvest", 0, 0.1), ("harvest", {"a": 0, "b": 1}, 0)],
)
def test_intervals_cover_the_truth(method, logger, swap):
    data = podium.make_synthetic(n_queries=100, n_docs=6, n_features=4, seed=3)
    truth = 1 / np.arange(1, 7)
    covered = []
    for seed in range(DRAWS):
        sessions = simulate(data, logger, "pbm", 6000, seed=seed, swap=swap)
        estimate = estimate_propensities(sessions, method)
        covered += ((estimate.low <= truth) & (truth <= estimate.high))[1:].tolist()
    # 5 intervals of a draw depend on each other: 4 standard errors of one interval per draw
    assert np.mean(covered) == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / DRAWS) ** 0.5)


def test_regression_em_needs_no_swaps():
    plain = podium.make_synthetic(n_queries=200, n_docs=10, n_features=4, seed=1)
    # Features that explain relevance, and the logger's own.
    data = plain.with_features(np.column_stack([plain.X[:, 0], plain.y == 1, plain.y == 2]))
    sessions = simulate(data, 0, "pbm", 60_000, seed=1)
    with pytest.raises(DataError, match="one ranker, no swaps"):
        estimate_propensities(sessions)
    estimate = estimate_propensities(sessions, "regression-em", data=data)
    np.testing.assert_allclose(estimate.values[:5], 1 / np.arange(1, 6), atol=0.12)
    assert "cannot be checked" in estimate.messages[0]
    with pytest.raises(DataError, match="not in the data"):
        estimate_propensities(sessions, "regression-em", data=data.subset(range(100)))
    with pytest.raises(UsageError, match="data="):
        estimate_propensities(sessions, "regression-em")


def test_ranks_without_links_have_no_value():
    # Ranks 1 and 2 are swapped, and so are 3 and 4, but nothing links 2 and 3.
    lists = [["a", "b", "c", "d"], ["b", "a", "d", "c"]] * 100
    clicks = [["a", "b", "c", "d"], ["a", "d"]] * 50 + [[], []] * 50
    estimate = estimate_propensities(ClickSessions.from_lists(["q"] * 200, lists, clicks))
    assert np.isnan(estimate.values).tolist() == [False, False, True, True]
    assert estimate.filled()[2:].tolist() == [estimate.values[1]] * 2
    assert "ranks 3-4 have no propensity" in estimate.messages[0]
    assert estimate.to_dict()["values"][2:] == [None, None]


def test_few_clicks_are_reported():
    estimate = estimate_propensities(two_orders((40, 3), (20, 5)))
    assert any("ranks 2 have fewer than 30 clicks" in m for m in estimate.messages)
    silent = ClickSessions.from_lists(["q"] * 2, [["a", "b"], ["b", "a"]], [[], []])
    with pytest.raises(DataError, match="without clicks"):
        estimate_propensities(silent)


def test_the_first_50_ranks_are_estimated():
    docs = [f"d{i:02d}" for i in range(60)]
    lists = [docs, [docs[1], docs[0], *docs[2:]]] * 20
    clicks = [d[:2] if i < 30 else d[1:2] for i, d in enumerate(lists)]
    estimate = estimate_propensities(ClickSessions.from_lists(["q"] * 40, lists, clicks))
    assert len(estimate.values) == 50
    assert np.isnan(estimate.values).tolist() == [False, False] + [True] * 48
    tail = [[docs[0], *docs[1:][::-1]], docs] * 20
    with pytest.raises(DataError, match="at rank 1 and also at another rank"):
        estimate_propensities(ClickSessions.from_lists(["q"] * 40, tail, [d[:2] for d in tail]))


def test_wrong_calls_are_refused():
    sessions = two_orders((40, 10), (20, 20))
    with pytest.raises(UnknownNameError):
        estimate_propensities(sessions, "magic")
    with pytest.raises(DataError, match="base_position"):
        estimate_propensities(sessions, "swaps")
    with pytest.raises(UsageError, match="level"):
        estimate_propensities(sessions, level=1.0)


# --- what identifies


CHAIN = [(["a", "b", "c", "d"], ["a", "c"]), (["b", "a", "d", "c"], ["a", "d"])] * 20 + [
    (["b", "a", "d", "c"], ["b", "c"])
] * 7


def of(*parts):
    lists = [(query, *one) for query, part in parts for one in part]
    return ClickSessions.from_lists(*(list(column) for column in zip(*lists, strict=True)))


def test_units_without_clicks_identify_nothing():
    # In query 2, ranks 2 and 3 are exchanged, and nobody clicks.
    silent = [(["a", "b", "c", "d"], []), (["a", "c", "b", "d"], [])] * 20
    one, other = (
        estimate_propensities(of(("1", CHAIN))),
        estimate_propensities(of(("1", CHAIN), ("2", silent))),
    )
    assert np.isnan(other.values).tolist() == [False, False, True, True]
    np.testing.assert_allclose(other.values[:2], one.values[:2])


def test_ranks_behind_a_rank_without_clicks_have_no_value():
    # x links 1 and 2, z links 2 and 3; no click is at rank 2. y and r link 3 and 4.
    part = (
        [(["x", "p"], ["x"]), (["p", "x"], [])] * 10
        + [(["p", "z", "y", "w"], []), (["p", "y", "z", "w"], ["z"])] * 10
        + [(["p", "r", "y", "w"], ["y"]), (["p", "r", "w", "y"], ["y"])] * 10
    )
    with pytest.raises(DataError, match="without clicks at both"):
        estimate_propensities(of(("q", part)))
    # All clicks on documents that have been at 1 and 2 are at 1, those at 2 and 3 at 2: no ratio is finite.
    apart = [(["x", "p", "s"], ["x"]), (["p", "x", "s"], []), (["p", "s", "x"], ["s"])] * 10
    with pytest.raises(DataError, match="collect more sessions"):
        estimate_propensities(of(("q", apart)))


def test_rank_1_needs_clicks():
    part = [(["a", "b", "c"], ["b"]), (["b", "a", "c"], ["a", "c"]), (["a", "c", "b"], ["b", "c"])]
    with pytest.raises(DataError, match="collect more sessions"):
        estimate_propensities(of(("q", part * 10)))


def test_swaps_use_the_sessions_that_have_bases(mq2008_like):
    sessions = simulate(mq2008_like, 0, "pbm", 20_000, swap=0.1, seed=1)
    base = sessions.base_positions.copy()
    lost = np.arange(len(sessions)) % 2 == 1
    base[sessions.groups.spread(lost)] = 0
    estimate = estimate_propensities(replace(sessions, base_positions=base))
    half = estimate_propensities(sessions.take(np.flatnonzero(~lost)))
    assert (estimate.method, estimate.n_sessions) == ("swaps", 10_000)
    assert estimate.values.tolist() == half.values.tolist()


def test_bases_without_swaps_are_no_swaps():
    data = podium.make_synthetic(n_queries=50, n_docs=6, n_features=3, seed=1)
    sessions = simulate(data, {"a": 0, "b": 1}, "pbm", 5000, seed=1)
    sessions = replace(sessions, base_positions=sessions.positions)
    assert estimate_propensities(sessions).method == "harvest"


def test_slots_of_other_lengths_are_other_units():
    sessions = ClickSessions.from_lists(["q"] * 2, [["a", "b", "c"], ["d", "e"]], [["a"], ["d"]])
    unit = InterventionTable.of_slots(sessions, np.array([1, 2, 3, 5, 2])).unit
    assert len(set(unit.tolist())) == 5


def test_methods_that_differ_are_reported():
    # Half of the queries are swapped and clicked often, the others neither.
    data = podium.make_synthetic(n_queries=100, n_docs=5, n_features=3, seed=1)
    users = true_model(data, "pbm")
    swapped = simulate(data, 0, users, 20_000, seed=1, swap=0.3)
    assert estimate_propensities(swapped).messages == []
    is_hot = swapped.query.codes < 50
    base = swapped.base_positions
    order = np.lexsort(
        (np.where(swapped.groups.spread(is_hot), swapped.positions, base), swapped.groups.codes)
    )
    mixed = replace(swapped, doc=swapped.doc.take(order), base_positions=base[order])
    attraction = users.attraction
    attraction = replace(attraction, values=np.where(attraction.pairs.query_codes < 50, 0.6, 0.1))
    clicks = replace(users, attraction=attraction).draw_clicks(mixed, 1)
    [message] = estimate_propensities(mixed.with_clicks(clicks)).messages
    assert message.startswith("swaps and harvest differ at ranks 2")


@pytest.mark.parametrize("rate", [0.3, 0.01])
def test_regression_em_needs_no_high_click_rate(rate):
    rng = np.random.default_rng(0)
    plain = podium.make_synthetic(n_queries=300, n_docs=10, n_features=3, seed=1)
    X = rng.normal(size=(len(plain), 2))
    data = plain.with_features(X)
    attraction = 1 / (1 + np.exp(-(np.log(rate / (1 - rate)) + X[:, 0])))
    users = replace(true_model(data, "pbm"), attraction=data_values(data, attraction, rate))
    values = regression_em(simulate(data, 0, users, 150_000, seed=1), data)
    assert np.sqrt(np.mean((values - 1 / np.arange(1, 11)) ** 2)) < 0.03


def test_regression_em_says_if_it_did_not_converge(monkeypatch):
    module = importlib.import_module("podium.clicks.regression_em")
    monkeypatch.setattr(module, "MAX_STEPS", 2)
    data = podium.make_synthetic(n_queries=20, n_docs=5, n_features=3, seed=1)
    with pytest.warns(NotConvergedWarning, match="stopped after"):
        regression_em(simulate(data, 0, "pbm", 2000, seed=1), data)

"""Counterfactual estimates: by hand, without bias, with intervals that cover, and with warnings."""

import dataclasses

import numpy as np
import pytest

import podium
from podium.clicks import (
    ClickSessions,
    Identification,
    PairValues,
    PolicySettings,
    PositionBasedModel,
    PropensityEstimate,
    compare_policies,
    estimate_propensities,
    evaluate_policy,
    fit_click_model,
    policy_lists,
    simulate,
    true_model,
)
from podium.errors import DataError, UnknownNameError, UsageError
from tests.support.case_counts import soak_cases

DRAWS = soak_cases(200, usual=20)


@pytest.fixture(scope="module")
def data():
    return podium.make_synthetic(n_queries=1500, n_docs=8, n_features=4, seed=1)


def true_value(data, policy, model, metric):
    """The value of a policy per session, if all queries are as frequent."""
    every_query = simulate(data, 0, model, data.n_queries)
    lists = policy_lists(data, policy, every_query, 10)
    weight = model.examination(lists) if metric == "clicks" else 1 / np.log2(lists.positions + 1)
    return (weight * model.row_attraction(lists)).sum() / data.n_queries


def small():
    data = podium.RankingData.from_arrays(
        np.array([[1.0], [2], [3]]), [0, 1, 2], qid=["q"] * 3, docid=["a", "b", "c"]
    )
    sessions = ClickSessions.from_lists(
        ["q"] * 4, [["a", "b", "c"]] * 3 + [["b", "a", "c"]], [["a"], ["b"], [], ["a", "c"]]
    )
    model = PositionBasedModel(
        attraction=PairValues.constant(1.0), by_rank=np.array([1, 0.5, 0.25])
    )
    return data, sessions, model


def value(estimator, metric="clicks", **settings):
    data, sessions, model = small()
    chosen = PolicySettings(estimator=estimator, metric=metric, resamples=100, **settings)
    return evaluate_policy(sessions, data, 0, model, chosen).value  # the policy ranks c, b, a


def test_estimates_by_hand():
    # Clicks: a at ranks 1 and 2, b at 2, c at 3. The policy examines c with 1, b with 1/2, a with 1/4.
    a, b, c = (1 / 1 + 1 / 0.5) / 4, (1 / 0.5) / 4, (1 / 0.25) / 4
    assert value("ips") == pytest.approx(1 / 4 * a + 1 / 2 * b + c)
    clipped_c = (1 / 0.4) / 4
    assert value("clipped", clip=0.4) == pytest.approx(1 / 4 * a + 1 / 2 * b + clipped_c)
    assert value("snips") == pytest.approx((1 / 4 * a + 1 / 2 * b + c) / (a + b + c))
    robust = 1 / 4 * 2 / 3.5 + 1 / 2 * 1 / 2.5 + 1 * 1 / 1  # clicks over examinations
    assert value("doubly-robust") == pytest.approx(robust)
    discount = 1 / np.log2([2, 3, 4])
    assert value("ips", "dcg") == pytest.approx(discount @ [c, b, a])
    assert value("ips", depth=1) == pytest.approx(c)


def test_documents_in_some_of_the_lists_by_hand():
    # One ranker shows a, b in 3 sessions, another c, a in 1: a has 4 of 4 sessions, b 3 and c 1.
    data, _, model = small()
    sessions = ClickSessions.from_lists(
        ["q"] * 4, [["a", "b"]] * 3 + [["c", "a"]], [["a"], ["b"], [], ["a", "c"]]
    )
    a, b, c = (1 / 1 + 1 / 0.5) / 4, (1 / 0.5) / 3, (1 / 1) / 1
    expected = {"ips": 1 / 4 * a + 1 / 2 * b + c, "clipped": 1 / 4 * a + 1 / 2 * b + c}
    expected["snips"] = expected["ips"] / (a + b + c)
    for estimator, result in expected.items():
        settings = PolicySettings(estimator=estimator, clip=0.4, resamples=100)
        assert evaluate_policy(sessions, data, 0, model, settings).value == pytest.approx(result)


def test_ips_agrees_with_doubly_robust_where_two_rankers_are_cut():
    data = podium.make_synthetic(n_queries=100, n_docs=20, n_features=4, seed=1)
    users = true_model(data, "pbm")
    sessions = simulate(data, {"a": 0, "b": 1}, users, 20_000, depth=5, seed=1)
    values = {
        estimator: evaluate_policy(
            sessions, data, 1, users, PolicySettings(estimator=estimator, depth=5, resamples=100)
        ).value
        for estimator in ("ips", "doubly-robust")
    }
    assert values["ips"] == pytest.approx(values["doubly-robust"], rel=0.05)


def test_doubly_robust_is_its_formula():
    # w (n r + sum (c - P(examined) r) / rho) with rho = (sum of P(examined)) / n, for any rate r
    _, sessions, model = small()
    examined, n = model.examination(sessions), 4
    for r in (0.0, 0.3, 2.0):
        parts = []
        for doc in range(3):
            rows = sessions.doc.codes == doc
            rho = examined[rows].sum() / n
            parts.append(n * r + ((sessions.clicked[rows] - examined[rows] * r) / rho).sum())
        expected = np.array([1 / 4, 1 / 2, 1]) @ parts / n
        assert value("doubly-robust") == pytest.approx(expected)


@pytest.mark.parametrize("model", ["pbm", "cascade", "dbn"])
@pytest.mark.parametrize("metric", ["clicks", "dcg"])
@pytest.mark.parametrize("estimator", ["ips", "doubly-robust"])
def test_intervals_cover_the_truth(data, model, metric, estimator):
    # No document is certain to be clicked: documents below it would never be examined.
    users, policy = true_model(data, model), data.truth(data.X)
    attraction = PairValues(users.attraction.pairs, 0.6 * users.attraction.values, 0.06)
    users = dataclasses.replace(users, attraction=attraction)
    truth = true_value(data, policy, users, metric)
    scores = np.asarray(policy)
    settings = PolicySettings(metric=metric, estimator=estimator, resamples=300)
    covered, values = [], []
    for seed in range(DRAWS):
        queries = np.random.default_rng(seed).choice(1500, 150, replace=False)
        part = data.subset(queries)
        rows = data.groups.take(queries)[1]
        sessions = simulate(part, {"a": 0, "b": 1}, users, 3000, seed=seed)
        estimate = evaluate_policy(sessions, part, scores[rows], users, settings)
        covered.append(estimate.interval.low <= truth <= estimate.interval.high)
        values.append(estimate.value)
        assert estimate.effective_queries > 50
    # A tenth of the queries is drawn, so intervals are a little wide.
    assert np.mean(covered) > 0.95 - 4 * (0.95 * 0.05 / DRAWS) ** 0.5
    error = np.std(values) / DRAWS**0.5
    assert np.mean(values) == pytest.approx(truth, abs=4 * error)


@pytest.mark.parametrize("paired", [False, True])
def test_intervals_cover_with_estimated_propensities(data, paired):
    users = true_model(data, "pbm")
    policies = [data.X[:, 2], -data.X[:, 0]]
    values = [true_value(data, policy, users, "clicks") for policy in policies]
    truth, covered, narrow = values[0] - paired * values[1], [], []
    for seed in range(DRAWS):
        queries = np.random.default_rng(seed).choice(1500, 300, replace=False)
        part, rows = data.subset(queries), data.groups.take(queries)[1]
        sessions = simulate(part, 0, users, 12_000, seed=seed, swap=0.05)
        propensities = estimate_propensities(sessions)
        settings = PolicySettings(resamples=200)
        one, other = (policy[rows] for policy in policies)
        for examination, results in (
            (propensities, covered), (dataclasses.replace(propensities, covariance=None), narrow)
        ):  # fmt: skip
            if paired:
                estimate = compare_policies(sessions, part, one, other, examination, settings)
            else:
                estimate = evaluate_policy(sessions, part, one, examination, settings)
            results.append(estimate.interval.low <= truth <= estimate.interval.high)
    assert np.mean(covered) > 0.95 - 4 * (0.95 * 0.05 / DRAWS) ** 0.5
    assert np.mean(narrow) < np.mean(covered)


def test_the_error_of_propensities_is_the_delta_method():
    # One unit of weight: the value is w_c c_c / (n theta_3) and so on; d value / d log theta is arithmetic.
    data, sessions, model = small()
    ranks = Identification(np.zeros((3, 3)), np.ones(3, dtype=bool), np.full(3, 40.0))
    covariance = np.diag([0.0, 0.04, 0.09])
    propensities = PropensityEstimate(
        model.by_rank, model.by_rank, model.by_rank, 0.95, "swaps", ranks, 4, covariance
    )
    settings = PolicySettings(metric="dcg", estimator="ips", resamples=100)
    estimate = evaluate_policy(sessions, data, 0, propensities, settings)
    # One query has no spread. Clicks at rank 2: a (weight 1 / log2 4) and b (1 / log2 3); at rank 3: c (1).
    by_2, by_3 = -(1 / 2 + 1 / np.log2(3)) / 0.5 / 4, -1 / 0.25 / 4
    error = np.sqrt(0.04 * by_2**2 + 0.09 * by_3**2)
    assert estimate.interval.high - estimate.value == pytest.approx(1.959964 * error, rel=1e-5)
    assert estimate.value - estimate.interval.low == pytest.approx(1.959964 * error, rel=1e-5)


def test_what_intervals_leave_out_is_reported():
    data, sessions, model = small()
    fitted = fit_click_model(sessions, "pbm")
    assert (
        "its error is not part of the interval"
        in evaluate_policy(sessions, data, 0, fitted).messages[-1]
    )
    assert not evaluate_policy(sessions, data, 0, model).notes


def test_ranks_beyond_the_examination_weigh_nothing():
    data, sessions, model = small()
    short = dataclasses.replace(model, by_rank=model.by_rank[:2])
    settings = PolicySettings(resamples=100)
    deep = evaluate_policy(sessions, data, 0, short, settings)
    assert "has 2 ranks" in deep.messages[-1]
    top = evaluate_policy(sessions, data, 0, short, dataclasses.replace(settings, depth=2))
    assert deep.value == top.value
    assert not top.notes


def test_a_document_is_in_a_query_once():
    data = podium.RankingData.from_arrays(
        np.array([[3.0], [2], [1]]), [0, 1, 2], qid=["q"] * 3, docid=["a", "a", "b"]
    )
    _, sessions, model = small()
    with pytest.raises(DataError, match="document 'a' occurs twice in query 'q'"):
        evaluate_policy(sessions, data, 0, model)
    with pytest.raises(DataError, match="occurs twice"):
        simulate(data, 0, "pbm", 10)


def test_queries_without_sessions_need_no_data():
    data, _, model = small()
    two = ClickSessions.from_lists(["q", "z"], [["a", "b"]] * 2, [["a"], ["b"]])
    estimate = evaluate_policy(two.take([0]), data, 0, model)
    assert estimate.n_queries == 1


def test_doubly_robust_intervals_are_narrower(data):
    part, users = data.subset(range(300)), true_model(data, "pbm")
    sessions = simulate(part, {"a": 0, "b": 1}, users, 6000, seed=1)
    policy = part.X[:, 2]
    ips, robust = (
        evaluate_policy(sessions, part, policy, users, PolicySettings(estimator=e)).interval
        for e in ("ips", "doubly-robust")
    )
    assert robust.high - robust.low < 0.97 * (ips.high - ips.low)


def test_a_paired_difference_is_narrower_than_two_intervals(data):
    part, users = data.subset(range(300)), true_model(data, "pbm")
    sessions = simulate(part, {"a": 0, "b": 1}, users, 6000, seed=1)
    good, bad = part.y, part.X[:, 0]
    one, other = (evaluate_policy(sessions, part, p, users) for p in (good, bad))
    pair = compare_policies(sessions, part, good, bad, users)
    assert pair.value == pytest.approx(one.value - other.value)
    assert pair.interval.low > 0
    widths = [e.interval.high - e.interval.low for e in (one, other, pair)]
    assert widths[2] < np.hypot(widths[0], widths[1])
    same = compare_policies(sessions, part, good, good, users)
    assert (same.value, same.interval.low, same.interval.high) == (0, 0, 0)


def test_warnings():
    data, sessions, model = small()
    estimate = evaluate_policy(sessions, data, 0, model)
    assert estimate.effective_queries == 1
    assert "effective sample size is 1 queries" in estimate.messages[0]
    top = ClickSessions.from_lists(["q"] * 2, [["a", "b"]] * 2, [["a"], ["b"]])
    estimate = evaluate_policy(top, data, 0, model)
    assert estimate.covered == pytest.approx((0.5 + 0.25) / 1.75)
    assert (
        "57% of the policy's weight is on documents that the log never shows"
        in estimate.messages[1]
    )
    assert estimate.to_dict()["messages"] == estimate.messages


def test_wrong_calls_are_refused():
    data, sessions, model = small()
    for wrong in ({"estimator": "magic"}, {"metric": "ndcg"}):
        with pytest.raises(UnknownNameError):
            PolicySettings(**wrong)
    with pytest.raises(UsageError):
        PolicySettings(depth=0)
    with pytest.raises(DataError, match="1 of 1 queries of the log are not in the data"):
        evaluate_policy(ClickSessions.from_lists(["z"], [["a"]], [["a"]]), data, 0, model)
    twice = podium.RankingData.from_arrays(
        np.zeros((2, 1)), [0, 0], qid=["1", "2"], docid=["a", "b"], query_text=["q", "q"]
    )
    with pytest.raises(DataError, match="the same text"):
        evaluate_policy(sessions, twice, 0, model)


@pytest.mark.parametrize("estimator", ["ips", "clipped", "snips", "doubly-robust"])
def test_a_log_without_clicks_tells_nothing(estimator):
    data, sessions, model = small()
    silent = sessions.with_clicks(np.zeros(12, dtype=bool))
    with pytest.raises(DataError, match="expected clicks"):
        evaluate_policy(silent, data, 0, model, PolicySettings(estimator=estimator))

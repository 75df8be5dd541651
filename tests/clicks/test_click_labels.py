"""Click labels: unbiased by arithmetic and by simulation, and lists that make any loss unbiased."""

from dataclasses import replace

import numpy as np
import pytest

import podium
from podium.clicks import (
    ClickSessions,
    LabelSettings,
    PairValues,
    PositionBasedModel,
    click_labels,
    feature_relevance,
    fit_click_model,
    simulate,
    true_model,
)
from podium.clicks.feature_relevance import predicted_relevance
from podium.clicks.true_models import relevance
from podium.errors import DataError, NotConvergedWarning, UnknownNameError, UsageError
from podium.losses import LOSSES
from podium.rankers.training_objective import TrainingObjective

DRAWS = 40
LIST_LOSSES = ["listnet", "ranknet", "hinge", "squared", "lambdarank"]


def position_model(by_rank):
    return PositionBasedModel(attraction=PairValues.constant(1.0), by_rank=np.array(by_rank))


def small():
    data = podium.RankingData.from_arrays(
        np.arange(4.0)[:, None], np.zeros(4), qid=["q"] * 4, docid=["a", "b", "c", "d"]
    )
    sessions = ClickSessions.from_lists(
        ["q"] * 4, [["a", "b", "c"]] * 3 + [["b", "a", "c"]], [["a"], ["b"], [], ["a", "c"]]
    )
    return data, sessions, position_model([1, 0.5, 0.25])


def labels(method, **settings):
    data, sessions, model = small()
    return click_labels(sessions, data, method, model, LabelSettings(**settings)).relevance


def test_labels_by_hand():
    # a is clicked at ranks 1 and 2, b at rank 2, c at rank 3; d is not shown
    assert labels("none") == pytest.approx([2 / 4, 1 / 4, 1 / 4, 0])
    assert labels("ips") == pytest.approx([(1 + 1 / 0.5) / 4, (1 / 0.5) / 4, (1 / 0.25) / 4, 0])
    assert labels("ips", clip=0.4) == pytest.approx([3 / 4, 2 / 4, (1 / 0.4) / 4, 0])
    # sums of e times weight: a 1 + 1 + 1 + 1, b the same, c 4 * 0.25 / 0.4
    expected = [3 / 4, 2 / 4, (1 / 0.4) / (4 * 0.25 / 0.4), 0]
    assert labels("ips", clip=0.4, self_normalised=True) == pytest.approx(expected)


def test_doubly_robust_labels_are_their_formula():
    data, _, _ = small()
    clicks, examinations = np.array([2.0, 1, 1, 0]), np.array([3.5, 2.5, 1, 0])
    model = predicted_relevance(data, clicks, examinations)
    for clip in (0.1, 0.5):
        expected = [
            m + (c / 4 - e / 4 * m) / max(e / 4, clip)
            for m, c, e in zip(model, clicks, examinations, strict=True)
        ]
        assert labels("dr", clip=clip) == pytest.approx(expected)
    assert labels("dr", clip=0.01)[:3] == pytest.approx(clicks[:3] / examinations[:3])
    assert labels("dr")[3] == model[3] > 0  # d was never shown


def test_expected_labels_are_the_relevance_by_enumeration():
    # Two documents, one session: all four patterns of clicks, each with its probability.
    data = podium.RankingData.from_arrays(np.eye(2), np.zeros(2), qid=["q"] * 2, docid=["a", "b"])
    relevant, examined = np.array([0.7, 0.4]), np.array([0.9, 0.3])
    for settings in (LabelSettings(clip=0.2), LabelSettings(clip=0.8, self_normalised=True)):
        expected = np.zeros(2)
        for clicked in np.ndindex(2, 2):
            chance = np.where(clicked, relevant * examined, 1 - relevant * examined).prod()
            log = ClickSessions.from_lists(
                ["q"], [["a", "b"]], [[d for d, c in zip("ab", clicked, strict=True) if c]]
            )
            found = click_labels(log, data, "ips", position_model(examined), settings)
            expected += chance * found.relevance
        assert expected == pytest.approx(relevant)


@pytest.mark.parametrize("method", ["ips", "dr"])
@pytest.mark.parametrize("users", ["pbm", "cascade", "dbn"])
def test_labels_are_unbiased_with_known_examination(method, users):
    # No document is certain to be clicked: documents below it would never be examined.
    data = podium.make_synthetic(n_queries=20, n_docs=6, n_features=3, seed=1)
    model, truth = true_model(data, users), 0.6 * relevance(data, 0.1)
    attraction = replace(model.attraction, values=0.6 * model.attraction.values)
    model = replace(model, attraction=attraction)
    logs = [simulate(data, {"a": 0, "b": 1}, model, 2000, seed=seed) for seed in range(DRAWS)]
    settings = LabelSettings(clip=1e-3)
    draws = np.array([click_labels(log, data, method, model, settings).relevance for log in logs])
    error = np.maximum(draws.std(axis=0, ddof=1), 0.01) / DRAWS**0.5
    gap = draws.mean(axis=0) - truth
    assert np.mean(np.abs(gap) < 4 * error) > 0.98
    assert np.abs(gap).mean() < 0.01
    assert np.abs(click_labels(logs[0], data, "none").relevance - truth).mean() > 0.02


def test_model_labels_are_its_attraction():
    data, sessions, _ = small()
    model = fit_click_model(sessions, "pbm")
    found = click_labels(sessions, data, "model", model)
    pairs, _number = sessions.pairs
    by_doc = dict(
        zip(pairs.docs, model.attraction.of(pairs)[np.argsort(pairs.doc_codes)], strict=True)
    )
    assert found.relevance[:3] == pytest.approx([by_doc[d] for d in "abc"])


@pytest.mark.parametrize("name", LIST_LOSSES)
def test_the_loss_of_lists_is_linear_in_the_labels(name):
    # sum_d n_q r_d loss(only d is relevant), with its gradient by finite differences
    data = podium.make_synthetic(n_queries=3, n_docs=(3, 5), n_features=2, seed=1)
    log = simulate(data, 0, "pbm", 60, seed=1)
    estimate = click_labels(log, data, "ips", true_model(data, "pbm"))
    lists, loss = estimate.lists(), LOSSES[name]()
    objective = TrainingObjective.from_loss(loss, lists, reduction="sum")
    scores = np.random.default_rng(0).normal(size=len(data))
    # The rows of the data behind those of the lists, by query and document.
    row_of = {(str(q), d): i for i, (q, d) in enumerate(zip(
        np.asarray(data.qids)[data.groups.codes], data.docids, strict=True))}  # fmt: skip
    query = [str(q).split()[0] for q in np.asarray(lists.qids)[lists.groups.codes]]
    rows = np.array([row_of[key] for key in zip(query, lists.docids, strict=True)])

    value, by_list_row = objective(scores[rows])
    expected, total_weight = 0.0, 0.0
    relevant = np.flatnonzero(estimate.relevance > 0)
    for row in relevant:
        one = np.zeros(len(data))
        one[row] = 10.0
        q = data.groups.codes[row]
        bound = loss.bind(data.with_labels(one, topk=10))
        weight = estimate.sessions[q] * estimate.relevance[row]
        expected += weight * bound(scores)[0][q]
        total_weight += weight
    assert value == pytest.approx(expected * len(relevant) / total_weight)

    gradient = np.bincount(rows, by_list_row, minlength=len(data))
    if name == "lambdarank":
        return  # its gradient is not that of a function
    step = 1e-6
    for row in range(len(data)):
        change = step * (np.arange(len(data)) == row)
        slope = (objective((scores + change)[rows])[0] - objective((scores - change)[rows])[0]) / (
            2 * step
        )
        assert gradient[row] == pytest.approx(slope, abs=1e-5)


def test_graded_labels_weigh_queries_by_sessions():
    data = podium.make_synthetic(n_queries=4, n_docs=3, seed=1)
    log = simulate(data.subset([0, 1, 3]), 0, "pbm", 90, traffic="zipf", seed=1)
    graded = click_labels(log, data, "none").graded()
    assert graded.qids.tolist() == data.subset([0, 1, 3]).qids.tolist()
    counts = [(log.query.codes == log.query.table.index(str(q))).sum() for q in graded.qids]
    assert graded.query_weight == pytest.approx(np.array(counts) / np.mean(counts))


def test_what_is_not_in_the_data_is_said():
    data, sessions, model = small()
    log = ClickSessions.from_lists(["q", "r"], [["a", "x"], ["a"]], [["a"], []])
    one, two = click_labels(log, data, "none").messages
    assert one.startswith("1 of 2 sessions have queries")
    assert two.startswith("1 of 2 impressions")
    elsewhere = ClickSessions.from_lists(["r"], [["a"]], [["a"]])
    with pytest.raises(DataError, match="no document that the log shows is in the data"):
        click_labels(elsewhere, data, "none")
    with pytest.raises(DataError, match="expected clicks on documents of the data"):
        click_labels(sessions.with_clicks(sessions.clicked & False), data, "none").lists()
    with pytest.raises(UnknownNameError):
        click_labels(sessions, data, "iqs", model)
    with pytest.raises(UsageError, match="need P"):
        click_labels(sessions, data, "ips")
    with pytest.raises(UsageError, match="clip"):
        LabelSettings(clip=0)


def test_features_predict_relevance():
    # The gradient of the penalised likelihood is 0, by finite differences of the likelihood.
    rng = np.random.default_rng(0)
    data = podium.RankingData.from_arrays(rng.normal(size=(50, 2)), np.zeros(50), qid=np.arange(50))
    examined = rng.integers(1, 200, 50).astype(float)
    truth = 1 / (1 + np.exp(-(data.X @ [1.0, -0.5] - 0.3)))
    clicks = rng.binomial(examined.astype(int), truth)
    found = predicted_relevance(data, clicks.astype(float), examined)
    assert np.abs(found - truth).mean() < 0.03
    z = np.log(found / (1 - found))
    X = (data.X - data.X.mean(0)) / data.X.std(0)
    weights = np.linalg.lstsq(np.column_stack([X, np.ones(50)]), z, rcond=None)[0]

    def likelihood(w):
        score = X @ w[:2] + w[2]
        return clicks @ score - examined @ np.logaddexp(0, score) - 0.5 * (w[:2] ** 2).sum()

    for i in range(3):
        step = 1e-5 * (np.arange(3) == i)
        assert abs(likelihood(weights + step) - likelihood(weights - step)) < 1e-7


@pytest.mark.parametrize("method", ["dr", "model"])
def test_labels_that_are_never_0_need_a_click(method):
    data, sessions, _ = small()
    silent = sessions.with_clicks(sessions.clicked & False)
    users = fit_click_model(sessions, "pbm")
    with pytest.raises(DataError, match="got none to learn from"):
        click_labels(silent, data, method, users)


def test_relevance_that_does_not_converge_says_so(monkeypatch):
    data = podium.RankingData.from_arrays([[0.0], [1.0], [2.0]], [0] * 3, qid=[1] * 3)
    monkeypatch.setattr(feature_relevance, "MAX_STEPS", 1)
    with pytest.warns(NotConvergedWarning, match="in 1 Newton steps"):
        predicted_relevance(data, np.array([10.0, 50.0, 90.0]), np.array([100.0] * 3))

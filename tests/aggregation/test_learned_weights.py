"""Learned weights: measured, and optimised for a metric."""

import numpy as np
import pytest

import podium
from podium.aggregation import (
    LearnedWeights,
    Rankings,
    aggregate,
    make_aggregator,
    measured_weights,
    optimised_weights,
)
from podium.data import Groups, Qrels, RankingData, Run, Strings
from podium.errors import DataError, MissingDocidsError, UsageError
from podium.optim import CoordinateSearch, LinearCoordinateSearch, lbfgs


def problem(seed=0, queries=60, n=12, noise=(0.3, 5.0, 5.0, 5.0, 5.0)):
    """One good ranker (the first) among noise; a third of the places left out."""
    rng = np.random.default_rng(seed)
    groups = Groups.from_sizes([n] * queries)
    truth = rng.standard_normal(n * queries)
    scores = np.stack([truth + s * rng.standard_normal(len(truth)) for s in noise], axis=1)
    scores[rng.random(scores.shape) < 1 / 3] = np.nan
    labels = np.digitize(truth, [0.8, 1.6]).astype(float)
    qid = groups.codes
    data = RankingData.from_arrays(
        np.zeros((len(truth), 1)), labels, qid=qid, docid=np.arange(len(truth)).astype(str)
    )
    return Rankings.from_scores(groups, scores), data


def mean(data, scores, metric):
    name = str(podium.metrics.parse(metric).averaging_ties())
    return podium.evaluate(data, scores, name)[name].mean


@pytest.mark.parametrize("metric", ["NDCG@10", "MAP", "P@3"])
def test_measured_weights_are_the_metric_of_each_ranker(metric):
    rankings, data = problem()
    columns = [np.where(np.isnan(column), -1e9, column) for column in rankings.scores.T]
    values = [mean(data, column, metric) for column in columns]
    found = measured_weights(rankings, data, metric)
    assert found == pytest.approx(np.array(values) / sum(values), abs=1e-12)
    assert measured_weights(rankings, data.y, metric).tolist() == found.tolist()


@pytest.mark.parametrize("method", ["borda", "rrf", "combsum"])
def test_the_good_ranker_among_noise_gets_the_weight(method):
    rankings, data = problem()
    found = optimised_weights(rankings, data, method)
    assert found.weights[0] > 0.6
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights >= 0).all()
    assert found.value > found.equal + 0.05
    other, unseen = problem(seed=1)
    aggregator = make_aggregator(method)
    learned, equal = (mean(unseen, aggregator(other, p).scores, "NDCG@10") for p in (found, None))
    assert learned > equal + 0.05


@pytest.mark.parametrize("method", ["footrule", "mc4", "combmnz"])
def test_weights_of_aggregators_that_do_not_add_points(method):
    rankings, data = problem(queries=15, noise=(0.3, 5.0, 5.0))
    found = optimised_weights(rankings, data, method, sweeps=1)
    assert (found.method.name, found.sweeps) == (method, 1)
    assert found.value >= found.equal
    assert found.weights.argmax() == 0
    assert optimised_weights(rankings, data, method).sweeps == 0


def test_the_result_says_what_it_is():
    rankings, data = problem(queries=10)
    found = optimised_weights(rankings, data, "borda", "MAP")
    assert isinstance(found, LearnedWeights)
    assert str(found.metric) == "MAP(ties='average')"
    scores = make_aggregator("borda")(rankings, found).scores
    assert mean(data, scores, "MAP") == found.value
    assert mean(data, make_aggregator("borda")(rankings).scores, "MAP") == found.equal
    assert found.start in (
        "equal", "measured", "best ranker", "listnet of borda", "listnet of rrf"
    )  # fmt: skip


def test_weights_by_listnet_where_no_ranker_is_best_alone():
    rankings, data = problem(queries=100, noise=(0.7, 0.7, 5.0, 5.0, 5.0))
    found = optimised_weights(rankings, data, "borda", sweeps=0)
    assert found.start.startswith("listnet")
    assert found.weights[:2].sum() > 0.7
    assert found.value > found.equal


def test_the_best_of_many_by_chance_is_not_begun_with():
    rng = np.random.default_rng(0)
    rankings = Rankings.from_scores(Groups.from_sizes([8] * 8), rng.random((64, 20)))
    labels = rng.integers(0, 2, 64)
    assert optimised_weights(rankings, labels, "borda").start != "best ranker"


def test_the_search_never_ends_below_its_start():
    rankings, data = problem(queries=20, noise=(2.0, 2.0, 2.0))
    for seed in range(3):
        start = np.random.default_rng(seed).random(3)
        before = mean(data, make_aggregator("rrf")(rankings, start).scores, "NDCG@10")
        found = optimised_weights(rankings, data, "rrf", start=start, l2=0, seed=seed)
        assert found.start == "given"
        assert found.value >= before - 1e-12
    held = optimised_weights(rankings, data, "rrf", start=start, l2=1e6)
    assert held.weights == pytest.approx(start / start.sum(), abs=1e-3)


def test_same_seed_same_weights():
    rankings, data = problem(queries=20)
    a, b = (optimised_weights(rankings, data, "rrf", l2=0, seed=4).weights for _ in range(2))
    assert a.tobytes() == b.tobytes()


def test_weights_of_runs_by_qrels():
    rankings, data = problem(queries=40)
    qids, docids = data.qids, data.docid_column
    runs = []
    for column in rankings.scores.T:
        rows = np.flatnonzero(~np.isnan(column))
        sizes = np.bincount(data.groups.codes[rows], minlength=len(qids))
        runs.append(Run(qids, Groups.from_sizes(sizes), docids.take(rows), column[rows]))
    joined = Rankings.from_runs(runs)
    qrels = Qrels.from_data(data)
    # NDCG by qrels divides by the best of all that is judged, retrieved by a run or not.
    expected = [podium.evaluate(qrels, one, "P@3")["P@3"].mean for one in runs]
    assert measured_weights(joined, qrels, "P@3") == pytest.approx(
        np.array(expected) / sum(expected), abs=1e-3
    )
    assert optimised_weights(joined, qrels, "rrf").weights.argmax() == 0


def test_judged_documents_no_run_retrieved_count_for_the_ideal():
    run = Run(np.array(["q"], object), Groups.from_sizes([2]), Strings.of("ab"), np.array([2.0, 1]))
    joined = Rankings.from_runs([run, run])
    qrels = Qrels(
        np.array(["q"], object), Groups.from_sizes([3]), Strings.of("xab"), np.array([1.0, 0, 1])
    )
    found = optimised_weights(joined, qrels, "borda", "Recall@2")
    assert found.value == 0.5  # b of b and x


def test_what_weights_cannot_be_learned_from_is_refused():
    rankings, data = problem(queries=4)
    with pytest.raises(DataError, match="is 0 for all rankers"):
        measured_weights(rankings, np.zeros(len(data)))
    with pytest.raises(DataError, match="the judgments must be for the documents of the rankings"):
        measured_weights(rankings, data.subset([0, 1]))
    with pytest.raises(DataError, match="labels"):
        measured_weights(rankings, [1.0])
    with pytest.raises(DataError, match="a value of"):
        optimised_weights(rankings, np.zeros(len(data)), metric="NDCG(empty='skip')@10")
    with pytest.raises(MissingDocidsError, match="from_runs"):
        measured_weights(rankings, Qrels.from_data(data))
    with pytest.raises(UsageError, match="sweeps"):
        optimised_weights(rankings, data, sweeps=-1)
    with pytest.raises(UsageError, match="l2"):
        optimised_weights(rankings, data, l2=float("nan"))
    with pytest.raises(UsageError, match="NDGC"):
        optimised_weights(rankings, data, metric="NDGC@10")


def test_learned_weights_stand_in_for_an_array():
    rankings, data = problem(queries=6, noise=(0.3, 5.0))
    found = optimised_weights(rankings, data, "rrf")
    assert list(aggregate([["a", "b"], ["b", "a"]], "rrf", weights=found)) == ["a", "b"]


# What the search is made of


def test_linear_ascent_and_plain_ascent_walk_the_same_way():
    rng = np.random.default_rng(0)
    X, target = rng.standard_normal((50, 4)), np.array([0.1, 0.0, 0.7, 0.2])
    best = X @ target

    def closeness(scores):
        return float(np.corrcoef(scores, best)[0, 1])

    plain = CoordinateSearch(lambda w: closeness(X @ w), np.full(4, 0.25), nonnegative=True)
    linear = LinearCoordinateSearch(X, closeness, np.full(4, 0.25), nonnegative=True)
    assert list(plain.sweeps(1, 1e-6)) == pytest.approx(list(linear.sweeps(1, 1e-6)), abs=1e-9)
    assert linear.weights == pytest.approx(target, abs=0.05)
    assert (linear.weights >= 0).all()
    assert linear.predictions == pytest.approx(X @ linear.weights)


def test_an_ascent_can_reach_zero_and_leave_it():
    down = CoordinateSearch(lambda w: -w[0] / w.sum(), np.array([0.5, 0.5]), nonnegative=True)
    list(down.sweeps(0))
    assert down.weights.tolist() == [0.0, 1.0]
    up = CoordinateSearch(lambda w: w[0] / w.sum(), np.array([0.0, 1.0]), nonnegative=True)
    list(up.sweeps(0))
    assert up.weights[0] == 1.0


def test_lbfgs_over_the_nonnegative():
    def function(x):
        away = x - np.array([1.0, -2.0, 3.0])
        return float(away @ away), 2 * away

    found = lbfgs(function, np.ones(3), nonnegative=True)
    assert found.converged
    assert found.x == pytest.approx([1, 0, 3], abs=1e-5)

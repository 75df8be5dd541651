"""YetiLoss: weights are changes of the metric, permutations follow Plackett-Luce, rounds draw anew."""

import itertools
import math

import numpy as np
import pytest

from podium.data import RankingData, make_synthetic
from podium.errors import UnknownNameError, UsageError
from podium.losses import FocusedLoss, LabelledLists, ListNetLoss, MetricWalk, YetiLoss
from podium.metrics import evaluate
from podium.rankers import MLP, LambdaMART
from podium.rankers.gradient_ranker import GradientRanker
from podium.rankers.training_objective import TrainingObjective

METRICS = [
    "NDCG", "NDCG@3", "NDCG(gain='linear', discount='letor')@4", "NDCG(gain='rank')@5", "DCG@3",
    "ERR", "ERR@3", "ERR(r_max='query')@4", "ERR(r_max=5)@4", "MRR", "MRR@2", "MRR(rel=2)@4",
    "MAP", "MAP@3", "MAP(norm='cut')@2", "P@1", "P@3", "P(short='length', rel=2)@4", "Recall@2",
    "Hit@2", "RBP@3", "RBP(p=0.5, rel=2)",
]  # fmt: skip


def problem(seed=0, sizes=(5, 1, 7, 4, 3, 2)):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    labels = rng.integers(0, 4, len(qid))
    docid = [f"d{row}" for row in range(len(qid))]
    return RankingData.from_arrays(np.zeros((len(qid), 1)), labels, qid=qid, docid=docid)


def single(labels):
    docid = list(range(len(labels)))
    return RankingData.from_arrays(
        np.zeros((len(labels), 1)), labels, qid=np.zeros(len(labels)), docid=docid
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("neighbours", [1, 2, None])
def test_pairs_weigh_what_their_exchange_changes(metric, neighbours):
    """Without noise, the value is sum |delta metric| log(1 + exp(-margin)) along the order by score."""
    data = problem()
    scores = np.random.default_rng(10).normal(size=len(data))
    values, _ = YetiLoss(metric=metric, neighbours=neighbours, noise=0.0).bind(data)(scores)
    before = evaluate(data, scores, [metric])[metric].per_query
    expected = np.zeros(data.n_queries)
    order = data.groups.order(scores)
    for q, rows in enumerate(data.groups.slices()):
        for i, j in itertools.combinations(range(rows.stop - rows.start), 2):
            first, second = order[rows][[i, j]]
            if j - i > (neighbours or 9):
                continue
            exchanged = scores.copy()
            exchanged[[first, second]] = scores[[second, first]]
            change = evaluate(data, exchanged, [metric])[metric].per_query[q] - before[q]
            margin = scores[first] - scores[second]
            toward = -margin if data.y[first] < data.y[second] else margin
            expected[q] += abs(change) * math.log(1 + math.exp(-toward))
    assert values == pytest.approx(expected, abs=1e-12)


def test_permutations_follow_plackett_luce():
    """P@1 weighs the exchange of the first two places, so its mean is a probability."""
    s = np.array([1.0, 0.0, -0.5])
    e = np.exp(s)
    p = e / e.sum()

    def first_two(i, j):  # i and j are the first two, in any order
        return p[i] * p[j] / (1 - p[i]) + p[j] * p[i] / (1 - p[j])

    def logistic(margin):
        return math.log(1 + math.exp(-margin))

    draws = 40_000
    value, _ = YetiLoss(metric="P@1", neighbours=1, draws=draws).bind(single([1, 0, 0]))(s)
    expected = first_two(0, 1) * logistic(s[0] - s[1]) + first_two(0, 2) * logistic(s[0] - s[2])
    # Each draw adds at most log(1 + exp(-1)) = .32, so that five standard errors are .008.
    assert value[0] == pytest.approx(expected, abs=5 * 0.32 / math.sqrt(draws))


def test_noise_is_a_scale_of_the_scores():
    data, s = problem(), np.random.default_rng(3).normal(size=22)
    # Scores and noise three times as large: the same permutations, margins three times as large.
    wide, narrow = YetiLoss(noise=3.0).bind(data), YetiLoss(noise=1.0).bind(data)
    assert (wide(3 * s)[1] != 0).tolist() == (narrow(s)[1] != 0).tolist()
    assert wide(np.zeros(22))[0] == pytest.approx(narrow(np.zeros(22))[0])


def test_rounds_draw_other_permutations_and_the_same_again():
    data, s = problem(), np.zeros(22)
    bound = YetiLoss(draws=2).bind(data)
    first, second = bound.redraw(1)(s)[1], bound.redraw(2)(s)[1]
    assert not np.array_equal(first, second)
    assert first.tobytes() == bound.redraw(2).redraw(1)(s)[1].tobytes()
    assert bound(s)[1].tobytes() == bound.redraw(0)(s)[1].tobytes()
    assert not np.array_equal(YetiLoss(draws=2).bind(data, seed=1)(s)[1], bound(s)[1])


def test_a_document_keeps_its_noise_in_every_batch():
    data, s = problem(), np.random.default_rng(0).normal(size=22)
    part = data.subset([2, 5])
    rows = np.isin(data.groups.codes, [2, 5])
    whole, alone = (YetiLoss().bind(d, seed=3).redraw(4) for d in (data, part))
    assert alone(s[rows])[1].tobytes() == whole(s)[1][rows].tobytes()


@pytest.mark.parametrize("loss", [FocusedLoss(k=4, list=YetiLoss(draws=1))], ids=str)
def test_losses_made_of_others_pass_the_round_on(loss):
    data, s = problem(), np.zeros(22)
    bound = loss.bind(data)
    gradients = [bound.redraw(r)(s)[1] for r in range(8)]
    assert len({g.tobytes() for g in gradients}) > 1
    assert gradients[3].tobytes() == bound.redraw(3)(s)[1].tobytes()


def test_objectives_pass_the_round_on_and_other_losses_ignore_it():
    data, s = problem(), np.zeros(22)
    drawn = TrainingObjective.from_loss(YetiLoss(draws=1), data)
    assert not np.array_equal(drawn.redraw(1)(s)[1], drawn.redraw(2)(s)[1])
    fixed = ListNetLoss().bind(data)
    assert fixed.redraw(7) is fixed


def test_more_draws_are_nearer_to_the_mean():
    data, s = problem(), np.zeros(22)
    mean = YetiLoss(draws=20_000).bind(data)(s)[1]

    def distance(draws):
        bound = YetiLoss(draws=draws).bind(data)
        return np.mean([np.abs(bound.redraw(r)(s)[1] - mean).mean() for r in range(20)])

    # The standard error falls by the square root of the draws: here from 1 to 1 / 10.
    assert distance(100) < distance(1) / 5


def test_your_own_metric_is_a_walk():
    class FirstPlace(YetiLoss):
        """The label of the first document."""

        name = "first-place"

        def metric_walk(self, lists):
            return MetricWalk(lists.labels, discount=np.ones(1))

    value, gradient = FirstPlace(neighbours=1, noise=0.0).bind(single([3, 1, 5]))(
        np.array([2.0, 1.0, 0.0])
    )
    assert value[0] == pytest.approx((3 - 1) * math.log(1 + math.exp(-1)))
    assert gradient == pytest.approx([-2 / (1 + math.e), 2 / (1 + math.e), 0])


def test_queries_whose_gains_are_equal_do_not_count():
    data = RankingData.from_arrays([[0.0]] * 4, [1, 2, 1, 0], qid=[1, 1, 2, 2])
    assert YetiLoss(metric="MRR").bind(data).active.tolist() == [False, True]
    assert YetiLoss().bind(data).active.tolist() == [True, True]


def test_lists_without_documents_of_an_id_use_row_numbers():
    lists = LabelledLists.from_data(problem())
    plain = LabelledLists(lists.groups, lists.labels, lists.draw)
    assert plain.keys().tolist() == list(range(22))
    assert YetiLoss().bind_lists(plain)(np.zeros(22))[0].shape == (6,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "Tau"}, "one of the metrics NDCG, DCG, ERR, .* got Tau; for your own"),
        ({"metric": "kNDCG@3"}, "got kNDCG"),
        ({"metric": "P"}, "P needs a cutoff, as in P@10"),
        ({"neighbours": 0}, "neighbours to be a whole number of 1 or more"),
        ({"draws": 0}, "draws to be a whole number of 1 or more"),
        ({"draws": 2**21}, "at most 1,048,576 draws"),
        ({"noise": -1.0}, "noise of 0 or more"),
        ({"noise": math.inf}, "noise of 0 or more"),
        ({"noise": math.nan}, "noise of 0 or more"),
    ],
)
def test_wrong_parameters_are_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        YetiLoss(**arguments)


def test_an_unknown_metric_is_named():
    with pytest.raises(UnknownNameError, match="NDGC"):
        YetiLoss(metric="NDGC@10")


def test_trees_learn_it_and_the_seed_decides():
    data = make_synthetic(n_queries=60, n_features=5, truth="nonlinear", seed=0)

    def fit(**settings):
        return LambdaMART(loss="yetiloss", trees=10, learning_rate=0.3, **settings).fit(data)

    ranker = fit()
    assert ranker.score(data) > 0.75
    assert ranker.predict(data).tobytes() == fit(threads=2).predict(data).tobytes()
    assert not np.array_equal(fit(seed=1).predict(data), ranker.predict(data))


def test_networks_learn_it_and_draw_anew_in_each_pass(monkeypatch):
    class YetiNet(GradientRanker):
        name = "yetinet"

        def loss(self):
            return YetiLoss()

    rounds = []
    redraw = TrainingObjective.redraw
    monkeypatch.setattr(
        TrainingObjective, "redraw", lambda self, r: rounds.append(r) or redraw(self, r)
    )
    data = make_synthetic(n_queries=60, n_features=5, seed=0)
    for hidden in ((8,), ()):
        mlp = MLP(hidden=hidden, epochs=8, batch_queries=64, learning_rate=0.05)
        ranker = YetiNet(scorer=mlp).fit(data)
        assert ranker.score(data) > 0.75
        again = YetiNet(scorer=mlp).fit(data)
        assert again.predict(data).tobytes() == ranker.predict(data).tobytes()
    assert rounds[:8] == [1, 2, 3, 4, 5, 6, 7, 8]  # one batch per pass

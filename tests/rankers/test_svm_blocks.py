"""Support vector machines on large data: planes for blocks of queries prove the same gap."""

import numpy as np
import pytest

from podium.data import Groups, RankingData, make_synthetic
from podium.losses import PairHinge
from podium.rankers import svm
from podium.rankers.training_objective import TrainingObjective
from podium.registry import make_ranker

DATA = make_synthetic(n_queries=60, n_features=6, noise=0.5, seed=0)
RANKERS = [("focused-svm", {"k": 3}), ("svm-map", {}), ("ranksvm", {"power": 1})]


@pytest.fixture
def _small_data_in_blocks(monkeypatch):
    monkeypatch.setattr(svm, "MIN_BLOCK_NUMBERS", 0)
    monkeypatch.setattr(svm, "MIN_BLOCK_ROWS", 40)


@pytest.mark.parametrize(("name", "settings"), RANKERS)
@pytest.mark.parametrize("eps", [1e-3, 1e-6])
def test_blocks_prove_the_gap(name, settings, eps, request):
    one = make_ranker(name, eps=eps, **settings).fit(DATA).certificate_
    request.getfixturevalue("_small_data_in_blocks")
    many = make_ranker(name, eps=eps, **settings).fit(DATA).certificate_
    assert many.converged
    assert many.gap <= eps * many.value
    assert many.value - many.gap <= one.value
    assert one.value - one.gap <= many.value


@pytest.mark.usefixtures("_small_data_in_blocks")
@pytest.mark.parametrize(("name", "settings"), RANKERS)
def test_a_weak_loss_still_gives_an_order_in_blocks(name, settings):
    ranker = make_ranker(name, C=1e-9, **settings).fit(DATA)
    assert ranker.score(DATA) > 0.7


@pytest.mark.usefixtures("_small_data_in_blocks")
@pytest.mark.parametrize(("name", "settings"), RANKERS)
def test_the_order_of_rows_changes_nothing_in_blocks(name, settings):
    order = np.random.default_rng(0).permutation(len(DATA))
    qid = np.repeat(DATA.qids, DATA.groups.sizes)
    moved = RankingData.from_arrays(DATA.X[order], DATA.y[order], qid=qid[order])
    still = RankingData.from_arrays(DATA.X, DATA.y, qid=qid)
    one, other = (make_ranker(name, **settings).fit(data).model_.weights for data in (still, moved))
    assert one.tobytes() == other.tobytes()


def test_many_features_and_little_data_get_planes_of_their_sum():
    objective = TrainingObjective.from_loss(PairHinge(power=1), DATA)

    def blocks(n_features):
        X = np.broadcast_to(0.0, (len(DATA), n_features))
        return svm._blocks(svm.LinearProblem(X, objective))

    enough = -(-svm.MIN_BLOCK_NUMBERS // len(DATA))
    assert enough > svm.MAX_BLOCK_FEATURES  # so small is the data
    assert blocks(6) is None
    assert blocks(enough) is None


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 100])
def test_blocks_of_queries_sum_to_the_loss(n_blocks):
    groups = Groups.from_sizes([3, 1, 2, 5, 1, 1])
    rng = np.random.default_rng(1)
    data = RankingData.from_arrays(np.zeros((13, 1)), rng.integers(0, 3, 13), qid=groups.codes)
    objective = TrainingObjective.from_loss(PairHinge(power=1), data).times(0.5)
    scores = rng.normal(size=13)
    blocks = objective.in_blocks(n_blocks)
    losses, gradient = blocks.evaluate(scores)
    total, whole_gradient = objective(scores)
    assert losses.sum() == pytest.approx(total)
    assert gradient.tobytes() == whole_gradient.tobytes()
    assert (blocks.offsets[0], blocks.offsets[-1]) == (0, 13)
    assert len(losses) == len(blocks.offsets) - 1 <= n_blocks
    assert set(blocks.offsets) <= set(groups.offsets)

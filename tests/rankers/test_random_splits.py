"""Random splits of boosted trees: random thresholds, and few features for each split."""

import re

import numpy as np
import pytest

from podium.data import RankingData
from podium.errors import UsageError
from podium.rankers import LambdaMART

N = 400


def one_tree(data, **settings):
    ranker = LambdaMART(trees=1, leaves=2, min_leaf=1, loss="xendcg", **settings)
    return ranker.fit(data, valid=data).model_.text


def first_split(text):
    feature = int(re.search(r"^split_feature=(\d+)", text, re.MULTILINE)[1])
    return feature, float(re.search(r"^threshold=(\S+)", text, re.MULTILINE)[1])


def step_data(n_features):
    """The first feature decides the label, at 0; the others say nothing."""
    X = np.random.default_rng(0).uniform(-1, 1, (N, n_features))
    return RankingData.from_arrays(X, (X[:, 0] > 0).astype(float), qid=np.arange(N) // 10)


def test_random_thresholds_are_drawn_by_the_seed():
    data = step_data(1)
    best = {first_split(one_tree(data, seed=seed))[1] for seed in range(4)}
    assert len(best) == 1
    assert abs(best.pop()) < 0.05
    drawn = [one_tree(data, seed=seed, random_thresholds=True) for seed in range(4)]
    assert len({first_split(text)[1] for text in drawn}) > 1
    assert one_tree(data, seed=3, random_thresholds=True) == drawn[3]


def test_a_split_sees_its_share_of_the_features():
    data = step_data(4)
    assert {first_split(one_tree(data, seed=seed))[0] for seed in range(6)} == {0}
    drawn = [first_split(one_tree(data, seed=s, node_feature_fraction=0.25))[0] for s in range(6)]
    assert set(drawn) != {0}


def test_the_share_of_features_is_above_0():
    with pytest.raises(UsageError, match="node_feature_fraction of lambdamart"):
        LambdaMART(node_feature_fraction=0.0).fit(step_data(2))

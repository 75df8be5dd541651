"""A metric that is measured repeatedly equals that of a fresh evaluation."""

import numpy as np

from podium.data import make_synthetic
from podium.metrics import evaluate, parse
from podium.metrics.repeated_metric import RepeatedMetric


def test_each_measurement_equals_a_fresh_evaluation():
    data = make_synthetic(n_queries=12, seed=0)
    rng = np.random.default_rng(1)
    for name in ("NDCG@10", "MAP", "ERR@10", "NDCG(ties='average')@5"):
        metric = parse(name)
        measure = RepeatedMetric(data, metric)
        for _ in range(3):
            scores = rng.integers(0, 4, len(data)).astype(float)
            assert measure(scores) == evaluate(data, scores, metric)[metric].mean

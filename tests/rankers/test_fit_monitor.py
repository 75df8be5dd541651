"""The monitor of a fit: which iteration it keeps."""

import pytest

from podium.data import make_synthetic
from podium.metrics import parse
from podium.rankers import LambdaMART, lambdamart
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.models import Linear

NAN = float("nan")


class MeasuredMonitor(FitMonitor):
    """A monitor that takes the validation metric in place of scores."""

    _measure = staticmethod(float)


def kept(values, keep_best=True):
    """The iteration kept after these validation metrics."""
    monitor = MeasuredMonitor("r", parse("NDCG@10"), valid=object(), keep_best=keep_best)
    for value in values:
        monitor(0.0, Linear([1.0]), value)
    return monitor.history().best


@pytest.mark.parametrize(
    ("values", "iteration"),
    [([0.1, 0.3, 0.2], 2), ([0.3, 0.3, 0.1], 1), ([NAN, NAN, NAN], 3), ([0.2], 1), ([], None)],
    ids=["best", "first of equals", "no query has a value", "one", "none"],
)
def test_the_best_by_validation_is_kept(values, iteration):
    assert kept(values) == iteration


def test_without_keep_best_the_last_is_kept():
    assert kept([0.3, 0.1, 0.2], keep_best=False) == 3


@pytest.mark.parametrize(
    ("objectives", "iteration"),
    [([3.0, 1.0, 2.0], 2), ([1.0, 1.0, 2.0], 2)],
    ids=["lowest", "last of equals"],
)
def test_without_validation_the_lowest_objective_is_kept(objectives, iteration):
    monitor = FitMonitor("r", parse("NDCG@10"))
    for at, objective in enumerate(objectives):
        monitor(objective, Linear([float(at)]))
    assert monitor.kept_iteration == monitor.history().best == iteration
    assert repr(monitor.history()) == f"History(3 iterations, kept: {iteration})"


def test_the_curve_of_trees_on_a_sample_leaves_the_trees_alone(monkeypatch):
    train = make_synthetic(n_queries=60, n_features=4, noise=0.5, seed=0)
    valid = make_synthetic(n_queries=10, n_features=4, noise=0.5, seed=1)
    whole = LambdaMART(trees=5).fit(train, valid=valid)
    monkeypatch.setattr(lambdamart, "MAX_MEASURED_DOCUMENTS", len(train) // 4)
    sampled = LambdaMART(trees=5).fit(train, valid=valid)
    assert sampled.predict(valid).tobytes() == whole.predict(valid).tobytes()
    assert sampled.history_.valid == whole.history_.valid
    assert sampled.history_.objective != whole.history_.objective
    assert all(0 <= value <= 1 for value in sampled.history_.objective)

"""Significance tests and intervals on workers: the same bytes as in one process."""

import numpy as np
import pytest

import podium
from podium.metrics import bootstrap_intervals, paired_test, resamples
from podium.metrics.paired_tests import _count_extreme


@pytest.fixture(autouse=True)
def _every_test_is_large(monkeypatch):
    monkeypatch.setattr(resamples, "MIN_DRAWS", 0)
    monkeypatch.setattr("podium.metrics.paired_tests.SIGNS_PER_BATCH", 2_000)


@pytest.mark.parametrize("n", [2, 17, 301, 2_500])
def test_p_values_are_the_same(client, n):
    rng = np.random.default_rng(n)
    a, b = rng.random(n), rng.random(n)
    alone = paired_test(a, b, resamples=403, seed=5)
    with podium.use(client):
        assert paired_test(a, b, resamples=403, seed=5) == alone


@pytest.mark.parametrize("n", [5, 6, 7, 8, 333])
@pytest.mark.parametrize("batch", [1, 3, 10])
def test_ranges_count_what_one_pass_counts(n, batch):
    difference = np.random.default_rng(n).normal(size=n)
    observed = float(np.sqrt(n))
    rng, extreme = np.random.default_rng(7), []
    for start in range(0, 100, batch):
        signs = 1 - 2 * rng.integers(0, 2, (min(batch, 100 - start), n), dtype=np.int8)
        extreme.append(int((np.abs(signs @ difference) >= observed).sum()))
    for first in range(0, 100, 30 if batch != 1 else 7):
        count = _count_extreme(difference, observed, batch, 7, (first, 100))
        assert count == sum(extreme[first // batch :])
    assert 0 < sum(extreme) < 100


def test_intervals_are_the_same(client):
    rng = np.random.default_rng(0)
    columns = [rng.random(150_000), rng.random(150_000)]
    weight = rng.integers(0, 3, 150_000).astype(float)
    alone = bootstrap_intervals(columns, weight=weight, resamples=9, seed=3)
    with podium.use(client):
        assert bootstrap_intervals(columns, weight=weight, resamples=9, seed=3) == alone


def test_few_queries_are_resampled_here(client, monkeypatch):
    monkeypatch.setattr(resamples, "MIN_DRAWS", 1_000)
    with podium.use(client) as runner:
        monkeypatch.setattr(runner, "share", None)  # whoever asks the cluster fails
        paired_test([0.1, 0.5, 0.9], [0.2, 0.4, 0.1], resamples=300)
        with pytest.raises(TypeError):
            paired_test(np.arange(30.0), np.zeros(30), resamples=300)

"""How often a fit reads the features, and how much memory it takes beside them."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest

from podium import kernels
from podium.data import RankingData, make_synthetic
from podium.data.row_selection import SelectedData
from podium.registry import make_ranker

DATA = make_synthetic(n_queries=30, n_features=6, noise=0.5, seed=0)


@pytest.mark.parametrize("name", ["listnet", "listmle", "topk-listmle", "ranknet", "focused-net"])
def test_the_start_at_zero_is_evaluated_once(name, monkeypatch):
    counts = Counter()

    def counted(kernel):
        product = getattr(kernels, kernel)

        def count(*arguments, **more):
            counts[kernel] += 1
            counts["at 0"] += kernel in passes and not arguments[1].any()
            return product(*arguments, **more)

        return count

    passes = [kernel for kernel in kernels.KERNELS if kernel.endswith("_pass")]
    for kernel in ("matvec", "rmatvec", *passes):
        monkeypatch.setattr(kernels, kernel, counted(kernel))
    make_ranker(name).fit(DATA)
    # Every point takes a pass that computes both products; that at 0 knows the scores.
    assert counts["at 0"] == 1 < sum(counts[kernel] for kernel in passes)
    assert counts["rmatvec"] == counts["matvec"] == 0


@pytest.mark.parametrize(
    "name", ["ranksvm", "listnet", "listmle", "topk-listmle", "ranknet", "focused-net"]
)
def test_arrays_of_a_fit_are_small_beside_single_precision_features(name):
    """NumPy's own arrays; ``benchmarks rankers`` measures the whole process."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24_000, 136), dtype=np.float32)
    y = np.searchsorted([0.0, 1.0, 2.0], X[:, 0] + rng.standard_normal(len(X)))
    data = RankingData.from_arrays(X, y, qid=np.arange(len(X)) // 100)
    make_ranker(name).fit(data.subset(range(3)))  # what the first fit imports does not count
    tracemalloc.start()
    make_ranker(name).fit(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * X.nbytes


@pytest.mark.parametrize("name", ["adarank", "coordinate-ascent"])
def test_chosen_rows_are_not_copied(name, monkeypatch):
    """Training and validation queries are rows of the caller's data."""

    def copy(data):
        raise AssertionError("the features were copied")

    monkeypatch.setattr(SelectedData, "X", property(copy))
    ranker = make_ranker(name)
    ranker.set_params(**({"rounds": 5} if name == "adarank" else {"restarts": 1}))
    assert ranker.fit(DATA).predict(DATA).shape == (len(DATA),)

"""How often a fit reads the features."""

from collections import Counter

import pytest

from podium import kernels
from podium.data import make_synthetic
from podium.registry import make_ranker

DATA = make_synthetic(n_queries=30, n_features=6, noise=0.5, seed=0)


@pytest.mark.parametrize("name", ["listnet", "listmle", "topk-listmle", "ranknet", "focused-net"])
def test_the_start_at_zero_is_evaluated_once(name, monkeypatch):
    counts = Counter()

    def counted(kernel):
        product = getattr(kernels, kernel)

        def count(*arguments):
            counts[kernel] += 1
            return product(*arguments)

        return count

    for kernel in ("matvec", "rmatvec"):
        monkeypatch.setattr(kernels, kernel, counted(kernel))
    make_ranker(name).fit(DATA)
    # Every point but 0 takes both products; the scores at 0 are 0.
    assert counts["rmatvec"] == counts["matvec"] + 1

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

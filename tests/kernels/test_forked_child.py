"""A forked child has none of its parent's OpenMP threads: it must work without them."""

import os
import subprocess
import sys

import pytest

from tests.support.paths import GOLDEN

TREES = GOLDEN / "trees-v1.podium"

PREPARE = """
import os, signal, sys
import numpy as np
import podium
from podium.data import make_synthetic
from tests.support.paths import GOLDEN

path, folder = sys.argv[1:]
rng = np.random.default_rng(0)
# So large that the parent's kernels and LightGBM start their threads.
X = rng.standard_normal((1_400_000, 3))
data = make_synthetic(n_queries=400, n_docs=100, n_features=3, seed=0)
fit = podium.LambdaMART(trees=2, threads=2)
podium.write_letor(data, folder + "/data.txt")

def work():
    ranker = podium.load(path)
    scores = ranker.predict(X)
    again = podium.read_letor(folder + "/data.txt")
    value = podium.evaluate(again, again.X[:, 0], "NDCG@10")["NDCG@10"].mean
    parts = ranker.model_.contributions(X[:10])
    grown = fit.fit(data.subset(np.arange(20)), valid=data.subset(np.arange(20, 30)))
    return float(scores.sum()), value, float(parts.sum()), float(grown.predict(data).sum())

before = work()
child = os.fork()
if child == 0:
    signal.alarm(90)  # a child that waits for ever must end, too
    os._exit(0 if work() == before else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_trees_and_kernels_work_in_a_forked_child(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PREPARE, str(TREES), str(tmp_path)],
        capture_output=True, text=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "2"},
    )  # fmt: skip
    assert done.stdout == "0\n", done.stderr[-2000:]

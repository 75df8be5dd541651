"""Print a fingerprint of what kernels compute, bit by bit, one line per subject; needs podium's core only.

.ci/run compares builds: kernels that choose the widest vectors of the machine, and kernels of one width.
"""

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import podium
from podium.data import draw_truth, make_synthetic, scale_by_query
from podium.losses import LOSSES, make
from podium.postranking import NotTopK, TopK, postrank

DATA = make_synthetic(n_queries=30, n_docs=(3, 90), n_features=13, seed=4)
SMALL = {
    "rankboost": {"rounds": 12}, "adarank": {"rounds": 8}, "focused-boost": {"rounds": 12},
    "coordinate-ascent": {"restarts": 1, "steps": 3}, "lambdamart": {"trees": 5, "threads": 1},
    "rpc-mtl": {"n_clusters": 3, "kappa_1": 1, "kappa_2": 3},
}  # fmt: skip
LEFT_OUT = {"auto", "catboost", "toprank"}
"""They are made of others, or need an extra."""


def fingerprint(values: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype=np.float64).tobytes()).hexdigest()[:16]


def results() -> Iterator[tuple[str, Any]]:
    scores = np.random.default_rng(2).normal(size=len(DATA))
    for name in LOSSES:
        on = draw_truth(DATA, 5) if name.startswith(("focused", "topk")) else DATA
        values, gradient = make(name).bind(on, 0)(scores)
        yield f"loss {name}", np.concatenate([values, gradient])
    for name in podium.registry.RANKERS:
        if name not in LEFT_OUT:
            ranker = podium.registry.make_ranker(name, **SMALL.get(name, {}))
            yield f"ranker {name}", ranker.fit(DATA).predict(DATA)
    yield "scaling", scale_by_query(DATA, "zscore").X
    metrics = ["NDCG@10", "ERR@10", "MAP", "P@5", "NDCG(ties='average')@10"]
    evaluation = podium.evaluate(DATA, np.round(scores, 1), metrics)
    yield "metrics", np.concatenate([evaluation[name].per_query for name in metrics])
    rng = np.random.default_rng(3)
    rankings = [{f"d{i}": s for i, s in enumerate(rng.normal(size=70))} for _ in range(9)]
    for method in podium.AGGREGATORS:
        if method != "kemeny":  # a solver with a limit of time
            yield f"aggregation {method}", _numbers(podium.aggregate(rankings, method))
    docs = [f"d{i}" for i in range(120)]
    rules = [TopK("d90", 5, weight=30), NotTopK("d2", 10, weight=20), TopK("d50", 3, weight=10)]
    ruled = postrank(docs, rules, np.arange(120, 0, -1.0), base="margin")
    yield "rules", [*_numbers(ruled), *ruled.scores]


def _numbers(docs: Iterable[str]) -> list[int]:
    return [int(doc.removeprefix("d")) for doc in docs]


def main() -> None:
    warnings.simplefilter("ignore")
    assert podium.kernels.BACKEND == "native", "no native kernels"
    for name, values in results():
        print(name, fingerprint(values))


if __name__ == "__main__":
    main()

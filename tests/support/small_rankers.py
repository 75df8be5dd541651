"""What the tests of rankers share: cheap settings of each, and small data."""

import numpy as np

from podium.data import RankingData, make_synthetic
from podium.registry import RANKERS, make_ranker

# One thread: others may be busy on the machine, and LightGBM waits for all it has started.
CHEAP = {
    "rankboost": {"rounds": 12},
    "adarank": {"rounds": 8},
    "coordinate-ascent": {"restarts": 2, "steps": 6},
    "lambdamart": {"trees": 6, "min_leaf": 2, "leaves": 4, "learning_rate": 0.3, "threads": 1},
    "catboost": {"trees": 6, "depth": 3, "learning_rate": 0.5, "threads": 1},
    "focused-boost": {"rounds": 12, "shrinkage": 0.5, "k": 3},
    "focused-svm": {"k": 3},
    "focused-net": {"k": 3},
    "topk-listmle": {"k": 3},
    "svm-map": {"C": 0.1},
    "topslack": {"measure": "NDCG@3", "C": 1.0},
    "topmargin": {"measure": "NDCG@3", "C": 1.0},
    "toprank": {
        "base": "ranksvm", "rankers": ("regression", "listnet"), "aggregator": "borda", "tuned": False,
        "t": 5,
    },
    "cfbrs": {"min_block": 1},
    "auto": {"budget": "4fits"},
    "rpc-mtl": {"n_clusters": 3, "kappa_1": 1, "kappa_2": 3},
}  # fmt: skip
NAMES = sorted(RANKERS)
BY_QUERY = {"toprank"}
"""Whose scores depend on the other documents of the query."""


def cheap(name, **parameters):
    return make_ranker(name, **{**CHEAP.get(name, {}), **parameters})


def predict(ranker, X, qid):
    """Scores of an array's rows; `qid` is for those that ask."""
    return ranker.predict(X, **({"qid": qid} if ranker.name in BY_QUERY else {}))


def small(n_queries=12, n_features=4, seed=1, **options):
    return make_synthetic(
        n_queries=n_queries, n_docs=(3, 12), n_features=n_features, seed=seed,
        grades=(0.5, 0.3, 0.2), **options,
    )  # fmt: skip


def qid_of(data):
    """Query ids, one a row."""
    return np.repeat(data.qids, data.groups.sizes)


def arrays(data, rows=slice(None)):
    """X, y, qid of some rows."""
    return data.X[rows], data.y[rows], qid_of(data)[rows]


def remade(data, rows=slice(None), *, ids=True, **options):
    """The same documents, in this order of rows."""
    X, y, qid = arrays(data, rows)
    docid = data.docids[rows] if ids and data.docids is not None else None
    return RankingData.from_arrays(X, y, qid=qid, docid=docid, **options)


def permutation(data, seed=0):
    """Rows with queries in another order, and documents in another one within each."""
    rng = np.random.default_rng(seed)
    slices = list(data.groups.slices())
    order = rng.permutation(data.n_queries)
    return np.concatenate([rng.permutation(np.arange(len(data))[slices[q]]) for q in order])

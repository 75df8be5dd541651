"""Made the golden files of format version 1: python tests/golden/make.py

One model a kind, an index, and saved feedback. They are never made again for the same version: a later
podium must read these very bytes and give what the JSON beside them says. A new format version gets files
of its own.
"""

import json
from pathlib import Path

import numpy as np

from podium.clicks import fit_click_model, save_click_model, save_sessions, simulate
from podium.data import RankingData, make_synthetic
from podium.data.categories import Category
from podium.ensemble import CFBRS, ScoreSum, SummedMember, TopRank
from podium.features import FormulaParameters, Index, Tokenizer, make_features
from podium.feedback import make_log, read_ubi, save_feedback
from podium.multitask import RPCMTL
from podium.rankers import (
    MLP,
    LambdaMART,
    ListNet,
    Ordinal,
    Prepared,
    RankBoost,
    RankSVM,
    Regression,
)

HERE = Path(__file__).parent
VERSION = 1
PREPARED_VERSION = 2  # models that prepare their features

rng = np.random.default_rng(0)
X = np.round(rng.standard_normal((60, 3)), 3)
y = np.digitize(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(60), [0.0, 1.5])
data = RankingData.from_arrays(
    X, y, qid=np.arange(60) // 10, feature_names=["bm25", "age", "clicks"]
)
RANKERS = {
    "linear": RankSVM(C=0.01),
    "stumps": RankBoost(rounds=10),
    "mlp": ListNet(scorer=MLP(hidden=(4, 3), activation="tanh", epochs=3, batch_queries=2)),
    "trees": LambdaMART(trees=3, leaves=4, min_leaf=3, threads=1, monotone={"bm25": 1}),
    "ordinal": Ordinal(loss="proportional-odds", l2=0.01),
    "reranked": TopRank(
        base=RankSVM(C=0.01), rankers=(Regression(), RankBoost(rounds=5)), aggregator="borda", t=5
    ),
    "composed-linear": CFBRS(base="least-squares", min_block=1, weights="validation"),
    "composed": CFBRS(base=RankBoost(rounds=3), min_block=1, combine="borda"),
    "combined": RPCMTL(n_clusters=3),
}
X_WITH_HOLES = np.where(rng.random(X.shape) < 0.1, np.nan, X)
PREPARED = Prepared(
    RankSVM(C=0.01), impute="median", indicators=True, scale="zscore", log1p=("age",),
    clip={"age": (0, None), "clicks": (-2, 2)},
)  # fmt: skip
CLASSES = {"composed-linear": ["new", "old", "new", "old", "new", "old"]}

DOCUMENTS = [
    {"id": "d1", "title": "Wing lift", "body": "the lift of a wing and the drag of a wing"},
    {"id": "d2", "title": "Heat", "body": "heat of a slab in a wind tunnel"},
    {"id": "ö3", "title": "", "body": ""},
]
QUERY = "lift of wings in a tunnel"


def make_index(path: Path) -> object:
    """An index with a stemmer, parameters and texts of its own; what it says of a query."""
    index = Index.build(
        DOCUMENTS, tokenizer=Tokenizer("english", "porter", "split"),
        parameters=FormulaParameters(k1=0.9, jm=0.5), keep=["title"],
    )  # fmt: skip
    index.save(path)
    features = make_features(index, {"q": QUERY}, {"q": [d["id"] for d in DOCUMENTS]})
    return {"query": QUERY, "names": features.names(), "features": features.X.tolist()}


def make_feedback(path: Path) -> object:
    """What a small log says."""
    log = path.with_suffix(".ndjson")
    make_log(n_lists=5, user_class="novice", seed=1).write(log)
    feedback = read_ubi([log], user_class="query_attributes.user_class")
    log.unlink()
    save_feedback(feedback, path)
    return {"query_ids": list(feedback.query_ids), "factors": feedback.factors.tolist(),
            "alphas": feedback.alphas.tolist()}  # fmt: skip


def simulated_sessions():
    """A small log of two variants."""
    clicked = make_synthetic(n_queries=4, n_docs=4, n_features=2, seed=1)
    return simulate(clicked, {"a": 0, "b": 1}, "dbn", 40, seed=1, swap=0.2)


def make_sessions(path: Path) -> object:
    """What sessions hold."""
    sessions = simulated_sessions()
    save_sessions(sessions, path)
    return {"click_order": sessions.click_order.tolist(), "time": sessions.time.tolist(),
            "docs": sessions.doc.to_array().tolist(), "queries": sessions.query.to_array().tolist(),
            "base_positions": sessions.base_positions.tolist()}  # fmt: skip


def make_click_model(path: Path) -> object:
    """What a click model says of these sessions."""
    model = fit_click_model(simulated_sessions(), "dbn")
    save_click_model(model, path)
    return {"log_likelihood": model.log_likelihood(simulated_sessions()).tolist()}


MAKERS = {
    "index-v1.index": make_index, "feedback-v1.npz": make_feedback,
    "click-sessions-v1.clicks": make_sessions, "click-model-v1.model": make_click_model,
}  # fmt: skip

if __name__ == "__main__":
    for name, make in MAKERS.items():
        if not (HERE / name).exists():
            told = json.dumps(make(HERE / name))
            (HERE / name).with_suffix(".json").write_text(told + "\n")
    for kind, ranker in RANKERS.items():
        path = HERE / f"{kind}-v{VERSION}.podium"
        if path.exists():
            continue
        users = {"user_class": CLASSES[kind]} if kind in CLASSES else {}
        ranker.fit(data, valid=data, **users).save(path)
        scores = ranker.predict(data).tolist()
        expected = {"X": X.tolist(), "scores": scores, "ranker": ranker.name}
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n")
    path = HERE / f"score-sum-v{VERSION}.podium"
    if not path.exists():
        ranker = RankSVM(C=0.01).fit(data)
        stumps = (
            RankBoost(rounds=3).fit(data.with_features(X[:, [0, 2]], ["bm25", "clicks"])).model_
        )
        members = SummedMember(ranker.model_, 2.0, 0.25, 0.5), SummedMember(stumps, columns=(0, 2))
        ranker.model_ = ScoreSum(members, 3)
        ranker.save(path)
        scores = ranker.predict(data).tolist()
        expected = {"X": X.tolist(), "scores": scores, "ranker": ranker.name}
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n")
    path = HERE / f"prepared-v{PREPARED_VERSION}.podium"
    if not path.exists():
        holes = RankingData.from_arrays(
            X_WITH_HOLES, y, qid=np.arange(60) // 10, feature_names=data.feature_names,
            missing="nan",
        )  # fmt: skip
        PREPARED.fit(holes).save(path)
        scores = PREPARED.predict(X_WITH_HOLES).tolist()
        expected = {"X": X_WITH_HOLES.tolist(), "scores": scores, "ranker": PREPARED.name}
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n")
    path = HERE / f"categories-v{PREPARED_VERSION}.podium"
    if not path.exists():
        codes = np.stack([X[:, 0], np.arange(60) % 3, np.arange(60) % 2], axis=1)
        categories = {
            "brand": Category(("Acme", "Bolt", "Zenith")),
            "size": Category(("S", "L"), is_ordered=True),
        }
        words = RankingData.from_arrays(
            codes, y, qid=np.arange(60) // 10, feature_names=["bm25", "brand", "size"],
            categories=categories,
        )  # fmt: skip
        ranker = Prepared(RankSVM(C=0.01), impute="none", scale="none").fit(words)
        ranker.save(path)
        expected = {"X": codes.tolist(), "scores": ranker.predict(words).tolist()}
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n")

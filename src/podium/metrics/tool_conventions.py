"""Conventions of other tools: how LETOR, LightGBM, trec_eval, scikit-learn and RankLib compute metrics."""

from __future__ import annotations

from typing import Any

RULES: dict[str, dict[str, dict[str, Any]]] = {
    "letor": {
        "NDCG": {"discount": "letor", "short": "zero"},
        "DCG": {"discount": "letor"},
        "P": {},
        "MAP": {},
    },
    "lightgbm": {"NDCG": {"empty": 1}, "MAP": {"empty": 1, "norm": "cut"}},
    "trec": {
        "NDCG": {"gain": "linear", "ties": "trec"},
        **{name: {"ties": "trec"} for name in ("P", "MAP", "MRR", "Recall", "Hit")},
    },
    "sklearn": {
        "NDCG": {"gain": "linear", "ties": "average"},
        "DCG": {"gain": "linear", "ties": "average"},
    },
    "ranklib": {
        "NDCG": {},
        "DCG": {},
        "P": {"short": "length"},
        "MAP": {},
        "MRR": {},
        "ERR": {"r_max": 4},
    },
}
"""Rule -> metric -> parameters that differ from those of the bare name.

Only LightGBM differs for a query without a relevant document: it counts 1, the others 0 (`empty`).
"""

# The metrics that a tool computes only with a cutoff, or only over the whole list.
_RULE_CUTOFFS = {
    ("letor", "NDCG"): "needed",
    ("letor", "DCG"): "needed",
    ("letor", "MAP"): "none",
    ("lightgbm", "NDCG"): "needed",
    ("lightgbm", "MAP"): "needed",
    ("trec", "MRR"): "none",
    ("trec", "Recall"): "needed",
    ("ranklib", "MAP"): "none",
    ("ranklib", "MRR"): "needed",
}

TABLES = {
    "letor": "LETOR 3.0 and 4.0 baselines (Eval-Score scripts)",
    "lightgbm": "LightGBM's and XGBoost's own ndcg@k and map@k, allRank, CatBoost's benchmarks",
    "trec": "trec_eval, pytrec_eval, ir_measures (ties by document id)",
    "sklearn": "scikit-learn's ndcg_score and dcg_score (tied scores averaged)",
    "ranklib": "RankLib, Elasticsearch and Solr learning-to-rank tutorials",
}
"""Tables of results that follow each rule."""


def fits_cutoff(rule: str, metric: str, k: int | None) -> bool:
    """Whether the rule's tool computes the metric with this cutoff (None: the whole list)."""
    cutoff = _RULE_CUTOFFS.get((rule, metric))
    return cutoff is None or (cutoff == "needed") == (k is not None)

"""Familiar parameters: the names that other tools use, and the parameters of podium for the same thing."""

from __future__ import annotations

from collections.abc import Container

_PENALTY_WORDS = (
    "alpha lambda lambda_ lam lambda_l2 reg_lambda reg_alpha l2_reg weight_decay regularization "
    "regularisation penalty l2"
)
_DEPTH_WORDS = "max_depth depth tree_depth"
_COUNTS = ("trees", "rounds", "max_iter", "max_rounds")
_WORDS_BY_PARAMETERS = {
    _COUNTS: "n_estimators num_trees n_trees ntrees num_iterations n_iterations iterations "
             "num_boost_round nrounds num_rounds n_rounds rounds n_iter max_iterations max_iter epochs trees",
    ("leaves",): f"num_leaves max_leaves max_leaf_nodes n_leaves {_DEPTH_WORDS}",
    ("min_leaf",): "min_data_in_leaf min_child_samples min_samples_leaf min_child_weight",
    ("learning_rate", "shrinkage"): "learning_rate eta lr shrinkage step_size",
    ("l2", "C", "lam"): f"{_PENALTY_WORDS} c cost",
    ("feature_fraction",): "colsample_bytree rsm",
    ("node_feature_fraction", "feature_fraction"): "feature_fraction_bynode colsample_bynode max_features",
    ("random_thresholds",): "extra_trees",
    ("patience", "early_stopping"): "early_stopping_rounds early_stopping n_iter_no_change patience",
    ("threads", "n_jobs"): "num_threads nthread n_jobs threads jobs",
    ("seed",): "random_state random_seed rng",
    ("metric", "measure"): "eval_metric scoring custom_metric",
    ("loss",): "objective",
    ("k",): "eval_at ndcg_eval_at lambdarank_truncation_level truncation top_k topk cutoff",
    ("tol", "eps", "tolerance"): "tol tolerance epsilon eps",
    ("monotone",): "monotone_constraints monotonic_cst",
    ("scorer",): "hidden hidden_layer_sizes layers hidden_size activation",
    ("base", "rankers"): "base_estimator estimator estimators members",
}  # fmt: skip
FAMILIAR_PARAMETERS = {
    word: parameters for parameters, words in _WORDS_BY_PARAMETERS.items() for word in words.split()
}
"""Parameters here by the names that people know from other tools, the nearest one first."""

DIFFERENCES = {
    **{(word, "C"): "a larger C is a weaker penalty" for word in _PENALTY_WORDS.split()},
    **{
        (word, "leaves"): "a tree of depth d has at most 2^d leaves"
        for word in _DEPTH_WORDS.split()
    },
}
"""How a parameter differs from the familiar one."""


def familiar_parameter(name: str, own: Container[str]) -> str | None:
    """Return the ranker's parameter for a familiar name, and in brackets how it differs.

    Returns an empty text if the name is not familiar, and None if the ranker has no such parameter.

    Examples
    --------
    >>> familiar_parameter("n_estimators", ["trees", "leaves"])
    'trees'
    >>> familiar_parameter("alpha", ["C", "max_iter"])
    'C (a larger C is a weaker penalty)'
    >>> familiar_parameter("learning_rate", ["C"]), familiar_parameter("zebra", ["C"])
    (None, '')
    """
    parameters = FAMILIAR_PARAMETERS.get(name.lower())
    if parameters is None:
        return ""
    parameter = next((parameter for parameter in parameters if parameter in own), None)
    difference = DIFFERENCES.get((name.lower(), parameter or ""))
    return parameter if difference is None else f"{parameter} ({difference})"

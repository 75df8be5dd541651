"""Experiments: rankers compared over folds, reports, the papers' experiments, the demo."""

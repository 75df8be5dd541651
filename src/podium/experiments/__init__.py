"""Experiments: the demo, and what later compares rankers over folds."""

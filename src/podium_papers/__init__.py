"""Reproduce the papers' experiments: one package for each paper, and the parts that they share."""

"""The experiments of TopRank: a novel top-k ranking method based on rank aggregation."""

from podium.experiments.papers.toprank.experiments import reproduce

__all__ = ["reproduce"]

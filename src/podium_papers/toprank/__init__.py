"""The experiments of TopRank: a novel top-k ranking method based on rank aggregation."""

from podium_papers.toprank.experiments import reproduce

__all__ = ["reproduce"]

"""The experiments of Ranking optimization with constraints."""

from podium.experiments.papers.rankopt.experiments import reproduce

__all__ = ["reproduce"]

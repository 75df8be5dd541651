"""The experiments of Ranking optimization with constraints."""

from podium_papers.rankopt.experiments import reproduce

__all__ = ["reproduce"]

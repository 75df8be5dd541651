"""Experiments of the post-ranking paper, Ranking optimization with constraints."""

from podium_papers.rankopt.experiments import reproduce

__all__ = ["reproduce"]

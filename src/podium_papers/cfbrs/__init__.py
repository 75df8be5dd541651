"""Experiments of the CFBRS paper: rankers on blocks of features with user feedback."""

from podium_papers.cfbrs.experiments import reproduce

__all__ = ["reproduce"]

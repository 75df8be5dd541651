"""The experiments of Top-k learning to rank: labeling, ranking and evaluation."""

from podium_papers.topk.experiments import reproduce

__all__ = ["reproduce"]

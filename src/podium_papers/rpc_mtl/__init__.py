"""Experiments of the RPC-MTL paper, Listwise learning to rank by exploring structure of objects."""

from podium_papers.rpc_mtl.experiments import reproduce

__all__ = ["reproduce"]

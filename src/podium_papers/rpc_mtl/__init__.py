"""The experiments of Listwise learning to rank by exploring structure of objects (RPC-MTL)."""

from podium_papers.rpc_mtl.experiments import reproduce

__all__ = ["reproduce"]

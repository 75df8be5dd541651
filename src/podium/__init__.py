"""Podium: top-k learning to rank. Who gets on the podium, and in which order.

Examples
--------
>>> import podium
>>> data = podium.make_synthetic(n_queries=50, seed=0)
>>> podium.evaluate(data, data.truth(data.X), "NDCG@10")["NDCG@10"].per_query.shape
(50,)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from podium import data, errors, experiments, kernels, metrics
    from podium.data import (
        Groups,
        Qrels,
        RankingData,
        Run,
        make_synthetic,
        read_letor,
        read_parquet,
        read_qrels,
        read_run,
        write_letor,
        write_qrels,
        write_run,
    )
    from podium.errors import PodiumError
    from podium.metrics import METRICS, evaluate

# Public name -> the module it comes from. Loaded when first used, so that `import podium` is cheap.
_PUBLIC = {
    "Groups": "podium.data",
    "Qrels": "podium.data",
    "RankingData": "podium.data",
    "Run": "podium.data",
    "make_synthetic": "podium.data",
    "read_letor": "podium.data",
    "read_parquet": "podium.data",
    "read_qrels": "podium.data",
    "read_run": "podium.data",
    "write_letor": "podium.data",
    "write_qrels": "podium.data",
    "write_run": "podium.data",
    "PodiumError": "podium.errors",
    "METRICS": "podium.metrics",
    "evaluate": "podium.metrics",
}
_ROOMS = ("data", "errors", "experiments", "kernels", "metrics")

__all__ = [
    "Groups",
    "METRICS",
    "PodiumError",
    "Qrels",
    "RankingData",
    "Run",
    "data",
    "errors",
    "evaluate",
    "experiments",
    "kernels",
    "make_synthetic",
    "metrics",
    "read_letor",
    "read_parquet",
    "read_qrels",
    "read_run",
    "write_letor",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("podium-ltr")
    if name in _ROOMS:
        return importlib.import_module(f"podium.{name}")
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'podium' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

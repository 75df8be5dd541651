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
    from podium import (
        aggregation,
        data,
        ensemble,
        errors,
        exchange,
        experiments,
        features,
        feedback,
        kernels,
        labelling,
        losses,
        metrics,
        multitask,
        optim,
        postranking,
        rankers,
        registry,
    )
    from podium.aggregation.aggregate import AGGREGATORS, aggregate
    from podium.data import (
        Groups,
        Qrels,
        RankingData,
        Run,
        make_opposed,
        make_synthetic,
        read_letor,
        read_parquet,
        read_qrels,
        read_run,
        write_letor,
        write_qrels,
        write_run,
    )
    from podium.ensemble import CFBRS, TopRank
    from podium.errors import PodiumError
    from podium.exchange import EXPORTERS, IMPORTERS, export_model, import_model
    from podium.experiments.compare import compare
    from podium.experiments.report import Report
    from podium.losses import LOSSES
    from podium.metrics import METRICS, evaluate
    from podium.multitask import RPCMTL
    from podium.postranking import (
        RULES,
        Apart,
        AtLeast,
        AtMost,
        Before,
        Each,
        Hide,
        NotTopK,
        Pin,
        PostRanker,
        PostRanking,
        Together,
        TopK,
        Where,
        postrank_batch,
        read_rules,
        write_rules,
    )
    from podium.postranking.postrank import postrank
    from podium.rankers import (
        MLP,
        SVMMAP,
        AdaRank,
        CoordinateAscent,
        FocusedBoost,
        FocusedNet,
        FocusedSVM,
        LambdaMART,
        LeastSquares,
        ListMLE,
        ListNet,
        Ordinal,
        RankBoost,
        RankNet,
        RankSVM,
        Regression,
        TopkListMLE,
        TopMargin,
        TopSlack,
        tune,
    )
    from podium.registry import RANKERS, load

# Public name -> the module it comes from. Loaded when first used, so that `import podium` is cheap.
_PUBLIC = {
    "AGGREGATORS": "podium.aggregation",
    "aggregate": "podium.aggregation",
    "Groups": "podium.data",
    "Qrels": "podium.data",
    "RankingData": "podium.data",
    "Run": "podium.data",
    "make_opposed": "podium.data",
    "make_synthetic": "podium.data",
    "read_letor": "podium.data",
    "read_parquet": "podium.data",
    "read_qrels": "podium.data",
    "read_run": "podium.data",
    "write_letor": "podium.data",
    "write_qrels": "podium.data",
    "write_run": "podium.data",
    "CFBRS": "podium.ensemble",
    "TopRank": "podium.ensemble",
    "PodiumError": "podium.errors",
    "EXPORTERS": "podium.exchange",
    "IMPORTERS": "podium.exchange",
    "export_model": "podium.exchange",
    "import_model": "podium.exchange",
    "compare": "podium.experiments.compare",
    "Report": "podium.experiments.report",
    "LOSSES": "podium.losses",
    "METRICS": "podium.metrics",
    "evaluate": "podium.metrics",
    "RPCMTL": "podium.multitask",
    "Apart": "podium.postranking",
    "AtLeast": "podium.postranking",
    "AtMost": "podium.postranking",
    "Before": "podium.postranking",
    "Each": "podium.postranking",
    "Hide": "podium.postranking",
    "NotTopK": "podium.postranking",
    "Pin": "podium.postranking",
    "PostRanking": "podium.postranking",
    "RULES": "podium.postranking",
    "Together": "podium.postranking",
    "TopK": "podium.postranking",
    "Where": "podium.postranking",
    "postrank": "podium.postranking",
    "PostRanker": "podium.postranking",
    "postrank_batch": "podium.postranking",
    "read_rules": "podium.postranking",
    "write_rules": "podium.postranking",
    "AdaRank": "podium.rankers",
    "CoordinateAscent": "podium.rankers",
    "FocusedBoost": "podium.rankers",
    "FocusedNet": "podium.rankers",
    "FocusedSVM": "podium.rankers",
    "LambdaMART": "podium.rankers",
    "LeastSquares": "podium.rankers",
    "ListMLE": "podium.rankers",
    "ListNet": "podium.rankers",
    "MLP": "podium.rankers",
    "Ordinal": "podium.rankers",
    "RankBoost": "podium.rankers",
    "RankNet": "podium.rankers",
    "RankSVM": "podium.rankers",
    "Regression": "podium.rankers",
    "SVMMAP": "podium.rankers",
    "TopMargin": "podium.rankers",
    "TopSlack": "podium.rankers",
    "TopkListMLE": "podium.rankers",
    "tune": "podium.rankers",
    "RANKERS": "podium.registry",
    "load": "podium.registry",
}
_ROOMS = (
    "aggregation", "data", "ensemble", "errors", "exchange", "experiments", "features", "feedback",
    "kernels", "labelling", "losses", "metrics", "multitask", "optim", "postranking", "rankers",
    "registry",
)  # fmt: skip

__all__ = [
    "AGGREGATORS",
    "AdaRank",
    "Apart",
    "AtLeast",
    "AtMost",
    "Before",
    "CFBRS",
    "CoordinateAscent",
    "EXPORTERS",
    "Each",
    "FocusedBoost",
    "FocusedNet",
    "FocusedSVM",
    "Groups",
    "Hide",
    "IMPORTERS",
    "LOSSES",
    "LambdaMART",
    "LeastSquares",
    "ListMLE",
    "ListNet",
    "METRICS",
    "MLP",
    "NotTopK",
    "Ordinal",
    "Pin",
    "PodiumError",
    "PostRanker",
    "PostRanking",
    "Qrels",
    "RANKERS",
    "RPCMTL",
    "RULES",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "RankingData",
    "Regression",
    "Report",
    "Run",
    "SVMMAP",
    "Together",
    "TopK",
    "TopMargin",
    "TopRank",
    "TopSlack",
    "TopkListMLE",
    "Where",
    "aggregate",
    "aggregation",
    "compare",
    "data",
    "ensemble",
    "errors",
    "evaluate",
    "exchange",
    "experiments",
    "export_model",
    "features",
    "feedback",
    "import_model",
    "kernels",
    "labelling",
    "load",
    "losses",
    "make_opposed",
    "make_synthetic",
    "metrics",
    "multitask",
    "optim",
    "postrank",
    "postrank_batch",
    "postranking",
    "rankers",
    "read_letor",
    "read_parquet",
    "read_qrels",
    "read_rules",
    "read_run",
    "registry",
    "tune",
    "write_letor",
    "write_qrels",
    "write_rules",
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

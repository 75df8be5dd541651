"""RPC-MTL for lists with a common structure: rank-preserving clusters of objects, and one task each.

`rpc_mtl` has the ranker, `metric_learning` and `metric_solver` the metric, `rank_preserving_clustering`
the clusters (pLocalsearch), `preference_degrees` the degrees of preference, `multitask_listmle` multi-task
ListMLE, and `rpc_mtl_model` the fitted model. Ordinal regression is in `podium.rankers`; generated problems
(`make_opposed`) are in `podium.data`.
"""

from podium.multitask.list_orders import Orders, draw_orders
from podium.multitask.metric_learning import DistanceMetric, MetricKind, learn_metric
from podium.multitask.multitask_listmle import Tasks, TasksObjective, fit_tasks
from podium.multitask.preference_degrees import Divider, Division
from podium.multitask.rank_preserving_clustering import (
    Clusters,
    MetricTransform,
    equal_bands,
    rank_preserving_clusters,
)
from podium.multitask.rpc_mtl import RPCMTL
from podium.multitask.rpc_mtl_model import Combination, RPCMTLModel
from podium.multitask.sublists import Sublists
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker

RANKERS: dict[str, type[Ranker]] = {"rpc-mtl": RPCMTL}
"""The rankers of this room by name; ``podium.RANKERS`` has those of all rooms."""

MODELS: dict[str, type[Model]] = {"combined": RPCMTLModel}
"""The kinds of model of this room, for model files."""

__all__ = [
    "Clusters",
    "Combination",
    "DistanceMetric",
    "Divider",
    "Division",
    "MODELS",
    "MetricKind",
    "MetricTransform",
    "Orders",
    "RANKERS",
    "RPCMTL",
    "RPCMTLModel",
    "Sublists",
    "Tasks",
    "TasksObjective",
    "draw_orders",
    "equal_bands",
    "fit_tasks",
    "learn_metric",
    "rank_preserving_clusters",
]

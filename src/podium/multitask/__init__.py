"""Lists that hang together: rank-preserving clusters of objects, and a ranking function for each."""

from podium.multitask.clustering import Clusters, Space, equal_bands, rank_preserving_clusters
from podium.multitask.combined import Combine, Combined
from podium.multitask.division import Distance, Divider, Division
from podium.multitask.listwise import Sublists, Tasks, TasksObjective, fit_tasks
from podium.multitask.metric import Metric, learn_metric
from podium.multitask.orders import Orders, draw_orders
from podium.multitask.rpc_mtl import RPCMTL
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker

RANKERS: dict[str, type[Ranker]] = {"rpc-mtl": RPCMTL}
"""The rankers of this room by name; ``podium.RANKERS`` has every room's."""

MODELS: dict[str, type[Model]] = {"combined": Combined}
"""The kinds of model of this room, for model files."""

__all__ = [
    "Clusters",
    "Combine",
    "Combined",
    "Distance",
    "Divider",
    "Division",
    "MODELS",
    "Metric",
    "Orders",
    "RANKERS",
    "RPCMTL",
    "Space",
    "Sublists",
    "Tasks",
    "TasksObjective",
    "draw_orders",
    "equal_bands",
    "fit_tasks",
    "learn_metric",
    "rank_preserving_clusters",
]

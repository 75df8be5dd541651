"""Losses: functions of the scores of a query, with their gradient and curvature.

Examples
--------
>>> from podium.data import RankingData
>>> data = RankingData.from_arrays([[0.0]] * 3, [2, 1, 0], qid=[1] * 3)
>>> loss = make("listnet").bind(data)
>>> values, gradient = loss(data.y)
>>> values.shape, bool(abs(gradient).max() < 1e-15)  # scores equal to the labels: the minimum
((1,), True)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.errors import UnknownNameError, UsageError
from podium.losses.ap_and_order_hinge import APHinge, OrderHinge
from podium.losses.focused_loss import FocusedLoss
from podium.losses.head_hinge import HeadHinge
from podium.losses.labelled_lists import LabelledLists, LabelledPairs
from podium.losses.lambdarank import LambdaRankLoss
from podium.losses.listwise import ListMLELoss, ListNetLoss, SquaredLoss, TopkListMLELoss
from podium.losses.loss import BoundLoss, ListLoss, Loss, QueryLoss
from podium.losses.metric_walk import MetricWalk
from podium.losses.pairwise import PairHinge, PairLogistic, PairLoss
from podium.losses.yetiloss import YetiLoss
from podium.plugins import Registry, subclasses_of

LOSSES: Registry[type[Loss]] = Registry(
    "podium.losses",
    {
        "focused": FocusedLoss,
        "head": HeadHinge,
        "hinge": PairHinge,
        "lambdarank": LambdaRankLoss,
        "listmle": ListMLELoss,
        "listnet": ListNetLoss,
        "ranknet": PairLogistic,
        "squared": SquaredLoss,
        "svm-map": APHinge,
        "svm-order": OrderHinge,
        "topk-listmle": TopkListMLELoss,
        "yetiloss": YetiLoss,
    },
    subclasses_of(Loss),
)
"""Every loss by name."""


def make(loss: str | Mapping[str, Any] | Loss) -> Loss:
    """Return a loss from its name or its ``spec()``; a Loss is returned unchanged.

    Examples
    --------
    >>> make("topk-listmle")
    TopkListMLELoss(k=10)
    >>> make(FocusedLoss(list=ListMLELoss(), k=3).spec())
    FocusedLoss(list=ListMLELoss(), pair=PairLogistic(pairs='mean'), k=3, beta=0.5, scale_pairs=False)
    """
    if isinstance(loss, Loss):
        return loss
    spec = {"name": loss} if isinstance(loss, str) else dict(loss)
    name = spec.pop("name", None)
    if not isinstance(name, str) or name not in LOSSES:
        raise UnknownNameError("loss", str(name), LOSSES)
    parts = {k: make(v) if isinstance(v, Mapping) else v for k, v in spec.items()}
    try:
        return LOSSES[name](**parts)
    except TypeError as error:
        raise UsageError(f"wrong parameters of the loss {name}: {error}") from None


__all__ = [
    "APHinge",
    "BoundLoss",
    "FocusedLoss",
    "HeadHinge",
    "LabelledLists",
    "LOSSES",
    "LambdaRankLoss",
    "ListLoss",
    "ListMLELoss",
    "ListNetLoss",
    "Loss",
    "MetricWalk",
    "OrderHinge",
    "PairHinge",
    "PairLogistic",
    "PairLoss",
    "LabelledPairs",
    "QueryLoss",
    "SquaredLoss",
    "TopkListMLELoss",
    "YetiLoss",
    "make",
]

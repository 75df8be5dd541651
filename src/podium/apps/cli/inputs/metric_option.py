"""``--metric NAME``: the names of metrics, checked before any data is read."""

from __future__ import annotations

from podium.metrics import Metric
from podium.metrics.naming import parse


def check_metric(name: str) -> Metric:
    """Return the metric of this name; raise if the name is wrong or lacks a cutoff."""
    metric = parse(name)
    metric.check_cutoff()
    return metric

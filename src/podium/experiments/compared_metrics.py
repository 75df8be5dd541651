"""Metrics of a comparison: each is the mean over orders of equal scores, unless its name has ties=."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from podium.errors import UsageError
from podium.metrics import METRICS, Metric
from podium.metrics.naming import resolve

DEFAULT_METRICS = ("NDCG@10", "ERR@10", "MAP")


def read_metrics(metrics: Any) -> dict[str, Metric]:
    """Return the metric to compute for each requested metric.

    Validation and test average over the orders of equal scores. Otherwise the order of the rows
    would decide, and search engines export rows in the order of their own ranking. A name with
    ``ties=`` is kept, and so is a rule or metric with its own treatment of ties.

    Examples
    --------
    >>> read_metrics(["MAP", "NDCG(ties='stable')@10", "P(rule='trec')@5"])
    {'MAP': MAP(ties='average'), "NDCG(ties='stable')@10": NDCG@10, "P(rule='trec')@5": P(rule='trec')@5}
    """
    all_metrics = [metrics] if isinstance(metrics, str | Metric) else metrics
    if not isinstance(all_metrics, Iterable):
        raise UsageError(f"expected metrics by name, such as NDCG@10, got {metrics!r}")
    measures = dict(map(_read_metric, all_metrics))
    if not measures:
        raise UsageError("expected at least one metric, such as NDCG@10, got none")
    return measures


def curve_metric(measures: Mapping[str, Metric], *, topk: bool) -> tuple[str, Metric]:
    """Return the name and metric of the curves: NDCG as requested, or kNDCG for top-k truth."""
    for name, metric in measures.items():
        if metric.name in ("NDCG", "kNDCG"):
            return re.sub(r"@\d+$", "", name), replace(metric, k=None)
    return _read_metric(METRICS["kNDCG" if topk else "NDCG"]())


def _read_metric(requested: Any) -> tuple[str, Metric]:
    metric = resolve(requested)
    metric.check_cutoff()
    if isinstance(requested, str) and re.search(r"\bties\s*=", requested):
        return " ".join(requested.split()), metric
    has_default_ties = metric.convention().get("ties") == metric.defaults().get("ties")
    return str(metric), metric.averaging_ties() if has_default_ties else metric

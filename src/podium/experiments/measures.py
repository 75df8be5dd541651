"""What a comparison measures: every metric in the mean over orders of equal scores, unless it says ties=."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from podium.errors import UsageError
from podium.metrics import METRICS, Metric
from podium.metrics.naming import resolve

DEFAULT_METRICS = ("NDCG@10", "ERR@10", "MAP")


def as_measures(metrics: Any) -> dict[str, Metric]:
    """What is asked for -> what is computed.

    Validation averages over the orders of equal scores, and so does the test: else the order of
    the rows would decide, and features from a search engine come with its order. A name that says
    ``ties=`` (or a rule or metric with another rule for ties than the usual one) is taken as it is.

    Examples
    --------
    >>> as_measures(["MAP", "NDCG(ties='stable')@10", "P(rule='trec')@5"])
    {'MAP': MAP(ties='average'), "NDCG(ties='stable')@10": NDCG@10, "P(rule='trec')@5": P(rule='trec')@5}
    """
    all_metrics = [metrics] if isinstance(metrics, str | Metric) else metrics
    if not isinstance(all_metrics, Iterable):
        raise UsageError(f"expected metrics by name, such as NDCG@10, got {metrics!r}")
    measures = dict(map(_measure, all_metrics))
    if not measures:
        raise UsageError("expected at least one metric, such as NDCG@10, got none")
    return measures


def as_curve(measures: Mapping[str, Metric], *, topk: bool) -> tuple[str, Metric]:
    """NDCG at any place in the convention that is asked for, with its name; on top-k truth kNDCG."""
    for name, metric in measures.items():
        if metric.name in ("NDCG", "kNDCG"):
            return re.sub(r"@\d+$", "", name), replace(metric, k=None)
    return _measure(METRICS["kNDCG" if topk else "NDCG"]())


def _measure(requested: Any) -> tuple[str, Metric]:
    metric = resolve(requested)
    metric.check_cutoff()
    if isinstance(requested, str) and re.search(r"\bties\s*=", requested):
        return " ".join(requested.split()), metric
    usual = metric.convention().get("ties") == metric.defaults().get("ties")
    return str(metric), metric.averaging_ties() if usual else metric

"""Contract checks for your own parts: each raises a `ContractError` that names the broken clause.

Examples
--------
>>> from podium.aggregation import Borda
>>> check_aggregator(Borda())
"""

from podium.testing.aggregators import check_aggregator
from podium.testing.exporters import check_exporter
from podium.testing.losses import check_loss
from podium.testing.metrics import check_metric
from podium.testing.rankers import check_ranker
from podium.testing.rules import check_rule
from podium.testing.strategies import check_strategy

__all__ = [
    "check_aggregator",
    "check_exporter",
    "check_loss",
    "check_metric",
    "check_ranker",
    "check_rule",
    "check_strategy",
]

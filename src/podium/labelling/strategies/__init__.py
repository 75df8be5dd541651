"""Labelling strategies: which two documents to compare next, until the top k is found."""

from podium.labelling.strategies.heap import Heap
from podium.labelling.strategies.sort import Sort
from podium.labelling.strategies.strategy import Comparisons, Strategy
from podium.labelling.strategies.strategy_run import (
    STRATEGIES,
    StrategyRun,
    strategy_named,
)
from podium.labelling.strategies.tournament import Tournament

__all__ = [
    "STRATEGIES",
    "Comparisons",
    "Heap",
    "StrategyRun",
    "Sort",
    "Strategy",
    "Tournament",
    "strategy_named",
]

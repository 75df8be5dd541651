"""Strategies: which two documents to compare next, until the top k is known."""

from podium.labelling.strategies.heap import Heap
from podium.labelling.strategies.sort import Sort
from podium.labelling.strategies.strategy import Asking, Strategy
from podium.labelling.strategies.strategy_run import (
    STRATEGIES,
    StrategyRun,
    next_step,
    strategy_named,
)
from podium.labelling.strategies.tournament import Tournament

__all__ = [
    "STRATEGIES",
    "Asking",
    "Heap",
    "StrategyRun",
    "Sort",
    "Strategy",
    "Tournament",
    "next_step",
    "strategy_named",
]

"""Boosting: a ranking function as a sum of weak rankers, found one round at a time.

Each algorithm is a generator of rounds; whoever drives it may look at every round, stop, or keep
the best prefix.
"""

from podium.rankers.boosted.adarank import adarank
from podium.rankers.boosted.focused import focused_boost
from podium.rankers.boosted.rankboost import rankboost
from podium.rankers.boosted.rounds import Round
from podium.rankers.boosted.stumps import Binned

__all__ = ["Binned", "Round", "adarank", "focused_boost", "rankboost"]

"""Boosting: a ranking function as a sum of weak rankers, one more per round.

Each algorithm is a generator of rounds. The caller may inspect every round, stop early, or keep the
best first rounds.
"""

from podium.rankers.boosted.adarank import AdaRank, adarank
from podium.rankers.boosted.focused_boost import FocusedBoost, focused_boost
from podium.rankers.boosted.rankboost import RankBoost, rankboost
from podium.rankers.boosted.rounds import Round
from podium.rankers.boosted.stumps import BinnedFeatures

__all__ = [
    "AdaRank",
    "BinnedFeatures",
    "FocusedBoost",
    "RankBoost",
    "Round",
    "adarank",
    "focused_boost",
    "rankboost",
]

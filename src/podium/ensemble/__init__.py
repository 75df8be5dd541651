"""Many rankers as one."""

from podium.ensemble.explanation import HeadExplanation, explain_head
from podium.ensemble.heads import Heads
from podium.ensemble.reranked import Member, Reranked
from podium.ensemble.toprank import TopRank
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker

RANKERS: dict[str, type[Ranker]] = {"toprank": TopRank}
"""The rankers of this room by name; ``podium.RANKERS`` has every room's."""

MODELS: dict[str, type[Model]] = {"reranked": Reranked}
"""The kinds of model of this room, for model files."""

__all__ = [
    "HeadExplanation",
    "Heads",
    "MODELS",
    "Member",
    "RANKERS",
    "Reranked",
    "TopRank",
    "explain_head",
]

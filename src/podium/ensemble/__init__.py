"""Many rankers as one."""

from podium.ensemble.adaptation import Adaptation
from podium.ensemble.alpha import Alpha
from podium.ensemble.cfbrs import CFBRS
from podium.ensemble.class_table import ClassTable, PersonalList, UserClass
from podium.ensemble.composed import Composed, LinearComposed, ensemble_of
from podium.ensemble.composition_boosting import boost
from podium.ensemble.compositions import Compositions, blocks_of
from podium.ensemble.explanation import HeadExplanation, explain_head
from podium.ensemble.heads import Heads
from podium.ensemble.lattice import Lattice
from podium.ensemble.plan import Plan, make_plan
from podium.ensemble.reranked import Member, Reranked
from podium.ensemble.standing import Evidence, Trial, choose_temperature, means, softened
from podium.ensemble.toprank import TopRank
from podium.ensemble.users import Batch
from podium.ensemble.votes import Combination, Votes
from podium.ensemble.weighing import votes_and_gains, weigh_population
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker

RANKERS: dict[str, type[Ranker]] = {"toprank": TopRank, "cfbrs": CFBRS}
"""The rankers of this room by name; ``podium.RANKERS`` has every room's."""

MODELS: dict[str, type[Model]] = {
    "reranked": Reranked,
    "composed": Composed,
    "composed-linear": LinearComposed,
}
"""The kinds of model of this room, for model files."""

__all__ = [
    "Adaptation",
    "Alpha",
    "Batch",
    "CFBRS",
    "ClassTable",
    "Combination",
    "Composed",
    "Compositions",
    "Evidence",
    "HeadExplanation",
    "Heads",
    "Lattice",
    "LinearComposed",
    "MODELS",
    "Member",
    "PersonalList",
    "Plan",
    "RANKERS",
    "Reranked",
    "TopRank",
    "Trial",
    "UserClass",
    "Votes",
    "blocks_of",
    "boost",
    "choose_temperature",
    "ensemble_of",
    "explain_head",
    "make_plan",
    "means",
    "softened",
    "votes_and_gains",
    "weigh_population",
]

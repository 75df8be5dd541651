"""Ensembles of rankers: sums of models, TopRank votes on the head, CFBRS weights blocks of features."""

from podium.ensemble.auto.budget import Budget
from podium.ensemble.auto.ranker import AutoRanker
from podium.ensemble.auto.search_progress import LeaderboardRow, SearchStep
from podium.ensemble.bagged import Bagged
from podium.ensemble.cfbrs.block_weights import (
    BlockWeights,
    Evidence,
    TemperatureTrial,
    choose_temperature,
    mean_gains,
    tempered_weights,
)
from podium.ensemble.cfbrs.composed_model import ComposedModel, LinearComposedModel, ensemble_of
from podium.ensemble.cfbrs.composition_boosting import boost_compositions
from podium.ensemble.cfbrs.composition_choice import make_plan
from podium.ensemble.cfbrs.composition_feedback import CompositionFeedback
from podium.ensemble.cfbrs.composition_plan import CompositionPlan
from podium.ensemble.cfbrs.composition_sums import CompositionSums
from podium.ensemble.cfbrs.compositions import Compositions, block_spans
from podium.ensemble.cfbrs.feature_blocks import BlockCombination, BlockVotes
from podium.ensemble.cfbrs.ranker import CFBRS
from podium.ensemble.cfbrs.user_classes import (
    Adaptation,
    ClassTable,
    FeedbackBatch,
    PersonalList,
    UserClass,
    votes_and_gains,
    weigh_population,
)
from podium.ensemble.combined_models import combine_models, offset_and_scale
from podium.ensemble.score_sum import ScoreSum, SummedMember
from podium.ensemble.toprank.head_explanation import HeadExplanation
from podium.ensemble.toprank.heads import Heads
from podium.ensemble.toprank.ranker import TopRank
from podium.ensemble.toprank.reranked_model import Member, RerankedModel
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker

RANKERS: dict[str, type[Ranker]] = {"toprank": TopRank, "cfbrs": CFBRS, "auto": AutoRanker}
"""The rankers of this room by name; ``podium.RANKERS`` has those of all rooms."""

MODELS: dict[str, type[Model]] = {
    "reranked": RerankedModel,
    "composed": ComposedModel,
    "composed-linear": LinearComposedModel,
    "score-sum": ScoreSum,
}
"""The kinds of model of this room, for model files."""

__all__ = [
    "Adaptation",
    "AutoRanker",
    "Bagged",
    "BlockCombination",
    "BlockVotes",
    "BlockWeights",
    "Budget",
    "CFBRS",
    "ClassTable",
    "ComposedModel",
    "CompositionFeedback",
    "CompositionPlan",
    "CompositionSums",
    "Compositions",
    "Evidence",
    "FeedbackBatch",
    "HeadExplanation",
    "Heads",
    "LeaderboardRow",
    "LinearComposedModel",
    "MODELS",
    "Member",
    "PersonalList",
    "RANKERS",
    "RerankedModel",
    "ScoreSum",
    "SummedMember",
    "SearchStep",
    "TemperatureTrial",
    "TopRank",
    "UserClass",
    "block_spans",
    "boost_compositions",
    "choose_temperature",
    "combine_models",
    "ensemble_of",
    "make_plan",
    "mean_gains",
    "offset_and_scale",
    "tempered_weights",
    "votes_and_gains",
    "weigh_population",
]

"""Post-ranking: a ranking and rules in, a ranking out."""

from typing import TYPE_CHECKING, Any

from podium.data import read_fields, read_queries
from podium.postranking.batch import PostRankedRun, postrank_batch, postrank_stream
from podium.postranking.list_figures import ListFigures
from podium.postranking.listing import Listing
from podium.postranking.methods.baselines import Conservative, Moderate, Proportional, Radical
from podium.postranking.methods.bradley_terry import BradleyTerry
from podium.postranking.methods.mmr_xquad import MMR, XQuAD
from podium.postranking.methods.paper_descent import PaperDescent
from podium.postranking.methods.preferences import Preferences
from podium.postranking.methods.problem import SCORE_DIGITS, PostRankingProblem, by_score
from podium.postranking.places.constraints import (
    ApartConstraint,
    BeforeConstraint,
    CountConstraint,
    TogetherConstraint,
    WindowConstraint,
)
from podium.postranking.postrank import METHODS, postrank
from podium.postranking.result import Move, PostRanking, RuleOutcome
from podium.postranking.rule_check import examine_rules
from podium.postranking.rule_costs import Change, ListChanges, RuleCost, RuleCostReport, rule_costs
from podium.postranking.rule_index import RuleUsage
from podium.postranking.rule_request import RuleRequest, read_request
from podium.postranking.rule_store import RuleStore
from podium.postranking.rule_trial import Finding
from podium.postranking.rules.files import read_rules, rules_from, write_rules
from podium.postranking.rules.mixing_kinds import Exposure, FairShare, Mix, TakeTurns
from podium.postranking.rules.placing_kinds import Boost, Bury, Insert
from podium.postranking.rules.request_conditions import When
from podium.postranking.rules.rule import BoundRule, Rule
from podium.postranking.rules.rule_kinds import (
    RULES,
    Apart,
    AtLeast,
    AtMost,
    Before,
    Hide,
    NotTopK,
    Pin,
    Together,
    TopK,
)
from podium.postranking.rules.schema import schema
from podium.postranking.rules.selectors import Each, Where
from podium.postranking.settings import Settings

if TYPE_CHECKING:
    from podium.postranking.postranker import PostRanker

__all__ = [
    "Apart",
    "ApartConstraint",
    "AtLeast",
    "AtMost",
    "Before",
    "BeforeConstraint",
    "Boost",
    "BoundRule",
    "BradleyTerry",
    "Change",
    "Bury",
    "Conservative",
    "CountConstraint",
    "Each",
    "Exposure",
    "FairShare",
    "Finding",
    "Hide",
    "ListChanges",
    "ListFigures",
    "Insert",
    "Listing",
    "METHODS",
    "MMR",
    "Mix",
    "Moderate",
    "Move",
    "NotTopK",
    "PaperDescent",
    "Pin",
    "PostRankedRun",
    "PostRanker",
    "PostRanking",
    "PostRankingProblem",
    "Preferences",
    "Proportional",
    "RULES",
    "Radical",
    "Rule",
    "RuleCost",
    "RuleCostReport",
    "RuleOutcome",
    "RuleRequest",
    "RuleStore",
    "RuleUsage",
    "SCORE_DIGITS",
    "Settings",
    "TakeTurns",
    "Together",
    "TogetherConstraint",
    "TopK",
    "When",
    "Where",
    "WindowConstraint",
    "XQuAD",
    "by_score",
    "examine_rules",
    "postrank",
    "postrank_batch",
    "postrank_stream",
    "read_fields",
    "read_queries",
    "read_request",
    "read_rules",
    "rule_costs",
    "rules_from",
    "schema",
    "write_rules",
]


def __getattr__(name: str) -> Any:
    if name == "PostRanker":  # rankers import scikit-learn, which takes most of a second
        from podium.postranking.postranker import PostRanker

        return PostRanker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Aggregation: combine many rankings into one."""

from podium.aggregation.aggregate import AGGREGATORS, Aggregate, aggregate, make_aggregator
from podium.aggregation.aggregator import Aggregator, Consensus, PointAggregator, check_weights
from podium.aggregation.borda import Borda
from podium.aggregation.combsum_combmnz import CombMNZ, CombSUM
from podium.aggregation.davidson import DavidsonFit, fit_davidson
from podium.aggregation.distances import distance_to, footrule, kendall
from podium.aggregation.document_order import DocumentOrder
from podium.aggregation.footrule_aggregation import Footrule
from podium.aggregation.kemeny import Kemeny, KemenyLocal
from podium.aggregation.learned_weights import LearnedWeights, measured_weights, optimised_weights
from podium.aggregation.mc4 import MC4
from podium.aggregation.rankings import Rankings
from podium.aggregation.reciprocal_rank_fusion import ReciprocalRank
from podium.aggregation.supervised_kemeny import SupervisedKemeny

__all__ = [
    "AGGREGATORS",
    "Aggregate",
    "Aggregator",
    "Borda",
    "CombMNZ",
    "CombSUM",
    "Consensus",
    "DavidsonFit",
    "DocumentOrder",
    "Footrule",
    "Kemeny",
    "KemenyLocal",
    "LearnedWeights",
    "MC4",
    "PointAggregator",
    "Rankings",
    "ReciprocalRank",
    "SupervisedKemeny",
    "aggregate",
    "check_weights",
    "distance_to",
    "fit_davidson",
    "footrule",
    "kendall",
    "make_aggregator",
    "measured_weights",
    "optimised_weights",
]

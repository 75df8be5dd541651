"""Rankings in, one ranking out."""

from podium.aggregation.aggregate import AGGREGATORS, Aggregate, aggregate, make_aggregator
from podium.aggregation.aggregator import Aggregator, Consensus, Points, check_weights
from podium.aggregation.assignment import Footrule
from podium.aggregation.davidson import Davidson, fit_davidson
from podium.aggregation.distances import distance_to, footrule, kendall
from podium.aggregation.kemeny import Kemeny, KemenyLocal, SupervisedKemeny
from podium.aggregation.markov import MC4
from podium.aggregation.positional import Borda, ReciprocalRank
from podium.aggregation.rankings import Rankings
from podium.aggregation.scores import CombMNZ, CombSUM
from podium.aggregation.weights import LearnedWeights, measured_weights, optimised_weights

__all__ = [
    "AGGREGATORS",
    "Aggregate",
    "Aggregator",
    "Borda",
    "CombMNZ",
    "CombSUM",
    "Consensus",
    "Davidson",
    "Footrule",
    "Kemeny",
    "KemenyLocal",
    "LearnedWeights",
    "MC4",
    "Points",
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

"""Rankers: they learn from labelled queries and score documents."""

from podium.rankers.boosted.adarank import AdaRank
from podium.rankers.boosted.focused_boost import FocusedBoost
from podium.rankers.boosted.rankboost import RankBoost
from podium.rankers.catboost import CatBoostTrees
from podium.rankers.click_learning import DEBIAS_METHODS, ClickLearning, fit_to_clicks
from podium.rankers.coordinate_ascent import CoordinateAscent
from podium.rankers.debias_guard import (
    GuardReport,
    GuardSettings,
    choose_debiasing,
    fit_with_guard,
)
from podium.rankers.explanation import Explanation
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.focused_net import FocusedNet
from podium.rankers.focused_svm import FocusedSVM
from podium.rankers.importance import (
    Importance,
    feature_importance,
    feature_weights,
    permutation_importance,
)
from podium.rankers.lambdamart import LambdaMART
from podium.rankers.learning_curve import Callback, FitStep, History
from podium.rankers.least_squares import LeastSquares
from podium.rankers.listmle import ListMLE, TopkListMLE
from podium.rankers.listnet import ListNet
from podium.rankers.mlp import MLP
from podium.rankers.models import Linear, Model
from podium.rankers.optimality_certificate import Certificate, HeadCertificate
from podium.rankers.ordinal import Ordinal
from podium.rankers.ordinal_fit import OrdinalFit, fit_ordinal
from podium.rankers.prepared import Prepared
from podium.rankers.prepared_model import PLAIN_MODELS, PreparedModel
from podium.rankers.ranked_lists import RankedList
from podium.rankers.ranker import Ranker, explain
from podium.rankers.ranknet import RankNet
from podium.rankers.ranksvm import RankSVM
from podium.rankers.regression import Regression
from podium.rankers.svm_map import SVMMAP
from podium.rankers.topslack import PAPER_C_VALUES, TopMargin, TopSlack
from podium.rankers.tuning import Trial, Tuning, tune
from podium.rankers.wrapped_ranker import WrappedRanker, innermost_ranker

RANKERS: dict[str, type[Ranker]] = {
    "regression": Regression,
    "least-squares": LeastSquares,
    "ranksvm": RankSVM,
    "ranknet": RankNet,
    "listnet": ListNet,
    "listmle": ListMLE,
    "topk-listmle": TopkListMLE,
    "svm-map": SVMMAP,
    "rankboost": RankBoost,
    "adarank": AdaRank,
    "coordinate-ascent": CoordinateAscent,
    "lambdamart": LambdaMART,
    "ordinal": Ordinal,
    "focused-svm": FocusedSVM,
    "focused-boost": FocusedBoost,
    "focused-net": FocusedNet,
    "topslack": TopSlack,
    "topmargin": TopMargin,
    "catboost": CatBoostTrees,
}
"""The rankers of this room by name; ``podium.RANKERS`` has those of all rooms."""

MODELS: dict[str, type[Model]] = {**PLAIN_MODELS, PreparedModel.kind: PreparedModel}
"""The models of this room by the kind that model files name."""

__all__ = [
    "AdaRank",
    "Callback",
    "CatBoostTrees",
    "Certificate",
    "ClickLearning",
    "CoordinateAscent",
    "DEBIAS_METHODS",
    "Explanation",
    "FitMonitor",
    "FitResult",
    "FitStep",
    "FocusedBoost",
    "FocusedNet",
    "FocusedSVM",
    "GuardReport",
    "GuardSettings",
    "HeadCertificate",
    "History",
    "Importance",
    "LambdaMART",
    "LeastSquares",
    "Linear",
    "ListMLE",
    "ListNet",
    "MLP",
    "MODELS",
    "Model",
    "Ordinal",
    "OrdinalFit",
    "PAPER_C_VALUES",
    "Prepared",
    "RANKERS",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "RankedList",
    "Ranker",
    "Regression",
    "SVMMAP",
    "TopMargin",
    "TopSlack",
    "TopkListMLE",
    "Trial",
    "Tuning",
    "WrappedRanker",
    "choose_debiasing",
    "explain",
    "feature_importance",
    "feature_weights",
    "fit_ordinal",
    "fit_to_clicks",
    "fit_with_guard",
    "innermost_ranker",
    "permutation_importance",
    "tune",
]

"""Rankers: queries with labels in, a score for every document out."""

from podium.rankers.boosted.estimators import AdaRank, FocusedBoost, RankBoost
from podium.rankers.certificate import Certificate, HeadCertificate
from podium.rankers.coordinate_ascent import CoordinateAscent
from podium.rankers.degrees import OrdinalFit, fit_ordinal
from podium.rankers.explanation import (
    Explanation,
    Importance,
    explain,
    feature_importance,
    feature_weights,
    permutation_importance,
)
from podium.rankers.history import Callback, History, Step, Watch
from podium.rankers.lambdamart import LambdaMART
from podium.rankers.least_squares import LeastSquares
from podium.rankers.mlp import MLP
from podium.rankers.models import Linear, Model
from podium.rankers.nets import FocusedNet, ListMLE, ListNet, RankNet, TopkListMLE
from podium.rankers.ordinal import Ordinal
from podium.rankers.ranker import Learned, RankedList, Ranker
from podium.rankers.regression import Regression
from podium.rankers.svm import SVMMAP, FocusedSVM, RankSVM
from podium.rankers.topslack import PAPER_PATH, TopMargin, TopSlack
from podium.rankers.tuning import Trial, Tuning, tune

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
}
"""The rankers of this room by name; ``podium.RANKERS`` has every room's."""

__all__ = [
    "AdaRank",
    "Callback",
    "Certificate",
    "CoordinateAscent",
    "Explanation",
    "FocusedBoost",
    "FocusedNet",
    "FocusedSVM",
    "HeadCertificate",
    "History",
    "Importance",
    "LambdaMART",
    "Learned",
    "LeastSquares",
    "Linear",
    "ListMLE",
    "ListNet",
    "MLP",
    "Model",
    "Ordinal",
    "OrdinalFit",
    "PAPER_PATH",
    "RANKERS",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "RankedList",
    "Ranker",
    "Regression",
    "SVMMAP",
    "Step",
    "TopMargin",
    "TopSlack",
    "TopkListMLE",
    "Trial",
    "Tuning",
    "Watch",
    "explain",
    "feature_importance",
    "feature_weights",
    "fit_ordinal",
    "permutation_importance",
    "tune",
]

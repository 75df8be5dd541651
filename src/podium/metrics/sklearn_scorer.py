"""scikit-learn scorers: ranking metrics for GridSearchCV and cross_val_score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED, get_routing_for_object

from podium.data import RankingData
from podium.errors import UsageError
from podium.metrics.evaluation import evaluate
from podium.metrics.metric import Metric
from podium.metrics.naming import resolve


class QueryScorer(BaseEstimator):  # type: ignore[misc]
    """A scorer that receives query ids through scikit-learn's metadata routing."""

    __metadata_request__score = {"qid": True, "estimator": UNUSED}  # noqa: RUF012 - read by scikit-learn

    def __init__(self, metric: str | Metric) -> None:
        self.metric = metric

    def __call__(self, estimator: Any, X: Any, y: Any, **metadata: Any) -> float:
        """Return the score; scikit-learn calls this."""
        return self.score(estimator, X, y, **metadata)

    def score(self, estimator: Any, X: Any, y: Any, *, qid: Any = None) -> float:
        """Return the mean of the metric on the estimator's predictions."""
        if qid is None:
            raise UsageError(
                "a ranking metric needs query ids: switch on "
                "sklearn.set_config(enable_metadata_routing=True) and pass params={'qid': qid}"
            )
        # Only the estimator reads the features, so they may be text, sparse or missing.
        data = RankingData.from_arrays(np.zeros((len(y), 1)), y, qid=qid)
        # An estimator that ranks whole lists requests the ids, too.
        requests = get_routing_for_object(estimator).consumes("predict", ["qid"])
        scores = data.regroup(estimator.predict(X, **dict.fromkeys(requests, qid)))
        return evaluate(data, scores, [self.metric])[self.metric].mean


def scorer(metric: str | Metric) -> QueryScorer:
    """Return a scorer for GridSearchCV and cross_val_score, for use with GroupKFold.

    Query ids arrive by metadata routing, which you must switch on. ``cv=5`` would split queries;
    pass ``cv=GroupKFold(5)`` and the ids also as ``groups``.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=30, seed=0)
    >>> qid = data.groups.codes
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     values = cross_val_score(
    ...         Ridge(), data.X, data.y, cv=GroupKFold(3), scoring=scorer("NDCG@10"),
    ...         params={"qid": qid, "groups": qid},
    ...     )
    >>> len(values), bool(values.mean() > 0.5)
    (3, True)
    """
    return QueryScorer(str(resolve(metric)))

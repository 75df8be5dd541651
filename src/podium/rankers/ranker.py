"""The contract of every ranker: fit on labelled queries, predict, rank, score, explain, save."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from podium.data import Collection, RankingData
from podium.errors import UsageError
from podium.metrics import evaluate
from podium.rankers.explanation import Explanation, explain_query
from podium.rankers.importance import feature_importance, feature_names_of, feature_weights
from podium.rankers.model_files import save
from podium.rankers.ranked_lists import RankedList, check_k, ranked_lists, stream_lists
from podium.rankers.ranking_estimator import RankingEstimator
from podium.typing import Floats, Path_


class Ranker(RankingEstimator):
    """A ranker: ``fit`` on labelled queries, ``predict`` one score per row, ``rank`` the top k.

    Subclasses are dataclasses: parameters are fields, and `learn` turns data into a model.
    """

    @overload
    def rank(self, X: Collection, k: int | None = None) -> Iterator[RankedList]: ...

    @overload
    def rank(
        self, X: Any, k: int | None = None, *, qid: ArrayLike | None = None
    ) -> list[RankedList]: ...

    def rank(
        self, X: Any, k: int | None = None, *, qid: ArrayLike | None = None
    ) -> list[RankedList] | Iterator[RankedList]:
        """Return the top k of each query, best first; without k, all documents.

        The lists of a `Collection` come one after the other while its blocks are read; on a cluster, its
        workers rank the parts.

        Examples
        --------
        >>> from podium.data import make_synthetic
        >>> from podium.rankers import RankSVM
        >>> data = make_synthetic(n_queries=20, seed=0)
        >>> RankSVM().fit(data).rank(data, k=3)[0]
        RankedList(q1: q1-d5, q1-d31, q1-d17)
        """
        if isinstance(X, Collection):
            check_k(k)
            return stream_lists(X, self, lambda ranker, block: ranker.rank(block, k))
        return self._lists(X, k, qid, self.predict)

    def _lists(
        self,
        X: Any,
        k: int | None,
        qid: ArrayLike | None,
        predict: Callable[[RankingData], Floats],
    ) -> list[RankedList]:
        """Return the top k of each query by these scores."""
        check_k(k)
        if isinstance(X, RankingData):
            return ranked_lists(X, predict(X), np.arange(len(X)), k)
        if qid is None:
            raise UsageError("query ids are missing; pass one id per row, as in rank(X, qid=qid)")
        data = self._documents(X, qid)
        # The rows of a query need not be adjacent in an array: the lists name the rows of the
        # array.
        return ranked_lists(data, predict(data), data.regroup(np.arange(len(data))), k)

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean NDCG@10.

        `sample_weight` has one number per query, or one per row, equal within each query.
        """
        own = self.training_columns(X)
        data = self.ranking_data(own, y, qid, sample_weight, scaled=self._scaled)
        return evaluate(data, self.predict(data), "NDCG@10")["NDCG@10"].mean

    def explain(
        self, data: RankingData | Collection, query: str | int | None = None
    ) -> Explanation:
        """Return one query's list with the contribution of each feature to each score."""
        return explain_query(self, data, query)

    def save(self, path: Path_) -> None:
        """Write the fitted ranker to a ``.podium`` file, all or nothing; see ``podium.load``.

        A file that is already there is replaced.
        """
        save(self, path)


@overload
def explain(ranker: Ranker) -> dict[str, float]: ...
@overload
def explain(ranker: Ranker, data: RankingData, query: str | int) -> Explanation: ...


def explain(
    ranker: Ranker, data: RankingData | None = None, query: str | int | None = None
) -> dict[str, float] | Explanation:
    """Explain a ranker by the features it uses, or the list of one query.

    Parameters
    ----------
    ranker
        A fitted ranker. Alone, the answer has the weight of each feature, or how much the model
        uses it, the strongest first (`feature_weights`, `feature_importance`).
    data, query
        Data, and the id of one of its queries, or its text: the answer of ``ranker.explain``.

    Examples
    --------
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import RankSVM
    >>> data = make_synthetic(n_queries=50, n_features=3, seed=0)
    >>> ranker = RankSVM().fit(data)
    >>> list(explain(ranker))
    ['f1', 'f3', 'f2']
    >>> explain(ranker, data, "q7")
    Explanation(query q7, 7 documents, 3 features)
    """
    if data is None and query is None:
        check_is_fitted(ranker, "model_")
        has_weights = ranker.model_.linear_weights(feature_names_of(ranker)) is not None
        return feature_weights(ranker) if has_weights else feature_importance(ranker)
    if data is None or query is None:
        example = repr(str(data.qids[0])) if isinstance(data, RankingData) else "data.qids[0]"
        raise UsageError(
            f"expected data and a query, or a ranker alone, got {'data' if query is None else 'a query'} "
            f"alone; as in explain(ranker, data, {example:.80}). permutation_importance(ranker, data) says "
            "which features a metric depends on"
        )
    return ranker.explain(data, query)

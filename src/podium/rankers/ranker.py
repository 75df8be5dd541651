"""The contract of every ranker: fit on labelled queries, predict, rank, score, explain, save."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from podium.data import Collection, RankingData
from podium.errors import UsageError
from podium.metrics import evaluate
from podium.rankers.explanation import Explanation, explain
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

        The lists of a `Collection` come one after the other while its blocks are read.

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
            return stream_lists(X, lambda block: self.rank(block, k))
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

    def explain(self, data: RankingData | Collection, query: str | int) -> Explanation:
        """Return one query's list with the contribution of each feature to each score."""
        return explain(self, data, query)

    def save(self, path: Path_) -> None:
        """Write the fitted ranker to a ``.podium`` file, all or nothing; see ``podium.load``."""
        save(self, path)

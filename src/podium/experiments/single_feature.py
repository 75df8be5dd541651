"""A ranking by one feature, such as the score of a search engine, as a contestant of comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.data import RankingData
from podium.errors import UnknownNameError
from podium.rankers import FitMonitor, FitResult, Linear, Model, Ranker


@dataclass(kw_only=True, eq=False, repr=False)
class SingleFeature(Ranker):
    """Rank by one feature, the highest value first: today's ranking as a baseline.

    Parameters
    ----------
    feature
        The name of the feature.

    Examples
    --------
    >>> from podium.data import RankingData
    >>> data = RankingData.from_arrays([[1, 5], [2, 3]], [0, 1], qid=[1, 1], feature_names=["a", "b"])
    >>> SingleFeature(feature="b").fit(data).predict(data).tolist()
    [5.0, 3.0]
    """

    name: ClassVar[str] = "single-feature"

    feature: str = ""

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Find the feature; there is nothing to learn."""
        names = train.names()
        if self.feature not in names:
            raise UnknownNameError("feature", self.feature, names)
        return FitResult(Linear(np.eye(train.n_features)[names.index(self.feature)]))

"""Imported rankers: models that another program trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.data import RankingData
from podium.errors import UsageError
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult, TrainingSummary
from podium.rankers.learning_curve import History
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker


@dataclass(kw_only=True, eq=False, repr=False)
class ImportedRanker(Ranker):
    """A ranker whose model another program trained: it predicts, ranks, explains and saves.

    ``podium.exchange.import_model`` makes it. It cannot be trained.

    Parameters
    ----------
    source
        The program, and its algorithm if the file names it.
    """

    name: ClassVar[str] = "imported"
    paper: ClassVar[str] = "another program"
    accepts_missing: ClassVar[bool] = True

    source: str = ""

    @classmethod
    def from_model(
        cls,
        model: Model,
        source: str,
        feature_names: Sequence[str] | None = None,
        scaled: str | None = None,
    ) -> ImportedRanker:
        """Return a fitted ranker with this model."""
        ranker = cls(source=source)
        names = None if feature_names is None else tuple(feature_names)
        ranker.model_, ranker.history_ = model, History((), None)
        ranker.converged_, ranker.stopped_, ranker.certificate_ = True, "", None
        ranker.trained_ = TrainingSummary(0, 0, "", None, names, scaled)
        ranker.n_features_in_ = model.n_features
        if names is not None:
            ranker.feature_names_in_ = np.array(names, dtype=object)
        return ranker

    def result_parameters(self) -> dict[str, Any]:
        """Return what the result depends on besides the data."""
        return {"source": self.source, **self.model_.parts()}

    def learn(self, train: RankingData, monitor: FitMonitor, start: Model | None) -> FitResult:
        """Raise, because an imported model cannot be trained."""
        raise UsageError(
            f"a model imported from {self.source or 'elsewhere'} cannot be trained; choose a "
            "podium ranker"
        )

"""A model that was trained elsewhere, as a ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.data import RankingData
from podium.errors import UsageError
from podium.rankers.history import History, Watch
from podium.rankers.models import Model
from podium.rankers.ranker import Learned, Ranker, Trained


@dataclass(kw_only=True, eq=False, repr=False)
class Imported(Ranker):
    """A ranker whose model another program has learned: it predicts, ranks, explains and saves.

    It is made by ``podium.exchange.import_model`` and does not learn.

    Parameters
    ----------
    source
        The program, and its algorithm where the file says it.
    """

    name: ClassVar[str] = "imported"
    paper: ClassVar[str] = "another program"
    accepts_missing: ClassVar[bool] = True

    source: str = ""

    @classmethod
    def of(
        cls,
        model: Model,
        source: str,
        feature_names: Sequence[str] | None = None,
        scaled: str | None = None,
    ) -> Imported:
        """A fitted ranker with this model."""
        made = cls(source=source)
        names = None if feature_names is None else tuple(feature_names)
        made.model_, made.history_ = model, History((), None)
        made.converged_, made.stopped_, made.certificate_ = True, "", None
        made.trained_ = Trained(0, 0, "", None, names, scaled)
        made.n_features_in_ = model.n_features
        if names is not None:
            made.feature_names_in_ = np.array(names, dtype=object)
        return made

    def result_parameters(self) -> dict[str, Any]:
        """Return what the result depends on besides the data."""
        return {"source": self.source, **self.model_.parts()}

    def learn(self, train: RankingData, watch: Watch, start: Model | None) -> Learned:
        """Raise: an imported model does not learn."""
        raise UsageError(
            f"expected a ranker that learns, got a model imported from {self.source or 'elsewhere'}"
        )

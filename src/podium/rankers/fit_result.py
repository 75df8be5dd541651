"""Results of a fit: the model that was learned, and a summary of the training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from podium.data import RankingData
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.models import Model
from podium.rankers.optimality_certificate import Certificate
from podium.rankers.selection_report import SelectionReport


@dataclass(frozen=True, eq=False)
class FitResult:
    """The model that a ranker learned, and whether the optimiser converged."""

    model: Model
    converged: bool = True
    reason: str = ""
    """Why the optimiser stopped."""
    certificate: Certificate | None = None
    report: SelectionReport | None = None
    """What a search for a ranker tried; None for a ranker that is no search."""


Learner = Callable[[RankingData, FitMonitor, Model | None], FitResult]
"""A function: training data, the monitor of iterations, a model to start from -> a fit result."""


@dataclass(frozen=True)
class TrainingSummary:
    """The data on which a ranker was trained, as model files keep it."""

    n_queries: int
    n_documents: int
    fingerprint: str
    topk: int | None = None
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)
    scaled: str | None = None

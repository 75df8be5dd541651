"""Clicks without bias: sessions, click models, propensities, counterfactual estimates, simulation."""

from podium.clicks.chain_models import (
    CascadeModel,
    DependentClickModel,
    DynamicBayesianModel,
    SimplifiedBayesianModel,
)
from podium.clicks.click_model import ClickModel, FitSettings, FitSummary
from podium.clicks.click_models import CLICK_MODELS, fit_click_model
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.document_pairs import DocumentPairs, PairValues
from podium.clicks.examination_models import (
    DocumentClickRates,
    PositionBasedModel,
    RankClickRates,
    UserBrowsingModel,
)
from podium.clicks.session_counts import REASONS, SessionCounts
from podium.clicks.simulation import simulate
from podium.clicks.true_models import true_model

__all__ = [
    "CLICK_MODELS",
    "CascadeModel",
    "ClickModel",
    "ClickSessions",
    "DependentClickModel",
    "DocumentClickRates",
    "DocumentPairs",
    "DynamicBayesianModel",
    "FitSettings",
    "FitSummary",
    "PairValues",
    "PositionBasedModel",
    "REASONS",
    "RankClickRates",
    "SessionCounts",
    "SimplifiedBayesianModel",
    "UserBrowsingModel",
    "fit_click_model",
    "simulate",
    "true_model",
]

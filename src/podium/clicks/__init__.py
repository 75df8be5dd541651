"""Clicks without bias: sessions, click models, propensities, counterfactual estimates, simulation."""

from podium.clicks.anytime_tests import AnytimeEstimate, anytime_estimate
from podium.clicks.chain_models import (
    CascadeModel,
    DependentClickModel,
    DynamicBayesianModel,
    SimplifiedBayesianModel,
)
from podium.clicks.click_files import (
    load_click_model,
    load_sessions,
    save_click_model,
    save_sessions,
)
from podium.clicks.click_labels import (
    LABEL_METHODS,
    ClickLabels,
    LabelSettings,
    ShownDocuments,
    click_labels,
)
from podium.clicks.click_model import ClickModel, FitSettings, FitSummary
from podium.clicks.click_models import CLICK_MODELS, fit_click_model
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.counterfactual import compare_policies, evaluate_policy, policy_lists
from podium.clicks.document_pairs import DocumentPairs, PairValues
from podium.clicks.examination_models import (
    DocumentClickRates,
    PositionBasedModel,
    RankClickRates,
    UserBrowsingModel,
)
from podium.clicks.experiment_log import ExperimentLog, read_experiment
from podium.clicks.experiment_result import ExperimentResult, experiment_result, rule_results
from podium.clicks.interleaving import (
    INTERLEAVING_METHODS,
    InterleavedList,
    interleave,
    outcome,
)
from podium.clicks.interventions import Identification, InterventionTable
from podium.clicks.logged_lists import LoggedLists
from podium.clicks.policy_estimate import (
    ESTIMATORS,
    POLICY_METRICS,
    PolicyEstimate,
    PolicySettings,
)
from podium.clicks.propensities import METHODS, PropensityEstimate, estimate_propensities
from podium.clicks.regression_em import regression_em
from podium.clicks.session_assembly import SessionChecks
from podium.clicks.session_counts import REASONS, SessionCounts
from podium.clicks.session_logs import read_sessions
from podium.clicks.simulation import simulate
from podium.clicks.standard_errors import StandardErrors, bootstrap_errors
from podium.clicks.table_sessions import TABLE_COLUMNS
from podium.clicks.true_models import true_model

__all__ = [
    "AnytimeEstimate",
    "CLICK_MODELS",
    "CascadeModel",
    "ClickLabels",
    "ClickModel",
    "ClickSessions",
    "DependentClickModel",
    "DocumentClickRates",
    "DocumentPairs",
    "DynamicBayesianModel",
    "ESTIMATORS",
    "ExperimentLog",
    "ExperimentResult",
    "FitSettings",
    "FitSummary",
    "INTERLEAVING_METHODS",
    "Identification",
    "InterleavedList",
    "InterventionTable",
    "LABEL_METHODS",
    "LabelSettings",
    "LoggedLists",
    "METHODS",
    "POLICY_METRICS",
    "PairValues",
    "PolicyEstimate",
    "PolicySettings",
    "PositionBasedModel",
    "PropensityEstimate",
    "REASONS",
    "RankClickRates",
    "SessionChecks",
    "SessionCounts",
    "ShownDocuments",
    "SimplifiedBayesianModel",
    "StandardErrors",
    "TABLE_COLUMNS",
    "UserBrowsingModel",
    "anytime_estimate",
    "bootstrap_errors",
    "click_labels",
    "compare_policies",
    "estimate_propensities",
    "evaluate_policy",
    "experiment_result",
    "fit_click_model",
    "interleave",
    "load_click_model",
    "load_sessions",
    "outcome",
    "policy_lists",
    "read_experiment",
    "read_sessions",
    "regression_em",
    "save_click_model",
    "save_sessions",
    "rule_results",
    "simulate",
    "true_model",
]

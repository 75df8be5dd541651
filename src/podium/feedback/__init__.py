"""What users do with ranked lists: events -> eight factors -> alpha."""

from podium.feedback.actions import ACTIONS, FACTORS, N_POSITIVE
from podium.feedback.feedback import Feedback, FeedbackSummary
from podium.feedback.figure import plot_feedback
from podium.feedback.files import load_feedback, save_feedback
from podium.feedback.log_counts import LogCounts
from podium.feedback.phi import Phi
from podium.feedback.sources import (
    FeedbackSource,
    SimulatedFeedback,
    UniformFeedback,
    split_alpha,
)
from podium.feedback.synthetic import CLICK_CHANCES, GeneratedLog, make_log
from podium.feedback.ubi import CLOSED_WITHIN_SECONDS, WINDOW_EVENTS, UbiReader, parse_ubi, read_ubi
from podium.feedback.user_classes import read_classes

__all__ = [
    "ACTIONS",
    "CLICK_CHANCES",
    "CLOSED_WITHIN_SECONDS",
    "FACTORS",
    "Feedback",
    "FeedbackSource",
    "GeneratedLog",
    "LogCounts",
    "N_POSITIVE",
    "Phi",
    "SimulatedFeedback",
    "FeedbackSummary",
    "UbiReader",
    "UniformFeedback",
    "WINDOW_EVENTS",
    "load_feedback",
    "make_log",
    "parse_ubi",
    "plot_feedback",
    "read_classes",
    "read_ubi",
    "save_feedback",
    "split_alpha",
]

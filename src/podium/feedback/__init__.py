"""User feedback on ranked lists: UBI events -> eight factors -> alpha."""

from podium.feedback.actions import ACTIONS
from podium.feedback.alpha import Phi, split_alpha
from podium.feedback.dwell_time import CLOSED_WITHIN_SECONDS
from podium.feedback.factors import FACTORS, N_POSITIVE
from podium.feedback.feedback import Feedback, FeedbackSummary
from podium.feedback.feedback_files import load_feedback, save_feedback
from podium.feedback.figure import plot_feedback
from podium.feedback.generated_logs import CLICK_CHANCES, GeneratedLog, make_log
from podium.feedback.log_counts import LogCounts
from podium.feedback.simulated_feedback import (
    FeedbackSource,
    SimulatedFeedback,
    UniformFeedback,
)
from podium.feedback.ubi_logs import parse_ubi, read_ubi
from podium.feedback.ubi_reader import WINDOW_EVENTS, UbiReader
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

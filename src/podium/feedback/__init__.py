"""What users do with ranked lists: events -> eight factors -> alpha."""

from podium.feedback.actions import ACTIONS, FACTORS, N_POSITIVE
from podium.feedback.classes import read_classes
from podium.feedback.counts import LogCounts
from podium.feedback.feedback import Feedback, Summary
from podium.feedback.figure import plot_feedback
from podium.feedback.files import load_feedback, save_feedback
from podium.feedback.phi import Phi
from podium.feedback.sources import (
    FeedbackSource,
    SimulatedFeedback,
    UniformFeedback,
    split_alpha,
)
from podium.feedback.synthetic import CLICKS, GeneratedLog, make_log
from podium.feedback.ubi import CLOSED_WITHIN, WINDOW, UbiReader, parse_ubi, read_ubi

__all__ = [
    "ACTIONS",
    "CLICKS",
    "CLOSED_WITHIN",
    "FACTORS",
    "Feedback",
    "FeedbackSource",
    "GeneratedLog",
    "LogCounts",
    "N_POSITIVE",
    "Phi",
    "SimulatedFeedback",
    "Summary",
    "UbiReader",
    "UniformFeedback",
    "WINDOW",
    "load_feedback",
    "make_log",
    "parse_ubi",
    "plot_feedback",
    "read_classes",
    "read_ubi",
    "save_feedback",
    "split_alpha",
]

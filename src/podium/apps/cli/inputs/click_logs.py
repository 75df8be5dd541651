"""Click logs that the options of ``podium train`` name, and how a ranker learns from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podium.apps.cli.inputs.input_files import reading_bar
from podium.apps.cli.options.train import TrainOptions
from podium.apps.cli.outputs.printing import print_notes
from podium.apps.cli.outputs.progress import spinner
from podium.clicks import (
    CLICK_MODELS,
    ClickModel,
    ClickSessions,
    LabelSettings,
    PropensityEstimate,
    estimate_propensities,
    fit_click_model,
    read_sessions,
)
from podium.data import RankingData
from podium.errors import DataError, DivergedError, UnknownNameError, UsageError
from podium.rankers import (
    DEBIAS_METHODS,
    ClickLearning,
    GuardSettings,
    Ranker,
    innermost_ranker,
)

NEEDS_EXAMINATION = ("ips", "dr", "model")
"""The debiasing methods that divide by P(examined), or take a click model's attraction."""


def check_click_options(options: TrainOptions, ranker: Ranker) -> None:
    """Raise if options about clicks do not fit each other or the ranker."""
    if not options.clicks:
        if options.debias:
            raise UsageError("expected --debias together with --clicks, got no --clicks")
        return
    for name in options.debias or ():
        if name not in DEBIAS_METHODS:
            raise UnknownNameError("debiasing method", name, DEBIAS_METHODS)
    if options.feedback or options.alpha is not None:
        raise UsageError("expected --clicks or feedback, got both")
    if options.cluster is not None:
        raise UsageError("a fit to clicks does not use a cluster yet; leave out --cluster")
    if innermost_ranker(ranker).is_search and options.guard:
        raise UsageError(
            "auto is a search of its own, and the guard would search several times; give --no-guard"
        )


def read_clicks(logs: Sequence[Path]) -> ClickSessions:
    """Read the sessions of logs, and print what is wrong with them; a folder stands for its files."""
    paths = [file for log in logs for file in _files(log)]
    with reading_bar(paths) as progress:
        sessions = read_sessions(paths, progress=progress)
    sessions.require_sessions()
    print_notes(sessions.counts.messages)
    return sessions


def _files(log: Path) -> list[Path]:
    if not log.is_dir():
        return [log]
    files = sorted(path for path in log.iterdir() if path.is_file() and path.name[0] != ".")
    if not files:
        raise UsageError(f"expected a folder with logs, got {log}, which has no files")
    return files


def click_learning(
    options: TrainOptions, sessions: ClickSessions, data: RankingData
) -> list[ClickLearning]:
    """Return the ways to learn that the options name, with P(examined) from the sessions."""
    methods = list(dict.fromkeys(options.debias or ["ips"]))
    labels = LabelSettings(clip=options.propensity_clip)
    examination = None
    if options.examination != "auto" and any(m in NEEDS_EXAMINATION for m in methods):
        examination = _examination(options.examination, sessions, data)
    elif any(m in ("ips", "dr") for m in methods):
        print_notes(_propensity_messages(sessions), kind="warning")
    return [
        ClickLearning(m, _fitting(m, examination) if m in NEEDS_EXAMINATION else None, labels)
        for m in methods
    ]


def _examination(
    name: str, sessions: ClickSessions, data: RankingData
) -> ClickModel | PropensityEstimate:
    with spinner(f"estimating examination by {name}"):
        if name in CLICK_MODELS:
            return fit_click_model(sessions, name)
        estimate = estimate_propensities(sessions, name, data=data)
    print_notes(estimate.messages, kind="warning")
    return estimate


def _propensity_messages(sessions: ClickSessions) -> list[str]:
    """Return what to know before using propensities; nothing if a fit will say that there are none."""
    try:
        return estimate_propensities(sessions).messages
    except (DataError, DivergedError):
        return []


def _fitting(
    method: str, examination: ClickModel | PropensityEstimate | None
) -> ClickModel | PropensityEstimate | None:
    """Return the examination for a method; model takes no propensities."""
    is_model = isinstance(examination, ClickModel)
    return examination if is_model or method != "model" else None


def guard_settings(options: TrainOptions) -> GuardSettings:
    """Return the settings of the guard."""
    return GuardSettings(holdout=options.holdout, seed=options.seed or 0)

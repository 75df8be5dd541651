"""Feedback that the options name: logs of users, phi, and alpha without a log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from podium.apps.cli.inputs.input_files import reading_bar
from podium.apps.cli.inputs.propensity_files import read_propensities
from podium.apps.cli.inputs.set_option import parse_settings
from podium.counted_nouns import count_text
from podium.data import RankingData
from podium.data.number_parsing import decimal_of
from podium.errors import DataError, UnknownNameError, UsageError
from podium.feedback import (
    ACTIONS,
    FACTORS,
    Feedback,
    LogCounts,
    Phi,
    SimulatedFeedback,
    UniformFeedback,
    read_classes,
    read_ubi,
)


def check_needs_log(
    feedback: Sequence[Path] | None, classes: str | None, phi: Phi | None,
    propensities: Path | None = None,
) -> None:  # fmt: skip
    """Raise if an option about logs is set and no log is named."""
    if not feedback and (classes is not None or phi is not None or propensities is not None):
        option = "--classes" if classes is not None else "--phi-weight and --phi-scale"
        if propensities is not None:
            option = "--propensities"
        raise UsageError(f"expected {option} together with --feedback, got no --feedback")


def make_phi(weights: Sequence[str] | None, scales: Sequence[str] | None) -> Phi | None:
    """Return phi with these weights and scales by factor, or None where neither is set."""
    if not weights and not scales:
        return None
    default = Phi()
    return Phi(
        weights=_by_factor(weights, "--phi-weight", default.weights),
        scales=_by_factor(scales, "--phi-scale", default.scales),
    )


def _by_factor(
    texts: Sequence[str] | None, option: str, default: tuple[float, ...]
) -> tuple[float, ...]:
    values = dict(zip(FACTORS, default, strict=True))
    for name, value in parse_settings(texts, option).items():
        if name not in values:
            raise UnknownNameError(f"factor in {option}", name, FACTORS)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"expected a number in {option} {name}=NUMBER, got {value!r}")
        values[name] = float(value)
    return tuple(values.values())


def make_alpha_source(
    text: str, seed: int | None, option: str = "--alpha"
) -> UniformFeedback | SimulatedFeedback:
    """Return the feedback that a text names; errors name the option or argument that it came from."""
    name, equals, number = (part.strip() for part in text.partition("="))
    if name not in ("uniform", "simulated"):
        raise UnknownNameError(f"feedback in {option}", name, ("uniform", "simulated"))
    value = decimal_of(number) if equals else None
    if equals and value is None:
        raise UsageError(f"expected a number in {option} {name}=NUMBER, got {number!r}")
    if name == "uniform":
        return UniformFeedback() if value is None else UniformFeedback(value)
    seeded = SimulatedFeedback(seed=seed or 0)
    return seeded if value is None else SimulatedFeedback(variance=value, seed=seed or 0)


def read_feedback(
    events: Sequence[Path], classes: str | None, action: Sequence[str] | None = None,
    closed_within: float = 5.0, window: int = 500_000, strict: bool = False,
    phi: Phi | None = None, propensities: Path | None = None,
) -> Feedback:  # fmt: skip
    """Read UBI logs; user classes come from a path into the records or from a table of users."""
    user_class: Any = classes
    if classes is not None and Path(classes).is_file():
        user_class = read_classes(classes)
    elif classes is not None and classes.endswith((".csv", ".csv.gz")):
        raise DataError("expected a CSV file of user,class lines, got no such file", path=classes)
    with reading_bar(events) as progress:
        feedback = read_ubi(
            events, user_class=user_class, actions={**ACTIONS, **_actions(action)},
            phi=phi, closed_within=closed_within, window=window, strict=strict, progress=progress,
        )  # fmt: skip
    if classes is not None and not feedback.classes:
        raise DataError(
            f"expected user classes at --classes {classes}, got none in {len(feedback):,} lists"
        )
    if propensities is not None:
        return feedback.with_propensities(read_propensities(propensities))
    return feedback


def _actions(texts: Sequence[str] | None) -> dict[str, str]:
    table = {}
    for text in texts or ():
        name, equals, kind = text.rpartition("=")
        if not equals or not name:
            raise UsageError(f"expected --action NAME=KIND, got {text!r}")
        table[name] = kind
    return table


def log_problems(counts: LogCounts) -> list[tuple[str, str]]:
    """Return what was wrong in a log, in words, with how often."""
    problems = []
    for name, n in counts.problems.items():
        text = f"{n:,}"
        if name == "unknown_actions":
            examples = [f"{action} {k:,}" for action, k in list(counts.unknown_actions.items())[:5]]
            text += f" ({', '.join(examples)}{', ...' if len(counts.unknown_actions) > 5 else ''})"
        problems.append((name.replace("_", " "), text))
    return problems


def print_joined(feedback: Feedback, data: RankingData) -> None:
    """Print a line on stderr: how much of the log there is for this data, and what was wrong with it."""
    joined = f"{_n_joined(feedback, data):,} of {count_text(data.n_queries, 'query')} joined"
    problems = [f"{name} {text}" for name, text in log_problems(feedback.counts)]
    parts = [f"{count_text(len(feedback), 'list')}, {joined}", *problems]
    typer.echo(f"podium: feedback: {'; '.join(parts)}", err=True)


def check_joined(feedback: Feedback, data: RankingData) -> None:
    """Raise if no document that the log shows is in the data."""
    if _n_joined(feedback, data):
        return
    in_data = int((~np.isnan(feedback.query_alphas(data))).sum())
    in_log = len(feedback.summary("query").names)
    documents = ", but none of the documents shown for them" if in_data else ""
    raise DataError(
        f"{in_data:,} of {in_log:,} queries of the log are in the data{documents}; expected the data of the "
        "lists that were shown, with the same query texts or ids and the same document ids"
    )


def _n_joined(feedback: Feedback, data: RankingData) -> int:
    """Return the number of queries of the data with a document that the log shows."""
    is_shown = ~np.isnan(feedback.labels(data))
    return int(data.groups.reduce(np.logical_or, is_shown).sum())

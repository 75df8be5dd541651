"""Options about feedback that several commands share: logs, user classes, phi, and alpha without a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.apps.cli.settings import parse_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.feedback import Phi, SimulatedFeedback, UniformFeedback

FACTOR_NAMES = "clicks, bookmarks, dwell, downloads, shares, ignored, back or closed"

FeedbackLogs = Annotated[
    list[Path] | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        metavar="EVENTS",
        help="UBI logs of what users did, for cfbrs: see podium feedback. May be given several times.",
    ),
]
FeedbackClasses = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|CSV",
        help="Where --feedback has user classes, as in podium feedback summarise.",
    ),
]
PhiWeight = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FACTOR=WEIGHT",
        help=f"How much a factor counts in alpha: {FACTOR_NAMES}; 1 by default, 0 leaves it out. "
        "May be given several times.",
    ),
]
PhiScale = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FACTOR=SCALE",
        help="How much of a factor is much, as in dwell=30 (seconds per document). May be given "
        "several times.",
    ),
]
Alpha = Annotated[
    str | None,
    typer.Option(
        metavar="uniform[=VALUE]|simulated[=VARIANCE]",
        help="Feedback on compositions for cfbrs where there is no log, as in uniform=0.5 or "
        "simulated=0.01 (drawn by --seed).",
    ),
]


def check_needs_log(feedback: Sequence[Path] | None, classes: str | None, phi: Phi | None) -> None:
    """Raise if an option about logs is set and no log is named."""
    from podium.errors import UsageError

    if not feedback and (classes is not None or phi is not None):
        option = "--classes" if classes is not None else "--phi-weight and --phi-scale"
        raise UsageError(f"expected {option} together with --feedback, got no --feedback")


def make_phi(weights: Sequence[str] | None, scales: Sequence[str] | None) -> Phi | None:
    """Return phi with these weights and scales by factor, or None where neither is set."""
    from podium.feedback import Phi

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
    from podium.errors import UnknownNameError, UsageError
    from podium.feedback import FACTORS

    values = dict(zip(FACTORS, default, strict=True))
    for name, value in parse_settings(texts, option).items():
        if name not in values:
            raise UnknownNameError(f"factor in {option}", name, FACTORS)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"expected a number in {option} {name}=NUMBER, got {value!r}")
        values[name] = float(value)
    return tuple(values.values())


def make_source(
    text: str, seed: int | None, option: str = "--alpha"
) -> UniformFeedback | SimulatedFeedback:
    """Return the feedback that a text names; errors name the option or argument that it came from."""
    from podium.data.decimals import decimal_of
    from podium.errors import UnknownNameError, UsageError
    from podium.feedback import SimulatedFeedback, UniformFeedback

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

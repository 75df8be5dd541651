"""A trial before a model is served: it answers one small list, in time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from podium.errors import ModelFileError

if TYPE_CHECKING:
    from podium.apps.serving.models import LoadedModel

TRIAL_SECONDS = 10.0
TRIAL_ROWS = 8
MAX_SERVED_FEATURES = 1 << 20
"""A row of more features would hardly fit into a request, and all names are listed by /v1/models."""


def check_by_trial(model: LoadedModel, seconds: float = TRIAL_SECONDS) -> None:
    """Raise ModelFileError unless a model scores, explains and describes a small list in time."""
    width = model.ranker.n_features_in_
    if width > MAX_SERVED_FEATURES:
        raise ModelFileError(
            f"expected a model of at most {MAX_SERVED_FEATURES:,} features to serve, got {width:,}"
        )

    def answer() -> None:
        rows = np.linspace(0.0, 1.0, TRIAL_ROWS)[:, None]
        model.scores(np.ascontiguousarray(np.broadcast_to(rows, (TRIAL_ROWS, width))))
        model.told(default=False)

    error = _run_in_time(answer, seconds)
    if error is not None:
        raise ModelFileError(
            f"expected a model that scores a trial list of {TRIAL_ROWS} rows, got an error "
            f"({type(error).__name__}: {error!s:.300})"
        ) from error


def _run_in_time(work: Callable[[], object], seconds: float) -> Exception | None:
    """Run some work in a thread of its own; return what it raised, if anything.

    A thread cannot be stopped. One that is late is left alone, and what it was for is refused.
    """
    errors: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:
            errors.append(error)

    thread = Thread(target=run, name="podium-trial", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise ModelFileError(
            f"expected a model that scores a trial list of {TRIAL_ROWS} rows within {seconds:g} "
            "seconds, got no answer"
        )
    return errors[0] if errors else None

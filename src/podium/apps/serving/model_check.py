"""The check of a model before it is served: it must score a small list in time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import numpy as np

from podium.apps.serving.served_models import LoadedModel
from podium.errors import ModelFileError

CHECK_SECONDS = 10.0
TRIAL_ROWS = 8
MAX_SERVED_FEATURES = 1 << 20
"""A row of more features would hardly fit into a request, and /v1/models lists all names."""


def check_model(model: LoadedModel, seconds: float = CHECK_SECONDS) -> None:
    """Raise ModelFileError if a model fails to score a small list, or to describe itself, in time."""
    width = model.ranker.n_features_in_
    if width > MAX_SERVED_FEATURES:
        raise ModelFileError(
            f"expected a model of at most {MAX_SERVED_FEATURES:,} features to serve, got {width:,}"
        )

    def run_check() -> None:
        rows = np.linspace(0.0, 1.0, TRIAL_ROWS)[:, None]
        model.score_rows(np.ascontiguousarray(np.broadcast_to(rows, (TRIAL_ROWS, width))))
        model.info(is_default=False)

    error = _run_in_time(run_check, seconds)
    if error is not None:
        raise ModelFileError(
            f"expected a model that scores a trial list of {TRIAL_ROWS} rows, got an error "
            f"({type(error).__name__}: {error!s:.300})"
        ) from error


def _run_in_time(work: Callable[[], object], seconds: float) -> Exception | None:
    """Run work in a thread of its own; return the error that it raised, or None.

    A thread cannot be stopped. A late one is left alone, and its model is refused.
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

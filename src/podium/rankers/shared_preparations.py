"""Shared preparations: features that one fit prepared, for the next fits to the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from podium.data import RankingData
from podium.rankers.binned_features import SharedBins, StoredRows, shared_bins
from podium.rankers.preparation import Preparation
from podium.typing import Matrix


class PreparedFeatures(NamedTuple):
    """A preparation, and the features that it made."""

    preparation: Preparation
    features: Matrix


_shared: ContextVar[SharedBins | None] = ContextVar("podium_preparations", default=None)


@contextmanager
def shared_features() -> Iterator[None]:
    """Let the fits in this context share prepared and binned features, which are kept until it ends."""
    with shared_bins():
        if _shared.get() is not None:  # a call around this one shares them already
            yield
            return
        token = _shared.set(SharedBins())
        try:
            yield
        finally:
            _shared.reset(token)


def share_training(
    train: RankingData, settings: tuple[Any, ...], prepare: Callable[[], PreparedFeatures]
) -> PreparedFeatures:
    """Return the prepared training rows: those of the last fit if it had the same rows and settings."""
    rows = StoredRows(train, (*settings, train.names(), train.groups.offsets.tobytes()))
    return _share("train", rows, prepare)


def share_validation(
    valid: RankingData, preparation: Preparation, prepare: Callable[[], PreparedFeatures]
) -> PreparedFeatures:
    """Return the prepared validation rows: those of the last fit if it had the same preparation."""
    return _share(
        "valid", StoredRows(valid, (valid.groups.offsets.tobytes(),), preparation), prepare
    )


def _share(
    part: str, rows: StoredRows, prepare: Callable[[], PreparedFeatures]
) -> PreparedFeatures:
    shared = _shared.get()
    if shared is None:
        return prepare()
    prepared: PreparedFeatures | None = shared.take(part, rows)
    if prepared is None:
        if part == "train":
            shared.entries.clear()  # the old features must not stand beside the new ones
        prepared = prepare()
        shared.keep(part, rows, prepared)
    return prepared

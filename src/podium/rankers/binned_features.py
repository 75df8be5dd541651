"""Binned features: LightGBM's data sets of training and validation rows, which the fits of one call share."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data import RankingData
from podium.data.mapped_arrays import mapped_file
from podium.rankers.tree_model import lightgbm
from podium.typing import Floats, Matrix

BINNING_PARAMETERS = ("seed", "min_data_in_leaf", "num_threads")
"""LightGBM's parameters that bins depend on and that fits of one ranker may change."""
SMALLEST_VALUE = 1e-35
"""LightGBM takes values nearer to 0 for 0."""

MAX_COPIED_BYTES = 64 << 20
"""The most bytes of features that are copied for LightGBM at once (64 MiB)."""
ROWS_PER_BATCH = 4096
"""The rows that LightGBM bins at a time if it does not get a matrix."""


@dataclass(frozen=True, eq=False)
class TrainingColumns:
    """Labels of the rows; sizes of queries and weights of rows if LightGBM needs them."""

    labels: NDArray[Any]
    sizes: NDArray[np.int64] | None
    weight: Floats | None


@dataclass(eq=False)
class SharedBins:
    """The bins of the last fit, for the next fit to the same rows."""

    entries: dict[str, tuple[StoredRows, Any]] = field(default_factory=dict)

    def take(self, part: str, rows: StoredRows) -> Any:
        """Return the data set of these rows, or None."""
        kept_rows, dataset = self.entries.get(part, (None, None))
        return dataset if kept_rows is not None and rows.equals(kept_rows) else None

    def keep(self, part: str, rows: StoredRows, dataset: Any) -> None:
        """Keep the data set in place of the last one."""
        self.entries[part] = rows, dataset


_shared_bins: ContextVar[SharedBins | None] = ContextVar("podium_bins", default=None)


@contextmanager
def shared_bins() -> Iterator[None]:
    """Let the fits in this context share binned features: the last ones are kept until it ends."""
    if _shared_bins.get() is not None:  # a call around this one shares them already
        yield
        return
    token = _shared_bins.set(SharedBins())
    try:
        yield
    finally:
        _shared_bins.reset(token)


_process_bins = SharedBins()


@contextmanager
def process_bins() -> Iterator[None]:
    """Let this fit and later ones of the process share binned features: a worker gets the same rows again."""
    if any(rows.features() is None for rows, _ in _process_bins.entries.values()):
        _process_bins.entries.clear()  # the rows are gone, and so are fits to them
    token = _shared_bins.set(_process_bins)
    try:
        yield
    finally:
        _shared_bins.reset(token)


class StoredRows:
    """Rows that were binned or prepared, and the settings; the features themselves are not kept alive."""

    def __init__(self, data: RankingData, settings: tuple[Any, ...], reference: Any = None) -> None:
        X, self.rows = data.stored_features()
        self.features, self.settings, self.reference = weakref.ref(X), settings, reference

    def equals(self, other: StoredRows) -> bool:
        """Whether what was made of the rows is the same, too."""
        features = self.features()
        return (
            features is not None
            and features is other.features()
            and self.reference is other.reference
            and self.settings == other.settings
            and _same_rows(self.rows, other.rows)
        )


def _same_rows(rows: NDArray[np.int64] | None, others: NDArray[np.int64] | None) -> bool:
    if rows is None or others is None:
        return rows is others
    return np.array_equal(rows, others)


def bin_training_rows(
    train: RankingData, columns: TrainingColumns, parameters: dict[str, Any]
) -> Any:
    """Return LightGBM's data set of the training rows, that of the last fit if it has the same bins."""
    # LightGBM cannot take queries or weights back from a data set.
    has_queries, has_weights = columns.sizes is not None, columns.weight is not None
    settings = (has_queries, has_weights, *(parameters[name] for name in BINNING_PARAMETERS))
    shared, rows = _shared_bins.get(), StoredRows(train, settings)
    dataset = None if shared is None else shared.take("train", rows)
    if dataset is not None:
        dataset.set_label(columns.labels)
        if has_weights:
            dataset.set_field("weight", columns.weight)  # set_weight takes weights of 1 for none
        return dataset.set_group(columns.sizes) if has_queries else dataset
    if shared is not None:
        shared.entries.clear()  # the old data sets must not stand beside the new one
    dataset = _bin_rows(train, columns, parameters)
    if shared is not None:
        shared.keep("train", rows, dataset)
    return dataset


def bin_validation_rows(dataset: Any, valid: RankingData, parameters: dict[str, Any]) -> Any:
    """Return LightGBM's data set of the validation rows, in the bins of the training rows."""
    shared, rows = _shared_bins.get(), StoredRows(valid, (), dataset)
    binned = None if shared is None else shared.take("valid", rows)
    if binned is None:
        # Without parameters the data set would set the number of threads back to all cores.
        matrix = _small_matrix(valid)
        features = _row_batches(*_chosen_rows(valid)) if matrix is None else matrix
        binned = dataset.create_valid(features, params=parameters).construct()
        if shared is not None:
            shared.keep("valid", rows, binned)
    return binned


def _bin_rows(train: RankingData, columns: TrainingColumns, parameters: dict[str, Any]) -> Any:
    """Return LightGBM's data set of the rows, in their order: the same for a copy and for chosen rows."""
    if (matrix := _small_matrix(train)) is not None:
        return lightgbm().Dataset(
            matrix, columns.labels, group=columns.sizes, weight=columns.weight, params=parameters,
            free_raw_data=True,
        ).construct()  # fmt: skip
    dataset = _bin_chosen_rows(*_chosen_rows(train), parameters)
    dataset.set_label(columns.labels)
    if columns.weight is not None:
        dataset.set_weight(columns.weight)
    return dataset if columns.sizes is None else dataset.set_group(columns.sizes)


def _bin_chosen_rows(X: Matrix, rows: NDArray[np.int64], parameters: dict[str, Any]) -> Any:
    """Return LightGBM's data set of these rows, without labels.

    LightGBM asks a sequence for the rows of its sample one by one, which takes longer than to bin them.
    """
    dataset = lightgbm().Dataset(None, params=parameters)
    sample = dataset._create_sample_indices(total_nrow=len(rows))
    values, places = _sampled_columns(X, rows[sample])
    dataset._init_from_sample(values, places, len(sample), len(rows))
    for first in range(0, len(rows), ROWS_PER_BATCH):
        dataset._push_rows(X[rows[first : first + ROWS_PER_BATCH]])
    return dataset


def _sampled_columns(
    X: Matrix, sample: NDArray[np.int64]
) -> tuple[list[Floats], list[NDArray[np.int32]]]:
    """Return the values of each feature in these rows that LightGBM does not take for 0, and their places."""
    columns = np.empty((X.shape[1], len(sample)))
    for first in range(0, len(sample), ROWS_PER_BATCH):
        block = slice(first, first + ROWS_PER_BATCH)
        columns[:, block] = X[sample[block]].T
    numbers = np.arange(len(sample), dtype=np.int32)
    is_nonzero = [~(np.abs(column) <= SMALLEST_VALUE) for column in columns]  # NaN is not 0
    return (
        [column if k.all() else column[k] for column, k in zip(columns, is_nonzero, strict=True)],
        [numbers if k.all() else numbers[k] for k in is_nonzero],
    )


def has_splits(dataset: Any, n_features: int) -> bool:
    """Whether some feature has more than one bin."""
    return any(dataset.feature_num_bin(feature) for feature in range(n_features))


def tiny_features(data: RankingData) -> list[str]:
    """Return the names of features with values other than 0, all of which LightGBM takes for 0."""
    largest = np.nanmax(np.abs(data.X), axis=0, initial=0)
    return [
        name
        for name, value in zip(data.names(), largest.tolist(), strict=True)
        if 0 < value <= SMALLEST_VALUE
    ]


def _small_matrix(data: RankingData) -> Matrix | None:
    """Return the features for LightGBM as a matrix; None if a copy of the rows would be large.

    The first use of memory for a large copy takes longer than the copy itself.
    """
    X, rows = data.stored_features()
    if mapped_file(X) is not None:
        return None
    if rows is None:
        return X
    return X[rows] if data.n_features * X.itemsize * len(rows) <= MAX_COPIED_BYTES else None


def _chosen_rows(data: RankingData) -> tuple[Matrix, NDArray[np.int64]]:
    X, rows = data.stored_features()
    return X, np.arange(len(X)) if rows is None else rows


def _row_batches(X: Matrix, rows: NDArray[np.int64]) -> Any:
    """Return LightGBM's sequence of some rows of a matrix."""

    class RowBatches(lightgbm().Sequence):  # type: ignore[misc]
        """Rows in an order of their own, copied when LightGBM asks for them."""

        batch_size = ROWS_PER_BATCH

        def __getitem__(self, index: int | slice) -> Matrix:
            return X[rows[index]]

        def __len__(self) -> int:
            return len(rows)

    return RowBatches()

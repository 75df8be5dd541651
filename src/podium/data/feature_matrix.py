"""The feature matrix X: dense, of floats, of bounded size; sparse input is checked first."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from podium.data.argument_checks import to_array
from podium.errors import DataError, MemoryLimitError, UsageError
from podium.typing import Matrix

MAX_DENSE_BYTES = 8 << 30
"""Bytes that a dense feature matrix may take (8 GiB)."""


def to_dense(X: Any, dtype: DTypeLike | None, max_bytes: int) -> Matrix:
    """Return X as a dense matrix; raises MemoryLimitError if a sparse one would grow too large."""
    if dtype is None:
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    try:
        float_type = np.dtype(dtype)
    except TypeError:
        float_type = None
    if float_type not in (np.float32, np.float64):
        raise UsageError(f"expected dtype float32 or float64, got {dtype}")
    # scipy.sparse takes a quarter of a second to import; a caller with a sparse matrix has loaded it.
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        check_sparse(X)
        check_memory(X.shape[0], X.shape[1], np.dtype(dtype).itemsize, max_bytes)
        X = X.toarray()
    matrix: Matrix = to_array(X, "X", dtype)
    _check_dimensions(matrix)
    return matrix


def check_sparse(X: Any) -> None:
    """Raise DataError if a sparse matrix points outside itself.

    SciPy's loops do not check, so a damaged matrix would write beyond the dense one.
    """
    _check_dimensions(X)
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo":
            _check_coordinates(X)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"expected a sound sparse matrix X, got a damaged one ({error})") from None


def _check_dimensions(X: Any) -> None:
    if X.ndim != 2:
        raise DataError(f"expected X with rows and columns (2 dimensions), got shape {X.shape}")


def _check_coordinates(X: Any) -> None:
    for indices, length in zip((X.row, X.col), X.shape, strict=True):
        if len(indices) != len(X.data):
            raise ValueError("not one row and column for each value")
        if len(indices) and not 0 <= indices.min() <= indices.max() < length:
            raise ValueError("a row or column outside the matrix")


def check_memory(
    n_rows: int, n_features: int, itemsize: int, max_bytes: int, path: str | None = None
) -> None:
    """Raise MemoryLimitError if a dense matrix of this shape is larger than allowed."""
    needed = n_rows * n_features * itemsize
    if needed > max_bytes:
        raise MemoryLimitError(
            f"expected a dense matrix of at most {max_bytes / 2**30:.3g} GiB, got {n_rows:,} rows x "
            f"{n_features:,} features = {needed / 2**30:.3g} GiB",
            path=path,
        ).advise(
            python="raise max_bytes= if you have the memory, or keep fewer features",
            command_line="keep fewer features, or split the data into files of fewer queries",
        )

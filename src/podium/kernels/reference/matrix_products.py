"""Products with a matrix of features, one row per document."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.typing import Floats


def matvec(x: NDArray[Any], w: Floats, rows: NDArray[np.int64] | None = None) -> Floats:
    """Return X w, or X[rows] w, in double precision."""
    return np.asarray(np.einsum("ij,j->i", _chosen(x, rows), w, dtype=np.float64))


def rmatvec(x: NDArray[Any], g: Floats, rows: NDArray[np.int64] | None = None) -> Floats:
    """Return X' g, or X[rows]' g, in double precision."""
    return np.asarray(np.einsum("ij,i->j", _chosen(x, rows), g, dtype=np.float64))


def _chosen(x: NDArray[Any], rows: NDArray[np.int64] | None) -> NDArray[Any]:
    return x if rows is None else x[rows]


def rmatvec_by_query(x: NDArray[Any], g: Floats, offsets: NDArray[np.int64]) -> Floats:
    """Return X' g over the rows of each query, one row per query."""
    parts = [rmatvec(x[a:b], g[a:b]) for a, b in itertools.pairwise(offsets.tolist())]
    return np.stack(parts) if parts else np.empty((0, x.shape[1]))

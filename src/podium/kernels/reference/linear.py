"""Products with a matrix of features in rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def matvec(x: NDArray[Any], w: Floats) -> Floats:
    """X w, in double precision."""
    return np.asarray(np.einsum("ij,j->i", x, w, dtype=np.float64))


def rmatvec(x: NDArray[Any], g: Floats) -> Floats:
    """X' g, in double precision."""
    return np.asarray(np.einsum("ij,i->j", x, g, dtype=np.float64))


def rmatvec_by_query(x: NDArray[Any], g: Floats, offsets: NDArray[np.int64]) -> Floats:
    """X' g over the rows of each query: one row a query."""
    parts = [rmatvec(x[a:b], g[a:b]) for a, b in itertools.pairwise(offsets.tolist())]
    return np.stack(parts) if parts else np.empty((0, x.shape[1]))

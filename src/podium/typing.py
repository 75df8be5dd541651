"""The types of arrays, documents and paths, one name each, for the whole house."""

import os
from collections.abc import Hashable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Bools",
    "Derivatives",
    "Document",
    "Floats",
    "Ints",
    "Matrix",
    "Path_",
    "Rows",
    "Singles",
]

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Matrix: TypeAlias = Floats | Singles
"""A feature matrix, in the precision of the data."""
Ints: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.int64]
"""Numbers of rows, as an index into arrays."""
Bools: TypeAlias = NDArray[np.bool_]
Derivatives: TypeAlias = tuple[Floats, Floats, Floats]
"""Losses of queries, their gradient and their curvature with respect to the scores."""
Document: TypeAlias = Hashable
"""The id of a document in a ranking."""
Path_: TypeAlias = str | os.PathLike[str]
"""The path of a file."""

"""BLAS on one thread: more would change the last bits, and cost more than they save on small matrices."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which NumPy's and SciPy's BLAS use one thread.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     (np.eye(2) @ np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return context


@cache
def _controller() -> Any:
    """Finding the libraries takes milliseconds, so it is done once, when all are loaded."""
    import scipy.linalg  # noqa: F401 - brings its own BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

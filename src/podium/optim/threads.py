"""Limits of threads: BLAS on one thread, and OpenMP on one thread in a forked child.

More BLAS threads would change the last bits, and on small matrices they cost more than they save. A
forked child has only one OpenMP thread.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

_IMPORTED_BY = os.getpid()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which NumPy's and SciPy's BLAS use one thread.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     (np.eye(2) @ np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return context


def is_forked_child() -> bool:
    """Return whether this process was forked from one that had imported podium.

    Examples
    --------
    >>> is_forked_child()
    False
    """
    return os.getpid() != _IMPORTED_BY


def openmp_after_fork() -> AbstractContextManager[Any]:
    """Return a context in which OpenMP uses one thread if this process is a forked child.

    GNU OpenMP's threads exist only in the parent, and a child that waits for them never ends.
    """
    if not is_forked_child():
        return nullcontext()
    context: AbstractContextManager[Any] = _openmp().limit(limits=1)
    return context


@cache
def _openmp() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")


@cache
def _controller() -> Any:
    """Return a controller of the BLAS libraries; finding them takes milliseconds, so it is done once."""
    import scipy.linalg  # noqa: F401 - brings its own BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

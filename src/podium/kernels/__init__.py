"""Kernels: the inner loops on bare arrays, in C++ and in NumPy.

``BACKEND`` names the implementation that runs: ``"native"`` (C++) or ``"reference"`` (NumPy, the
same functions, slow and obvious). The environment variable ``PODIUM_BACKEND`` chooses one; the default
is native if it is installed.

Examples
--------
>>> from podium import kernels
>>> kernels.BACKEND in ("native", "reference")
True
"""

from __future__ import annotations

import importlib
import os
import warnings
from inspect import isfunction
from types import ModuleType
from typing import TYPE_CHECKING

from podium.errors import BackendError, KernelsWarning
from podium.kernels import reference

if TYPE_CHECKING:
    from podium.kernels.reference import *  # noqa: F403


def _choose_backend() -> tuple[str, ModuleType]:
    choice = os.environ.get("PODIUM_BACKEND", "")
    if choice not in ("", "native", "reference"):
        raise BackendError(f"PODIUM_BACKEND must be native or reference, got {choice!r}")
    if choice != "reference":
        try:
            return "native", importlib.import_module("podium.kernels._native")
        except ImportError as error:
            if choice == "native":
                raise BackendError(
                    "PODIUM_BACKEND=native, but the native kernels are not installed "
                    f"({error}); install g++ and reinstall podium-ltr"
                ) from error
            if not isinstance(error, ModuleNotFoundError):
                _warn_of_broken_kernels(error)
    return "reference", reference


def _warn_of_broken_kernels(error: ImportError) -> None:
    """Warn that native kernels are installed, but this system cannot load them."""
    warnings.warn(
        f"the native kernels cannot be loaded ({error}), so the slow kernels in NumPy run; reinstall "
        "podium-ltr from its source on this machine, or update its C++ library (libstdc++)",
        KernelsWarning,
        stacklevel=4,
    )


BACKEND, _backend = _choose_backend()
KERNELS = sorted(name for name, kernel in vars(reference).items() if isfunction(kernel))
"""The names of the kernels; both backends have all of them."""

globals().update({name: getattr(_backend, name) for name in KERNELS})

"""The hot loops on bare arrays, native where a compiler was at hand.

``BACKEND`` says which implementation runs: ``"native"`` (C++) or ``"reference"``
(NumPy, the same functions, slow and obvious). The environment variable
``PODIUM_BACKEND`` chooses; without it native is taken when it is there.

Examples
--------
>>> from podium import kernels
>>> kernels.BACKEND in ("native", "reference")
True
"""

from __future__ import annotations

import importlib
import os
from inspect import isfunction
from types import ModuleType
from typing import TYPE_CHECKING

from podium.errors import BackendError
from podium.kernels import reference

if TYPE_CHECKING:
    from podium.kernels.reference import *  # noqa: F403


def _choose_backend() -> tuple[str, ModuleType]:
    wanted = os.environ.get("PODIUM_BACKEND", "")
    if wanted not in ("", "native", "reference"):
        raise BackendError(f"PODIUM_BACKEND must be native or reference, got {wanted!r}")
    if wanted != "reference":
        try:
            return "native", importlib.import_module("podium.kernels._native")
        except ImportError as error:
            if wanted == "native":
                raise BackendError(
                    "PODIUM_BACKEND=native, but the native kernels are not installed "
                    f"({error}); install g++ and reinstall podium-ltr"
                ) from error
    return "reference", reference


BACKEND, _backend = _choose_backend()
KERNELS = sorted(name for name, kernel in vars(reference).items() if isfunction(kernel))
"""The names of the kernels, each the same function in both backends."""

globals().update({name: getattr(_backend, name) for name in KERNELS})

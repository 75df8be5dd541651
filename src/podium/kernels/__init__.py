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
from typing import TYPE_CHECKING

from podium.errors import BackendError

BACKEND: str

if TYPE_CHECKING:
    from podium.kernels.reference import (
        cascade,
        count_lines,
        discounted_sum,
        exp2_gain,
        first_place,
        format_letor,
        hash_strings,
        ideal_sum,
        order,
        pair_counts,
        parse_letor,
        parse_table,
        precision_sum,
        string_places,
    )
else:

    def _choose_backend():
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
        return "reference", importlib.import_module("podium.kernels.reference")

    BACKEND, _backend = _choose_backend()
    cascade = _backend.cascade
    count_lines = _backend.count_lines
    discounted_sum = _backend.discounted_sum
    exp2_gain = _backend.exp2_gain
    first_place = _backend.first_place
    format_letor = _backend.format_letor
    hash_strings = _backend.hash_strings
    ideal_sum = _backend.ideal_sum
    order = _backend.order
    pair_counts = _backend.pair_counts
    parse_letor = _backend.parse_letor
    parse_table = _backend.parse_table
    precision_sum = _backend.precision_sum
    string_places = _backend.string_places

__all__ = [
    "BACKEND",
    "cascade",
    "count_lines",
    "discounted_sum",
    "exp2_gain",
    "first_place",
    "format_letor",
    "hash_strings",
    "ideal_sum",
    "order",
    "pair_counts",
    "parse_letor",
    "parse_table",
    "precision_sum",
    "string_places",
]

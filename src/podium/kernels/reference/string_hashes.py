"""Hashes of strings, which depend only on their content."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1


def hash_strings(
    bytes: NDArray[np.uint8],  # noqa: A002 - the native kernel's name
    offsets: NDArray[np.int64],
    seed: int,
) -> NDArray[np.uint64]:
    """Return FNV-1a of each packed string, spread by the finaliser of splitmix64."""
    text, bounds = bytes.tobytes(), offsets.tolist()
    out = []
    for a, b in itertools.pairwise(bounds):
        h = 0xCBF29CE484222325 ^ ((seed * 0x9E3779B97F4A7C15) & _MASK)
        for byte in text[a:b]:
            h = ((h ^ byte) * 0x100000001B3) & _MASK
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & _MASK
        out.append(h ^ (h >> 31))
    return np.array(out, dtype=np.uint64)

"""Hashes of strings and of rows, which depend only on their content."""

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


_WORD_PRIME, _STATE_PRIME = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)


def hash_rows(rows: NDArray[np.uint8], seed: int) -> NDArray[np.uint64]:
    """Return a number for each row of bytes: eight words at a time by the steps of XXH64, then mixed."""
    n, width = rows.shape
    steps = -(-width // 64)
    padded = np.zeros((n, steps * 64), dtype=np.uint8)
    padded[:, :width] = rows
    words = padded.view("<u8").astype(np.uint64).reshape(n, steps, 8)
    first = np.uint64(0xCBF29CE484222325 ^ ((seed * 0x9E3779B97F4A7C15) & _MASK) ^ width)
    state = np.broadcast_to(first + np.arange(1, 9, dtype=np.uint64) * _WORD_PRIME, (n, 8))
    for step in range(steps):
        state = _rotate(state + words[:, step] * _STATE_PRIME, 31) * _WORD_PRIME
    state = _rotate(state, 31) * _WORD_PRIME
    h = np.full(n, first)
    for lane in range(8):
        h = _rotate((h ^ state[:, lane]) * _WORD_PRIME, 27)
    return _spread_bits(h)


def _rotate(h: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (h << np.uint64(bits)) | (h >> np.uint64(64 - bits))


def _spread_bits(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))

"""Draws from a hash: the same names give the same random numbers, in every process and at any time."""

from __future__ import annotations

import random
from hashlib import blake2b

from podium.clicks.interleaving import Draw
from podium.errors import UsageError


def hashed_draws(*names: str) -> Draw:
    """Return a function that draws numbers from 0 to 1; the names decide all of them.

    Examples
    --------
    >>> hashed_draws("experiment", "ann")() == hashed_draws("experiment", "ann")()
    True
    >>> hashed_draws("experiment", "ann")() == hashed_draws("experiment", "bob")()
    False
    """
    key = "\0".join(names).encode("utf-8", "surrogatepass")
    return random.Random(int.from_bytes(blake2b(key, digest_size=8).digest(), "little")).random


def swap_neighbours(n: int, swap: float, draw: Draw) -> list[int]:
    """Return the order of n places in which each two neighbours are exchanged with probability `swap`.

    No place moves by more than one. A pair that overlaps an exchanged one stays, so the others are exchanged
    with probability swap / (1 - swap).

    Examples
    --------
    >>> swap_neighbours(4, 0.2, iter([0.9, 0.1]).__next__)
    [0, 2, 1, 3]
    """
    if not 0 <= swap <= 0.5:
        raise UsageError(f"expected a probability of a swap from 0 to 0.5, got {swap}")
    order, place, chance = list(range(n)), 0, swap
    after = swap / (1 - swap)
    while place < n - 1:
        if draw() < chance:
            order[place], order[place + 1] = order[place + 1], order[place]
            place += 1  # the next pair overlaps this one
        place += 1
        chance = after
    return order

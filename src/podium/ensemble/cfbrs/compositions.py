"""Compositions: the ways to cut features into contiguous blocks; how to count, list and draw them."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import neg

import numpy as np
from numpy.typing import NDArray

from podium.errors import UsageError

Composition = tuple[int, ...]
"""The sizes of the blocks, first to last."""
BlockSpan = tuple[int, int]
"""A block as (start, stop): the features start..stop - 1, from 0."""

_WORD = 1 << 64
"""The number of values of 64 random bits."""


@dataclass(frozen=True)
class Compositions:
    """All compositions of `n` features into blocks of at least `min_block`.

    Let c(i) be the number of ways to cut the features after i, and t(i) the sum of c over the cut
    points i and later. With m the smallest block, c(i) = t(i + m), t(i) = c(i) + t(i + 1) and c(n)
    = t(n) = 1. Every count, rank and draw comes from these two rows of whole numbers. Ahmad, Doja,
    Ahmad, CFBRS, Definition 5; Nijenhuis and Wilf, Combinatorial algorithms, 1978.

    Parameters
    ----------
    n
        The number of features.
    min_block
        The size of the smallest block.
    cuts
        Where cuts are allowed, between 0 and n; None: everywhere.

    Examples
    --------
    >>> Compositions(46, 5).count, Compositions(46, 10).count, Compositions(46, 20).count
    (51320, 265, 8)
    >>> Compositions(46).count == 2**45
    True
    >>> list(Compositions(6, 2))
    [(2, 2, 2), (2, 4), (3, 3), (4, 2), (6,)]
    >>> Compositions(6, 2).unrank(3), Compositions(6, 2).rank((4, 2))
    ((4, 2), 3)
    >>> len(Compositions(46, 5).blocks), Compositions(46, 5).first
    (603, (5, 5, 5, 5, 5, 5, 5, 5, 6))
    """

    n: int
    min_block: int = 1
    cuts: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UsageError(f"expected 1 feature or more to cut into blocks, got {self.n}")
        if not 1 <= self.min_block <= self.n:
            raise UsageError(
                f"there are {self.n} features, so the smallest block must have 1 to {self.n}, "
                f"got {self.min_block}"
            )
        for cut in self.cuts or ():
            if not 0 < cut < self.n:
                raise UsageError(f"expected cuts between 0 and {self.n}, got one at {cut}")

    @cached_property
    def _may_end(self) -> tuple[bool, ...]:
        """Whether a block may end at each of 0..n."""
        inside = range(1, self.n) if self.cuts is None else self.cuts
        may_end = [False] * (self.n + 1)
        for cut in (*inside, self.n):
            may_end[cut] = True
        return tuple(may_end)

    @cached_property
    def _ways(self) -> tuple[list[int], list[int]]:
        """c and t at 0..n."""
        return _count_ways(self._may_end, self.min_block)

    @cached_property
    def _ways_by_size(self) -> list[list[int]]:
        """t by the number of further blocks: the ways to continue from a block that is open at i."""
        n, m = self.n, self.min_block
        rows = [[1] * (n + 1)]  # no further block: the open block continues to the end
        for _ in range(1, n // m):
            fewer, row = rows[-1], [0] * (n + 2)
            for i in range(n - 1, -1, -1):
                ways = fewer[i + m] if self._may_end[i] and i + m <= n else 0
                row[i] = row[i + 1] + ways
            rows.append(row[: n + 1])
        return rows

    @property
    def count(self) -> int:
        """The number of compositions."""
        return self._ways[0][0]

    @cached_property
    def counts(self) -> dict[int, int]:
        """The number of compositions by their number of blocks.

        Examples
        --------
        >>> Compositions(10, 3).counts
        {1: 1, 2: 5, 3: 3}
        """
        ways = {k: row[self.min_block] for k, row in enumerate(self._ways_by_size, start=1)}
        return {k: count for k, count in ways.items() if count}

    def __contains__(self, composition: object) -> bool:
        if not isinstance(composition, tuple) or not all(map(_is_whole, composition)):
            return False
        if sum(composition) != self.n or min(composition) < self.min_block:
            return False
        return all(self._may_end[end] for end in itertools.accumulate(composition))

    def __iter__(self) -> Iterator[Composition]:
        """Yield the compositions in lexicographic order; none is kept in memory."""
        c = self._ways[0]
        ends = [0]
        grow = True
        while ends:
            last = ends[-1]
            if grow and last < self.n:  # the smallest next block
                end = self._next_end(last + self.min_block, c)
                if end is not None:
                    ends.append(end)
                    continue
            if ends[-1] == self.n:
                yield tuple(b - a for a, b in itertools.pairwise(ends))
            # Backtrack: enlarge the last block that can be larger.
            last = ends.pop()
            end = self._next_end(last + 1, c) if ends else None
            grow = end is not None
            if end is not None:
                ends.append(end)

    def _next_end(self, place: int, c: Sequence[int]) -> int | None:
        """Return the next place where a block may end and the rest can be cut."""
        for end in range(place, self.n + 1):
            if self._may_end[end] and c[end]:
                return end
        return None

    def unrank(self, index: int) -> Composition:
        """Return the composition at this place (from 0) of the lexicographic order."""
        if not 0 <= index < self.count:
            raise UsageError(f"expected a place from 0 to {self.count - 1}, got {index}")
        t = self._ways[1]
        sizes, start = [], 0
        while start < self.n:
            end, index = _find_end(t, start + self.min_block, index)
            sizes.append(end - start)
            start = end
        return tuple(sizes)

    def rank(self, composition: Composition) -> int:
        """Return the place (from 0) of a composition in the lexicographic order."""
        if composition not in self:
            raise UsageError(f"expected {self}, got {composition}")
        t = self._ways[1]
        ends = itertools.accumulate(composition, initial=0)
        return sum(t[a + self.min_block] - t[b] for a, b in itertools.pairwise(ends))

    def __str__(self) -> str:
        groups = "" if self.cuts is None else ", cut between groups only"
        return f"blocks of {self.min_block} or more that add up to {self.n}{groups}"

    @property
    def first(self) -> Composition:
        """The first composition in lexicographic order: (m, ..., m, rest)."""
        return self.unrank(0)

    @cached_property
    def blocks(self) -> tuple[BlockSpan, ...]:
        """The blocks of all compositions; the features before and after each block can be cut, too."""
        c = self._ways[0]
        # The ways to cut the features before a block are those of the reversed features.
        may_start = (False, *self._may_end[self.n - 1 : 0 : -1], True)
        before, _ = _count_ways(may_start, self.min_block)
        starts = [i for i in range(self.n) if i == 0 or (self._may_end[i] and before[self.n - i])]
        ends = [i for i in range(1, self.n + 1) if self._may_end[i] and c[i]]
        return tuple((a, b) for a in starts for b in ends if b - a >= self.min_block)

    def sample(self, size: int, seed: int | np.random.Generator = 0) -> list[Composition]:
        """Draw compositions independently and uniformly, without rounding.

        At place i, a long enough open block ends with probability c(i) / t(i), a ratio of whole
        numbers. 64 random bits decide. In one case in 2^64 they do not suffice, and an exact draw
        of the rest decides.

        Examples
        --------
        >>> Compositions(6, 2).sample(3, seed=0)
        [(3, 3), (2, 4), (2, 4)]
        """
        if size < 0:
            raise UsageError(f"expected 0 compositions or more to draw, got {size}")
        rng = np.random.default_rng(seed)
        c, t = self._ways
        cut = np.zeros((size, self.n + 1), dtype=bool)
        cut[:, [0, self.n]] = True
        last = np.zeros(size, dtype=np.int64)
        for i in range(self.min_block, self.n - self.min_block + 1):
            if self._may_end[i] and c[i]:
                ends = (i - last >= self.min_block) & _draw_events(c[i], t[i], size, rng)
                cut[ends, i] = True
                last[ends] = i
        return [tuple(np.diff(np.flatnonzero(row)).tolist()) for row in cut]

    def sample_stratified(
        self,
        size: int,
        seed: int | np.random.Generator = 0,
        probabilities: Mapping[int, float] | None = None,
    ) -> list[Composition]:
        """Draw one composition of each number of blocks, then others by `probabilities`.

        Compositions with the same number of blocks are equally likely.

        Parameters
        ----------
        size
            How many to draw, at least one per number of blocks.
        probabilities
            Number of blocks -> its probability, up to a factor; None: all equal.

        Examples
        --------
        >>> sorted({len(c) for c in Compositions(46, 5).sample_stratified(9)})
        [1, 2, 3, 4, 5, 6, 7, 8, 9]
        """
        rng = np.random.default_rng(seed)
        numbers = list(self.counts)
        if size < len(numbers):
            raise UsageError(
                f"stratified sampling needs {len(numbers)} compositions or more, one per "
                f"number of blocks ({numbers[0]} to {numbers[-1]}), got {size}"
            )
        p = _probabilities(probabilities, numbers)
        drawn = [*numbers, *rng.choice(numbers, size - len(numbers), p=p).tolist()]
        return [self._unrank_of_size(k, _draw_integer(self.counts[k], rng)) for k in drawn]

    def _unrank_of_size(self, k: int, index: int) -> Composition:
        """Return the composition at this place among those with k blocks."""
        t = self._ways_by_size
        sizes, start = [], 0
        for left in range(k - 1, 0, -1):
            end, index = _find_end(t[left], start + self.min_block, index)
            sizes.append(end - start)
            start = end
        return (*sizes, self.n - start)


def block_spans(composition: Composition) -> list[BlockSpan]:
    """Return the blocks of a composition.

    Examples
    --------
    >>> block_spans((2, 3))
    [(0, 2), (2, 5)]
    """
    return list(itertools.pairwise(itertools.accumulate(composition, initial=0)))


def _count_ways(may_end: Sequence[bool], min_block: int) -> tuple[list[int], list[int]]:
    """Return c and t of `Compositions` at 0..n, with blocks that end only at allowed places."""
    n, m = len(may_end) - 1, min_block
    c, t = [0] * n + [1], [0] * n + [1]
    for i in range(n - 1, -1, -1):
        c[i] = t[i + m] if i + m <= n else 0
        t[i] = t[i + 1] + (c[i] if may_end[i] else 0)
    return c, t


def _is_whole(size: object) -> bool:
    return isinstance(size, int | np.integer) and not isinstance(size, bool)


def _find_end(ways: Sequence[int], first: int, index: int) -> tuple[int, int]:
    """Return the end of the block that is open at `first`, and the place among compositions with that end.

    ways(first) - ways(end) compositions end it earlier; ways falls with the place.
    """
    end = bisect_right(ways, index - ways[first], first, key=neg) - 1
    return end, index - (ways[first] - ways[end])


def _draw_events(ways: int, total: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw independent events of probability ways / total, without rounding."""
    if ways == total:
        return np.ones(size, dtype=bool)
    bound, rest = divmod(ways * _WORD, total)
    word = rng.integers(0, _WORD, size=size, dtype=np.uint64)
    happens: NDArray[np.bool_] = word < np.uint64(bound)
    for undecided in np.flatnonzero(word == np.uint64(bound)):
        happens[undecided] = _draw_integer(total, rng) < rest
    return happens


def _draw_integer(bound: int, rng: np.random.Generator) -> int:
    """Draw a whole number from 0 to bound - 1, each equally likely."""
    bits = (bound - 1).bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes((bits + 7) // 8), "little") & ((1 << bits) - 1)
        if drawn < bound:
            return drawn


def _probabilities(
    by_number: Mapping[int, float] | None, numbers: Sequence[int]
) -> NDArray[np.float64]:
    """Return the probability of each number of blocks; they add up to 1."""
    if by_number is None:
        return np.full(len(numbers), 1 / len(numbers))
    unknown = [k for k in by_number if k not in numbers]
    if unknown:
        raise UsageError(
            f"expected probabilities for {numbers[0]} to {numbers[-1]} blocks, got one for "
            f"{unknown[0]}"
        )
    p = np.array([float(by_number.get(k, 0.0)) for k in numbers])
    if not np.isfinite(p).all() or (p < 0).any() or not p.any():
        raise UsageError(
            "expected probabilities of 0 or more, at least one of them above 0, "
            f"got {dict(by_number)}"
        )
    return np.asarray(p / p.sum())

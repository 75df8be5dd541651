"""Compositions of d features: the ways to cut them into contiguous blocks of at least m features."""

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
"""The sizes of its blocks, first to last."""
Block = tuple[int, int]
"""Features start..stop - 1, from 0."""

_WORD = 1 << 64


@dataclass(frozen=True)
class Compositions:
    """All compositions of `n` into blocks of at least `least`.

    With c(i) the number of ways to cut what lies behind i, and t(i) = sum of c over the cut points
    from i on, c(i) = t(i + m), t(i) = c(i) + t(i + 1), c(n) = t(n) = 1: every count, rank and
    draw below is read off these two rows of whole numbers. Ahmad, Doja, Ahmad, CFBRS, Definition 5;
    Nijenhuis and Wilf, Combinatorial algorithms, 1978.

    Parameters
    ----------
    n
        What is cut: the number of features.
    least
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
    least: int = 1
    cuts: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UsageError(f"expected 1 feature or more to cut into blocks, got {self.n}")
        if not 1 <= self.least <= self.n:
            raise UsageError(
                f"expected a smallest block of 1 to {self.n} features, of which there are "
                f"{self.n}, got {self.least}"
            )
        for cut in self.cuts or ():
            if not 0 < cut < self.n:
                raise UsageError(f"expected cuts between 0 and {self.n}, got one at {cut}")

    @cached_property
    def _allowed(self) -> tuple[bool, ...]:
        """Whether a block may end at 0..n."""
        inside = range(1, self.n) if self.cuts is None else self.cuts
        allowed = [False] * (self.n + 1)
        for cut in (*inside, self.n):
            allowed[cut] = True
        return tuple(allowed)

    @cached_property
    def _ways(self) -> tuple[list[int], list[int]]:
        """c and t at 0..n."""
        n, m = self.n, self.least
        c, t = [0] * n + [1], [0] * n + [1]
        for i in range(n - 1, -1, -1):
            c[i] = t[i + m] if i + m <= n else 0
            t[i] = t[i + 1] + (c[i] if self._allowed[i] else 0)
        return c, t

    @cached_property
    def _ways_by_size(self) -> list[list[int]]:
        """t for each number of blocks: ways to go on from a block open at i, so many to come."""
        n, m = self.n, self.least
        rows = [[1] * (n + 1)]  # none to come: the open block goes on to the end
        for _ in range(1, n // m):
            before, row = rows[-1], [0] * (n + 2)
            for i in range(n - 1, -1, -1):
                more = before[i + m] if self._allowed[i] and i + m <= n else 0
                row[i] = row[i + 1] + more
            rows.append(row[: n + 1])
        return rows

    @property
    def count(self) -> int:
        """How many there are."""
        return self._ways[0][0]

    @cached_property
    def counts(self) -> dict[int, int]:
        """How many there are of each number of blocks.

        Examples
        --------
        >>> Compositions(10, 3).counts
        {1: 1, 2: 5, 3: 3}
        """
        found = {k: row[self.least] for k, row in enumerate(self._ways_by_size, start=1)}
        return {k: ways for k, ways in found.items() if ways}

    def __contains__(self, composition: object) -> bool:
        if not isinstance(composition, tuple) or not all(map(_is_whole, composition)):
            return False
        if sum(composition) != self.n or min(composition) < self.least:
            return False
        return all(self._allowed[end] for end in itertools.accumulate(composition))

    def __iter__(self) -> Iterator[Composition]:
        """In lexicographic order, one after the other: nothing is kept."""
        c = self._ways[0]
        ends = [0]
        grow = True
        while ends:
            last = ends[-1]
            if grow and last < self.n:  # the smallest next block
                after = self._next(last + self.least, c)
                if after is not None:
                    ends.append(after)
                    continue
            if ends[-1] == self.n:
                yield tuple(b - a for a, b in itertools.pairwise(ends))
            # The last block that can be larger is.
            last = ends.pop()
            after = self._next(last + 1, c) if ends else None
            grow = after is not None
            if after is not None:
                ends.append(after)

    def _next(self, place: int, c: Sequence[int]) -> int | None:
        """The first place from here on where a block may end and the rest be cut."""
        for end in range(place, self.n + 1):
            if self._allowed[end] and c[end]:
                return end
        return None

    def unrank(self, index: int) -> Composition:
        """The composition at this place (from 0) of the lexicographic order."""
        if not 0 <= index < self.count:
            raise UsageError(f"expected a place from 0 to {self.count - 1}, got {index}")
        t = self._ways[1]
        sizes, start = [], 0
        while start < self.n:
            end, index = _end(t, start + self.least, index)
            sizes.append(end - start)
            start = end
        return tuple(sizes)

    def rank(self, composition: Composition) -> int:
        """The place (from 0) of a composition in the lexicographic order."""
        if composition not in self:
            raise UsageError(f"expected {self}, got {composition}")
        t = self._ways[1]
        ends = itertools.accumulate(composition, initial=0)
        return sum(t[a + self.least] - t[b] for a, b in itertools.pairwise(ends))

    def __str__(self) -> str:
        where = "" if self.cuts is None else ", cut between groups only"
        return f"blocks of {self.least} or more that add up to {self.n}{where}"

    @property
    def first(self) -> Composition:
        """The smallest in lexicographic order: (m, ..., m, rest)."""
        return self.unrank(0)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks that some composition has: what lies before and behind can be cut, too."""
        c, before = self._ways[0], self._reversed()._ways[0]
        starts = [i for i in range(self.n) if i == 0 or (self._allowed[i] and before[self.n - i])]
        ends = [i for i in range(1, self.n + 1) if self._allowed[i] and c[i]]
        return tuple((a, b) for a in starts for b in ends if b - a >= self.least)

    def _reversed(self) -> Compositions:
        cuts = None if self.cuts is None else tuple(self.n - cut for cut in self.cuts)
        return Compositions(self.n, self.least, cuts)

    def sample(self, size: int, seed: int | np.random.Generator = 0) -> list[Composition]:
        """Compositions drawn independently, each one as likely as any other, exactly.

        At place i an open block that is long enough ends with probability c(i) / t(i). That is a
        ratio of whole numbers: 64 random bits decide, and in the one case in 2^64 that they do
        not, an exact draw of the rest does.

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
        for i in range(self.least, self.n - self.least + 1):
            if self._allowed[i] and c[i]:
                ends = (i - last >= self.least) & _happens(c[i], t[i], size, rng)
                cut[ends, i] = True
                last[ends] = i
        return [_sizes(row) for row in cut]

    def stratified(
        self,
        size: int,
        seed: int | np.random.Generator = 0,
        probabilities: Mapping[int, float] | None = None,
    ) -> list[Composition]:
        """Compositions of every number of blocks: each number once, the others as `probabilities` say.

        Of those with as many blocks each is as likely as any other.

        Parameters
        ----------
        size
            At least as many as there are numbers of blocks.
        probabilities
            Number of blocks -> how likely it is, in proportion; None: all the same.

        Examples
        --------
        >>> sorted({len(c) for c in Compositions(46, 5).stratified(9)})
        [1, 2, 3, 4, 5, 6, 7, 8, 9]
        """
        rng = np.random.default_rng(seed)
        numbers = list(self.counts)
        if size < len(numbers):
            raise UsageError(
                f"expected {len(numbers)} compositions or more, so that each number of blocks "
                f"({numbers[0]} to {numbers[-1]}) is there, got {size}"
            )
        p = _probabilities(probabilities, numbers)
        drawn = [*numbers, *rng.choice(numbers, size - len(numbers), p=p).tolist()]
        return [self._unrank_of_size(k, _below(self.counts[k], rng)) for k in drawn]

    def _unrank_of_size(self, k: int, index: int) -> Composition:
        """The composition at this place of those with k blocks."""
        t = self._ways_by_size
        sizes, start = [], 0
        for left in range(k - 1, 0, -1):
            end, index = _end(t[left], start + self.least, index)
            sizes.append(end - start)
            start = end
        return (*sizes, self.n - start)


def blocks_of(composition: Composition) -> list[Block]:
    """The blocks of a composition.

    Examples
    --------
    >>> blocks_of((2, 3))
    [(0, 2), (2, 5)]
    """
    return list(itertools.pairwise(itertools.accumulate(composition, initial=0)))


def _is_whole(size: object) -> bool:
    return isinstance(size, int | np.integer) and not isinstance(size, bool)


def _end(ways: Sequence[int], first: int, index: int) -> tuple[int, int]:
    """Where the block ends that is open at `first`, and the place among those that end it there.

    ways(first) - ways(end) compositions end it before; ways falls with the place.
    """
    end = bisect_right(ways, index - ways[first], first, key=neg) - 1
    return end, index - (ways[first] - ways[end])


def _sizes(cut: NDArray[np.bool_]) -> Composition:
    return tuple(np.diff(np.flatnonzero(cut)).tolist())


def _happens(ways: int, total: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Independent events of probability ways / total, exactly."""
    if ways == total:
        return np.ones(size, dtype=bool)
    bound, rest = divmod(ways * _WORD, total)
    word = rng.integers(0, _WORD, size=size, dtype=np.uint64)
    found: NDArray[np.bool_] = word < np.uint64(bound)
    for undecided in np.flatnonzero(word == np.uint64(bound)):
        found[undecided] = _below(total, rng) < rest
    return found


def _below(bound: int, rng: np.random.Generator) -> int:
    """A whole number from 0 to bound - 1, each as likely as any other."""
    bits = (bound - 1).bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes((bits + 7) // 8), "little") & ((1 << bits) - 1)
        if drawn < bound:
            return drawn


def _probabilities(
    given: Mapping[int, float] | None, numbers: Sequence[int]
) -> NDArray[np.float64]:
    if given is None:
        return np.full(len(numbers), 1 / len(numbers))
    unknown = [k for k in given if k not in numbers]
    if unknown:
        raise UsageError(
            f"expected probabilities of {numbers[0]} to {numbers[-1]} blocks, got one of {unknown[0]}"
        )
    p = np.array([float(given.get(k, 0.0)) for k in numbers])
    if not np.isfinite(p).all() or (p < 0).any() or not p.any():
        raise UsageError(f"expected probabilities of 0 or more, one above 0, got {dict(given)}")
    return np.asarray(p / p.sum())

"""Groups: which rows belong to which query. Only this file does index arithmetic on queries."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import kernels
from podium.counted_nouns import count_texts
from podium.data.argument_checks import to_array
from podium.errors import DataError, LengthMismatchError, UsageError


@dataclass(frozen=True, eq=False)
class Groups:
    """Queries as contiguous runs of rows: query q is rows ``offsets[q]:offsets[q + 1]``.

    Examples
    --------
    >>> groups = Groups.from_sizes([2, 3])
    >>> groups.offsets.tolist(), len(groups), groups.n_rows
    ([0, 2, 5], 2, 5)
    >>> [rows.tolist() for rows in groups.split(np.array([10, 11, 20, 21, 22]))]
    [[10, 11], [20, 21, 22]]
    """

    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        offsets = to_array(self.offsets, "offsets", np.int64).copy()
        if (
            offsets.ndim != 1
            or len(offsets) == 0
            or offsets[0] != 0
            or (np.diff(offsets) < 0).any()
        ):
            raise DataError(
                "offsets must be a vector that starts at 0 and never falls, "
                f"got {np.array2string(offsets, threshold=6)}"
            )
        offsets.setflags(write=False)
        object.__setattr__(self, "offsets", offsets)

    @classmethod
    def from_sizes(cls, sizes: ArrayLike) -> Groups:
        """Make queries with these numbers of rows."""
        return cls(np.concatenate([[0], np.cumsum(to_array(sizes, "sizes", np.int64))]))

    @classmethod
    def from_codes(
        cls, codes: NDArray[np.int64], n: int
    ) -> tuple[Groups, NDArray[np.int64] | None]:
        """Make groups from the query number, 0..n-1, of each row, in any order.

        Returns the groups and the stable permutation that makes the rows of each query
        contiguous, or None if they are contiguous already.
        """
        groups = cls.from_sizes(np.bincount(codes, minlength=n))
        if (np.diff(codes) >= 0).all():
            return groups, None
        return groups, np.argsort(codes, kind="stable")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Groups) and np.array_equal(self.offsets, other.offsets)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Groups({count_texts(query=len(self), row=self.n_rows)})"

    @property
    def n_rows(self) -> int:
        """Rows in all queries."""
        return int(self.offsets[-1])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each query."""
        return np.diff(self.offsets)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The query number of each row."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The place of each row within its query, from 0."""
        return np.arange(self.n_rows) - np.repeat(self.offsets[:-1], self.sizes)

    def slices(self) -> Iterator[slice]:
        """The rows of each query in turn."""
        bounds = self.offsets.tolist()
        return (slice(a, b) for a, b in itertools.pairwise(bounds))

    def blocks(self, n_rows: int) -> Iterator[QueryBlock]:
        """Yield whole queries with about `n_rows` rows at a time; a longer query is a block of its own.

        Examples
        --------
        >>> [(block.rows.start, block.rows.stop) for block in Groups.from_sizes([2, 1, 5, 2]).blocks(3)]
        [(0, 3), (3, 8), (8, 10)]
        """
        first = 0
        while first < len(self):
            end = self.offsets[first] + n_rows
            last = max(first + 1, int(np.searchsorted(self.offsets, end, side="right")) - 1)
            offsets = self.offsets[first : last + 1]
            rows = slice(int(offsets[0]), int(offsets[-1]))
            yield QueryBlock(slice(first, last), rows, Groups(offsets - offsets[0]))
            first = last

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the values of each query, from one value per row."""
        self.check(values, "values")
        return [values[rows] for rows in self.slices()]

    def check(self, values: NDArray[Any], what: str) -> None:
        """Raise LengthMismatchError unless there is one value for each row."""
        if values.ndim == 0 or len(values) != self.n_rows:
            got = "a single value" if values.ndim == 0 else f"{len(values)}"
            raise LengthMismatchError(
                f"expected {self.n_rows} {what}, one for each document, got {got}"
            )

    def spread(self, per_query: NDArray[Any]) -> NDArray[Any]:
        """Return one value per row from one value per query."""
        return np.repeat(per_query, self.sizes, axis=0)

    def reduce(self, ufunc: np.ufunc, values: NDArray[Any], empty: float = 0.0) -> NDArray[Any]:
        """Reduce the rows of each query by a ufunc; empty queries get `empty`.

        Examples
        --------
        >>> Groups.from_sizes([2, 0, 1]).reduce(np.maximum, np.array([1.0, 3.0, 2.0])).tolist()
        [3.0, 0.0, 2.0]
        """
        filled = self.sizes > 0
        if filled.all() and len(self):
            return np.asarray(ufunc.reduceat(values, self.offsets[:-1], axis=0))
        out = np.full((len(self), *values.shape[1:]), empty, dtype=np.result_type(values, np.int64))
        if filled.any():
            out[filled] = ufunc.reduceat(values, self.offsets[:-1][filled], axis=0)
        return out

    def take(self, queries: Sequence[int] | NDArray[np.int64]) -> tuple[Groups, NDArray[np.int64]]:
        """Return the groups of these queries in this order, and their rows."""
        try:
            queries = np.arange(len(self))[to_array(queries, "query numbers", np.int64)]
        except IndexError:
            raise UsageError(
                f"expected query numbers from 0 to {len(self) - 1}, got {np.asarray(queries)}"
            ) from None
        chosen = Groups.from_sizes(self.sizes[queries])
        rows = np.repeat(self.offsets[queries] - chosen.offsets[:-1], chosen.sizes)
        rows += np.arange(chosen.n_rows)
        return chosen, rows

    def order(
        self, scores: NDArray[np.float64], tie_keys: NDArray[np.float64] | None = None
    ) -> NDArray[np.int64]:
        """Return rows best first, query by query; ties by ascending tie key, then by row.

        Examples
        --------
        >>> Groups.from_sizes([3]).order(np.array([0.1, 0.9, 0.1])).tolist()
        [1, 0, 2]
        """
        self.check(scores, "scores")
        return kernels.order(scores, tie_keys, self.offsets)

    def run_starts(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether each row starts a run of equal values; runs end with their query.

        Examples
        --------
        >>> Groups.from_sizes([3, 2]).run_starts(np.array([2, 1, 1, 1, 0])).tolist()
        [True, True, False, True, True]
        """
        starts = np.ones(self.n_rows, dtype=bool)
        starts[1:] = (values[1:] != values[:-1]) | (self.codes[1:] != self.codes[:-1])
        return starts

    def runs(self, values: NDArray[Any]) -> Groups:
        """Return the runs of equal values as groups of their own."""
        return Groups(np.append(np.flatnonzero(self.run_starts(values)), self.n_rows))

    def positions(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the 1-based position of each row, from the rows best first, query by query.

        Examples
        --------
        >>> Groups.from_sizes([2, 1]).positions(np.array([1, 0, 2])).tolist()
        [2, 1, 1]
        """
        places = np.arange(1, self.n_rows + 1)
        places -= np.repeat(self.offsets[:-1], self.sizes)
        positions = np.empty(self.n_rows, dtype=np.int64)
        positions[order] = places
        return positions

    def ranks(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The 1-based position of each row in its query's order."""
        return self.positions(self.order(scores))


class QueryBlock(NamedTuple):
    """Adjacent queries: which ones, their rows, and the queries as groups of these rows."""

    queries: slice
    rows: slice
    groups: Groups

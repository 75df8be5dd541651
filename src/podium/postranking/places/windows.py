"""Windows: the first and the last place that hard rules allow for each document."""

from __future__ import annotations

from collections.abc import Iterable


class NoRoom(Exception):  # noqa: N818 an answer, not an error
    """A window is empty: no order meets the demands."""


class Windows:
    """first[i]..last[i] are the possible places of document i; `moved` are recently narrowed documents."""

    def __init__(self, first: Iterable[int], last: Iterable[int]) -> None:
        self.first, self.last = list(first), list(last)
        self.moved: set[int] = set()

    def at_least(self, i: int, place: int) -> None:
        """Let document i stand at this place or below; raise `NoRoom` if no place is left."""
        if place > self.first[i]:
            self.first[i] = place
            self.moved.add(i)
            if place > self.last[i]:
                raise NoRoom

    def at_most(self, i: int, place: int) -> None:
        """Let document i stand at this place or above; raise `NoRoom` if no place is left."""
        if place < self.last[i]:
            self.last[i] = place
            self.moved.add(i)
            if place < self.first[i]:
                raise NoRoom


Choice = list[tuple[int, int, int]]
"""Windows (document, first, last) to narrow to."""

"""The base of rankers that boost trees: validation queries choose the number of trees."""

from __future__ import annotations

from typing import ClassVar

from podium.rankers.ranker import Ranker


class BoostedTrees(Ranker):
    """A ranker that adds at most `trees` trees, one per iteration, and takes missing values."""

    accepts_missing: ClassVar[bool] = True
    trees: int

    def needs_validation(self) -> bool:
        """Whether queries are held out if there is no validation data."""
        return True

    def row_order_matters(self) -> bool:
        """Whether the order of rows changes what is learned."""
        return True  # draws, and ties of equal scores, go by place

    def total_iterations(self) -> int | None:
        """Return the number of iterations, for progress bars."""
        return int(self.trees)

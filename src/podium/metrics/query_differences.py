"""Differences between two evaluations, query by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import DataError, LengthMismatchError
from podium.figure_style import new_axes
from podium.html_tables import html_table
from podium.metrics.metric_figures import draw_differences
from podium.metrics.query_mean import mean_over_queries
from podium.typing import Floats


@dataclass(frozen=True, eq=False, repr=False)
class QueryDifferences:
    """The metric of one system minus that of another, for each query; NaN if one has no value.

    Parameters
    ----------
    first, second
        The names of the systems.
    values
        Differences, one per query.
    weight
        How much each query counts in the mean.

    Examples
    --------
    >>> qids = np.array(["a", "b", "c"], dtype=object)
    >>> QueryDifferences("NDCG@10", "new", "old", qids, np.array([0.5, -0.25, 0.0]))
    QueryDifferences(NDCG@10: new - old = +0.0833, 1 better, 1 equal, 1 worse)
    """

    metric: str
    first: str
    second: str
    qids: NDArray[np.object_]
    values: Floats
    weight: Floats | None = None

    def __post_init__(self) -> None:
        if len(self.qids) != len(self.values):
            raise LengthMismatchError(
                f"expected {len(self.qids)} differences, one per query, got {len(self.values)}"
            )
        if np.isnan(self.values).all():
            raise DataError(
                f"no query has a value of {self.metric} in both evaluations; expected at least one"
            )

    @property
    def mean(self) -> float:
        """The mean over queries that have a value in both."""
        return mean_over_queries(self.values, self.weight)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        signs = (
            (self.values > 0, "better"),
            (self.values == 0, "equal"),
            (self.values < 0, "worse"),
        )
        counts = ", ".join(f"{int(mask.sum()):,} {word}" for mask, word in signs)
        return f"QueryDifferences({self.metric}: {self._name} = {self.mean:+.4f}, {counts})"

    @property
    def _name(self) -> str:
        return f"{self.first} - {self.second}"

    def _repr_html_(self) -> str:
        order = np.argsort(-self.values, kind="stable")
        return html_table(
            repr(self),
            ("query", self._name),
            len(order),
            lambda i: (self.qids[order[i]], float(self.values[order[i]])),
            "the largest gain first",
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the difference of each query as a bar, the largest gain first; return the axes."""
        ax = new_axes("drawing differences") if ax is None else ax
        counts = repr(self).partition(", ")[2].rstrip(")")
        draw_differences(ax, self.values, self.mean, f"{self.metric}: {self._name}", counts)
        return ax

"""Sublists: each list cut where its cluster changes, with the ListMLE loss of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.data.groups import Groups
from podium.multitask.list_orders import Orders
from podium.typing import Floats, Rows


@dataclass(frozen=True, eq=False)
class Sublists:
    """Each list cut where its cluster changes: cluster after cluster, list after list, best first.

    Parameters
    ----------
    X, rows
        Features in that order, and the rows of the data they come from.
    tasks
        The rows of each cluster.
    parts
        The rows of each sublist.
    lists
        The list each sublist comes from.
    stages
        How many choices of each sublist count; 0 if its order says nothing.
    weight
        What each sublist counts: the weight of its list, divided by that of all lists.
    """

    X: NDArray[Any]
    rows: Rows
    tasks: Groups
    parts: Groups
    lists: Rows
    stages: Rows
    weight: Floats

    @classmethod
    def of(
        cls,
        X: NDArray[Any],
        orders: Orders,
        index: Rows,
        n_clusters: int,
        *,
        weight: Floats | None = None,
        labels: Floats | None = None,
    ) -> Sublists:
        """Return the sublists of clusters `index`, one per row of `orders`; see `fit_tasks`."""
        groups = orders.groups
        tasks, by_task = Groups.from_codes(index, n_clusters)
        place = np.arange(groups.n_rows) if by_task is None else by_task
        lists_of_rows = groups.codes[place]
        starts = np.ones(len(place), dtype=bool)
        starts[1:] = (lists_of_rows[1:] != lists_of_rows[:-1]) | (np.diff(index[place]) != 0)
        parts = Groups(np.append(np.flatnonzero(starts), len(place)))
        lists = lists_of_rows[parts.offsets[:-1]]
        # The objects of a sublist are ordered down to the depth of its list.
        is_ordered = (groups.places < groups.spread(orders.depth))[place]
        stages = parts.reduce(np.add, is_ordered.astype(np.int64)) * (parts.sizes > 1)
        rows = orders.rows[place]
        counts = np.asarray(groups.sizes > 1)
        if labels is not None:
            stages = stages * _has_contrast(parts, labels[rows])
            counts = _has_contrast(groups, labels[orders.rows])
        weights = np.ones(len(groups)) if weight is None else weight
        total = float(np.sum(weights * counts))
        share = weights / (total if total > 0 else 1.0)
        return cls(X[rows], rows, tasks, parts, lists, stages, share[lists])

    def complete(self, W: Floats) -> Floats:
        """Return W, with the mean of the others for clusters without choices (the rest of top-k truth).

        Any lambda above 0 gives the same but for its size; lambda = 0 leaves these clusters at 0.
        """
        has_choices = np.zeros(len(W), dtype=bool)
        has_choices[self.tasks.codes[self.parts.offsets[:-1][self.stages > 0]]] = True
        mean = W[has_choices].sum(axis=0) / max(has_choices.sum(), 1)
        return np.where(has_choices[:, None] | ~has_choices.any(), W, mean)

    def scores(self, W: Floats) -> Floats:
        """Return w_k.x of each row, with k its own cluster."""
        return np.concatenate(
            [
                kernels.matvec(self.X[rows], w)
                for rows, w in zip(self.tasks.slices(), W, strict=True)
            ]
        )

    def weight_gradient(self, g: Floats) -> Floats:
        """Return the gradient with respect to W from that with respect to the scores."""
        slices = self.tasks.slices()
        return np.stack([kernels.rmatvec(self.X[rows], g[rows]) for rows in slices])

    def __call__(self, W: Floats) -> tuple[float, Floats]:
        """Return the likelihood loss and its gradient with respect to W."""
        order = np.arange(self.parts.n_rows)
        values, g, _ = kernels.plackett_luce(self.scores(W), order, self.stages, self.parts.offsets)
        value = float(np.sum(values * self.weight))
        return value, self.weight_gradient(g * self.parts.spread(self.weight))


def _has_contrast(groups: Groups, labels: Floats) -> NDArray[np.bool_]:
    """Return which lists have different labels."""
    lowest = groups.reduce(np.minimum, labels)
    return np.asarray(lowest < groups.reduce(np.maximum, labels))

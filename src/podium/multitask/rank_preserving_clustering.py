"""Rank-preserving clustering, pLocalsearch: clusters of objects whose index never falls along a list.

Wu, You, Mao, Xia, Yuan, Hu: Listwise learning to rank by exploring structure of objects, IEEE TKDE
2016, section 2.1.2. The search is the kernel `rank_clusters`
(``kernels/reference/rank_preserving_clusters.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from podium import kernels
from podium.data.groups import Groups
from podium.errors import DataError, EmptyDataError, NonFiniteError, UsageError
from podium.multitask.argument_checks import check_whole_numbers
from podium.typing import Floats, Rows


class MetricTransform(Protocol):
    """A metric as a map to coordinates in which it is Euclidean."""

    def transform(self, X: Floats) -> Floats:
        """Return rows mapped so that |x - y| is the metric's distance."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Clusters:
    """Clusters of all lists together, 0 the best.

    Parameters
    ----------
    index
        The cluster of each row, in the order of the lists; it never falls along a list.
    centres
        The mean of each cluster, one per row, in the coordinates of X.
    counts
        The number of objects of each cluster.
    objective
        Omega(C) = sum_k sum_{x in C_k} |x - centre_k|^2, in the metric if there is one: of the equal
        bands at the start, and after each sweep.
    moves
        How many objects changed their cluster in each sweep, at most one per list.
    max_sweeps
        The largest number of sweeps that the search may take.
    """

    index: Rows
    centres: Floats
    counts: Rows
    objective: Floats
    moves: Rows
    max_sweeps: int

    @property
    def n_clusters(self) -> int:
        """K, the number of clusters."""
        return len(self.counts)

    @property
    def converged(self) -> bool:
        """Whether the last sweep moved no object, or max_sweeps is 0."""
        return self.max_sweeps == 0 or bool(self.moves[-1] == 0)

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        if self.max_sweeps == 0:
            end = "equal bands"
        return (
            f"Clusters({self.n_clusters} of {self.counts.tolist()} objects, objective "
            f"{self.objective[-1]:.6g} from {self.objective[0]:.6g}, {len(self.moves)} sweeps, {end})"
        )


def rank_preserving_clusters(
    X: ArrayLike,
    offsets: ArrayLike,
    n_clusters: int,
    max_sweeps: int = 1000,
    metric: MetricTransform | None = None,
    depth: ArrayLike | None = None,
) -> Clusters:
    """Minimise Omega(C) = sum_k sum_{x in C_k} |x - centre_k|^2 s.t. I(x_j) <= I(x_{j+1}) in each list.

    pLocalsearch of Wu et al. (2016), eqs. (4) to (9). It starts from K equal bands of every list
    (`equal_bands`). A sweep goes through the lists. In each list the objects with a neighbour in
    another cluster are candidates. The change to the neighbour's cluster costs

        cost(x, k1 -> k2) = n2 / (n2 + 1) |x - centre_k2|^2 - n1 / (n1 - 1) |x - centre_k1|^2.

    The object with the lowest cost changes if its cost is below 0, and Omega falls by exactly that
    amount. Centres and counts are updated at once. The search ends when no list has such an object,
    in a local minimum that depends on the order of the lists.

    - An object that is alone in its cluster (n1 = 1) gains nothing by leaving. So it never leaves,
    and no cluster becomes empty.
    - A list need not have objects in all clusters. A list shorter than K starts spread over the bands.
      If a list has no object in a cluster, no neighbour is in it, so the list never gets it back.
    - If costs are equal, the first object along the list changes. Costs within rounding of 0 count
    as 0, so equally good clusters are not exchanged.
    - If only the first objects of a list are ordered (top-k truth), they are divided into the first
      K - 1 clusters, and the rest stays in the last one. Lists that are ordered completely have all
      K; otherwise the last cluster would contain long lists, not bad objects.

    Parameters
    ----------
    X
        Objects in rows, best first, list after list.
    offsets
        List i is the rows ``offsets[i]:offsets[i + 1]``.
    n_clusters
        K, no more than the objects of the longest list.
    max_sweeps
        The maximum number of sweeps; a search that reaches it is marked as not converged. 0: no
        search; the equal bands divide lists by places alone.
    metric
        An object with ``transform(X)``; None: Euclidean distance.
    depth
        How many objects of each list are ordered, as in `Orders`; None: all of them.

    Examples
    --------
    >>> X = [[9.0], [8.8], [8.9], [8.7], [1.0], [9.1], [1.1], [1.2]]
    >>> clusters = rank_preserving_clusters(X, offsets=[0, 5, 8], n_clusters=2)
    >>> clusters.index.tolist(), clusters.centres.ravel().round(2).tolist()
    ([0, 0, 0, 0, 1, 0, 1, 1], [8.9, 1.1])
    >>> clusters
    Clusters(2 of [5, 3] objects, objective 0.12 from 87.8747, 2 sweeps, converged)
    """
    objects, groups = _check_objects(X, offsets)
    check_whole_numbers(1, n_clusters=n_clusters)
    check_whole_numbers(0, max_sweeps=max_sweeps)
    if metric is not None and not hasattr(metric, "transform"):
        raise UsageError(
            f"expected a metric, such as learn_metric(X, offsets), or None, got {metric!r}"
        )
    ordered = groups.sizes if depth is None else _check_depth(depth, groups)
    most = int(max_clusters(groups.sizes, ordered).max())
    if n_clusters > most:
        raise UsageError(
            "a list can have one cluster per ordered object and one for an unordered rest, "
            f"so n_clusters must be at most {most}, got {n_clusters}"
        )
    lists, starts = _starting_clusters(groups, ordered, n_clusters)
    mapped = objects if metric is None else _contiguous(metric.transform(objects))
    bounds, centres, counts, objective, moves = kernels.rank_clusters(
        mapped, lists.offsets, starts, max_sweeps
    )
    _check_finite(mapped, objective[0])
    index = _cluster_index(lists, bounds)
    if metric is not None:
        centres = _cluster_means(objects, index, counts)
    return Clusters(index, centres, counts, objective, moves, max_sweeps)


def equal_bands(sizes: ArrayLike, n_clusters: int) -> Rows:
    """Return the starts of bands 1..K-1 in lists of these sizes.

    Place p of n is in band floor(K (p + 1/2) / n). Band c begins at n c / K, rounded; halves are
    rounded towards the middle of the list. So a reversed list has reversed bands, except that an
    object exactly between two bands is in the better one. The sizes of a list's bands differ by at
    most one object. A list shorter than K has objects in only some bands.

    Examples
    --------
    >>> equal_bands([9, 7, 2], 3).tolist()
    [[3, 6], [2, 5], [1, 1]]
    """
    twice_n, band = 2 * np.asarray(sizes, dtype=np.int64)[:, None], np.arange(1, n_clusters)
    return np.asarray((twice_n * band + n_clusters - (2 * band > n_clusters)) // (2 * n_clusters))


def max_clusters(sizes: Rows, depth: Rows) -> Rows:
    """Return how many clusters each list can have: one per ordered object, and one for a rest."""
    return depth + (depth < sizes)


def _starting_clusters(groups: Groups, depth: Rows, n_clusters: int) -> tuple[Groups, Rows]:
    """Return the lists to search, and the starts of the clusters in each before the search.

    A list with a rest becomes two lists: its first objects, without the last cluster, and the rest,
    with only the last cluster. Neither gets another cluster, but the rest counts in the last
    centre.
    """
    has_rest, K = depth < groups.sizes, n_clusters
    begins = np.column_stack([groups.offsets[:-1], groups.offsets[:-1] + depth])
    exists = np.column_stack([np.ones_like(has_rest), has_rest])
    lists = Groups(np.append(begins[exists], groups.n_rows))
    is_head = np.column_stack([has_rest, np.zeros_like(has_rest)])[exists][:, None]
    is_rest = np.column_stack([np.zeros_like(has_rest), has_rest])[exists][:, None]
    starts = lists.offsets[:-1, None]
    head_bands = starts + equal_bands(lists.sizes, K - 1)
    head = np.hstack([head_bands, lists.offsets[1:, None]])[:, : K - 1]
    full = starts + equal_bands(lists.sizes, K)
    return lists, np.ascontiguousarray(np.where(is_rest, starts, np.where(is_head, head, full)))


def _check_depth(depth: ArrayLike, groups: Groups) -> Rows:
    ordered = np.asarray(depth, dtype=np.int64)
    if ordered.shape != (len(groups),) or ((ordered < 0) | (ordered > groups.sizes)).any():
        raise DataError(
            f"expected {len(groups)} depths, one per list, each from 0 to the length of its "
            f"list, got an array of shape {ordered.shape}"
        )
    return ordered


def _check_objects(X: ArrayLike, offsets: ArrayLike) -> tuple[Floats, Groups]:
    objects, groups = _contiguous(X), Groups(np.asarray(offsets, dtype=np.int64))
    if objects.ndim != 2 or not objects.shape[1]:
        raise DataError(
            f"expected X with 2 dimensions, one column per feature, got an array of shape {objects.shape}"
        )
    groups.check(objects, "rows of X")
    if len(objects) == 0:
        raise EmptyDataError("there are no objects to cluster")
    return objects, groups


def _contiguous(X: ArrayLike) -> Floats:
    return np.ascontiguousarray(X, dtype=np.float64)


def _check_finite(X: Floats, objective: float) -> None:
    """Raise if X is not finite. A sum of squares is finite only if every number is, which is a fast check."""
    if np.isfinite(objective):
        return
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise NonFiniteError(
            f"expected finite features, got {X[row, column]} in row {row}, column {column}"
        )
    raise NonFiniteError(
        f"the features are too large (up to {np.abs(X).max():g}): their squares are infinite; "
        "scale the features"
    )


def _cluster_index(groups: Groups, bounds: Rows) -> Rows:
    """Return the cluster of each row from the starts of the clusters."""
    edges = np.column_stack([groups.offsets[:-1], bounds, groups.offsets[1:]])
    clusters = np.tile(np.arange(edges.shape[1] - 1), len(groups))
    return np.repeat(clusters, np.diff(edges, axis=1).ravel())


def _cluster_means(X: Floats, index: Rows, counts: Rows) -> Floats:
    shares = ((index == c) / n for c, n in enumerate(counts.tolist()))
    return np.stack([kernels.rmatvec(X, share) for share in shares])

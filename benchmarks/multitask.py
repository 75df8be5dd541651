"""Rank-preserving clustering: podium beside NumPy, list by list and all lists at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from benchmarks.measure import Contender, Report, floor_of, slowdown, speedup
from podium.multitask import Clusters, equal_bands, rank_preserving_clusters

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

K, N_FEATURES, NOISE = 5, 46, 0.3
SHAPES = ((1714, 700), (30_000, 40))
"""Numbers of lists, and of objects per list: 1.2 M objects, as in MQ2007-list and in short lists."""
MAX_SWEEPS = 1000

_ONE_THREAD = ThreadpoolController()


def run(quick: bool = False) -> Report:
    """Measure all figures of the subject."""
    setting = {"features": N_FEATURES, "clusters": K, "noise": NOISE, "threads": 1}
    report = Report("multitask", "Rank-preserving clustering", setting)
    with _ONE_THREAD.limit(limits=1):
        for n_lists, n in SHAPES:
            _compare(report, ObjectLists.draw(n_lists // 50 if quick else n_lists, n))
        _doubling(report, quick)
    report.notes += [
        "Objects lie around the centre of their degree (degree in one feature, its sine in "
        "another). Every list has its own share of each degree: Dirichlet(3, ..., 3).",
        "List by list: the same search and the same moves, the costs of a list in one NumPy expression "
        "over its borders. All lists at once: the borders of all lists in one expression (distances by "
        "BLAS), every list moves, then centres follow. That is another search, not the paper's: with "
        "centres a sweep old the objective may rise, and where it does that search ends.",
        "The floor: every object is read once, those that change their cluster once more.",
    ]
    return report


@dataclass(frozen=True, eq=False)
class ObjectLists:
    """Objects, best first, list after list."""

    X: Floats
    offsets: Rows

    @classmethod
    def draw(cls, n_lists: int, n: int, seed: int = 0) -> ObjectLists:
        """Draw lists of n objects of degrees 0..K-1."""
        rng = np.random.default_rng(seed)
        shares = rng.dirichlet(np.full(K, 3.0), n_lists)
        counts = np.stack([rng.multinomial(n, share) for share in shares])
        degree = np.repeat(np.tile(np.arange(K), n_lists), counts.ravel())
        X = rng.normal(scale=NOISE, size=(n_lists * n, N_FEATURES))
        X[:, 0] += degree
        X[:, 1] += np.sin(degree)
        return cls(X, np.arange(n_lists + 1) * n)

    @property
    def name(self) -> str:
        """Name in the table."""
        n = int(self.offsets[1])
        return f"{len(self.X):,} objects in lists of {n}"

    def cluster(self) -> Clusters:
        """Cluster the lists by podium."""
        return rank_preserving_clusters(self.X, self.offsets, K, MAX_SWEEPS)


def _compare(report: Report, lists: ObjectLists) -> None:
    """Run each search from equal bands to its end."""
    ours, each, at_once, floor = (
        f"{what}, {lists.name}"
        for what in ("clusters", "NumPy list by list", "NumPy all lists at once", "reading")
    )
    clusters, peers = lists.cluster(), dict[str, PeerClusters]()

    def search(name: str, peer: Callable[[Floats, Rows], PeerClusters]) -> None:
        peers[name] = peer(lists.X, lists.offsets)

    timings = report.time_in_turn(
        [
            Contender(ours, lists.cluster, 9),
            Contender(each, lambda: search(each, list_by_list), 1),
            Contender(at_once, lambda: search(at_once, all_at_once), 3),
            Contender(floor, lambda: (lists.X.sum(), lists.X[: clusters.moves.sum()].sum()), 9),
        ]
    )
    assert np.array_equal(clusters.index, peers[each].index), "the same moves"
    quotient = peers[at_once].objective / clusters.objective[-1]
    assert clusters.converged, "podium goes to the end"
    assert quotient <= 1.01, "a comparable objective"
    least = floor_of("NumPy sums what must be read", timings[floor])
    report.rows += [
        speedup(ours, timings[ours], timings[each], at_least=50, **least),
        speedup(ours, timings[ours], timings[at_once], **least),
    ]
    report.notes.append(
        f"{lists.name}: {clusters.moves.sum():,} moves in {len(clusters.moves)} sweeps; all lists at once "
        f"{peers[at_once].sweeps} sweeps, to {quotient:.5f} times our objective."
    )


@dataclass(frozen=True, eq=False)
class PeerClusters:
    """Clusters of a peer."""

    index: Rows
    objective: float
    sweeps: int


class Centres:
    """Sums, counts and centres of the clusters, and the factors of a move's cost."""

    def __init__(self, X: Floats, index: Rows) -> None:
        self.counts = np.bincount(index, minlength=K)
        self.sums = np.stack([X[index == c].sum(axis=0) for c in range(K)])
        self.norm = float(np.einsum("ij,ij->", X, X))
        self.update()

    def update(self) -> None:
        self.centres = self.sums / self.counts[:, None]
        self.norms = np.einsum("ij,ij->i", self.centres, self.centres)
        self.join, self.leave = self.counts / (self.counts + 1), self.counts / (self.counts - 1)

    def objective(self) -> float:
        return self.norm - float(self.counts @ self.norms)


def _start(offsets: Rows) -> tuple[Rows, Rows]:
    """Return the bounds of the equal bands, and the band of each row."""
    sizes = np.diff(offsets)
    bounds = equal_bands(sizes, K) + offsets[:-1, None]
    edges = np.column_stack([offsets[:-1], bounds, offsets[1:]])
    return bounds, np.repeat(np.tile(np.arange(K), len(sizes)), np.diff(edges, axis=1).ravel())


def list_by_list(X: Floats, offsets: Rows) -> PeerClusters:
    """pLocalsearch: costs of a list's candidates in one expression; each move counts at once."""
    sweeps, (bounds, index) = 0, _start(offsets)
    state = Centres(X, index)
    spans = list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
    while sweeps < MAX_SWEEPS:
        sweeps += 1
        moved = False
        for borders, (first, last) in zip(bounds, spans, strict=True):
            inner = borders[(borders > first) & (borders < last)]
            rows = np.repeat(inner, 2)
            rows[::2] -= 1
            own_cluster = index[rows]
            to = own_cluster.reshape(-1, 2)[:, ::-1].ravel()
            x = X[rows]
            stay, go = x - state.centres[own_cluster], x - state.centres[to]
            cost = state.join[to] * np.einsum("ij,ij->i", go, go)
            cost -= state.leave[own_cluster] * np.einsum("ij,ij->i", stay, stay)
            best = int(cost.argmin()) if len(cost) else -1
            if best < 0 or cost[best] >= -1e-12:
                continue
            a, b, row = own_cluster[best], to[best], rows[best]
            borders[a:b] -= 1
            borders[b:a] += 1
            index[row] = b
            state.sums[a] -= X[row]
            state.sums[b] += X[row]
            state.counts[a] -= 1
            state.counts[b] += 1
            state.update()
            moved = True
        if not moved:
            break
    return PeerClusters(index, state.objective(), sweeps)


def all_at_once(X: Floats, offsets: Rows) -> PeerClusters:
    """Search with the costs of all lists in one expression; centres follow after the sweep."""
    sweeps, (bounds, index) = 0, _start(offsets)
    state, clusters, lists = Centres(X, index), np.arange(K - 1), np.arange(len(bounds))
    squares = np.einsum("ij,ij->i", X, X)
    objective = state.objective()
    while sweeps < MAX_SWEEPS:
        sweeps += 1
        behind = np.minimum(bounds, len(X) - 1)
        inner = (bounds > offsets[:-1, None]) & (bounds < offsets[1:, None])
        rows = np.concatenate([bounds - 1, behind], axis=1)
        own_cluster = index[rows]
        to = np.concatenate([own_cluster[:, K - 1 :], own_cluster[:, : K - 1]], axis=1)
        flat = rows.ravel()
        distances = squares[flat, None] - 2 * (X[flat] @ state.centres.T) + state.norms
        numbers = np.arange(len(flat))
        cost = state.join[to.ravel()] * distances[numbers, to.ravel()]
        cost -= state.leave[own_cluster.ravel()] * distances[numbers, own_cluster.ravel()]
        cost = np.where(np.tile(inner, 2), cost.reshape(rows.shape), np.inf)
        best = cost.argmin(axis=1)
        moving = lists[cost[lists, best] < -1e-12]
        if len(moving) == 0:
            break
        row, a, b = (values[moving, best[moving]] for values in (rows, own_cluster, to))
        previous = bounds.copy(), index[row], state.sums.copy(), state.counts.copy()
        bounds[moving] -= (clusters >= a[:, None]) & (clusters < b[:, None])
        bounds[moving] += (clusters >= b[:, None]) & (clusters < a[:, None])
        index[row] = b
        change = np.eye(K)[b] - np.eye(K)[a]
        state.sums += change.T @ X[row]
        state.counts += change.sum(axis=0).astype(np.int64)
        state.update()
        if state.objective() >= objective:
            bounds, index[row], state.sums, state.counts = previous
            break
        objective = state.objective()
    return PeerClusters(index, objective, sweeps)


def _doubling(report: Report, quick: bool) -> None:
    """Measure how time grows when the lists double."""
    n = SHAPES[0][1]
    sizes = [m // (50 if quick else 1) for m in (429, 857, 1714)]
    drawn = [ObjectLists.draw(m, n) for m in sizes]
    contenders = [Contender(f"clusters again, {lists.name}", lists.cluster, 9) for lists in drawn]
    timings = list(report.time_in_turn(contenders).values())
    for u, v in itertools.pairwise(timings):
        report.rows.append(slowdown(v.name, v, u, at_most=2.5))
    clusters = [lists.cluster() for lists in drawn]
    report.notes.append(
        "Growth: "
        + "; ".join(
            f"{lists.name} take {len(one.moves)} sweeps, {one.moves.sum():,} moves, "
            f"{1e6 * t.median / one.moves.sum():.2f} us a move"
            for lists, one, t in zip(drawn, clusters, timings, strict=True)
        )
        + "."
    )

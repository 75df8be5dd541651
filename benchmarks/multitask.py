"""Rank-preserving clustering: podium next to NumPy, list by list and all lists at once; growth."""

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
"""Lists and objects a list: 1.2 M objects, as in MQ2007-list and in short lists."""
MAX_SWEEPS = 1000

_ONE_THREAD = ThreadpoolController()


def run(quick: bool = False) -> Report:
    """All figures of the subject."""
    setting = {"features": N_FEATURES, "clusters": K, "noise": NOISE, "threads": 1}
    report = Report("multitask", "Rank-preserving clustering", setting)
    with _ONE_THREAD.limit(limits=1):
        for n_lists, n in SHAPES:
            _compare(report, Lists.draw(n_lists // 50 if quick else n_lists, n))
        _doubling(report, quick)
    report.notes += [
        "Objects lie around the centre of their degree (degree in one feature, its sine in another), "
        "every list with its own share of each degree: Dirichlet(3, ..., 3).",
        "List by list: the same search and the same moves, the costs of a list in one NumPy expression "
        "over its borders. All lists at once: the borders of all lists in one expression (distances by "
        "BLAS), every list moves, then centres follow. That is another search, not the paper's: with "
        "centres a sweep old the objective may rise, and where it does that search ends.",
        "The floor: every object is read once, those that change their cluster once more.",
    ]
    return report


@dataclass(frozen=True, eq=False)
class Lists:
    """Objects, best first, list after list."""

    X: Floats
    offsets: Rows

    @classmethod
    def draw(cls, n_lists: int, n: int, seed: int = 0) -> Lists:
        """Lists of n objects of degrees 0..K-1."""
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
        """What it is, for the table."""
        n = int(self.offsets[1])
        return f"{len(self.X):,} objects in lists of {n}"

    def cluster(self) -> Clusters:
        """Podium's."""
        return rank_preserving_clusters(self.X, self.offsets, K, MAX_SWEEPS)


def _compare(report: Report, lists: Lists) -> None:
    """To the end of the search, each from the equal bands."""
    ours, each, at_once, floor = (
        f"{what}, {lists.name}"
        for what in ("clusters", "NumPy list by list", "NumPy all lists at once", "reading")
    )
    found, peers = lists.cluster(), dict[str, Found]()

    def search(name: str, peer: Callable[[Floats, Rows], Found]) -> None:
        peers[name] = peer(lists.X, lists.offsets)

    timings = report.race(
        [
            Contender(ours, lists.cluster, 9),
            Contender(each, lambda: search(each, list_by_list), 1),
            Contender(at_once, lambda: search(at_once, all_at_once), 3),
            Contender(floor, lambda: (lists.X.sum(), lists.X[: found.moves.sum()].sum()), 9),
        ]
    )
    assert np.array_equal(found.index, peers[each].index), "the same moves"
    quotient = peers[at_once].objective / found.objective[-1]
    assert found.converged, "podium goes to the end"
    assert quotient <= 1.01, "a comparable objective"
    least = floor_of("NumPy sums what must be read", timings[floor])
    report.rows += [
        speedup(ours, timings[ours], timings[each], at_least=50, **least),
        speedup(ours, timings[ours], timings[at_once], **least),
    ]
    report.notes.append(
        f"{lists.name}: {found.moves.sum():,} moves in {len(found.moves)} sweeps; all lists at once "
        f"{peers[at_once].sweeps} sweeps, to {quotient:.5f} times our objective."
    )


@dataclass(frozen=True, eq=False)
class Found:
    """What a peer found."""

    index: Rows
    objective: float
    sweeps: int


class Centres:
    """Sums, counts and centres of the clusters, and the factors in a cost."""

    def __init__(self, X: Floats, index: Rows) -> None:
        self.counts = np.bincount(index, minlength=K)
        self.sums = np.stack([X[index == c].sum(axis=0) for c in range(K)])
        self.norm = float(np.einsum("ij,ij->", X, X))
        self.settle()

    def settle(self) -> None:
        self.centres = self.sums / self.counts[:, None]
        self.norms = np.einsum("ij,ij->i", self.centres, self.centres)
        self.join, self.leave = self.counts / (self.counts + 1), self.counts / (self.counts - 1)

    def objective(self) -> float:
        return self.norm - float(self.counts @ self.norms)


def _start(offsets: Rows) -> tuple[Rows, Rows]:
    """The bounds of the equal bands, and the band of each row."""
    sizes = np.diff(offsets)
    bounds = equal_bands(sizes, K) + offsets[:-1, None]
    edges = np.column_stack([offsets[:-1], bounds, offsets[1:]])
    return bounds, np.repeat(np.tile(np.arange(K), len(sizes)), np.diff(edges, axis=1).ravel())


def list_by_list(X: Floats, offsets: Rows) -> Found:
    """pLocalsearch: the candidates of a list in one expression, a move at once."""
    sweeps, (bounds, index) = 0, _start(offsets)
    now = Centres(X, index)
    spans = list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
    while sweeps < MAX_SWEEPS:
        sweeps += 1
        moved = False
        for borders, (first, last) in zip(bounds, spans, strict=True):
            inner = borders[(borders > first) & (borders < last)]
            rows = np.repeat(inner, 2)
            rows[::2] -= 1
            own = index[rows]
            to = own.reshape(-1, 2)[:, ::-1].ravel()
            x = X[rows]
            stay, go = x - now.centres[own], x - now.centres[to]
            cost = now.join[to] * np.einsum("ij,ij->i", go, go)
            cost -= now.leave[own] * np.einsum("ij,ij->i", stay, stay)
            best = int(cost.argmin()) if len(cost) else -1
            if best < 0 or cost[best] >= -1e-12:
                continue
            a, b, row = own[best], to[best], rows[best]
            borders[a:b] -= 1
            borders[b:a] += 1
            index[row] = b
            now.sums[a] -= X[row]
            now.sums[b] += X[row]
            now.counts[a] -= 1
            now.counts[b] += 1
            now.settle()
            moved = True
        if not moved:
            break
    return Found(index, now.objective(), sweeps)


def all_at_once(X: Floats, offsets: Rows) -> Found:
    """The candidates of all lists in one expression; centres follow after the sweep."""
    sweeps, (bounds, index) = 0, _start(offsets)
    now, clusters, lists = Centres(X, index), np.arange(K - 1), np.arange(len(bounds))
    squares = np.einsum("ij,ij->i", X, X)
    objective = now.objective()
    while sweeps < MAX_SWEEPS:
        sweeps += 1
        behind = np.minimum(bounds, len(X) - 1)
        inner = (bounds > offsets[:-1, None]) & (bounds < offsets[1:, None])
        rows = np.concatenate([bounds - 1, behind], axis=1)
        own = index[rows]
        to = np.concatenate([own[:, K - 1 :], own[:, : K - 1]], axis=1)
        flat = rows.ravel()
        distances = squares[flat, None] - 2 * (X[flat] @ now.centres.T) + now.norms
        numbers = np.arange(len(flat))
        cost = now.join[to.ravel()] * distances[numbers, to.ravel()]
        cost -= now.leave[own.ravel()] * distances[numbers, own.ravel()]
        cost = np.where(np.tile(inner, 2), cost.reshape(rows.shape), np.inf)
        best = cost.argmin(axis=1)
        moving = lists[cost[lists, best] < -1e-12]
        if len(moving) == 0:
            break
        row, a, b = (values[moving, best[moving]] for values in (rows, own, to))
        kept = bounds.copy(), index[row], now.sums.copy(), now.counts.copy()
        bounds[moving] -= (clusters >= a[:, None]) & (clusters < b[:, None])
        bounds[moving] += (clusters >= b[:, None]) & (clusters < a[:, None])
        index[row] = b
        change = np.eye(K)[b] - np.eye(K)[a]
        now.sums += change.T @ X[row]
        now.counts += change.sum(axis=0).astype(np.int64)
        now.settle()
        if now.objective() >= objective:
            bounds, index[row], now.sums, now.counts = kept
            break
        objective = now.objective()
    return Found(index, objective, sweeps)


def _doubling(report: Report, quick: bool) -> None:
    """Twice the lists: about twice the time a sweep, as many more sweeps as it takes."""
    n = SHAPES[0][1]
    sizes = [m // (50 if quick else 1) for m in (429, 857, 1714)]
    drawn = [Lists.draw(m, n) for m in sizes]
    contenders = [Contender(f"clusters again, {lists.name}", lists.cluster, 9) for lists in drawn]
    timings = list(report.race(contenders).values())
    for u, v in itertools.pairwise(timings):
        report.rows.append(slowdown(v.name, v, u, at_most=2.5))
    found = [lists.cluster() for lists in drawn]
    report.notes.append(
        "Growth: "
        + "; ".join(
            f"{lists.name} take {len(one.moves)} sweeps, {one.moves.sum():,} moves, "
            f"{1e6 * t.median / one.moves.sum():.2f} us a move"
            for lists, one, t in zip(drawn, found, timings, strict=True)
        )
        + "."
    )

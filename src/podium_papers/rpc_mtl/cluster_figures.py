"""Cluster figures: rank-preserving clusters on two axes of the learned metric, and paths of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.errors import require
from podium.experiments import PALETTE
from podium.multitask import RPCMTL, Division, MetricKind
from podium.typing import Floats

DRAWN_OBJECTS, DRAWN_PATHS, PATH_DOCUMENTS = 600, 3, (8, 40)
"""Number of objects and of lists that are drawn, and the lengths of these lists."""
PATH_COLOURS = ("#222222", "#7A1E1E", "#1E3A7A")


@dataclass(frozen=True)
class PlanePoints:
    """Points in the plane; those of a list have its best object first."""

    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class ClusterFigure:
    """Objects of each degree along the first two principal axes of the metric.

    Parameters
    ----------
    shares
        Share of the metric's variance on each axis.
    points
        Objects of each degree, the worst degree first.
    centres
        One centre per degree.
    paths
        Paths of a few lists.
    """

    title: str
    shares: tuple[float, ...]
    points: tuple[PlanePoints, ...]
    centres: PlanePoints
    paths: tuple[PlanePoints, ...]

    def plot(self) -> Any:
        """Draw the figure; return a matplotlib Figure."""
        library = require("matplotlib.figure", "report", "drawing a figure")
        figure = library.Figure(figsize=(7.2, 5.2), layout="constrained")
        figure.set_facecolor("white")
        ax = figure.subplots()
        for degree, points in enumerate(self.points):
            colour = PALETTE[(degree + 1) % len(PALETTE)]
            name = f"degree {degree}" + {0: " (worst)", len(self.points) - 1: " (best)"}.get(
                degree, ""
            )
            ax.plot(points.x, points.y, ".", color=colour, markersize=4, alpha=0.55, label=name)
        for i, path in enumerate(self.paths):
            colour = PATH_COLOURS[i % len(PATH_COLOURS)]
            ax.plot(
                path.x, path.y, "-", color=colour, linewidth=0.9, alpha=0.8, label=f"list {i + 1}"
            )
            ax.plot(path.x[:1], path.y[:1], "*", color=colour, markersize=12)
        ax.plot(
            self.centres.x, self.centres.y, "X", color="black", markersize=9, markeredgecolor="white",
            linestyle="", label="centres",
        )  # fmt: skip
        for axis, share, name in zip("xy", self.shares, ("first", "second"), strict=True):
            label = f"{name} principal axis ({share:.1%} of the variance)"
            getattr(ax, f"set_{axis}label")(label, fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize="small")
        figure.suptitle(self.title, fontsize="medium")
        figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize="small")
        return figure


def cluster_figure(
    title: str,
    data: RankingData,
    n_clusters: int = 3,
    seed: int = 0,
    *,
    distance: MetricKind | None = "diagonal",
    kappa_1: int = 2,
    kappa_2: int = 5,
) -> ClusterFigure:
    """Make the figure of these lists' clusters in the learned metric; stars are the lists' best objects.

    Parameters
    ----------
    title
        Title of the figure.
    data, n_clusters, distance, kappa_1, kappa_2
        The lists, and the parameters of `RPCMTL` that divide them.
    seed
        Seed of the division, and of the choice of objects and lists.

    Examples
    --------
    >>> from podium.data import make_opposed
    >>> figure = cluster_figure("opposed", make_opposed(20, 10, n_features=4, seed=0))
    >>> len(figure.points), len(figure.paths[0].x)
    (3, 10)
    """
    division = RPCMTL(
        n_clusters=n_clusters, distance=distance, kappa_1=kappa_1, kappa_2=kappa_2, seed=seed
    ).divide(data)
    plane, centres, shares = _plane(division, data)
    assert division.orders is not None
    index, rng = division.clusters.index, np.random.default_rng(seed)
    drawn = np.sort(rng.permutation(len(index))[:DRAWN_OBJECTS])
    K = len(centres)
    points = [plane[drawn[index[drawn] == K - 1 - degree]] for degree in range(K)]
    sizes = division.orders.groups.sizes
    fitting = np.flatnonzero((sizes >= PATH_DOCUMENTS[0]) & (sizes <= PATH_DOCUMENTS[1]))
    lists = rng.permutation(fitting)[:DRAWN_PATHS]
    slices = [slice(*division.orders.offsets[i : i + 2]) for i in np.sort(lists)]
    return ClusterFigure(
        title,
        tuple(shares.tolist()),
        tuple(_plane_points(degree_points) for degree_points in points),
        _plane_points(centres[::-1]),
        tuple(_plane_points(plane[rows]) for rows in slices),
    )


def _plane(division: Division, data: RankingData) -> tuple[Floats, Floats, Floats]:
    """Return the objects and centres on the first two axes, and their shares of the variance."""
    assert division.orders is not None
    X = data.X[division.orders.rows].astype(np.float64)
    if division.metric is not None:
        X = division.metric.transform(X)
    centred = X - X.mean(axis=0)
    spectrum, axes = np.linalg.eigh(centred.T @ centred)
    two = axes[:, ::-1][:, :2]
    two = two * np.where(
        two[np.abs(two).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0
    )  # eigenvectors have no sign of their own
    plane = centred @ two
    index = division.clusters.index
    centres = np.stack(
        [plane[index == k].mean(axis=0) for k in range(len(division.clusters.centres))]
    )
    return plane, centres, spectrum[::-1][:2] / spectrum.sum()


def _plane_points(places: Floats) -> PlanePoints:
    # Five decimals are enough for a figure and keep the results file short.
    x, y = np.round(places, 5).T.reshape(2, -1)
    return PlanePoints(tuple(x.tolist()), tuple(y.tolist()))

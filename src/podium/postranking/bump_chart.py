"""A bump chart: documents as lines from their original places to their new ones."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from podium.figure_style import DOWN, MUTED, UP, label_size, plain_label


def draw_moves(
    ax: Any, moves: Sequence[tuple[str, int, int | None]], moved: Set[int], n_places: int
) -> None:
    """Draw (document, original place, new place or None) as lines.

    Parameters
    ----------
    moved
        Original places of the documents that rules moved or hid.
    n_places
        The number of places to draw; lines from and to places further down are cut off.
    """
    depth = min(n_places, max((origin for _, origin, _ in moves), default=1))
    size = label_size(depth)
    for name, origin, to in moves:
        if min(origin, depth + 1 if to is None else to) > depth:
            continue
        is_moved = origin in moved
        rises = to is not None and to < origin
        colour = MUTED if not is_moved else UP if rises else DOWN
        width = 2.0 if is_moved else 0.9
        ends = ([0, 0.25], [origin, origin]) if to is None else ([0, 1], [origin, to])
        ax.plot(
            *ends, color=colour, linewidth=width, linestyle="-" if rises or not is_moved else "--"
        )
        ax.plot([0], [origin], "o", color=colour, markersize=4)
        ax.plot(
            *([0.25], [origin], "x") if to is None else ([1], [to], "o"), color=colour, markersize=5
        )
        ink = colour if is_moved else "#444444"
        style = {"va": "center", "fontsize": size, "color": ink, "textcoords": "offset points"}
        label = plain_label(name)
        if origin <= depth:
            ax.annotate(label, (0, origin), xytext=(-8, 0), ha="right", **style)
        if to is not None and to <= depth:
            ax.annotate(label, (1, to), xytext=(8, 0), ha="left", **style)
    ax.set_ylim(depth + 0.5, 0.5)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xticks([0, 1], ["original place", "place after the rules"])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)

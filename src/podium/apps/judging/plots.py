"""Statistics as drawings: where lines, bars and words stand; a template makes SVG of it.

Drawings have attributes only, no styles: the pages' policy forbids styles in a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from podium.apps.judging.rendering import many
from podium.labelling.judging_statistics.agreement import PREFERENCES, AssessorAgreement
from podium.labelling.judging_statistics.judgment_times import TIME_BINS, JudgmentTimes
from podium.labelling.judging_statistics.summary import Statistics

# Okabe and Ito's colours, which people with any kind of colour vision tell apart.
_COLOURS = {"preference": "#0072B2", "grade": "#D55E00"}
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_MAX_ASSESSORS = 30
_CELL = 64
_WIDTH = 380.0  # on a phone it is not much smaller, and words can still be read


@dataclass(frozen=True)
class Word:
    """Text at a place; anchor is start, middle or end."""

    x: float
    y: float
    text: str
    anchor: str = "middle"
    colour: str = "#222222"


@dataclass(frozen=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Curve:
    """A line through points, "x,y x,y ..."."""

    points: str
    colour: str
    width: float = 2
    dashes: str = ""


@dataclass(frozen=True)
class Plot:
    """A drawing: a title, what it shows in words for those who cannot see it, and its parts."""

    title: str
    said: str
    width: float
    height: float
    boxes: tuple[Box, ...] = ()
    curves: tuple[Curve, ...] = ()
    words: tuple[Word, ...] = ()


def matrix_plots(found: Statistics) -> list[Plot]:
    """The agreement matrices that have anything in them."""
    kinds = (
        (found.preferences, "Preferences, all pairs of the top k"),
        (found.grades, "Preferences inferred from grades"),
        (found.judged, "Preferences, pairs that both judged"),
    )
    return [_matrix(told, title) for told, title in kinds if told.n_pairs]


def _matrix(found: AssessorAgreement, title: str) -> Plot:
    boxes, words = [], []
    names = [f"A {preference} B" for preference in PREFERENCES]
    for row, shares in enumerate(found.matrix.tolist()):
        y = 24 + row * _CELL
        words.append(Word(60, y + _CELL / 2 + 4, names[row], "end"))
        words.append(Word(66 + (row + 0.5) * _CELL, 16, names[row]))
        for column, share in enumerate(shares):
            known = 0.0 if share != share else share
            x = 66 + column * _CELL
            boxes.append(Box(x, y, _CELL - 2, _CELL - 2, _blue(known)))
            text = "-" if share != share else f"{share:.3f}"
            colour = "#FFFFFF" if known > 0.5 else "#222222"
            words.append(Word(x + _CELL / 2 - 1, y + _CELL / 2 + 4, text, colour=colour))
    agreed = f"{found.overall:.3f} of {many(found.n_pairs, 'pair')} agreed"
    said = f"{agreed}; rows: one assessor, columns: another"
    return Plot(title, said, 262, 220, tuple(boxes), words=tuple(words))


def _blue(share: float) -> str:
    """From white to a dark blue."""
    channels = (round(255 + share * (dark - 255)) for dark in (8, 48, 107))
    return "#" + "".join(f"{channel:02X}" for channel in channels)


def time_plot(methods: Sequence[JudgmentTimes]) -> Plot | None:
    """How long judgments take, by method: shares of judgments over seconds, on a logarithmic scale."""
    kept = [times for times in methods if sum(times.histogram)]
    if not kept:
        return None
    width, left, bottom = _WIDTH, 20.0, 180.0
    height = bottom + 46 + 16 * len(kept)
    most = max(max(times.histogram) / sum(times.histogram) for times in kept)

    def x(seconds: float) -> float:
        return left + (width - left - 20) * log2(seconds / TIME_BINS[0]) / log2(
            TIME_BINS[-1] / TIME_BINS[0]
        )

    curves = [Curve(f"{left},{bottom} {width - 20},{bottom}", "#888888", 1)]
    words = [Word(x(s), bottom + 16, _seconds(s)) for s in (0.25, 1, 4, 16, 64, 256, 1024)]
    words.append(Word((left + width) / 2, bottom + 34, "active seconds of a judgment"))
    for i, times in enumerate(kept):
        total, colour, dashes = (
            sum(times.histogram),
            _COLOURS[times.tool],
            _DASHES[i % len(_DASHES)],
        )
        points = []
        for count, low, high in zip(times.histogram, TIME_BINS[:-1], TIME_BINS[1:], strict=True):
            y = bottom - (bottom - 20) * count / total / most
            points += [f"{x(low):.1f},{y:.1f}", f"{x(high):.1f},{y:.1f}"]
        curves.append(Curve(" ".join(points), colour, 2, dashes))
        name = f"{times.name}: mean {times.seconds:.1f} s, median {times.median:.1f} s"
        words.append(Word(left, bottom + 54 + 16 * i, name, "start", colour))
    said = "; ".join(f"{times.name} {times.seconds:.1f} s on average" for times in kept)
    return Plot("Time of a judgment", said, width, height, (), tuple(curves), tuple(words))


def assessor_plot(rows: Sequence[JudgmentTimes]) -> Plot | None:
    """Where the middle half of each assessor's times lies, and the median."""
    kept = sorted((t for t in rows if t.median == t.median), key=lambda t: -t.judgments)
    kept = sorted(kept[:_MAX_ASSESSORS], key=lambda t: (t.name, t.tool))
    if not kept:
        return None
    width, left = _WIDTH, 130.0
    height = 24.0 * len(kept) + 40
    most = max(times.quartiles[1] for times in kept) or 1.0
    curves, boxes = [], []
    words = [Word(width / 2, height - 6, "seconds of a judgment: median, middle half")]
    for i, times in enumerate(kept):
        y, colour = 16 + 24.0 * i, _COLOURS[times.tool]
        low, middle, high = (
            left + (width - left - 45) * s / most
            for s in (times.quartiles[0], times.median, times.quartiles[1])
        )
        words.append(Word(left - 8, y + 4, _name(times), "end"))
        words.append(Word(high + 6, y + 4, f"{times.median:.1f}", "start"))
        curves.append(Curve(f"{low:.1f},{y} {high:.1f},{y}", colour, 3))
        boxes.append(Box(middle - 3, y - 6, 6, 12, colour))
    said = f"medians from {min(t.median for t in kept):.1f} to {max(t.median for t in kept):.1f} seconds"
    return Plot(
        "Time of a judgment by assessor",
        said,
        width,
        height,
        tuple(boxes),
        tuple(curves),
        tuple(words),
    )


def _name(times: JudgmentTimes) -> str:
    """An assessor and the tool, as long as there is room."""
    name = times.name if len(times.name) <= 12 else f"{times.name[:11]}…"
    return f"{name} ({'pairs' if times.tool == 'preference' else 'grades'})"


def _seconds(value: float) -> str:
    return "¼" if value == 0.25 else f"{value:g}"

"""SVG plots of the statistics: positions of lines, boxes and texts, which a template draws.

The SVG has attributes and no styles: the content security policy of the pages forbids inline styles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from podium.counted_nouns import count_text
from podium.labelling.judging_statistics.agreement import PREFERENCES, AssessorAgreement
from podium.labelling.judging_statistics.judgment_times import TIME_BINS, JudgmentTimes
from podium.labelling.judging_statistics.summary import Statistics

# Okabe and Ito's colours, which people with any kind of colour vision can distinguish.
_COLOURS = {"preference": "#0072B2", "grade": "#D55E00"}
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_MAX_ASSESSORS = 30
_CELL_PIXELS = 64
_WIDTH_PIXELS = 380.0  # about the width of a phone, so that texts stay readable


@dataclass(frozen=True)
class PlotText:
    """Text at a position; anchor is start, middle or end."""

    x: float
    y: float
    text: str
    anchor: str = "middle"
    colour: str = "#222222"


@dataclass(frozen=True)
class PlotBox:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class PlotLine:
    """A line through points, "x,y x,y ..."."""

    points: str
    colour: str
    width: float = 2
    dashes: str = ""


@dataclass(frozen=True)
class Plot:
    """A plot: its title, a description in words for screen readers, its size and its parts."""

    title: str
    description: str
    width: float
    height: float
    boxes: tuple[PlotBox, ...] = ()
    lines: tuple[PlotLine, ...] = ()
    texts: tuple[PlotText, ...] = ()


def matrix_plots(statistics: Statistics) -> list[Plot]:
    """Plot the agreement matrices that have any pairs."""
    matrices = (
        (statistics.preferences, "Preferences, all pairs of the top k"),
        (statistics.grades, "Preferences inferred from grades"),
        (statistics.judged, "Preferences, pairs that both judged"),
    )
    return [_matrix_plot(agreement, title) for agreement, title in matrices if agreement.n_pairs]


def _matrix_plot(agreement: AssessorAgreement, title: str) -> Plot:
    boxes, texts = [], []
    names = [f"A {preference} B" for preference in PREFERENCES]
    for row, shares in enumerate(agreement.matrix.tolist()):
        y = 24 + row * _CELL_PIXELS
        texts.append(PlotText(60, y + _CELL_PIXELS / 2 + 4, names[row], "end"))
        texts.append(PlotText(66 + (row + 0.5) * _CELL_PIXELS, 16, names[row]))
        for column, share in enumerate(shares):
            level = 0.0 if share != share else share
            x = 66 + column * _CELL_PIXELS
            boxes.append(PlotBox(x, y, _CELL_PIXELS - 2, _CELL_PIXELS - 2, _blue(level)))
            text = "-" if share != share else f"{share:.3f}"
            colour = "#FFFFFF" if level > 0.5 else "#222222"
            texts.append(
                PlotText(x + _CELL_PIXELS / 2 - 1, y + _CELL_PIXELS / 2 + 4, text, colour=colour)
            )
    agreed = f"{agreement.overall:.3f} of {count_text(agreement.n_pairs, 'pair')} agreed"
    description = f"{agreed}; rows: one assessor, columns: another"
    return Plot(title, description, 262, 220, tuple(boxes), texts=tuple(texts))


def _blue(share: float) -> str:
    """Return a colour from white (0) to dark blue (1)."""
    channels = (round(255 + share * (dark - 255)) for dark in (8, 48, 107))
    return "#" + "".join(f"{channel:02X}" for channel in channels)


def time_plot(methods: Sequence[JudgmentTimes]) -> Plot | None:
    """Plot how long judgments take, by method: their share over seconds, on a logarithmic scale."""
    timed = [times for times in methods if sum(times.histogram)]
    if not timed:
        return None
    width, left, bottom = _WIDTH_PIXELS, 20.0, 180.0
    height = bottom + 46 + 16 * len(timed)
    highest_share = max(max(times.histogram) / sum(times.histogram) for times in timed)

    def x(seconds: float) -> float:
        return left + (width - left - 20) * log2(seconds / TIME_BINS[0]) / log2(
            TIME_BINS[-1] / TIME_BINS[0]
        )

    lines = [PlotLine(f"{left},{bottom} {width - 20},{bottom}", "#888888", 1)]
    texts = [PlotText(x(s), bottom + 16, _seconds(s)) for s in (0.25, 1, 4, 16, 64, 256, 1024)]
    texts.append(PlotText((left + width) / 2, bottom + 34, "active seconds of a judgment"))
    for i, times in enumerate(timed):
        total, colour, dashes = (
            sum(times.histogram),
            _COLOURS[times.tool],
            _DASHES[i % len(_DASHES)],
        )
        points = []
        for count, low, high in zip(times.histogram, TIME_BINS[:-1], TIME_BINS[1:], strict=True):
            y = bottom - (bottom - 20) * count / total / highest_share
            points += [f"{x(low):.1f},{y:.1f}", f"{x(high):.1f},{y:.1f}"]
        lines.append(PlotLine(" ".join(points), colour, 2, dashes))
        name = f"{times.name}: mean {times.seconds:.1f} s, median {times.median:.1f} s"
        texts.append(PlotText(left, bottom + 54 + 16 * i, name, "start", colour))
    description = "; ".join(f"{times.name} {times.seconds:.1f} s on average" for times in timed)
    return Plot("Time of a judgment", description, width, height, (), tuple(lines), tuple(texts))


def assessor_plot(rows: Sequence[JudgmentTimes]) -> Plot | None:
    """Plot the median and the middle half of each assessor's times."""
    busiest = sorted((t for t in rows if t.median == t.median), key=lambda t: -t.judgments)
    busiest = sorted(busiest[:_MAX_ASSESSORS], key=lambda t: (t.name, t.tool))
    if not busiest:
        return None
    width, left = _WIDTH_PIXELS, 130.0
    height = 24.0 * len(busiest) + 40
    longest = max(times.quartiles[1] for times in busiest) or 1.0
    lines, boxes = [], []
    texts = [PlotText(width / 2, height - 6, "seconds of a judgment: median, middle half")]
    for i, times in enumerate(busiest):
        y, colour = 16 + 24.0 * i, _COLOURS[times.tool]
        low, middle, high = (
            left + (width - left - 45) * s / longest
            for s in (times.quartiles[0], times.median, times.quartiles[1])
        )
        texts.append(PlotText(left - 8, y + 4, _name(times), "end"))
        texts.append(PlotText(high + 6, y + 4, f"{times.median:.1f}", "start"))
        lines.append(PlotLine(f"{low:.1f},{y} {high:.1f},{y}", colour, 3))
        boxes.append(PlotBox(middle - 3, y - 6, 6, 12, colour))
    medians = [times.median for times in busiest]
    description = f"medians from {min(medians):.1f} to {max(medians):.1f} seconds"
    return Plot(
        "Time of a judgment by assessor",
        description,
        width,
        height,
        tuple(boxes),
        tuple(lines),
        tuple(texts),
    )


def _name(times: JudgmentTimes) -> str:
    """Return the name of an assessor, shortened, and the tool."""
    name = times.name if len(times.name) <= 12 else f"{times.name[:11]}…"
    return f"{name} ({'pairs' if times.tool == 'preference' else 'grades'})"


def _seconds(value: float) -> str:
    return "¼" if value == 0.25 else f"{value:g}"

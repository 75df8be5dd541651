"""Active time of a judgment, from the segments that a browser's clock measured.

The browser leaves out idle time (``apps/judging/static/idle_detection.js``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from podium.labelling.events import LATEST_TIME_MS

LONGEST_SEGMENT_MS = 30 * 60 * 1000
"""The maximum milliseconds of a segment. Pages end segments much earlier: a longer one is a clock jump."""

LONGEST_JUDGMENT_MS = 60 * 60 * 1000
"""The maximum milliseconds of a judgment: nobody looks at one question for more than an hour."""

MAX_SEGMENTS_PER_JUDGMENT = 1_000
"""The maximum number of segments of a judgment; more are ignored."""

Segment = tuple[int, int]


@dataclass(frozen=True)
class ActiveTime:
    """Clean segments of active time, and counts of flaws in the sent segments.

    Parameters
    ----------
    segments
        [start, end) in milliseconds, in order, without overlap.
    malformed
        Segments that are not two finite numbers.
    negative
        Segments that end before they start.
    jumps
        Segments that are too long: the clock was set, or the machine slept.
    overlaps
        Segments that began before an earlier one ended; the time counts once.
    paused
        Segments that overlap with a pause; the pause is taken out.
    outside
        Segments that began before the last counted segment ended, or ended after their event; the part
        outside is cut off.
    set_back
        1 if the event is older than the end of the last counted segment: the clock was set back, and
        the lower limit is ignored.
    capped
        1 if there was more time than a judgment can take; the rest is cut off.
    surplus
        Segments beyond the number that is read.
    """

    segments: tuple[Segment, ...] = ()
    malformed: int = 0
    negative: int = 0
    jumps: int = 0
    overlaps: int = 0
    paused: int = 0
    outside: int = 0
    set_back: int = 0
    capped: int = 0
    surplus: int = 0

    @property
    def milliseconds(self) -> int:
        """The active time in milliseconds."""
        return sum(end - start for start, end in self.segments)

    @property
    def seconds(self) -> float:
        """The active time in seconds."""
        return self.milliseconds / 1000

    @property
    def flaws(self) -> int:
        """The number of flaws that were cleaned; 0 means that the time can be trusted."""
        segment_flaws = (self.malformed, self.negative, self.jumps, self.overlaps, self.paused)
        return sum(segment_flaws) + self.outside + self.set_back + self.capped + self.surplus


def active_time(
    segments: object,
    pauses: Iterable[Segment] = (),
    longest: int = LONGEST_SEGMENT_MS,
    *,
    limits: tuple[int | None, int | None] = (None, None),
    most: int = LONGEST_JUDGMENT_MS,
    surplus: int = 0,
) -> ActiveTime:
    """Return the active time in the segments that a client sent; never raise.

    Malformed and negative segments and jumps are dropped. Overlapping segments count once. Pauses and the
    time outside `limits` are taken out. Each flaw is counted.

    Parameters
    ----------
    segments
        [start, end) pairs in milliseconds, in any order.
    pauses
        [start, end) of pauses; a pause that ends before it starts is ignored.
    longest
        A segment of more milliseconds is a jump of the clock.
    limits
        When the last counted segment ended, and when the judgment was made; None for no limit.
    most
        The maximum number of milliseconds of a judgment.
    surplus
        The number of segments that were ignored earlier.

    Examples
    --------
    >>> active_time([[0, 4000], [10_000, 12_500]]).seconds
    6.5
    >>> time = active_time([[0, 4000], [3000, 5000], [9000, 8000]], pauses=[(1000, 2000)])
    >>> time.segments, time.overlaps, time.negative, time.paused
    (((0, 1000), (2000, 5000)), 1, 1, 1)
    >>> time = active_time([[0, 4000], [4500, 9000]], limits=(1000, 5000))
    >>> time.segments, time.outside
    (((1000, 4000), (4500, 5000)), 2)
    """
    items = segments if isinstance(segments, list | tuple) else () if segments is None else (None,)
    parsed = [_parse_segment(item) for item in items]
    good = [segment for segment in parsed if segment is not None]
    forward = [(start, end) for start, end in good if end >= start]
    short = sorted((start, end) for start, end in forward if end - start <= longest)
    lower, upper = limits
    set_back = lower is not None and upper is not None and upper < lower
    inside, outside = _clip(short, None if set_back else lower, upper)
    union, overlaps = _union(inside)
    unpaused, paused = _without_pauses(
        union, [(start, end) for start, end in pauses if end > start]
    )
    counted, capped = _cap(unpaused, most)
    return ActiveTime(
        segments=tuple((start, end) for start, end in counted if end > start),
        malformed=len(parsed) - len(good),
        negative=len(good) - len(forward),
        jumps=len(forward) - len(short),
        overlaps=overlaps,
        paused=paused,
        outside=outside,
        set_back=int(set_back),
        capped=capped,
        surplus=surplus,
    )


def _parse_segment(item: object) -> Segment | None:
    """Return whole milliseconds (browsers send fractions), or None for a malformed segment."""
    if not isinstance(item, list | tuple) or len(item) != 2:
        return None
    numbers = []
    for value in item:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if abs(value) > LATEST_TIME_MS or not isfinite(value):
            return None
        numbers.append(round(value))
    return numbers[0], numbers[1]


def _clip(
    segments: list[Segment], lower: int | None, upper: int | None
) -> tuple[list[Segment], int]:
    """Return the segments inside the limits, and how many reached outside."""
    low, high = (
        -LATEST_TIME_MS if lower is None else lower,
        LATEST_TIME_MS if upper is None else upper,
    )
    outside = sum(start < low or end > high for start, end in segments)
    cut = [(max(start, low), min(end, high)) for start, end in segments]
    return [(start, end) for start, end in cut if end >= start], outside


def _cap(segments: list[Segment], most: int) -> tuple[list[Segment], int]:
    """Return the first segments up to the maximum time, and 1 if there was more."""
    counted: list[Segment] = []
    for start, end in segments:
        if end - start > most:
            return [*counted, (start, start + most)], 1
        counted.append((start, end))
        most -= end - start
    return counted, 0


def _union(segments: list[Segment]) -> tuple[list[Segment], int]:
    """Join overlapping segments of a sorted list; return them, and how many overlapped."""
    union: list[Segment] = []
    overlaps = 0
    for start, end in segments:
        if union and start < union[-1][1]:
            overlaps += 1
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union, overlaps


def _without_pauses(segments: list[Segment], pauses: list[Segment]) -> tuple[list[Segment], int]:
    """Return the segments outside the pauses, and how many segments overlapped with one."""
    cut, paused = segments, 0
    breaks, _ = _union(sorted(pauses))
    for stop, go in breaks:
        outside: list[Segment] = []
        for start, end in cut:
            if end <= stop or start >= go:
                outside.append((start, end))
                continue
            paused += 1
            outside += [(start, min(end, stop)), (max(start, go), end)]
        cut = [(start, end) for start, end in outside if end > start]
    return cut, paused

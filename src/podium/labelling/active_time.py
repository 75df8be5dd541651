"""Active time: the clock of a judgment, from segments, whatever a browser's clock does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from podium.labelling.events import LATEST_TIME_MS

LONGEST_SEGMENT_MS = 30 * 60 * 1000
"""Milliseconds in a segment: an idle tab ends one long before, so a longer one is a jump of the clock."""

LONGEST_JUDGMENT_MS = 60 * 60 * 1000
"""Milliseconds in a judgment: nobody looks at one question for longer than an hour."""

MAX_SEGMENTS_PER_JUDGMENT = 1_000
"""Segments of a judgment that are looked at."""

Segment = tuple[int, int]


@dataclass(frozen=True)
class ActiveTime:
    """Active time, cleaned, and what had to be cleaned.

    Parameters
    ----------
    segments
        [start, end) in milliseconds, in order, apart from each other.
    malformed
        Segments that are not two finite numbers.
    negative
        Segments that end before they start.
    jumps
        Segments longer than any segment can be: the clock was set, or the machine slept.
    overlaps
        Segments that began before an earlier one had ended; the time counts once.
    paused
        Segments that ran on in a pause; the pause is taken out.
    outside
        Segments that began before the last counted one ended, or ended after the event that told of
        them; what is outside is cut off.
    set_back
        1 if the event is older than the end of the last counted segment, so that nothing can be said
        of what was counted before: the clock was set back.
    capped
        1 if there was more time than a judgment can take; what is above is cut off.
    surplus
        Segments beyond the number that is looked at.
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
        """The active time."""
        return sum(end - start for start, end in self.segments)

    @property
    def seconds(self) -> float:
        """The active time."""
        return self.milliseconds / 1000

    @property
    def flaws(self) -> int:
        """How often something had to be cleaned: 0 is a time to trust."""
        segment_flaws = (self.malformed, self.negative, self.jumps, self.overlaps, self.paused)
        return sum(segment_flaws) + self.outside + self.set_back + self.capped + self.surplus


def active_time(
    segments: object,
    pauses: Iterable[Segment] = (),
    longest: int = LONGEST_SEGMENT_MS,
    *,
    within: tuple[int | None, int | None] = (None, None),
    most: int = LONGEST_JUDGMENT_MS,
    surplus: int = 0,
) -> ActiveTime:
    """The active time in the segments that a client sent; nothing in them raises.

    Malformed and negative segments and jumps are dropped, overlapping ones count once, pauses, the time
    before the last counted segment ended and the future are taken out; each is counted.

    Parameters
    ----------
    segments
        [start, end) pairs in milliseconds by one clock, in any order.
    pauses
        The same of pauses; one that ends before it starts is none.
    longest
        A segment of more milliseconds is a jump of the clock.
    within
        When the last counted segment ended, and when the judgment was made; None for no limit.
    most
        Milliseconds that a judgment can take.
    surplus
        How many segments were left out.

    Examples
    --------
    >>> active_time([[0, 4000], [10_000, 12_500]]).seconds
    6.5
    >>> time = active_time([[0, 4000], [3000, 5000], [9000, 8000]], pauses=[(1000, 2000)])
    >>> time.segments, time.overlaps, time.negative, time.paused
    (((0, 1000), (2000, 5000)), 1, 1, 1)
    >>> time = active_time([[0, 4000], [4500, 9000]], within=(1000, 5000))
    >>> time.segments, time.outside
    (((1000, 4000), (4500, 5000)), 2)
    """
    items = segments if isinstance(segments, list | tuple) else () if segments is None else (None,)
    whole = [_segment(item) for item in items]
    good = [segment for segment in whole if segment is not None]
    forward = [(start, end) for start, end in good if end >= start]
    short = sorted((start, end) for start, end in forward if end - start <= longest)
    after, until = within
    set_back = after is not None and until is not None and until < after
    inside, outside = _clipped(short, None if set_back else after, until)
    union, overlaps = _union(inside)
    kept, paused = _without(union, [(start, end) for start, end in pauses if end > start])
    counted, capped = _capped(kept, most)
    return ActiveTime(
        segments=tuple((start, end) for start, end in counted if end > start),
        malformed=len(whole) - len(good),
        negative=len(good) - len(forward),
        jumps=len(forward) - len(short),
        overlaps=overlaps,
        paused=paused,
        outside=outside,
        set_back=int(set_back),
        capped=capped,
        surplus=surplus,
    )


def _segment(item: object) -> Segment | None:
    """Two whole numbers of milliseconds, or None: clocks of browsers have fractions."""
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


def _clipped(
    segments: list[Segment], after: int | None, until: int | None
) -> tuple[list[Segment], int]:
    """Segments within limits, and how many reached out of them."""
    low, high = (
        -LATEST_TIME_MS if after is None else after,
        LATEST_TIME_MS if until is None else until,
    )
    outside = sum(start < low or end > high for start, end in segments)
    cut = [(max(start, low), min(end, high)) for start, end in segments]
    return [(start, end) for start, end in cut if end >= start], outside


def _capped(segments: list[Segment], most: int) -> tuple[list[Segment], int]:
    """The first segments that make up so much time, and whether there was more."""
    counted: list[Segment] = []
    for start, end in segments:
        if end - start > most:
            return [*counted, (start, start + most)], 1
        counted.append((start, end))
        most -= end - start
    return counted, 0


def _union(segments: list[Segment]) -> tuple[list[Segment], int]:
    """Sorted segments with what overlaps joined, and how many did."""
    union: list[Segment] = []
    overlaps = 0
    for start, end in segments:
        if union and start < union[-1][1]:
            overlaps += 1
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union, overlaps


def _without(segments: list[Segment], pauses: list[Segment]) -> tuple[list[Segment], int]:
    """Segments outside the pauses, and how many segments reached into one."""
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
